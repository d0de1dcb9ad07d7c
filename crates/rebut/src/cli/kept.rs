//! What can be typed about debates that are kept.

use super::{BudgetArgs, OutputArgs};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A debate's id.
#[derive(Args, Debug, Clone)]
pub struct IdArg {
    /// The debate's id, or enough of its beginning
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Arguments of `ls`.
#[derive(Args, Debug)]
pub struct LsArgs {
    /// Only debates with this status (running, waiting, interrupted, paused, completed, failed,
    /// cancelled), or that ended so (consensus, contested, stopped …)
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
    /// Print how the re-run ended as JSON, instead of its transcript
    #[arg(long)]
    pub json: bool,
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
    /// Who hears whom in the rounds that are asked anew
    #[arg(long, value_name = "KIND", value_parser = super::asking::topologies())]
    pub topology: Option<String>,
    /// Another model, for everybody or for a judge: `risk=openai:gpt-5`; repeat
    #[arg(short, long = "model", value_name = "[JUDGE=]MODEL")]
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

/// Arguments of `approve`.
#[derive(Args, Debug)]
pub struct GateArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// Why
    #[arg(long, default_value = "")]
    pub reason: String,
}

/// Arguments of `reject`. Whoever reads the journal later finds why.
#[derive(Args, Debug)]
pub struct RejectArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// Why
    #[arg(long, value_parser = a_reason)]
    pub reason: String,
}

impl From<RejectArgs> for GateArgs {
    fn from(RejectArgs { id, reason }: RejectArgs) -> Self {
        Self { id, reason }
    }
}

fn a_reason(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("a refusal says why".to_owned())
    } else {
        Ok(text.to_owned())
    }
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

/// Arguments of `turns`.
#[derive(Args, Debug)]
pub struct TurnsArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// The turn to answer, e.g. `recommend/effort`; without one, all that wait are listed
    #[arg(value_name = "TURN")]
    pub turn: Option<String>,
    /// The answer, JSON of the form that the turn asks for: a file, or `-`. Without it you are
    /// asked at the terminal
    #[arg(long, value_name = "FILE", requires = "turn")]
    pub reply: Option<PathBuf>,
    /// Print JSON: what is asked, and the form of the reply
    #[arg(long, conflicts_with = "reply")]
    pub json: bool,
}

/// Arguments of `mark`.
#[derive(Args, Debug)]
pub struct MarkArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// The option that turned out right
    pub option: String,
    /// How it is known
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
    #[arg(short, long, value_name = "FILE", conflicts_with = "file")]
    pub output: Option<PathBuf>,
    /// The same, without the flag
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
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
    /// A report for people, in one file for a browser.
    Html,
    /// The drawing alone: who held what in which round, or scores before and after.
    Svg,
    /// The whole journal, for `import` and audits.
    #[value(alias = "ndjson")]
    Journal,
    /// A review's findings for code hosts and editors.
    Sarif,
    /// A review as a comment on a change.
    Comment,
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
    /// Remove them without asking
    #[arg(long)]
    pub yes: bool,
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
