//! Schulze: the candidate that no other one beats by a stronger chain of victories wins.
//!
//! A victory of A over B is as strong as the number of votes that put A above B (winning votes); a
//! pairwise tie is no victory. A chain is as strong as its weakest victory. A wins if for every B
//! the strongest chain from A to B is at least as strong as the strongest from B to A. The
//! strongest chains are found by the Floyd–Warshall rule. Edge cases: there is always a winner; a
//! candidate that beats all others is the only one. The scores are the number of others each one
//! beats by chains. Tie-break: none of its own; everybody that fulfils the rule is a winner.

use super::{
    counting::{Counting, Found},
    exact::Exact,
    matrix::Matrix,
};

pub fn count(counting: &Counting<'_>) -> Found {
    let matrix = counting.matrix();
    let n = matrix.candidates();
    let chains = strongest_chains(&matrix);
    let stronger = |a: usize, b: usize| chains[a * n + b] > chains[b * n + a];
    let leaders: Vec<usize> = (0..n)
        .filter(|&a| (0..n).all(|b| a == b || !stronger(b, a)))
        .collect();
    let scores: Vec<Exact> = (0..n)
        .map(|a| Exact::whole((0..n).filter(|&b| stronger(a, b)).count()))
        .collect();
    let cycle = matrix.cycle();
    let mut working = Vec::new();
    if !cycle.is_empty() {
        working.push(format!(
            "There is a majority cycle of {}.",
            counting.names(&cycle)
        ));
    }
    working.push(format!(
        "Others beaten by the strongest chain of victories: {}.",
        counting.listed_all(&scores)
    ));
    Found {
        leaders,
        scores,
        scores_are: "others beaten by chains",
        cycle,
        matrix: Some(matrix),
        working,
        ..Found::default()
    }
}

/// For each pair, the place of its strongest chain among all strengths; 0 where no chain leads.
fn strongest_chains(matrix: &Matrix) -> Vec<u32> {
    let n = matrix.candidates();
    let strength = |a: usize, b: usize| {
        if matrix.beats(a, b) {
            matrix.support(a, b)
        } else {
            0
        }
    };
    let mut levels: Vec<u128> = (0..n * n)
        .map(|at| strength(at / n, at % n))
        .chain([0])
        .collect();
    levels.sort_unstable();
    levels.dedup();
    let level = |strength: u128| levels.partition_point(|known| *known < strength) as u32;
    let mut chains: Vec<u32> = (0..n * n)
        .map(|at| level(strength(at / n, at % n)))
        .collect();
    for through in 0..n {
        let onward = chains[through * n..][..n].to_vec();
        for a in (0..n).filter(|&a| a != through) {
            let row = &mut chains[a * n..][..n];
            let first = row[through];
            if first == 0 {
                continue;
            }
            row.iter_mut()
                .zip(&onward)
                .for_each(|(chain, onward)| *chain = (*chain).max(first.min(*onward)));
        }
    }
    chains
}
