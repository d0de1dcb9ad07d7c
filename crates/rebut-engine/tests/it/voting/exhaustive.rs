//! Every profile of three candidates and up to five voters: all weak orders, cut ballots and
//! abstentions, by every method.

use super::{
    Vote,
    brute::{Brute, WHOLE},
    count, names, profile,
};
use rebut_engine::voting::{Count, Ended, Exact, Figure, METHODS, Rules};
use std::collections::BTreeSet;

/// The 13 weak orders of three, and silence.
fn kinds() -> Vec<Option<Vec<usize>>> {
    let mut kinds = vec![None];
    for code in 0..27 {
        let places = vec![code / 9, code / 3 % 3, code % 3];
        let used: BTreeSet<usize> = places.iter().copied().collect();
        // Places without gaps: each order once.
        if used.iter().copied().eq(0..used.len()) {
            kinds.push(Some(places));
        }
    }
    assert_eq!(kinds.len(), 14);
    kinds
}

/// Every multiset of that many kinds: counting does not see the order, which other tests show.
fn multisets(kinds: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let shorter = multisets(kinds, size - 1);
    let longer = shorter.iter().flat_map(|set| {
        (set.last().copied().unwrap_or(0)..kinds).map(|kind| [&set[..], &[kind]].concat())
    });
    longer.collect()
}

fn check_all(voters: usize) {
    let kinds = kinds();
    for set in multisets(kinds.len(), voters) {
        let votes: Vec<Vote> = set
            .iter()
            .map(|&kind| Vote {
                places: kinds[kind].clone(),
                weight: 1,
            })
            .collect();
        let profile = profile(3, &votes);
        let brute = Brute::new(3, &votes, false);
        for method in METHODS {
            let count = count(&profile, method.name, &Rules::default());
            check(&count, &brute, &votes);
        }
    }
}

/// One count against the definitions.
pub fn check(count: &Count, brute: &Brute, votes: &[Vote]) {
    let winners = names(brute.winners(&count.method));
    let said = || format!("{} of {votes:?}: {count:#?}", count.method);
    assert_eq!(count.winners, winners, "{}", said());
    let ended = match winners.len() {
        _ if brute.nobody() => Ended::NoQuorum,
        0 => Ended::None,
        1 => Ended::Decided,
        _ => Ended::Tie,
    };
    assert_eq!(count.ending, ended, "{}", said());
    assert_eq!(
        count.winner.as_ref(),
        winners.first().filter(|_| winners.len() == 1),
        "{}",
        said()
    );
    let scores: Option<Vec<Exact>> = match count.method.as_str() {
        "plurality" | "majority" | "instant-runoff" => {
            let firsts = brute.firsts(&(0..brute.n).collect::<Vec<_>>());
            Some(
                firsts
                    .iter()
                    .map(|&parts| Exact::whole(parts).split(WHOLE as u64))
                    .collect(),
            )
        }
        "borda" => Some(
            brute
                .borda_doubled()
                .iter()
                .map(|&doubled| Exact::whole(doubled).split(2))
                .collect(),
        ),
        _ => None,
    };
    if let Some(scores) = scores.filter(|_| !brute.nobody()) {
        let figures: Vec<String> = scores.iter().map(ToString::to_string).collect();
        assert_eq!(
            count
                .scores
                .values()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            figures,
            "{}",
            said()
        );
    }
    if ["condorcet", "schulze", "ranked-pairs"].contains(&count.method.as_str()) && !brute.nobody()
    {
        assert_eq!(count.cycle, names(brute.cycle()), "{}", said());
        for (a, row) in count.pairwise.values().enumerate() {
            let expected = (0..brute.n)
                .filter(|&b| b != a)
                .map(|b| brute.above(a, b).to_string());
            assert!(
                row.values().map(Figure::to_string).eq(expected),
                "{}",
                said()
            );
        }
    }
    if count.method == "condorcet" {
        assert_eq!(
            count.fallback_used,
            !brute.nobody() && brute.condorcet_winner().is_none(),
            "{}",
            said()
        );
    }
}

#[test]
fn up_to_four_voters_agree_with_the_definitions() {
    (0..=4).for_each(check_all);
}

#[test]
fn five_voters_agree_with_the_definitions() {
    check_all(5);
}
