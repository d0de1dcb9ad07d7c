//! The command line: what can be typed.

use crate::budget::Span;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Several agents answer blind, challenge each other and are counted; you get a decision with its reasons, or an honest "contested".
#[derive(Parser, Debug)]
#[command(name = "rebut", version, about, arg_required_else_help = false)]
#[command(override_usage = "rebut [OPTIONS] <QUESTION>\n       rebut [GLOBAL OPTIONS] <COMMAND> …")]
#[command(
    after_help = "Exit codes: 0 decided · 1 failed · 2 usage · 3 contested · 4 no model · 5 limit reached · 7 gate rejected · 130 interrupted"
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

/// Flags every command has.
#[derive(Args, Debug, Clone)]
pub struct GlobalArgs {
    /// Keep debates in this directory
    #[arg(long, global = true, value_name = "DIR", env = "REBUT_DATA", help_heading = "Global")]
    pub data: Option<PathBuf>,
    /// Use this configuration file instead of the project's rebut.toml
    #[arg(long, global = true, value_name = "FILE", env = "REBUT_CONFIG", help_heading = "Global")]
    pub config: Option<PathBuf>,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Global")]
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
    /// List debates, newest first
    Ls(LsArgs),
    /// Show a debate's result
    Show(ShowArgs),
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
    /// Choose after a contested debate
    Answer(AnswerArgs),
    /// Add a note that the next round hears
    Note(NoteArgs),
    /// Write a debate as Markdown, JSON, YAML, decision record or journal
    Export(ExportArgs),
    /// Take in a journal file
    Import(ImportArgs),
    /// Remove debates
    Rm(RmArgs),
    /// Check journals, or take a text out of one
    #[command(subcommand)]
    Audit(AuditCommand),
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
    /// Print a JSON schema
    Schema(SchemaArgs),
    /// List roles, or show one
    Roles(RolesArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page
    Man,
}

/// A question and how to debate it.
#[derive(Args, Debug, Clone, Default, PartialEq)]
pub struct AskArgs {
    /// The question
    #[arg(value_name = "QUESTION")]
    pub question: Option<String>,
    /// An option, `A=Label` or `A=Label -- description`; repeat for each. Without any, options are drafted
    #[arg(short = 'O', long = "option", value_name = "ID=LABEL")]
    pub options: Vec<String>,
    /// What the judges should know: a file, a directory or `-`; repeat for more
    #[arg(short, long, value_name = "PATH")]
    pub context: Vec<PathBuf>,
    /// Read question, options and context from a `debate_context` YAML file
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Ask further about an earlier debate: its options, and what was known and said there, become yours
    #[arg(long, value_name = "ID", conflicts_with = "from")]
    pub follow: Option<String>,
    /// The question's id, for file names and results
    #[arg(long, value_name = "ID")]
    pub question_id: Option<String>,
    /// Write each judge's words to DIR/sadd/debate-<question id>-<judge>.md
    #[arg(long, value_name = "DIR")]
    pub feature_dir: Option<PathBuf>,
    /// Consensus needs this share of the ballots
    #[arg(long, value_name = "SHARE")]
    pub threshold: Option<f64>,
    /// Rounds at most
    #[arg(long, value_name = "N")]
    pub rounds: Option<u32>,
    /// Seconds a judge has per turn
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// What shuffles are drawn from, for repeatable runs
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Who takes part
    #[command(flatten)]
    pub panel: PanelArgs,
    /// Print every byte that would be sent for the first round, and send nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print how many calls, tokens and dollars it will take, and send nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub estimate: bool,
    /// What it may use
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// How to print the result
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What a debate may use.
#[derive(Args, Debug, Clone, Default, PartialEq)]
pub struct BudgetArgs {
    /// US dollars at most, over all its runs; models without a known price are refused
    #[arg(long, value_name = "USD", help_heading = "Budget")]
    pub max_cost: Option<f64>,
    /// Tokens at most, input and output, over all its runs
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub max_tokens: Option<u64>,
    /// Calls at most, retries included, over all its runs
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub max_calls: Option<u64>,
    /// Time at most for this run, e.g. `90s`, `10m`, `1h30m`
    #[arg(long, value_name = "TIME", help_heading = "Budget")]
    pub max_time: Option<Span>,
    /// Let models of unknown price run under --max-cost; they count nothing
    #[arg(long, help_heading = "Budget")]
    pub allow_unknown_price: bool,
}

/// Who takes part.
#[derive(Args, Debug, Clone, Default, PartialEq)]
pub struct PanelArgs {
    /// A panel from rebut.toml, or `auto`
    #[arg(short, long, value_name = "NAME")]
    pub panel: Option<String>,
    /// The model for everybody, or for one judge: `openai:gpt-5`, `risk=script:replies.md`; repeat
    #[arg(short, long = "model", value_name = "[JUDGE=]MODEL")]
    pub models: Vec<String>,
    /// The judges' roles, e.g. `risk,value,security`
    #[arg(long, value_name = "ROLES", value_delimiter = ',')]
    pub judges: Vec<String>,
    /// Change a setting: `decide.require_change_documentation=false`; repeat
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// How to print the result.
#[derive(Args, Debug, Clone, Default, PartialEq)]
pub struct OutputArgs {
    /// Also write the result to FILE; the ending tells how: md, json, yaml, adr.md, ndjson; repeat
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, conflicts_with = "stream_json")]
    pub json: bool,
    /// Print each event as a line of JSON as it happens
    #[arg(long)]
    pub stream_json: bool,
    /// Exit with 0 also when contested, stopped or rejected
    #[arg(long)]
    pub exit_zero: bool,
}

/// A debate's id.
#[derive(Args, Debug, Clone)]
pub struct IdArg {
    /// The debate's id, or enough of its beginning
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Only a JSON flag.
#[derive(Args, Debug, Clone)]
pub struct JsonArg {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `ls`.
#[derive(Args, Debug)]
pub struct LsArgs {
    /// Only debates with this status: running, paused, completed, failed, cancelled
    #[arg(long)]
    pub status: Option<String>,
    /// At most so many; 0 is all
    #[arg(short = 'n', long, default_value_t = 20)]
    pub limit: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// Print everything that was said
    #[arg(long, conflicts_with = "json")]
    pub transcript: bool,
    /// Print every event as a line of JSON
    #[arg(long, conflicts_with_all = ["json", "transcript"])]
    pub events: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `watch`.
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// Start behind this event
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub after: u64,
    /// Print each event as a line of JSON
    #[arg(long)]
    pub stream_json: bool,
}

/// Arguments of `resume`.
#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// Which debate
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub id: Option<String>,
    /// Every debate that is open
    #[arg(long, conflicts_with = "id")]
    pub all: bool,
    /// What it may use from now on; what is left out stays as it was
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// How to print the result
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `replay`.
#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// The debate's id, or a journal file
    #[arg(value_name = "ID|FILE")]
    pub what: String,
}

/// Arguments of `fork`.
#[derive(Args, Debug)]
pub struct ForkArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// The first step to ask anew, e.g. "challenge 2"; `end` keeps every turn
    #[arg(long, value_name = "STEP")]
    pub at: String,
    /// Consensus needs this share of the ballots
    #[arg(long, value_name = "SHARE")]
    pub threshold: Option<f64>,
    /// Rounds at most
    #[arg(long, value_name = "N")]
    pub rounds: Option<u32>,
    /// Another model for a judge: `risk=openai:gpt-5`; repeat
    #[arg(short, long = "model", value_name = "JUDGE=MODEL")]
    pub models: Vec<String>,
    /// What it may use
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// How to print the result
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `cancel`.
#[derive(Args, Debug)]
pub struct CancelArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// Why
    #[arg(long, default_value = "")]
    pub reason: String,
}

/// Arguments of `answer`.
#[derive(Args, Debug)]
pub struct AnswerArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// The option to go with
    pub option: String,
    /// Why
    #[arg(long, default_value = "")]
    pub reason: String,
}

