//! Borda: a place is worth the number of candidates below it; the most points win.
//!
//! With n candidates the best place is worth n-1 points and the last 0. Edge cases: equals share
//! the average of the places they cover (two firsts of three get 1.5 each); candidates a ballot
//! does not rank are equals in the last places. One candidate gets 0 points and wins with any
//! ballot. Tie-break: none of its own; everybody with the most points is a winner.

use super::{
    counting::{Counting, Found, highest},
    exact::Exact,
};

pub fn count(counting: &Counting<'_>) -> Found {
    let scores = points(counting);
    let working = vec![format!("Points: {}.", counting.listed_all(&scores))];
    Found {
        leaders: highest(&scores),
        scores,
        scores_are: "points",
        working,
        ..Found::default()
    }
}

pub fn points(counting: &Counting<'_>) -> Vec<Exact> {
    counting
        .profile
        .columns
        .half_points(&counting.votes)
        .into_iter()
        .map(|units| counting.exact(units).split(2))
        .collect()
}
