//! What can be typed about measuring.

use super::{BudgetArgs, PanelArgs};
use crate::commands::bench_arms;
use clap::{Args, Subcommand, builder::PossibleValuesParser};
use std::path::PathBuf;

/// What can be measured.
#[derive(Subcommand, Debug)]
pub enum BenchCommand {
    /// Measure votes, stop rules and learned weights on recorded answers; no model is asked
    Recorded(RecordedArgs),
    /// Problems of a HumanEval file through arms, scored by their tests in the sandbox
    #[command(name = "human_eval", alias = "human-eval")]
    HumanEval(Box<SuiteArgs>),
    /// Problems of an MBPP file
    Mbpp(Box<SuiteArgs>),
    /// Problems of your own
    Custom(Box<SuiteArgs>),
}

/// Arguments of `bench recorded`.
#[derive(Args, Debug)]
pub struct RecordedArgs {
    /// Debates as JSON lines, or panels as a table; `.gz` is unpacked
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench human_eval`, `mbpp` and `custom`.
#[derive(Args, Debug)]
pub struct SuiteArgs {
    /// The problems, one JSON object a line; `.gz` is unpacked
    #[arg(value_name = "DATA")]
    pub problems: PathBuf,
    /// Who writes the programs; repeat, or separate by commas
    #[arg(long = "arm", value_name = "ARM", required = true, value_delimiter = ',', value_parser = arms())]
    pub arms: Vec<String>,
    /// Only so many problems, from the first on
    #[arg(long, value_name = "N")]
    pub first: Option<usize>,
    /// Only these problems
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Problems at the same time; one by one where something is limited
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: u16,
    /// Keep results in DIR/results.ndjson: started again, only what is missing is run
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Programs of a poll; by default 5 of one agent, or one of each agent of a panel
    #[arg(long, value_name = "N")]
    pub samples: Option<u32>,
    /// Seconds the tests of one program have
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub seconds: u32,
    /// What shuffles are drawn from, for repeatable runs
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Who writes
    #[command(flatten)]
    pub panel: PanelArgs,
    /// What all of it may use together
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// Also write the report to FILE as Markdown
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn arms() -> PossibleValuesParser {
    bench_arms().collect::<Vec<_>>().into()
}