/// Arguments of `note`.
#[derive(Args, Debug)]
pub struct NoteArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// What the judges should hear
    pub text: String,
}

/// Arguments of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// In which form; by default by the ending of FILE, else Markdown
    #[arg(short, long, value_name = "FORM")]
    pub format: Option<Form>,
    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The forms of an export.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A report for people.
    #[value(alias = "md")]
    Markdown,
    /// The result object.
    Json,
    /// `debate_result`.
    #[value(alias = "yml")]
    Yaml,
    /// A decision record.
    Adr,
    /// The whole journal, for `import` and audits.
    #[value(alias = "ndjson")]
    Journal,
}

/// Arguments of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The journal file
    pub file: PathBuf,
    /// Trust the key that sealed the file
    #[arg(long)]
    pub trust: bool,
}

/// Arguments of `rm`.
#[derive(Args, Debug)]
pub struct RmArgs {
    /// Which debates
    #[arg(value_name = "ID", required_unless_present = "older_than")]
    pub ids: Vec<String>,
    /// Every ended debate older than so many days
    #[arg(long, value_name = "DAYS", conflicts_with = "ids")]
    pub older_than: Option<u32>,
}

/// What can be audited.
#[derive(Subcommand, Debug)]
pub enum AuditCommand {
    /// Check a debate's journal, or a journal file
    Verify(VerifyArgs),
    /// Take an event's text out; the chain stays valid
    Redact(RedactArgs),
}

