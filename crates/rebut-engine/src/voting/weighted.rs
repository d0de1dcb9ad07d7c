//! Weighted: the candidate with the highest sum of weight × confidence over first choices wins.
//!
//! Edge cases: a weight that is not stated is 1, and so is a confidence. Weights are decimals and
//! are summed exactly; confidences are read to a millionth. A ballot that puts several first
//! divides its vote equally among them, as an exact fraction. If every vote comes to 0, no ballot
//! counts. With a threshold, the leader also needs that share of the whole sum. Tie-break: none of
//! its own; everybody with the highest sum is a winner.

use super::counting::{Counting, Found, highest};

/// Sums weight × confidence of first choices.
pub fn count(counting: &Counting<'_>) -> Found {
    let scores = counting.firsts();
    let total = counting.total();
    let working = vec![format!(
        "Weight × confidence of first choices: {}, of {total}.",
        counting.listed_all(&scores)
    )];
    let scores_are = "weight × confidence of first choices";
    Found {
        leaders: highest(&scores),
        scores,
        scores_are,
        total: Some(total),
        working,
        ..Found::default()
    }
}
