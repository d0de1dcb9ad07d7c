//! `rebut`: the command line of the debate engine.

mod app;
mod auto;
mod ballots;
mod budget;
mod cli;
mod commands;
mod config;
mod context;
mod dry;
mod error;
mod estimate;
mod git;
mod human;
mod live;
mod output;
mod paint;
mod panel;
mod place;
mod proposals;
mod roles;
mod text;

use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::parse();
    let paint = paint::Paint::stderr(cli.global.color);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
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
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{} {error}", paint.bad("error:"));
            ExitCode::from(error.code())
        }
    }
}
