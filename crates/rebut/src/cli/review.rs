//! What can be typed about a review.

use super::RunArgs;
use clap::{Args, ValueEnum};
use rebut_engine::formats::review::Severity;
use std::path::PathBuf;

/// Arguments of `review`.
#[derive(Args, Debug, Clone, Default)]
pub struct ReviewArgs {
    /// The text to review; `-` is standard input, also read when something is piped in
    #[arg(value_name = "FILE", conflicts_with = "diff")]
    pub file: Option<PathBuf>,
    /// Review what changed in this git repository since REF
    #[arg(long, value_name = "REF", num_args = 0..=1, default_missing_value = "HEAD")]
    pub diff: Option<String>,
    /// The reviewers' roles, e.g. `security,testing`; any role file can review
    #[arg(
        long,
        value_name = "ROLES",
        value_delimiter = ',',
        conflicts_with = "judges"
    )]
    pub reviewers: Vec<String>,
    /// Let reviewers who contradict each other debate it before a judge; it is logged, and changes
    /// nothing
    #[arg(long)]
    pub debate: bool,
    /// Exit with 6 when a merged operation is at least so severe
    #[arg(long, value_name = "SEVERITY")]
    pub fail_on: Option<Level>,
    /// Only merge; do not revise the text
    #[arg(long)]
    pub no_edit: bool,
    /// Write NAME.merged.md, NAME.diff and audit.ndjson into DIR
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    /// How it is run
    #[command(flatten)]
    pub run: RunArgs,
}

/// A severity that can be typed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nice to have.
    Low,
    /// Should be done.
    Medium,
    /// Must be done.
    High,
    /// Harm is done otherwise.
    Critical,
}

impl From<Level> for Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Low => Self::Low,
            Level::Medium => Self::Medium,
            Level::High => Self::High,
            Level::Critical => Self::Critical,
        }
    }
}
