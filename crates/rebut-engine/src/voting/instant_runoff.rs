//! Instant runoff: whoever has the fewest first choices among those left goes, until one is left.
//!
//! A ballot counts for the best of those left on it; several of them divide it equally, as an exact
//! fraction, so that a ballot whose candidates are all gone counts for everybody alike. Candidates
//! whose votes together are fewer than those of the next one go together: no order among them could
//! change anything. Tie-break: if several have the fewest, every way is followed, and everybody who
//! wins in one of them is a winner. If there are more such ways than can be followed, those tied
//! for last go together instead (and win together if nobody else is left); the working says so.

use super::{
    count::Elimination,
    counting::{Counting, Found},
    exact::Exact,
};
use std::{cmp::Reverse, collections::BTreeSet};

/// Follows every way of breaking ties, as long as they are not too many.
pub fn count(counting: &Counting<'_>) -> Found {
    let scores = counting.firsts();
    let mut shown = Shown::default();
    let leaders = every_way(counting, &mut shown).unwrap_or_else(|| {
        shown = Shown::default();
        shown.working.push(
            "There are too many ways to break ties for last place: those tied for \
            last go together."
                .to_owned(),
        );
        all_tied_go(counting, &mut shown)
    });
    Found {
        leaders,
        scores,
        scores_are: "first choices",
        rounds: shown.rounds,
        working: shown.working,
        ..Found::default()
    }
}

/// The way that is shown: one of all that are followed.
#[derive(Default)]
struct Shown {
    rounds: Vec<Elimination>,
    working: Vec<String>,
}

impl Shown {
    fn round(
        &mut self,
        counting: &Counting<'_>,
        left: &[usize],
        votes: &[Exact],
        out: &[usize],
        why: &str,
    ) {
        let number = self.rounds.len() + 1;
        self.working.push(format!(
            "Round {number}: {}. {} out{why}.",
            counting.listed(left, votes),
            counting.names(out)
        ));
        self.rounds.push(Elimination {
            scores: counting.by_name_among(left, votes),
            out: counting.sorted(out),
        });
    }
}

/// What may still be spent on following ways. Sets that wait cost as much as sets that are looked
/// at: one tie of a thousand opens a thousand ways, each of them a list of a thousand.
struct Budget {
    /// Sets of candidates to look at: fewer where one look takes longer.
    looks: usize,
    /// Names to write down in sets that are opened by ties.
    names: usize,
}

impl Budget {
    fn new(counting: &Counting<'_>) -> Self {
        let candidates = counting.profile.candidates().len().max(1);
        let cells = counting.profile.ranked() * candidates;
        let ways = ((1 << 30) / cells.max(1))
            .clamp(16, 4096)
            .min((1 << 20) / candidates);
        Self {
            looks: 2 * candidates + ways,
            names: 1 << 21,
        }
    }

    /// Takes one look and what it opens; nothing if that is too much.
    fn spend(&mut self, opened: usize) -> Option<()> {
        self.looks = self.looks.checked_sub(1)?;
        self.names = self.names.checked_sub(opened)?;
        Some(())
    }
}

/// Everybody who wins in some way; nothing if the ways are too many.
fn every_way(counting: &Counting<'_>, shown: &mut Shown) -> Option<Vec<usize>> {
    let all: Vec<usize> = (0..counting.profile.candidates().len()).collect();
    let mut winners = BTreeSet::new();
    let mut path = all.clone();
    // Larger sets first: each is looked at once, after everything that leads to it.
    let mut open = BTreeSet::from([(Reverse(all.len()), all)]);
    let mut budget = Budget::new(counting);
    while let Some((_, left)) = open.pop_first() {
        if let [winner] = left[..] {
            winners.insert(winner);
            continue;
        }
        let votes = counting.firsts_among(&left);
        let (out, tied) = last(&left, &votes);
        budget.spend(if tied { out.len() * left.len() } else { 0 })?;
        let without = |gone: &[usize]| -> Vec<usize> {
            left.iter()
                .copied()
                .filter(|at| !gone.contains(at))
                .collect()
        };
        let ways: Vec<Vec<usize>> = if tied {
            out.iter().map(|&one| without(&[one])).collect()
        } else {
            vec![without(&out)]
        };
        if path == left {
            let gone = if tied {
                vec![
                    *out.iter()
                        .min_by_key(|&&at| &counting.profile.candidates()[at])?,
                ]
            } else {
                out.clone()
            };
            let why = if tied {
                format!(
                    ", tied for last with {}; every way is followed",
                    others(counting, &out, gone[0])
                )
            } else {
                String::new()
            };
            shown.round(counting, &left, &votes, &gone, &why);
            path = without(&gone);
        }
        open.extend(ways.into_iter().map(|left| (Reverse(left.len()), left)));
    }
    Some(winners.into_iter().collect())
}

fn others(counting: &Counting<'_>, tied: &[usize], one: usize) -> String {
    counting.names(
        &tied
            .iter()
            .copied()
            .filter(|&at| at != one)
            .collect::<Vec<_>>(),
    )
}

/// The rule when ways are too many: nobody is preferred by it.
fn all_tied_go(counting: &Counting<'_>, shown: &mut Shown) -> Vec<usize> {
    let mut left: Vec<usize> = (0..counting.profile.candidates().len()).collect();
    loop {
        let votes = counting.firsts_among(&left);
        let (out, _) = last(&left, &votes);
        if left.len() == 1 || out.len() == left.len() {
            return left;
        }
        shown.round(counting, &left, &votes, &out, "");
        left.retain(|at| !out.contains(at));
    }
}

/// Who goes: the most candidates that together have fewer votes than the next one; failing that,
/// those tied for the fewest, and then `true`.
fn last(left: &[usize], votes: &[Exact]) -> (Vec<usize>, bool) {
    let mut order: Vec<usize> = (0..left.len()).collect();
    order.sort_by(|&a, &b| votes[a].cmp(&votes[b]));
    let mut together = Exact::zero();
    let mut safe = 0;
    for (count, pair) in (1..).zip(order.windows(2)) {
        together += &votes[pair[0]];
        if together < votes[pair[1]] {
            safe = count;
        }
    }
    if safe > 0 {
        return (order[..safe].iter().map(|&at| left[at]).collect(), false);
    }
    let fewest = order.first().map(|&at| &votes[at]);
    (
        order
            .iter()
            .filter(|&&at| Some(&votes[at]) == fewest)
            .map(|&at| left[at])
            .collect(),
        true,
    )
}
