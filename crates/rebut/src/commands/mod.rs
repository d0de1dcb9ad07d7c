//! One file per verb, one table that joins them.

pub mod archive;
pub mod ask;
mod audit;
mod baseline;
mod bench;
pub mod challenge;
pub mod code;
mod config;
mod demo;
pub mod doctor;
pub mod evaluate;
pub mod hook;
mod keys;
mod list_show;
mod meta;
mod models;
mod policy;
pub mod prepare;
pub mod progress;
mod remote_run;
mod request;
mod resume;
mod retally;
pub mod review;
mod route;
mod sandbox;
mod server_support;
pub mod solve;
mod steer;
mod topology;
mod triage;
mod trust;
mod turns;
mod vote;
mod voters;
mod webhooks;

pub use bench::arm_names as bench_arms;

use crate::{
    cli::{AskArgs, Cli, Command},
    error::CliError,
    hint_command,
};

/// Runs what was typed. Returns the exit code.
pub async fn run(cli: Cli) -> Result<u8, CliError> {
    let global = cli.global;
    // Flags of a question in front of a command would be silently lost.
    if cli.command.is_some() && cli.ask != AskArgs::default() {
        return Err(
            CliError::usage("a question or its flags stand before the command")
                .hint("write them behind it: rebut decide \"…\" -O A=…"),
        );
    }
    let global = server_support::settle(global, cli.command.as_ref(), &cli.ask)?;
    hint_command::remember(&(&global).into());
    match cli.command {
        None => route::run(&global, cli.ask).await,
        Some(Command::Decide(args)) => ask::ask("decide", &global, *args).await,
        Some(Command::Challenge(args)) => challenge::run(&global, *args).await,
        Some(Command::Evaluate(args)) => evaluate::run(&global, *args).await,
        Some(Command::Review(args)) => review::run(&global, *args).await,
        Some(Command::Solve(args)) => solve::run(&global, *args).await,
        Some(Command::Single(args)) => ask::ask("single", &global, *args).await,
        Some(Command::Poll(args)) => ask::ask("poll", &global, *args).await,
        Some(Command::Society(args)) => ask::ask("society", &global, *args).await,
        Some(Command::Ls(args)) => list_show::ls(&global, args).await,
        Some(Command::Show(args)) => list_show::show(&global, args).await,
        Some(Command::Code(args)) => code::run(&global, args).await,
        Some(Command::Watch(args)) => list_show::watch(&global, args).await,
        Some(Command::Resume(args)) => resume::resume(&global, args).await,
        Some(Command::Replay(args)) => archive::replay(&global, args).await,
        Some(Command::Fork(args)) => archive::fork(&global, args).await,
        Some(Command::Cancel(args)) => steer::cancel(&global, args).await,
        Some(Command::Gates(args)) => steer::gates(&global, args).await,
        Some(Command::Approve(args)) => steer::decide(&global, args, true).await,
        Some(Command::Reject(args)) => steer::decide(&global, args.into(), false).await,
        Some(Command::Answer(args)) => steer::answer(&global, args).await,
        Some(Command::Turns(args)) => turns::run(&global, args).await,
        Some(Command::Mark(args)) => steer::mark(&global, args).await,
        Some(Command::Voters(args)) => voters::run(&global, args).await,
        Some(Command::Bench(command)) => bench::run(&global, command).await,
        Some(Command::Note(args)) => steer::note(&global, args).await,
        Some(Command::Export(args)) => archive::export(&global, args).await,
        Some(Command::Import(args)) => archive::import(&global, args).await,
        Some(Command::Rm(args)) => archive::rm(&global, args).await,
        Some(Command::Audit(command)) => audit::run(&global, command).await,
        Some(Command::Topology(args)) => topology::run(&global, args).await,
        Some(Command::Retally(args)) => retally::run(&global, args).await,
        Some(Command::Vote(args)) => vote::run(&global, &args),
        Some(Command::Policy(command)) => policy::run(&global, command).await,
        Some(Command::Sandbox(command)) => sandbox::run(command).await,
        Some(Command::Triage(args)) => triage::run(&global, args).await,
        Some(Command::Demo(args)) => demo::run(&global, args).await,
        Some(Command::Init(args)) => config::init(&global, args),
        Some(Command::Doctor(args)) => doctor::run(&global, args).await,
        Some(Command::Models(args)) => models::run(&global, args).await,
        Some(Command::Config(command)) => config::run(&global, command),
        Some(Command::Trust(args)) => trust::run(&global, &args).await,
        Some(Command::Schema(args)) => meta::schema(args),
        Some(Command::Roles(args)) => meta::roles(&global, args),
        Some(Command::Serve(args)) => crate::serve::run(&global, args).await,
        Some(Command::Keys(command)) => keys::run(&global, command),
        Some(Command::Webhooks(command)) => webhooks::run(&global, command).await,
        Some(Command::Hook(args)) => hook::run(&global, args).await,
        Some(Command::Completions(args)) => meta::completions(args),
        Some(Command::Man) => meta::man(),
    }
}
