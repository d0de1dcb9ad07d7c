//! Counting: shares are compared at the threshold's own precision, so that 2 of 3 reaches 0.67. Pure.

use crate::event::Tally;
use std::{collections::BTreeMap, sync::Arc};

/// The share an option needs, with the precision it was written in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The number itself.
    pub value: f64,
    decimals: u32,
}

impl Threshold {
    /// A threshold above 0 and up to 1.
    pub fn new(value: f64) -> Result<Self, String> {
        if !(value > 0.0 && value <= 1.0) {
            return Err(format!("consensus_threshold must be above 0 and at most 1, not {value}"));
        }
        // The shortest text that reads back as this number is what was written.
        let decimals = value.to_string().split_once('.').map_or(0, |(_, digits)| digits.len());
        // Two digits at least: whoever writes 0.7 means 70 %, which 2 of 3 is not.
        Ok(Self { value, decimals: u32::try_from(decimals).unwrap_or(9).clamp(2, 9) })
    }

    /// The share that is needed and the whole, both in units of its last digit.
    pub fn parts(&self) -> (u128, u128) {
        let unit = 10u128.pow(self.decimals);
        ((self.value * unit as f64).round() as u128, unit)
    }

    /// Whether `votes` of `ballots` reach it. Nobody reaches anything without ballots.
    pub fn reached(&self, votes: u128, ballots: u128) -> bool {
        if ballots == 0 || votes == 0 {
            return false;
        }
        // Rounding must not make unanimous what is not.
        if self.value >= 1.0 {
            return votes == ballots;
        }
        let (needed, unit) = self.parts();
        // Weights come in tiny units; what is left of the largest sums after this loses less than any threshold can tell.
        let (votes, ballots) = reduced(votes, ballots);
        // The share in units of the threshold's last digit, rounded half up, in whole numbers.
        let share = (2 * votes * unit + ballots) / (2 * ballots);
        share >= needed
    }
}

/// The same share in numbers small enough to be multiplied by any precision.
fn reduced(votes: u128, ballots: u128) -> (u128, u128) {
    let (mut divisor, mut rest) = (ballots, votes);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let (votes, ballots) = (votes / divisor, ballots / divisor);
    // A precision of nine digits takes 30 bits, and the doubling one more.
    let excess = 32_u32.saturating_sub(ballots.leading_zeros());
    (votes >> excess, ballots >> excess)
}

/// What one judge contributes to a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ballot<'a> {
    /// It stands for an option.
    For(&'a str),
    /// It took a position earlier and is missing now: counted for nobody, but not forgotten, or an absence could make a consensus.
    Missing,
}

