//! Score: the candidate with the highest sum of scores wins.
//!
//! Scores are numbers between -10^12 and 10^12, read to 18 decimals and summed exactly. Edge cases:
//! a candidate that a ballot with scores leaves out gets 0 from it; a ballot without scores
//! abstains. If no ballot has any, the rankings are read as scores from 1 for the best place to 0
//! for the last, equals sharing the average; the winner is then Borda's, and `fallback_used` is
//! true. With `weigh`, a ballot's scores are multiplied by its weight. Tie-break: none of its own;
//! everybody with the highest sum is a winner.

use super::{
    borda,
    columns::Votes,
    counting::{Counting, Found, highest},
    exact::Exact,
    profile::SCORE_DECIMALS,
};
use num_bigint::BigInt;
use std::collections::BTreeMap;

pub fn count(counting: &Counting<'_>) -> Found {
    let fallback_used = !counting.has_scores;
    let (scores, how) = match fallback_used {
        true => (
            ranks_as_scores(counting),
            "No ballot gives scores, so places count from 1 for the best to 0 for the last. ",
        ),
        false => (sums(counting), ""),
    };
    let working = vec![format!(
        "{how}Sums of scores: {}.",
        counting.listed_all(&scores)
    )];
    Found {
        leaders: highest(&scores),
        scores,
        scores_are: "sums of scores",
        fallback_used,
        working,
        ..Found::default()
    }
}

/// So many weights are summed apart before they come together: a list of sums for each of millions
/// of weights would fill the memory.
const WEIGHTS_APART: usize = 64;

/// Ballots of one weight are summed in machine numbers first: larger numbers are slow. Those sums
/// stay within 128 bits for as many ballots as there may be; times a weight they do not.
fn sums(counting: &Counting<'_>) -> Vec<Exact> {
    let profile = counting.profile;
    let mut units = vec![BigInt::ZERO; profile.candidates().len()];
    let mut by_weight: BTreeMap<u128, Vec<i128>> = BTreeMap::new();
    for (at, voter) in profile.voters().iter().enumerate() {
        let Some(scores) = &voter.scores else {
            continue;
        };
        let weight = counting.votes.of(at);
        if by_weight.len() == WEIGHTS_APART && !by_weight.contains_key(&weight) {
            bring_together(&mut units, &mut by_weight);
        }
        let sums = by_weight
            .entry(weight)
            .or_insert_with(|| vec![0; profile.candidates().len()]);
        scores
            .iter()
            .for_each(|&(candidate, units)| sums[usize::from(candidate)] += units);
    }
    bring_together(&mut units, &mut by_weight);
    let one = BigInt::from(10).pow(SCORE_DECIMALS);
    units
        .into_iter()
        .map(|units| counting.exact(units).split(one.clone()))
        .collect()
}

fn bring_together(units: &mut [BigInt], by_weight: &mut BTreeMap<u128, Vec<i128>>) {
    for (weight, sums) in std::mem::take(by_weight) {
        units
            .iter_mut()
            .zip(sums)
            .filter(|(_, sum)| *sum != 0)
            .for_each(|(units, sum)| *units += BigInt::from(sum) * weight);
    }
}

fn ranks_as_scores(counting: &Counting<'_>) -> Vec<Exact> {
    let below = counting.profile.candidates().len() as u64 - 1;
    match &counting.votes {
        // One candidate is the best of all and gets 1 from everybody.
        Votes::One | Votes::Units(_) if below == 0 => vec![counting.total()],
        _ => borda::points(counting)
            .into_iter()
            .map(|points| points.split(below))
            .collect(),
    }
}
