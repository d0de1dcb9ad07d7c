//! What can be typed about counting ballots.

use super::IdArg;
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser},
};
use rebut_engine::voting::{METHODS, TieBreak};
use std::path::PathBuf;

/// Arguments of `vote`.
#[derive(Args, Debug)]
pub struct VoteArgs {
    /// The ballots, JSON or CSV; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How to count; `auto` takes unanimous below 3 voters, weighted below 6, else borda
    #[arg(short, long, default_value = "auto", hide_possible_values = true, value_parser = methods())]
    pub method: String,
    /// Count by every method
    #[arg(long, conflicts_with = "method")]
    pub all: bool,
    /// Let weights count in every method, not only in `weighted`
    #[arg(long)]
    pub weigh: bool,
    /// The share of the votes a winner needs, compared exactly (majority, plurality, weighted,
    /// approval)
    #[arg(long, value_name = "SHARE")]
    pub threshold: Option<f64>,
    /// How to break ties: order, borda, condorcet, most-first, seed:N; several with commas
    #[arg(long, value_name = "RULE", default_value_t)]
    pub tie_break: TieBreak,
    /// Who can be voted for, where the file does not say: `A,B,C`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub candidates: Vec<String>,
    /// Take what can be taken of ballots that are wrong, and say what was done
    #[arg(long)]
    pub lenient: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `retally`.
#[derive(Args, Debug)]
pub struct RetallyArgs {
    /// Which debate
    #[command(flatten)]
    pub id: IdArg,
    /// Count by this method; without it, by the debate's own rule
    #[arg(short, long, hide_possible_values = true, value_parser = methods())]
    pub method: Option<String>,
    /// The share a winner needs; 0 for none. Another method needs none unless this is given
    #[arg(long, value_name = "SHARE")]
    pub threshold: Option<f64>,
    /// Leave these out, as if they had never been on the panel
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub without: Vec<String>,
    /// Count this round instead of the last
    #[arg(long, value_name = "N")]
    pub round: Option<u32>,
    /// Let weights count in every method, not only in `weighted`
    #[arg(long)]
    pub weigh: bool,
    /// How to break ties: order, borda, condorcet, most-first, seed:N; several with commas
    #[arg(long, value_name = "RULE", default_value_t)]
    pub tie_break: TieBreak,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn methods() -> PossibleValuesParser {
    let auto = PossibleValue::new("auto").help("by the number of voters");
    PossibleValuesParser::new(
        std::iter::once(auto).chain(
            METHODS
                .iter()
                .map(|method| PossibleValue::new(method.name).help(method.about)),
        ),
    )
}
