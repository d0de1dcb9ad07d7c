//! Ranked pairs: victories are locked in from the strongest to the weakest, each unless it would
//! close a cycle; whoever has nobody locked above it wins.
//!
//! A victory is stronger the more votes it has, and among those with equally many, the fewer stand
//! against it; a pairwise tie is no victory. Edge cases: pairwise ties can leave several with
//! nobody above them, and all of those win. A candidate that beats all others is the only winner.
//! Tie-break: victories of equal strength are locked in every order, and everybody who wins in one
//! of them is a winner. If there are more such orders than can be followed, victories of equal
//! strength that together would close a cycle are all left out instead; the working says so.

use super::{
    counting::{Counting, Found},
    matrix::{Matrix, Reach},
};
use std::{cmp::Reverse, collections::BTreeMap, collections::BTreeSet};

type Pair = (usize, usize);

pub fn count(counting: &Counting<'_>) -> Found {
    let matrix = counting.matrix();
    let groups = by_strength(&matrix);
    let cycle = matrix.cycle();
    let mut working = vec![format!(
        "{} victories, of {} different strengths.",
        groups.iter().map(Vec::len).sum::<usize>(),
        groups.len()
    )];
    if !cycle.is_empty() {
        working.push(format!(
            "There is a majority cycle of {}: its weakest victories are left out.",
            counting.names(&cycle)
        ));
    }
    let ends = every_order(matrix.candidates(), &groups).unwrap_or_else(|| {
        let why = "There are too many orders of equally strong victories: those that together \
            would close a cycle are left out.";
        working.push(why.to_owned());
        BTreeSet::from([neutral_order(matrix.candidates(), &groups)])
    });
    if ends.len() > 1 {
        working.push(format!(
            "Equally strong victories can be locked in with {} different ends; \
            all of them are followed.",
            ends.len()
        ));
    }
    let free = |end: &Reach, a: usize| (0..matrix.candidates()).all(|b| !end.has(b, a));
    let leaders = (0..matrix.candidates())
        .filter(|&a| ends.iter().any(|end| free(end, a)))
        .collect();
    let scores = matrix.victories();
    Found {
        leaders,
        scores,
        scores_are: "victories",
        cycle,
        matrix: Some(matrix),
        working,
        ..Found::default()
    }
}

/// Victories in groups of equal strength, the strongest first.
fn by_strength(matrix: &Matrix) -> Vec<Vec<Pair>> {
    let mut groups: BTreeMap<(Reverse<u128>, u128), Vec<Pair>> = BTreeMap::new();
    for a in 0..matrix.candidates() {
        for b in (0..matrix.candidates()).filter(|&b| matrix.beats(a, b)) {
            groups
                .entry((Reverse(matrix.support(a, b)), matrix.support(b, a)))
                .or_default()
                .push((a, b));
        }
    }
    groups.into_values().collect()
}

/// Every way the locked victories can end; nothing if there are too many on the way.
fn every_order(candidates: usize, groups: &[Vec<Pair>]) -> Option<BTreeSet<Reach>> {
    // A state is as large as its bits: larger ones, fewer of them, so that all of them together
    // take some 64 MB at most.
    let size = candidates * candidates.div_ceil(64);
    let mut states_left = ((1 << 22) / size.max(1)).clamp(64, 20_000);
    // States that wait are carried through every weaker group: that is work too, for each beyond
    // the one there always is.
    let mut work_left: usize = 1 << 27;
    let mut states = BTreeSet::from([Reach::none(candidates)]);
    for group in groups {
        let mut ends = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open: Vec<Reach> = states.into_iter().collect();
        let mut first = true;
        while let Some(state) = open.pop() {
            if !std::mem::take(&mut first) {
                work_left = work_left.checked_sub(size + group.len())?;
            }
            let (state, fighting) = with_harmless(state, group);
            if fighting.is_empty() {
                ends.insert(state);
                continue;
            }
            // Better to stop before they are made than after.
            states_left = states_left.checked_sub(fighting.len())?;
            for (a, b) in fighting {
                let mut next = state.clone();
                next.add(a, b);
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        states = ends;
    }
    Some(states)
}

/// Locks those of a group that no order could keep out, and returns the others that are still
/// possible.
fn with_harmless(mut state: Reach, group: &[Pair]) -> (Reach, Vec<Pair>) {
    let open: Vec<Pair> = group
        .iter()
        .copied()
        .filter(|&(a, b)| !state.has(a, b) && !state.has(b, a))
        .collect();
    // One alone contradicts nothing; with weights that is every group, and copies of large states
    // would be most of the work.
    if let [(a, b)] = open[..] {
        state.add(a, b);
    }
    if open.len() < 2 {
        return (state, Vec::new());
    }
    let mut all = state.clone();
    open.iter().for_each(|&(a, b)| all.add(a, b));
    let (fighting, harmless): (Vec<Pair>, Vec<Pair>) =
        open.into_iter().partition(|&(a, b)| all.has(b, a));
    harmless.into_iter().for_each(|(a, b)| state.add(a, b));
    let still = |&(a, b): &Pair| !state.has(a, b) && !state.has(b, a);
    let fighting = fighting.into_iter().filter(still).collect();
    (state, fighting)
}

/// The rule when orders are too many: nobody is preferred by it.
fn neutral_order(candidates: usize, groups: &[Vec<Pair>]) -> Reach {
    groups.iter().fold(Reach::none(candidates), |state, group| {
        with_harmless(state, group).0
    })
}
