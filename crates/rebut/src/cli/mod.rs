//! The command line: what can be typed.

mod asking;
mod bench;
mod challenging;
mod code;
mod evaluate;
mod hook;
mod kept;
mod machine;
mod policy;
mod review;
mod sandbox;
mod serve;
mod solve;
mod voting;
mod webhooks;

pub use asking::*;
pub use bench::*;
pub use challenging::*;
pub use code::*;
pub use evaluate::*;
pub use hook::*;
pub use kept::*;
pub use machine::*;
pub use policy::*;
pub use review::*;
pub use sandbox::*;
pub use serve::*;
pub use solve::*;
pub use voting::*;
pub use webhooks::*;

use crate::{
    app::{environment, path_variable},
    global::Global,
    hint_command::Typed,
    human::Human,
};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, error::ErrorKind};
use rebut_engine::suggest::suggest;
use std::path::PathBuf;

/// Several agents answer blind, challenge each other and are counted; you get a decision with its
/// reasons, or an honest "contested".
#[derive(Parser, Debug)]
#[command(name = "rebut", version, about, arg_required_else_help = false)]
#[command(override_usage = "rebut [OPTIONS] <QUESTION>\n       rebut [GLOBAL OPTIONS] <COMMAND> …")]
#[command(
    after_help = concat!(
        "Exit codes: 0 decided · 1 failed · 2 usage · 3 contested, or tests fail · 4 no model · 5 \
         limit reached · ",
        "6 --fail-on · 7 gate rejected · 130 interrupted"
    )
)]
pub struct Cli {
    /// What to do; without it, QUESTION is routed to a format.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// A question in your own words.
    #[command(flatten)]
    pub ask: AskArgs,
    /// Flags every command has.
    #[command(flatten)]
    pub global: GlobalArgs,
}

/// The command that was probably meant by a word.
pub fn meant_command(word: &str) -> Option<String> {
    let command = Cli::command();
    suggest(word, command.get_subcommands().map(clap::Command::get_name)).map(str::to_owned)
}

/// What was typed. A command written wrongly looks like a question with too many words behind it,
/// so what was meant is told too.
pub fn parse() -> Cli {
    let cli = try_parse().unwrap_or_else(|error| {
        if error.use_stderr() && asks_for_a_hook(std::env::args()) {
            // The usual exit code 2 would stop the agent that called.
            warn_text!("{}", error.render());
            std::process::exit(1);
        }
        let first = first_word(std::env::args().skip(1));
        let is_known = |word: &String| {
            Cli::command()
                .get_subcommands()
                .any(|known| known.get_name() == word)
        };
        let meant = first
            .filter(|word| error.kind() == ErrorKind::UnknownArgument && !is_known(word))
            .and_then(|word| meant_command(&word));
        match meant {
            Some(command) => {
                warn_text!("{}", error.render());
                warn_line!("  hint: did you mean `rebut {command}`?");
                std::process::exit(error.exit_code())
            }
            None => error.exit(),
        }
    });
    Cli {
        global: cli.global.with_variables(),
        ..cli
    }
}

fn try_parse() -> Result<Cli, clap::Error> {
    let mut command = with_negative_numbers(Cli::command());
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// A number below zero is a value like any other, for whoever takes it to refuse by its range; no
/// flag looks like one.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let allowed = |arg: clap::Arg| {
        if arg.get_action().takes_values() {
            arg.allow_negative_numbers(true)
        } else {
            arg
        }
    };
    command
        .mut_args(allowed)
        .mut_subcommands(with_negative_numbers)
}

