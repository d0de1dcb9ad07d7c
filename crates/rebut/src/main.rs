//! `rebut`: the command line of the debate engine.

// First: what it defines serves all the others.
#[macro_use]
mod warn_line;

mod casting;
mod cli;
mod commands;
mod debates;
mod error;
mod human;
mod live;
mod output;
mod paint;
mod post_actions;
mod remote;
mod serve;
mod telemetry;
mod text;

use rebut_app::{
    app, atomic_file, ballots, beneath, budget, config, context, data_dir, dry_run, estimate, git,
    global, hint_command, idea, lessons, model_discovery, panel, problems, proposals, read_file,
    roles, versions, webhooks, words, workspace, write_file,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: in a sandbox this executable is its keeper, and nothing more; so it is
    // beside agent programs.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == rebut_sandbox::INNER)
    {
        return rebut_sandbox::inner_main(
            std::env::args_os()
                .skip(2)
                .map(|word| word.to_string_lossy().into_owned()),
        );
    }
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == rebut_models::cli::KEEPER)
    {
        return rebut_models::cli::keeper_main(
            std::env::args_os()
                .skip(2)
                .map(|word| word.to_string_lossy().into_owned()),
        );
    }
    let cli = cli::parse();
    if !matches!(cli.command, Some(cli::Command::Hook(_))) {
        return ExitCode::from(run(cli));
    }
    // A panic, a wrong file, no model: nothing of that may look like a wish to stop the agent that
    // called.
    let code = std::panic::catch_unwind(|| run(cli));
    ExitCode::from(code.unwrap_or(1))
}

/// Runs what was typed; gives the exit code.
fn run(cli: cli::Cli) -> u8 {
    let is_hook = matches!(cli.command, Some(cli::Command::Hook(_)));
    paint::remember(&cli.global);
    rebut_app::notices::listen(|line| warn_line!("{line}"));
    let paint = paint::Paint::stderr();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(commands::run(cli));
            // A thread that waits at the keyboard must not keep the process.
            runtime.shutdown_background();
            result
        }
        Err(error) => Err(error::CliError::failed(format!("cannot start: {error}"))),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            warn_line!("{} {error}", paint.bad("error:"));
            if is_hook { 1 } else { error::exit_code(&error) }
        }
    }
}
