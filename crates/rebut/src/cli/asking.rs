//! What can be typed about a question: how to debate it, who takes part, what it may use.

use crate::{budget::Span, config::BudgetSection, panel::PanelRequest};
use clap::{Args, ValueEnum, builder::PossibleValuesParser};
use std::path::PathBuf;

/// A question and how to debate it.
#[derive(Args, Debug, Clone, Default, PartialEq)]
pub struct AskArgs {
    /// The question
    #[arg(value_name = "QUESTION")]
    pub question: Option<String>,
    /// An option, `A=Label` or `A=Label -- description`; repeat for each. Without any, options are
    /// drafted
    #[arg(short = 'O', long = "option", value_name = "ID=LABEL")]
    pub options: Vec<String>,
    /// What the judges should know: a file, a directory or `-`; repeat for more
    #[arg(short, long, value_name = "PATH")]
    pub context: Vec<PathBuf>,
    /// Read question, options and context from a `debate_context` YAML file
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Ask further about an earlier debate: its options, and what was known and said there, become
    /// yours
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
    /// Who hears whom in later rounds
    #[arg(long, value_name = "KIND", value_parser = topologies())]
    pub topology: Option<String>,
    /// Seconds a judge has per turn
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// What votes count: `learned` from debates that were marked, or `equal`
    #[arg(long, value_name = "WHICH")]
    pub weights: Option<Weighing>,
    /// Of a poll: how many answers; the judges are asked in turn
    #[arg(long, value_name = "N", help_heading = "Control arms")]
    pub samples: Option<u32>,
    /// Of a poll: ask so many at a time, and stop when the rest cannot change who wins
    #[arg(long, value_name = "N", help_heading = "Control arms")]
    pub batch: Option<u32>,
    /// Of decide: run this arm afterwards on the same panel, with as many calls, and compare
    #[arg(long, value_name = "ARM", help_heading = "Control arms")]
    pub baseline: Option<Arm>,
    /// How it is run
    #[command(flatten)]
    pub run: RunArgs,
}

/// How a debate of any format is run.
#[derive(Args, Debug, Clone, Default, PartialEq)]
pub struct RunArgs {
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
    /// Have a person approve the result before it counts, within e.g. `30m` (`rebut approve ID`);
    /// nobody in time is a no
    #[arg(long, value_name = "TIME")]
    pub approve_within: Option<Span>,
    /// What it may use
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// How to print the result
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What votes count.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighing {
    /// As much as marked debates say.
    Learned,
    /// The same.
    Equal,
}

/// The kinds of topologies, as the engine's table has them.
pub(super) fn topologies() -> PossibleValuesParser {
    rebut_engine::topology::TOPOLOGIES
        .iter()
        .map(|kind| kind.name())
        .collect::<Vec<_>>()
        .into()
}

/// What a debate can be compared with.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// One answer.
    Single,
    /// Independent answers, counted.
    Poll,
    /// Answers that hear each other, counted.
    Society,
}

impl Arm {
    /// The format's name.
    pub fn format(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Poll => "poll",
            Self::Society => "society",
        }
    }
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

impl From<&BudgetArgs> for BudgetSection {
    fn from(args: &BudgetArgs) -> Self {
        Self {
            max_cost: args.max_cost,
            max_tokens: args.max_tokens,
            max_calls: args.max_calls,
            max_time: args.max_time,
            allow_unknown_price: Some(args.allow_unknown_price),
        }
    }
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

impl From<&PanelArgs> for PanelRequest {
    fn from(args: &PanelArgs) -> Self {
        Self {
            panel: args.panel.clone(),
            models: args.models.clone(),
            judges: args.judges.clone(),
        }
    }
}

/// How to print the result.
#[derive(Args, Debug, Clone, Default, PartialEq)]
pub struct OutputArgs {
    /// Also write the result to FILE; the ending tells how: html, md, json, yaml, adr.md, svg,
    /// ndjson, sarif, comment.md; repeat
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, conflicts_with = "stream_json")]
    pub json: bool,
    /// Print each event as a line of JSON as it happens
    #[arg(long)]
    pub stream_json: bool,
    /// Exit with 0 also when contested, stopped, rejected, or with findings
    #[arg(long)]
    pub exit_zero: bool,
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

/// Arguments of `topology`.
#[derive(Args, Debug)]
pub struct TopologyArgs {
    /// A debate: who heard whom in it. Without one, a panel is shown as it would be
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// The kind for the panel; by default the one of your configuration
    #[arg(long, value_parser = topologies(), conflicts_with = "id")]
    pub kind: Option<String>,
    /// The panel's judges, e.g. `risk,value,architect`
    #[arg(
        long,
        value_name = "ROLES",
        value_delimiter = ',',
        conflicts_with = "id"
    )]
    pub judges: Vec<String>,
    /// Print a Mermaid drawing instead of text
    #[arg(long)]
    pub mermaid: bool,
}