/// The word that stands where a command does: the first that is neither a flag of every command nor
/// its value.
fn first_word(mut words: impl Iterator<Item = String>) -> Option<String> {
    let command = Cli::command();
    let takes_value = |word: &str| {
        let mut global = command
            .get_arguments()
            .filter(|arg| arg.is_global_set() && arg.get_action().takes_values());
        global.any(|arg| arg.get_long() == word.strip_prefix("--"))
    };
    loop {
        let word = words.next()?;
        if takes_value(&word) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
}

impl GlobalArgs {
    /// Which of the flags that say where debates are were typed, as long as no variable was looked
    /// at.
    fn typed(&self) -> Typed {
        Typed {
            data: self.data.is_some(),
            config: self.config.is_some(),
            server: self.server.is_some(),
            token_file: self.token_file.is_some(),
        }
    }

    /// The same with what was not typed taken from the environment, where it is set to something.
    fn with_variables(self) -> Self {
        Self {
            typed: self.typed(),
            data: self.data.or_else(|| path_variable("REBUT_DATA")),
            config: self.config.or_else(|| path_variable("REBUT_CONFIG")),
            server: self.server.or_else(|| environment("REBUT_SERVER")),
            token_file: self
                .token_file
                .or_else(|| path_variable("REBUT_TOKEN_FILE")),
            ..self
        }
    }
}

impl From<&GlobalArgs> for Global {
    fn from(args: &GlobalArgs) -> Self {
        Self {
            data: args.data.clone(),
            config: args.config.clone(),
            server: args.server.clone(),
            token_file: args.token_file.clone(),
            quiet: args.quiet,
            no_input: args.no_input,
            typed: args.typed,
            typed_in: args.typed_in.clone(),
            human: Human::open,
        }
    }
}

/// Flags every command has.
#[derive(Args, Debug, Clone)]
pub struct GlobalArgs {
    /// Keep debates in this directory (or set REBUT_DATA)
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global")]
    pub data: Option<PathBuf>,
    /// Use this configuration file instead of the project's rebut.toml (or set REBUT_CONFIG)
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global")]
    pub config: Option<PathBuf>,
    /// Debate at this server instead of here: `http://127.0.0.1:7878` (or set REBUT_SERVER)
    #[arg(long, global = true, value_name = "URL", help_heading = "Global")]
    pub server: Option<String>,
    /// The file with the token for that server, if not in REBUT_TOKEN (or set REBUT_TOKEN_FILE)
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global")]
    pub token_file: Option<PathBuf>,
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Global"
    )]
    pub color: Color,
    /// No spinners, no cursor movement, no box drawing
    #[arg(long, global = true, help_heading = "Global")]
    pub plain: bool,
    /// Say less on standard error
    #[arg(short, long, global = true, help_heading = "Global")]
    pub quiet: bool,
    /// Never ask, also on a terminal
    #[arg(long, global = true, help_heading = "Global")]
    pub no_input: bool,
    /// Which of them were typed, of those that say where debates are.
    #[arg(skip)]
    pub typed: Typed,
    /// The folder in which they were typed, where that is not the current one any more.
    #[arg(skip)]
    pub typed_in: Option<PathBuf>,
}