/// Counts ballots; a tie has no leader. Shares are of everybody who ever took a position.
pub fn tally(step: &str, ballots: &[(&Arc<str>, Ballot<'_>)], threshold: Threshold) -> Tally {
    weighed_tally(step, ballots, threshold, |_| 1)
}

/// The same where votes count differently: `weight` says how much, in whole units, so that sums are exact.
pub fn weighed_tally(step: &str, ballots: &[(&Arc<str>, Ballot<'_>)], threshold: Threshold, weight: impl Fn(&str) -> usize) -> Tally {
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
    let sum = |voters: &[Arc<str>]| voters.iter().map(|voter| weight(voter)).sum::<usize>();
    let all: usize = ballots.iter().map(|(voter, _)| weight(voter)).sum();
    let most = distribution.values().map(|voters| sum(voters)).max().unwrap_or(0);
    // An option only voters without any weight stand for leads nothing.
    let mut leaders = distribution.iter().filter(|(_, voters)| most > 0 && sum(voters) == most);
    let leader = leaders.next().filter(|_| leaders.next().is_none()).map(|(option, _)| option.clone());
    Tally {
        step: step.to_owned(),
        reached: leader.is_some() && threshold.reached(most as u128, all as u128),
        share: if all == 0 { 0.0 } else { most as f64 / all as f64 },
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
    fn shares_are_compared_at_the_thresholds_precision() {
        let rows = [
            (2, 3, 0.67, true),
            (2, 3, 0.667, true),
            (2, 3, 0.7, false),
            (2, 3, 0.68, false),
            (1, 2, 0.5, true),
            (1, 3, 0.34, false),
            (3, 5, 0.67, false),
            (4, 6, 0.67, true),
            (1, 1, 1.0, true),
            (999, 1000, 1.0, false),
            (5, 11, 0.5, false),
            (0, 3, 0.1, false),
            (0, 0, 0.1, false),
            (2 << 120, 3 << 120, 0.67, true),
            (2 << 120, 3 << 120, 0.7, false),
            (u128::MAX - 1, u128::MAX, 0.999_999_999, true),
            (u128::MAX - 1, u128::MAX, 1.0, false),
        ];
        for (votes, ballots, threshold, expected) in rows {
            let threshold = Threshold::new(threshold).expect("in range");
            assert_eq!(threshold.reached(votes, ballots), expected, "{votes} of {ballots} at {threshold:?}");
        }
        for bad in [0.0, -0.1, 1.01, f64::NAN, f64::INFINITY] {
            assert!(Threshold::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ties_and_silence_decide_nothing() {
        let threshold = Threshold::new(0.5).expect("in range");
        let [a, b, c] = ["a", "b", "c"].map(Arc::from);
        let tie = tally("x", &[(&a, Ballot::For("A")), (&b, Ballot::For("B"))], threshold);
        assert_eq!((tie.leader, tie.reached), (None, false));
        let silence = tally("x", &[(&a, Ballot::Missing), (&b, Ballot::Missing)], threshold);
        assert_eq!((silence.leader, silence.reached, silence.share), (None, false, 0.0));
        let nobody = tally("x", &[], threshold);
        assert_eq!((nobody.leader, nobody.reached), (None, false));
        let one = tally("x", &[(&a, Ballot::For("A")), (&b, Ballot::Missing), (&c, Ballot::Missing)], threshold);
        assert_eq!((one.leader.as_deref(), one.reached), (Some("A"), false), "an absence makes no consensus");
    }

    #[test]
    fn weights_are_summed_exactly() {
        let voters: Vec<Arc<str>> = ["a", "b", "c"].map(Arc::from).to_vec();
        // Who stands for what, what each vote counts, the threshold; then leader, reached, share.
        type Row = (&'static [&'static str], [usize; 3], f64, Option<&'static str>, bool, f64);
        let rows: [Row; 8] = [
            (&["A", "B", "B"], [1, 1, 1], 0.67, Some("B"), true, 2.0 / 3.0),
            (&["A", "B", "B"], [2010, 500, 490], 0.67, Some("A"), true, 0.67),
            (&["A", "B", "B"], [1980, 510, 510], 0.67, Some("A"), false, 0.66),
            // 0.1 + 0.2 is 0.3 here.
            (&["A", "B", "B"], [300, 100, 200], 0.5, None, false, 0.5),
            (&["A", "B", "-"], [1000, 0, 500], 0.67, Some("A"), true, 2.0 / 3.0),
            (&["A", "B", "-"], [0, 0, 1000], 0.1, None, false, 0.0),
            (&["A", "A", "A"], [0, 0, 0], 0.1, None, false, 0.0),
            (&["A", "A", "B"], [1000, 1000, 0], 1.0, Some("A"), true, 1.0),
        ];
        for (choices, weights, threshold, leader, reached, share) in rows {
            let ballots: Vec<_> = voters
                .iter()
                .zip(choices)
                .map(|(voter, choice)| (voter, if *choice == "-" { Ballot::Missing } else { Ballot::For(choice) }))
                .collect();
            let weight = |name: &str| voters.iter().zip(weights).find(|(voter, _)| ***voter == *name).map_or(0, |(_, weight)| weight);
            let found = weighed_tally("x", &ballots, Threshold::new(threshold).expect("in range"), weight);
            assert_eq!((found.leader.as_deref(), found.reached), (leader, reached), "{choices:?} {weights:?}");
            assert!((found.share - share).abs() < 1e-12, "{choices:?} {weights:?}: {}", found.share);
        }
    }
}
