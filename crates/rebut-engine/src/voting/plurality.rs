//! Plurality: the candidate with the most first choices wins.
//!
//! Edge cases: a ballot that puts several first divides its vote equally among them, as an exact
//! fraction. With a threshold, the leader also needs that share of all votes, otherwise nobody
//! wins. One candidate wins with any ballot. Tie-break: none of its own; everybody with the most is
//! a winner.

use super::counting::{Counting, Found, highest};

pub fn count(counting: &Counting<'_>) -> Found {
    let scores = counting.firsts();
    let total = counting.total();
    let working = vec![format!(
        "First choices: {}, of {total}.",
        counting.listed_all(&scores)
    )];
    Found {
        leaders: highest(&scores),
        scores,
        scores_are: "first choices",
        total: Some(total),
        working,
        ..Found::default()
    }
}
