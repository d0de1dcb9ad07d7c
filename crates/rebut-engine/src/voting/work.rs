//! How much work a count is, known before it begins: what is asked for by strangers is counted only
//! up to a limit. Pure.

use super::{Method, Rules, TieRule};

/// The most work of one count on the command line: minutes, not days.
pub const MOST_WORK: u64 = 100_000_000_000;

/// How the work of a method grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grows {
    Ballots,
    /// Each ballot is read once for each candidate that leaves.
    Rounds,
    /// Each pair of candidates is compared on each ballot, then by way of each other candidate.
    Pairs,
}

/// The work of a count, and how it was reckoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    pub steps: u64,
    pub formula: &'static str,
    candidates: usize,
    ballots: usize,
}

impl Work {
    /// What is wrong if it is more than `most`.
    pub fn within(self, most: u64) -> Result<(), String> {
        if self.steps <= most {
            return Ok(());
        }
        let Self {
            steps,
            formula,
            candidates,
            ballots,
        } = self;
        Err(format!(
            "{candidates} candidates and {ballots} ballots are {formula} = {steps} steps of work, \
             more than {most}"
        ))
    }
}

impl Method {
    /// How much work it is to count so many ballots on so many candidates.
    pub fn work(&self, candidates: usize, ballots: usize, rules: &Rules) -> Work {
        let (c, b) = (candidates as u64, ballots as u64);
        let has_pairs =
            self.grows == Grows::Pairs || rules.tie_break.0.contains(&TieRule::Condorcet);
        let (steps, formula) = match self.grows {
            _ if has_pairs => (
                c.saturating_mul(c).saturating_mul(b.saturating_add(c)),
                "candidates² × (ballots + candidates)",
            ),
            Grows::Rounds => (
                c.saturating_mul(c).saturating_mul(b),
                "candidates² × ballots",
            ),
            _ => (c.saturating_mul(b), "candidates × ballots"),
        };
        Work {
            steps,
            formula,
            candidates,
            ballots,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voting::method;

    #[test]
    fn work_grows_as_the_method_does() {
        let rows = [
            ("plurality", "", 1000, 10, 10_000),
            ("instant-runoff", "", 1000, 10, 10_000_000),
            ("schulze", "", 1000, 10, 1_010_000_000),
            ("ranked-pairs", "", 3, 0, 27),
            ("borda", "condorcet", 1000, 10, 1_010_000_000),
            ("borda", "order", 1000, 10, 10_000),
            ("condorcet", "", usize::MAX, 2, u64::MAX),
        ];
        for (name, tie_break, candidates, ballots, steps) in rows {
            let tie_break = if tie_break.is_empty() {
                Default::default()
            } else {
                tie_break.parse().expect("a rule")
            };
            let rules = Rules {
                tie_break,
                ..Rules::default()
            };
            let work = method(name)
                .expect("a method")
                .work(candidates, ballots, &rules);
            assert_eq!(work.steps, steps, "{name}");
            assert_eq!(work.within(steps), Ok(()));
            assert!(
                work.within(steps - 1)
                    .is_err_and(|problem| problem.contains(work.formula))
            );
        }
    }
}
