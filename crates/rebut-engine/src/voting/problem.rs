//! What is wrong with ballots, in words that say where and what to do. Pure.

use crate::suggest::suggest;
use std::fmt;

/// Something wrong with the candidates or a ballot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which ballot, from 1; none for the candidates.
    pub ballot: Option<usize>,
    pub voter: Option<String>,
    pub what: String,
    /// What is done about it where problems are mended.
    pub mended: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ballot, &self.voter) {
            (Some(number), Some(voter)) => write!(f, "ballot {number} ({voter}): {}", self.what),
            (Some(number), None) => write!(f, "ballot {number}: {}", self.what),
            (None, _) => f.write_str(&self.what),
        }
    }
}

/// More than these are counted, not kept.
const KEPT: usize = 1000;
/// A suggestion looks at every candidate; a file full of strange names must not make that slow.
const SUGGESTED: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Problems {
    kept: Vec<Problem>,
    more: usize,
}

impl Problems {
    pub fn add(
        &mut self,
        ballot: Option<usize>,
        voter: Option<&str>,
        what: impl Into<String>,
        mended: impl Into<String>,
    ) {
        if self.kept.len() == KEPT {
            self.more += 1;
            return;
        }
        let voter = voter
            .filter(|name| !name.trim().is_empty())
            .map(str::to_owned);
        self.kept.push(Problem {
            ballot,
            voter,
            what: what.into(),
            mended: mended.into(),
        });
    }

    /// A name that is no candidate's.
    pub fn unknown(&mut self, ballot: usize, voter: &str, name: &str, candidates: &[String]) {
        let nearest = if self.kept.len() < SUGGESTED {
            suggest(name, candidates.iter().map(String::as_str))
        } else {
            None
        };
        let what = match nearest {
            _ if name.trim().is_empty() => "a candidate without a name".to_owned(),
            Some(meant) => format!("unknown candidate `{name}`; did you mean `{meant}`?"),
            None => format!("unknown candidate `{name}`"),
        };
        self.add(Some(ballot), Some(voter), what, "left out");
    }

    pub fn all(mut self) -> Vec<Problem> {
        if self.more > 0 {
            let what = format!("and {} more problems", self.more);
            self.kept.push(Problem {
                ballot: None,
                voter: None,
                what,
                mended: "mended alike".to_owned(),
            });
        }
        self.kept
    }
}
