//! Condorcet: the candidate that beats every other one to one wins; if there is none, Borda's
//! winners among all candidates do.
//!
//! A beats B if more votes put A above B than B above A; votes that hold them equal count for
//! neither. Without such a candidate `fallback_used` is true, and the reason is told: a majority
//! cycle, whose members are named in `cycle`, or pairs that are tied, which are no cycle. Edge
//! cases: `cycle` holds those on a cycle in the smallest set that beats all others; a cycle below
//! the winner is named too, and changes nothing. One candidate beats all others there are.
//! Tie-break: none of its own; if Borda's points are tied too, all of those are winners.

use super::{
    borda,
    counting::{Counting, Found, highest},
    matrix::Matrix,
};

/// Looks for the candidate that beats all others.
pub fn count(counting: &Counting<'_>) -> Found {
    let matrix = counting.matrix();
    let cycle = matrix.cycle();
    let winner = matrix.condorcet_winner();
    let mut working = vec![match winner {
        Some(winner) => format!(
            "{} beats every other candidate one to one.",
            counting.names(&[winner])
        ),
        None => "Nobody beats every other candidate one to one.".to_owned(),
    }];
    if let Some(way) = round(counting, &matrix, &cycle) {
        working.push(match winner {
            Some(_) => {
                format!("Below the winner there is a majority cycle: {way}. It changes nothing.")
            }
            None => format!("There is a majority cycle: {way}."),
        });
    } else if winner.is_none() {
        working.push(format!(
            "There is no cycle, but there are ties: {}.",
            ties(counting, &matrix)
        ));
    }
    if let Some(winner) = winner {
        let scores = matrix.victories();
        return Found {
            leaders: vec![winner],
            scores,
            scores_are: "victories",
            cycle,
            matrix: Some(matrix),
            working,
            ..Found::default()
        };
    }
    let scores = borda::points(counting);
    working.push(format!(
        "So Borda decides. Points: {}.",
        counting.listed_all(&scores)
    ));
    let leaders = highest(&scores);
    Found {
        leaders,
        scores,
        scores_are: "points",
        fallback_used: true,
        cycle,
        matrix: Some(matrix),
        working,
        ..Found::default()
    }
}

/// A cycle in words, with the votes of each step.
fn round(counting: &Counting<'_>, matrix: &Matrix, cycle: &[usize]) -> Option<String> {
    let names = counting.profile.candidates();
    let way = matrix.way_round(*cycle.iter().min_by_key(|&&at| &names[at])?);
    let steps = way.iter().zip(way.iter().cycle().skip(1));
    let said = |(&a, &b): (&usize, &usize)| {
        format!(
            "{} beats {} by {} to {}",
            names[a],
            names[b],
            matrix.votes(a, b),
            matrix.votes(b, a)
        )
    };
    Some(steps.map(said).collect::<Vec<_>>().join(", "))
}

/// Up to five pairs that are tied.
fn ties(counting: &Counting<'_>, matrix: &Matrix) -> String {
    let names = counting.profile.candidates();
    let all = 0..matrix.candidates();
    let pairs = all
        .clone()
        .flat_map(|a| all.clone().skip(a + 1).map(move |b| (a, b)))
        .filter(|&(a, b)| matrix.ties(a, b));
    let said =
        |(a, b): (usize, usize)| format!("{} and {} at {}", names[a], names[b], matrix.votes(a, b));
    pairs.take(5).map(said).collect::<Vec<_>>().join(", ")
}