/// When to use colours.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What `rebut` can do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Choose between options: judges of fixed stance answer blind, then hear each other
    Decide(Box<AskArgs>),
    /// Propose a position and let experts of different angles attack it until it stands
    Challenge(Box<ChallengeArgs>),
    /// Debate an idea topic by topic and see its scores move: advocate, challenger, arbiter
    Evaluate(Box<EvaluateArgs>),
    /// Review a text or a change: proposals are merged by priority and applied
    Review(Box<ReviewArgs>),
    /// Write code for a task: tested in the sandbox, attacked, voted on
    Solve(Box<SolveArgs>),
    /// Ask one agent, once
    Single(Box<AskArgs>),
    /// Ask for independent answers and count them
    Poll(Box<AskArgs>),
    /// Ask everybody, let all hear each other, count the last round
    Society(Box<AskArgs>),
    /// List debates, newest first
    Ls(LsArgs),
    /// Show a debate's result
    Show(ShowArgs),
    /// Print the code a debate wrote, or any version of it; write it to a file when asked
    Code(CodeArgs),
    /// Follow a debate's events until it ends
    Watch(WatchArgs),
    /// Go on with a debate that was interrupted
    Resume(ResumeArgs),
    /// Run a recorded debate again, offline, and compare
    Replay(ReplayArgs),
    /// Start a new debate from an old one's turns
    Fork(ForkArgs),
    /// End a running debate
    Cancel(CancelArgs),
    /// List every gate at which a debate waits for a person
    Gates(JsonArg),
    /// Let a debate go on that waits at a gate
    Approve(GateArgs),
    /// End a debate that waits at a gate
    Reject(RejectArgs),
    /// Choose after a contested debate
    Answer(AnswerArgs),
    /// List turns that wait for a person at a server, or answer one
    Turns(TurnsArgs),
    /// Say which option turned out right, so that weights can be learned
    Mark(MarkArgs),
    /// Show how often each voter was right, and what its vote would count
    Voters(JsonArg),
    /// Add a note that the next round hears
    Note(NoteArgs),
    /// Write a debate as HTML, Markdown, JSON, YAML, decision record, drawing or journal
    Export(ExportArgs),
    /// Take in a journal file
    Import(ImportArgs),
    /// Remove debates
    Rm(RmArgs),
    /// Check journals, or take a text out of one
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Measure programs by hidden tests, or votes on recorded answers
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Show who hears whom: in a debate, or in a panel before it debates
    Topology(TopologyArgs),
    /// Count a debate again by another method, threshold or panel; nobody is asked
    Retally(RetallyArgs),
    /// Count ballots from a file by any voting method, with all the working
    Vote(VoteArgs),
    /// Learn from what judges say of reviewers
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Run untrusted code where it can do no harm, or see whether this machine can
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Say whether a question is worth a debate
    Triage(TriageArgs),
    /// Show a debate in 20 seconds: no key, no network, nothing kept
    Demo(DemoArgs),
    /// Write a rebut.toml for this project
    Init(InitArgs),
    /// Check this machine: keys, agent programs, servers, prices, files
    Doctor(DoctorArgs),
    /// List models with their price and family
    Models(ModelsArgs),
    /// Show, check or locate the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show what this project's rebut.toml would send or start, and allow it
    Trust(TrustArgs),
    /// Print a JSON schema
    Schema(SchemaArgs),
    /// List roles, or show one
    Roles(RolesArgs),
    /// Serve debates over HTTP, on this machine only unless told otherwise
    Serve(ServeArgs),
    /// Make, list or take away keys of the server
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Have events of debates posted to an address, signed
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// Answer a coding agent's hook with a short review; off by default
    Hook(HookArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page
    Man,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hint_command::flags_of;

    fn told(typed: &[&str]) -> String {
        let global = Cli::try_parse_from(["rebut"].iter().chain(typed))
            .expect("a command")
            .global;
        flags_of(&Global::from(&GlobalArgs {
            typed: global.typed(),
            ..global
        }))
    }

    #[test]
    fn what_was_typed_is_told_again_as_a_shell_takes_it() {
        let rows: [(&[&str], &str); 7] = [
            (&["ls"], ""),
            (
                &["--data", "kk", "--config", "oai.toml", "ls"],
                " --data kk --config oai.toml",
            ),
            (&["resume", "12", "--data=kk"], " --data kk"),
            (&["--data", "my debates", "ls"], " --data 'my debates'"),
            (
                &["--data", "it's; rm $HOME", "ls"],
                r" --data 'it'\''s; rm $HOME'",
            ),
            (&["--data=-x", "ls"], " --data=-x"),
            (
                &["ls", "--server", "http://[::1]:7878", "--token-file", "t"],
                " --server 'http://[::1]:7878' --token-file t",
            ),
        ];
        for (typed, expected) in rows {
            assert_eq!(told(typed), expected, "{typed:?}");
        }
    }
}
