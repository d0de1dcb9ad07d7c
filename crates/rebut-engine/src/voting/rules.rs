//! What a count is told besides the ballots: the share that is needed, whether weights count, and
//! how ties are broken.

use super::{Threshold, borda, counting::Counting};
use sha2::{Digest, Sha256};
use std::{cmp::Reverse, fmt, str::FromStr};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// The share of the votes a winner needs, compared exactly, in methods that count shares:
    /// majority, plurality, weighted, approval.
    pub threshold: Option<Threshold>,
    /// Whether weights count in every method; otherwise only in `weighted`.
    pub weigh: bool,
    /// How ties are broken. By nothing, unless a rule is named.
    pub tie_break: TieBreak,
}

/// Rules that are tried in turn on those who are tied. Empty, the default, leaves ties as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TieBreak(pub Vec<TieRule>);

/// One way to break a tie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieRule {
    Order,
    /// Whoever has the most Borda points.
    Borda,
    /// Whoever beats every other tied candidate.
    Condorcet,
    /// Whoever has the most first choices.
    MostFirst,
    /// A lot drawn by this number: the same number and names, the same lot.
    Seed(u64),
}

/// The names of the rules, with what each does.
pub const TIE_RULES: &[(&str, &str)] = &[
    ("order", "whoever is listed first among the candidates"),
    ("borda", "whoever of the tied has the most Borda points"),
    ("condorcet", "whoever of the tied beats every other of them"),
    (
        "most-first",
        "whoever of the tied has the most first choices",
    ),
    ("seed:N", "a lot drawn by the number N"),
];

impl TieRule {
    /// Those of the tied that this rule prefers; all of them when it cannot tell them apart.
    pub(super) fn narrow(self, counting: &Counting<'_>, tied: &[usize]) -> Vec<usize> {
        match self {
            Self::Order => tied.iter().min().into_iter().copied().collect(),
            Self::Borda => best(tied, &borda::points(counting)),
            Self::MostFirst => best(tied, &counting.firsts()),
            Self::Condorcet => {
                let matrix = counting.matrix();
                let beats_all = |a: &&usize| tied.iter().all(|&b| **a == b || matrix.beats(**a, b));
                tied.iter()
                    .find(beats_all)
                    .map_or_else(|| tied.to_vec(), |winner| vec![*winner])
            }
            Self::Seed(seed) => {
                let names = counting.profile.candidates();
                let lot = |at: &&usize| {
                    Reverse(Sha256::digest(format!("{seed}\n{}", names[**at])).to_vec())
                };
                tied.iter().max_by_key(lot).into_iter().copied().collect()
            }
        }
    }
}

fn best<T: Ord>(tied: &[usize], scores: &[T]) -> Vec<usize> {
    let most = tied.iter().map(|&at| &scores[at]).max();
    tied.iter()
        .copied()
        .filter(|&at| Some(&scores[at]) == most)
        .collect()
}

impl FromStr for TieBreak {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = |word: &str| match word.trim() {
            "order" => Ok(TieRule::Order),
            "borda" => Ok(TieRule::Borda),
            "condorcet" => Ok(TieRule::Condorcet),
            "most-first" => Ok(TieRule::MostFirst),
            other => match other
                .strip_prefix("seed:")
                .and_then(|seed| seed.parse().ok())
            {
                Some(seed) => Ok(TieRule::Seed(seed)),
                None => Err(format!(
                    "unknown tie-break `{other}`: use order, borda, condorcet, most-first or \
                     seed:N, or several with commas"
                )),
            },
        };
        if text == "none" {
            Ok(Self::default())
        } else {
            text.split(',')
                .map(rule)
                .collect::<Result<_, _>>()
                .map(Self)
        }
    }
}

impl fmt::Display for TieRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order => f.write_str("order"),
            Self::Borda => f.write_str("borda"),
            Self::Condorcet => f.write_str("condorcet"),
            Self::MostFirst => f.write_str("most-first"),
            Self::Seed(seed) => write!(f, "seed:{seed}"),
        }
    }
}

impl fmt::Display for TieBreak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        f.write_str(
            &self
                .0
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(","),
        )
    }
}