/// Arguments of `audit verify`.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// The debate's id, or a journal file
    #[arg(value_name = "ID|FILE", required_unless_present = "all")]
    pub what: Option<String>,
    /// Every debate kept here
    #[arg(long, conflicts_with = "what")]
    pub all: bool,
    /// The hash the last event must have, as noted earlier
    #[arg(long, value_name = "HASH")]
    pub head: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `audit redact`.
#[derive(Args, Debug)]
pub struct RedactArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// The event's number (`rebut show ID --events`)
    pub seq: u64,
    /// Why
    #[arg(long)]
    pub reason: String,
}

/// Arguments of `triage`.
#[derive(Args, Debug)]
pub struct TriageArgs {
    /// The question
    pub question: String,
    /// An option; repeat for each
    #[arg(short = 'O', long = "option", value_name = "ID=LABEL")]
    pub options: Vec<String>,
    /// What there is to know
    #[arg(short, long, value_name = "PATH")]
    pub context: Vec<PathBuf>,
    /// Ask this model too; its word outranks the rules
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,
    /// What that model may use
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `demo`.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// As fast as possible
    #[arg(long)]
    pub fast: bool,
    /// How to print the result
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// Replace a rebut.toml that is there
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Ask each model of the panel and each signed-in agent program something small, for real
    #[arg(long)]
    pub deep: bool,
    /// Print the commands that would fix what is missing; nothing is run
    #[arg(long)]
    pub fix: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `models`.
#[derive(Args, Debug)]
pub struct ModelsArgs {
    /// Only this provider; `cli` for agent programs
    pub provider: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What can be done with the configuration.
#[derive(Subcommand, Debug)]
pub enum ConfigCommand {
    /// Print the configuration as it is used, all files joined
    Show(JsonArg),
    /// Check a file, or the files in use
    Validate {
        /// The file
        file: Option<PathBuf>,
    },
    /// Print where the files are
    Path,
}

/// Arguments of `schema`.
#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// Of what
    pub what: SchemaOf,
}

/// What has a schema.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaOf {
    /// `rebut.toml`.
    Config,
    /// Events on every stream.
    Event,
    /// The result object.
    Result,
    /// What agents reply.
    Reply,
}

/// Arguments of `roles`.
#[derive(Args, Debug)]
pub struct RolesArgs {
    /// Show this one
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// For which shell
    pub shell: clap_complete::Shell,
}
