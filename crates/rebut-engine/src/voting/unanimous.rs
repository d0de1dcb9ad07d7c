//! Unanimous: the candidate that every counted ballot puts first, alone, wins; otherwise nobody.
//!
//! Edge cases: one ballot is unanimous; no ballot is `no_quorum`, never unanimous. Abstentions do
//! not count against it. A ballot that puts several first has no single first choice, so that
//! nothing is unanimous with it. A threshold changes nothing. Tie-break: none; there is at most one
//! such candidate.

use super::counting::{Counting, Found};

/// Looks whether all first choices are the same.
pub fn count(counting: &Counting<'_>) -> Found {
    let scores = counting.firsts();
    let total = counting.total();
    let leaders: Vec<usize> = (0..scores.len())
        .filter(|&at| scores[at] == total)
        .collect();
    let working = vec![
        format!(
            "First choices: {}, of {total}.",
            counting.listed_all(&scores)
        ),
        match leaders.first() {
            Some(&all) => format!("Every ballot puts {} first.", counting.names(&[all])),
            None => "The ballots do not all put the same one first.".to_owned(),
        },
    ];
    Found {
        leaders,
        scores,
        scores_are: "first choices",
        total: Some(total),
        working,
        ..Found::default()
    }
}
