//! `rebut`: the command line of the debate engine.

// First: what it defines serves all the others.
#[macro_use]
mod warn_line;

mod app;
mod atomic_file;
mod ballots;
mod beneath;
mod budget;
mod casting;
mod cli;
mod commands;
mod config;
mod context;
mod data_dir;
mod debates;
mod dry_run;
mod error;
mod estimate;
mod git;
mod hint_command;
mod human;
mod idea;
mod lessons;
mod live;
mod model_discovery;
mod output;
mod paint;
mod panel;
mod post_actions;
mod problems;
mod proposals;
mod read_file;
mod remote;
mod roles;
mod serve;
mod telemetry;
mod text;
mod versions;
mod webhooks;
mod workspace;

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
    let paint = paint::Paint::stderr(cli.global.color);
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
            if is_hook { 1 } else { error.code() }
        }
    }
}
