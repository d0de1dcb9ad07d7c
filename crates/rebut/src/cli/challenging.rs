//! What can be typed about a challenge.

use super::RunArgs;
use clap::Args;
use std::path::PathBuf;

/// A topic and how to challenge a position on it.
#[derive(Args, Debug, Clone, Default)]
pub struct ChallengeArgs {
    /// The topic
    #[arg(value_name = "TOPIC")]
    pub topic: String,
    /// What everybody should know: a file, a directory or `-`; repeat for more
    #[arg(short, long, value_name = "PATH")]
    pub context: Vec<PathBuf>,
    /// Rounds at most
    #[arg(long, value_name = "N")]
    pub rounds: Option<u32>,
    /// Seconds an agent has per turn
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// Keep the debate's files in DIR/NNN-topic [default: debates, beside rebut.toml]
    #[arg(long, value_name = "DIR")]
    pub debates: Option<PathBuf>,
    /// Keep no files; the journal is kept all the same
    #[arg(long, conflicts_with = "debates")]
    pub no_workspace: bool,
    /// How it is run
    #[command(flatten)]
    pub run: RunArgs,
}
