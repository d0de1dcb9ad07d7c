//! What can be typed about an idea to evaluate.

use super::RunArgs;
use crate::idea;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `evaluate`.
#[derive(Args, Debug, Clone, Default, PartialEq)]
pub struct EvaluateArgs {
    /// The idea: a file, a folder or `-`
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// What to call it; by default its first heading, or the file's name
    #[arg(long, value_name = "TITLE")]
    pub title: Option<String>,
    /// Scores it has already, by category: a JSON, TOML or YAML file. By default `scores.*` in the
    /// idea's folder
    #[arg(long, value_name = "FILE")]
    pub scores: Option<PathBuf>,
    /// What a red team found: a JSON, TOML or YAML file. By default `challenges.*` in the idea's
    /// folder
    #[arg(long, value_name = "FILE")]
    pub challenges: Option<PathBuf>,
    /// What to debate, instead of the topics of the configuration: a JSON, TOML or YAML file
    #[arg(long, value_name = "FILE")]
    pub topics: Option<PathBuf>,
    /// Write `debate.md` and `debate.json` into DIR; by default `analysis` beside or in the idea
    #[arg(long, value_name = "DIR")]
    pub analysis: Option<PathBuf>,
    /// Write no files
    #[arg(long, conflicts_with = "analysis")]
    pub no_files: bool,
    /// Exit with 6 when the total score after the debate is below SCORE
    #[arg(long, value_name = "SCORE")]
    pub fail_on: Option<f64>,
    /// How it is run
    #[command(flatten)]
    pub run: RunArgs,
}

impl From<&EvaluateArgs> for idea::Named {
    fn from(args: &EvaluateArgs) -> Self {
        Self {
            path: args.path.clone(),
            title: args.title.clone(),
            scores: args.scores.clone(),
            challenges: args.challenges.clone(),
            topics: args.topics.clone(),
            analysis: args.analysis.clone(),
            no_files: args.no_files,
        }
    }
}
