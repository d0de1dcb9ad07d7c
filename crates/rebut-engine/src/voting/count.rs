//! What a count gives: winners before any tie-break, the winner, and all of its working.

use super::exact::Figure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of counting ballots by one method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// Which method counted.
    pub method: String,
    /// Everybody who is tied for the win, before any tie-break, by name. Empty when nobody wins.
    pub winners: Vec<String>,
    /// The one winner: the only one, or the one a named tie-break chose.
    pub winner: Option<String>,
    /// The rule that broke a tie; nothing when no tie was broken.
    pub tie_break: Option<String>,
    /// How it ended.
    pub ending: Ended,
    /// What each candidate got: whole numbers, or exact decimals or fractions as text.
    pub scores: BTreeMap<String, Figure>,
    /// What the scores are, such as "first choices".
    pub scores_are: String,
    /// All votes, where a share of them is counted.
    pub total: Option<Figure>,
    /// The leader's share of them, to six decimals.
    pub share: Option<f64>,
    /// For each candidate, the votes that put it above each other one. Empty where the method does
    /// not compare pairs.
    pub pairwise: BTreeMap<String, BTreeMap<String, Figure>>,
    /// What the pairwise numbers are, such as "votes by weight".
    #[serde(default)]
    pub pairwise_are: String,
    /// Whether the method's own rule gave nothing and another one decided: Borda for `condorcet`,
    /// ranks for `score`.
    pub fallback_used: bool,
    /// Who stands on a majority cycle, the highest there is, by name. Empty without one; a pairwise
    /// tie is none.
    pub cycle: Vec<String>,
    /// Rounds of elimination, in methods that have them.
    pub rounds: Vec<Elimination>,
    /// How many ballots counted.
    pub voters: usize,
    /// Whose ballot says nothing to this method, by name.
    pub abstained: Vec<String>,
    /// The working, step by step, in plain words.
    pub working: Vec<String>,
}

/// How a count ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// There is one winner.
    Decided,
    /// Several are tied, and no rule was named that separates them.
    Tie,
    /// Nobody fulfils the method's rule, such as more than half.
    None,
    /// No ballot counts.
    NoQuorum,
}

impl Ended {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Decided => "decided",
            Self::Tie => "tie",
            Self::None => "none",
            Self::NoQuorum => "no_quorum",
        }
    }
}

/// One round of elimination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Elimination {
    /// What those who were left had.
    pub scores: BTreeMap<String, Figure>,
    /// Who went, by name.
    pub out: Vec<String>,
}
