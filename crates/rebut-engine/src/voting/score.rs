//! Score: the candidate with the highest sum of scores wins.
//!
//! Scores are numbers between -10^12 and 10^12, read to 18 decimals and summed exactly. Edge cases: a candidate that a ballot with
//! scores leaves out gets 0 from it; a ballot without scores abstains. If no ballot has any, the rankings are read as scores
//! from 1 for the best place to 0 for the last, equals sharing the average; the winner is then Borda's, and `fallback_used`
//! is true. With `weigh`, a ballot's scores are multiplied by its weight.
//! Tie-break: none of its own; everybody with the highest sum is a winner.

use super::{
    borda,
    columns::Votes,
    counting::{Counting, Found, highest},
    exact::Exact,
    profile::SCORE_DECIMALS,
};
use std::collections::BTreeMap;

/// Sums scores.
pub fn count(counting: &Counting<'_>) -> Found {
    let fallback_used = !counting.has_scores;
    let (scores, how) = match fallback_used {
        true => (ranks_as_scores(counting), "No ballot gives scores, so places count from 1 for the best to 0 for the last. "),
        false => (sums(counting), ""),
    };
    let working = vec![format!("{how}Sums of scores: {}.", counting.listed_all(&scores))];
    Found { leaders: highest(&scores), scores, scores_are: "sums of scores", fallback_used, working, ..Found::default() }
}

/// Ballots of one weight are summed in whole numbers first: fractions are slow.
fn sums(counting: &Counting<'_>) -> Vec<Exact> {
    let profile = counting.profile;
    let mut by_weight: BTreeMap<u128, Vec<i128>> = BTreeMap::new();
    for (at, voter) in profile.voters().iter().enumerate() {
        let Some(scores) = &voter.scores else { continue };
        let sums = by_weight.entry(counting.votes.of(at)).or_insert_with(|| vec![0; profile.candidates().len()]);
        scores.iter().for_each(|&(candidate, units)| sums[usize::from(candidate)] += units);
    }
    let mut scores = vec![Exact::zero(); profile.candidates().len()];
    for (weight, sums) in by_weight {
        let weight = counting.exact(weight);
        for (score, sum) in scores.iter_mut().zip(sums) {
            *score += &(&Exact::of_units(sum, SCORE_DECIMALS) * &weight);
        }
    }
    scores
}

fn ranks_as_scores(counting: &Counting<'_>) -> Vec<Exact> {
    let below = counting.profile.candidates().len() as u64 - 1;
    match &counting.votes {
        // One candidate is the best of all and gets 1 from everybody.
        Votes::One | Votes::Units(_) if below == 0 => vec![counting.total()],
        _ => borda::points(counting).into_iter().map(|points| points.split(below)).collect(),
    }
}
