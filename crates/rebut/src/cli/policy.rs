//! What can be typed about what judges say of reviewers.

use super::BudgetArgs;
use clap::{Args, Subcommand};

/// What can be done with what judges say of reviewers.
#[derive(Subcommand, Debug)]
pub enum PolicyCommand {
    /// Show what judges said of each role's arguments
    Insights(InsightsArgs),
    /// Have better words proposed for a role: written to reviewers/prompts/ROLE.txt, for you to
    /// read
    Propose(Box<ProposeArgs>),
}

/// Arguments of `policy insights`.
#[derive(Args, Debug)]
pub struct InsightsArgs {
    /// Reviews of the last so many days
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub days: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `policy propose`.
#[derive(Args, Debug)]
pub struct ProposeArgs {
    /// The role whose text is worded anew
    pub role: String,
    /// Who words it; by default the first model found here
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Reviews of the last so many days
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub days: u32,
    /// Print every byte that would be sent, and send and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print how many calls, tokens and dollars it will take, and send and write nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub estimate: bool,
    /// What it may use
    #[command(flatten)]
    pub budget: BudgetArgs,
}
