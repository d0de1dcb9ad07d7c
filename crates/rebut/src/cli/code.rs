//! What can be typed about code that a debate wrote.

use super::IdArg;
use clap::Args;

/// Arguments of `code`.
#[derive(Args, Debug)]
pub struct CodeArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// The version with this number, instead of the one that won
    #[arg(long, value_name = "N", conflicts_with_all = ["candidate", "diff"])]
    pub version: Option<u32>,
    /// The last version of this candidate, by its author's name or as C1, C2, …, instead of the one
    /// that won
    #[arg(long, value_name = "NAME", conflicts_with = "diff")]
    pub candidate: Option<String>,
    /// Print what changed between two versions, e.g. 1..3
    #[arg(long, value_name = "A..B", conflicts_with_all = ["apply", "json"])]
    pub diff: Option<String>,
    /// List every version: whose it is, when it was written, how many tests it passed, what it
    /// changed
    #[arg(long, conflicts_with_all = ["version", "candidate", "diff", "apply", "branch", "blame"])]
    pub history: bool,
    /// With the list, the lines that each version changed
    #[arg(long, requires = "history", conflicts_with = "json")]
    pub patch: bool,
    /// Print each line with the version and the agent that wrote it
    #[arg(long, conflicts_with_all = ["diff", "apply", "branch"])]
    pub blame: bool,
    /// Write the code to a file; without FILE to solution.py, or as the language has it. A file
    /// that holds anything else stays
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "")]
    pub apply: Option<String>,
    /// Write every version as a commit to the branch debate/<id> of the repository here, the winner
    /// as FILE; your checkout is not touched
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["version", "candidate", "diff", "apply", "json"])]
    pub branch: Option<String>,
    /// Overwrite the file whatever it holds
    #[arg(long, requires = "apply")]
    pub force: bool,
    /// Print JSON: the version with its tests and measures, and the list of all versions
    #[arg(long, conflicts_with = "apply")]
    pub json: bool,
}
