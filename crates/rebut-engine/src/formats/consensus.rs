//! Counting votes against a threshold: a tie has no leader, and whoever is missing counts for
//! nobody. Pure.

use crate::{event::Tally, voting::Threshold};
use std::{collections::BTreeMap, sync::Arc};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    Plurality,
    /// To lead alone, with this share.
    Share(Threshold),
}

impl Bar {
    /// The bar a setting means: 0 is plurality.
    pub fn new(threshold: f64) -> Result<Self, String> {
        if threshold == 0.0 {
            return Ok(Self::Plurality);
        }
        Threshold::new(threshold)
            .map(Self::Share)
            .map_err(|_| format!("threshold must be from 0 (plurality) to 1, not {threshold}"))
    }

    /// The bar a recorded count was held to.
    pub fn of(tally: &Tally) -> Self {
        Threshold::new(tally.threshold).map_or(Self::Plurality, Self::Share)
    }

    /// Who leads alone and has the share that is needed, of `total` votes.
    pub fn winner<'a>(self, votes: &BTreeMap<&'a str, u128>, total: u128) -> Option<&'a str> {
        let most = votes.values().copied().max().filter(|most| *most > 0)?;
        let mut leaders = votes.iter().filter(|(_, votes)| **votes == most);
        let leader = leaders
            .next()
            .filter(|_| leaders.next().is_none())
            .map(|(choice, _)| *choice)?;
        match self {
            Self::Share(threshold) if !threshold.reached(most, total) => None,
            _ => Some(leader),
        }
    }

    /// Counts ballots. Without ballots nobody wins.
    pub fn count(self, step: &str, ballots: &[(&Arc<str>, Ballot<'_>)]) -> Tally {
        match self {
            Self::Share(threshold) => tally(step, ballots, threshold),
            Self::Plurality => {
                let unanimous = Threshold::new(1.0).expect("one is in range");
                let counted = tally(step, ballots, unanimous);
                Tally {
                    threshold: 0.0,
                    reached: counted.leader.is_some(),
                    ..counted
                }
            }
        }
    }
}

/// What one judge contributes to a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ballot<'a> {
    For(&'a str),
    /// It took a position earlier and is missing now: counted for nobody, but not forgotten, or an
    /// absence could make a consensus.
    Missing,
}

/// Counts ballots; a tie has no leader. Shares are of everybody who ever took a position.
pub fn tally(step: &str, ballots: &[(&Arc<str>, Ballot<'_>)], threshold: Threshold) -> Tally {
    weighed_tally(step, ballots, threshold, |_| 1)
}

/// The same where votes count differently: `weight` says how much, in whole units, so that sums are
/// exact.
pub fn weighed_tally(
    step: &str,
    ballots: &[(&Arc<str>, Ballot<'_>)],
    threshold: Threshold,
    weight: impl Fn(&str) -> u128,
) -> Tally {
    let mut distribution: BTreeMap<String, Vec<Arc<str>>> = BTreeMap::new();
    let mut missing = Vec::new();
    for (agent, ballot) in ballots {
        match ballot {
            Ballot::For(option) => match distribution.get_mut(*option) {
                Some(voters) => voters.push(Arc::clone(agent)),
                None => drop(distribution.insert((*option).to_owned(), vec![Arc::clone(agent)])),
            },
            Ballot::Missing => missing.push(Arc::clone(agent)),
        }
    }
    let sum = |voters: &[Arc<str>]| voters.iter().map(|voter| weight(voter)).sum::<u128>();
    let all: u128 = ballots.iter().map(|(voter, _)| weight(voter)).sum();
    let most = distribution
        .values()
        .map(|voters| sum(voters))
        .max()
        .unwrap_or(0);
    // An option only voters without any weight stand for leads nothing.
    let mut leaders = distribution
        .iter()
        .filter(|(_, voters)| most > 0 && sum(voters) == most);
    let leader = leaders
        .next()
        .filter(|_| leaders.next().is_none())
        .map(|(option, _)| option.clone());
    Tally {
        step: step.to_owned(),
        reached: leader.is_some() && threshold.reached(most, all),
        share: if all == 0 {
            0.0
        } else {
            most as f64 / all as f64
        },
        threshold: threshold.value,
        distribution,
        missing,
        leader,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_and_silence_decide_nothing() {
        let threshold = Threshold::new(0.5).expect("in range");
        let [a, b, c] = ["a", "b", "c"].map(Arc::from);
        let tie = tally(
            "x",
            &[(&a, Ballot::For("A")), (&b, Ballot::For("B"))],
            threshold,
        );
        assert_eq!((tie.leader, tie.reached), (None, false));
        let silence = tally(
            "x",
            &[(&a, Ballot::Missing), (&b, Ballot::Missing)],
            threshold,
        );
        assert_eq!(
            (silence.leader, silence.reached, silence.share),
            (None, false, 0.0)
        );
        let nobody = tally("x", &[], threshold);
        assert_eq!((nobody.leader, nobody.reached), (None, false));
        let one = tally(
            "x",
            &[
                (&a, Ballot::For("A")),
                (&b, Ballot::Missing),
                (&c, Ballot::Missing),
            ],
            threshold,
        );
        assert_eq!(
            (one.leader.as_deref(), one.reached),
            (Some("A"), false),
            "an absence makes no consensus"
        );
    }

    #[test]
    fn weights_are_summed_exactly() {
        let voters: Vec<Arc<str>> = ["a", "b", "c"].map(Arc::from).to_vec();
        // Who stands for what, what each vote counts, the threshold; then leader, reached, share.
        type Row = (
            &'static [&'static str],
            [u128; 3],
            f64,
            Option<&'static str>,
            bool,
            f64,
        );
        let rows: [Row; 8] = [
            (
                &["A", "B", "B"],
                [1, 1, 1],
                0.67,
                Some("B"),
                true,
                2.0 / 3.0,
            ),
            (
                &["A", "B", "B"],
                [2010, 500, 490],
                0.67,
                Some("A"),
                true,
                0.67,
            ),
            (
                &["A", "B", "B"],
                [1980, 510, 510],
                0.67,
                Some("A"),
                false,
                0.66,
            ),
            // 0.1 + 0.2 is 0.3 here.
            (&["A", "B", "B"], [300, 100, 200], 0.5, None, false, 0.5),
            (
                &["A", "B", "-"],
                [1000, 0, 500],
                0.67,
                Some("A"),
                true,
                2.0 / 3.0,
            ),
            (&["A", "B", "-"], [0, 0, 1000], 0.1, None, false, 0.0),
            (&["A", "A", "A"], [0, 0, 0], 0.1, None, false, 0.0),
            (&["A", "A", "B"], [1000, 1000, 0], 1.0, Some("A"), true, 1.0),
        ];
        for (choices, weights, threshold, leader, reached, share) in rows {
            let ballots: Vec<_> = voters
                .iter()
                .zip(choices)
                .map(|(voter, choice)| {
                    (
                        voter,
                        if *choice == "-" {
                            Ballot::Missing
                        } else {
                            Ballot::For(choice)
                        },
                    )
                })
                .collect();
            let weight = |name: &str| {
                voters
                    .iter()
                    .zip(weights)
                    .find(|(voter, _)| ***voter == *name)
                    .map_or(0, |(_, weight)| weight)
            };
            let found = weighed_tally(
                "x",
                &ballots,
                Threshold::new(threshold).expect("in range"),
                weight,
            );
            assert_eq!(
                (found.leader.as_deref(), found.reached),
                (leader, reached),
                "{choices:?} {weights:?}"
            );
            assert!(
                (found.share - share).abs() < 1e-12,
                "{choices:?} {weights:?}: {}",
                found.share
            );
        }
    }
}
