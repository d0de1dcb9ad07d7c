//! Majority: the candidate that more than half of the counted votes put first wins; otherwise
//! nobody.
//!
//! Edge cases: exactly half is not enough. A ballot that puts several first divides its vote
//! equally among them, as an exact fraction. With a threshold, that share is needed instead of more
//! than half; whoever has the most must reach it. Tie-break: none of its own. More than half cannot
//! be tied; a threshold of half or less can.

use super::counting::{Counting, Found, highest};

/// Counts first choices and holds the leader to more than half.
pub fn count(counting: &Counting<'_>) -> Found {
    let scores = counting.firsts();
    let total = counting.total();
    let mut leaders = highest(&scores);
    let mut working = vec![format!(
        "First choices: {}, of {total}.",
        counting.listed_all(&scores)
    )];
    // A threshold replaces the half; it is checked for all methods alike.
    if counting.rules.threshold.is_none() {
        let half = total.clone().split(2);
        let has_majority = leaders.first().is_some_and(|&leader| scores[leader] > half);
        working.push(match has_majority {
            true => format!("{} has more than half ({half}).", counting.names(&leaders)),
            false => format!("Nobody has more than half ({half})."),
        });
        if !has_majority {
            leaders.clear();
        }
    }
    Found {
        leaders,
        scores,
        scores_are: "first choices",
        total: Some(total),
        working,
        ..Found::default()
    }
}
