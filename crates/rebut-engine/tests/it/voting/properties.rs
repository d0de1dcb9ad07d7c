//! What theory says of the methods, on random profiles.

use super::{Vote, ballot, brute::Brute, count, exhaustive::check, name, names, profile};
use proptest::{collection::vec, option::weighted, prelude::*, sample::Index};
use rebut_engine::voting::{Ballot, Ended, METHODS, Profile, Rules, TieBreak};
use std::collections::BTreeSet;

/// Raising a winner on a ballot never makes it lose.
const MONOTONE: &[&str] = &[
    "majority",
    "plurality",
    "weighted",
    "unanimous",
    "borda",
    "condorcet",
    "approval",
    "ranked-pairs",
    "schulze",
    "score",
];
/// Whoever beats all others is the only winner.
const CONDORCET: &[&str] = &["condorcet", "ranked-pairs", "schulze"];

fn votes(
    candidates: std::ops::RangeInclusive<usize>,
    most: usize,
) -> impl Strategy<Value = (usize, Vec<Vote>)> {
    candidates.prop_flat_map(move |n| {
        let vote = (weighted(0.9, vec(0..n, n)), 0u32..4)
            .prop_map(|(places, weight)| Vote { places, weight });
        (Just(n), vec(vote, 0..=most))
    })
}

fn weigh(on: bool) -> Rules {
    Rules {
        weigh: on,
        ..Rules::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn clever_counting_agrees_with_the_definitions((n, votes) in votes(1..=4, 8), weighs in any::<bool>()) {
        let profile = profile(n, &votes);
        for method in METHODS {
            let weighs = weighs || method.name == "weighted";
            check(&count(&profile, method.name, &weigh(weighs)), &Brute::new(n, &votes, weighs), &votes);
        }
    }

    #[test]
    fn the_order_of_ballots_and_the_names_of_voters_do_not_matter((n, votes) in votes(1..=5, 12), order in any::<Index>(), weighs in any::<bool>()) {
        let candidates: Vec<String> = (0..n).map(name).collect();
        let mut ballots: Vec<Ballot> = votes.iter().enumerate().map(|(at, vote)| ballot(format!("v{at}"), vote, false)).collect();
        let first = Profile::new(candidates.clone(), ballots.clone()).expect("right");
        let by = order.index(ballots.len() + 1);
        ballots.rotate_left(by);
        ballots.reverse();
        let turned = Profile::new(candidates.clone(), ballots.clone()).expect("right");
        ballots.iter_mut().zip(0..).for_each(|(ballot, number)| ballot.voter = format!("somebody \
            {number}"));
        let renamed = Profile::new(candidates, ballots).expect("right");
        for method in METHODS {
            let counted = method.count(&first, &weigh(weighs));
            prop_assert_eq!(&counted, &method.count(&turned, &weigh(weighs)));
            let other = method.count(&renamed, &weigh(weighs));
            prop_assert_eq!((&counted.winners, &counted.scores, &counted.pairwise, &counted.cycle, &counted.rounds),
                (&other.winners, &other.scores, &other.pairwise, &other.cycle, &other.rounds));
        }
    }

    #[test]
    fn the_names_and_the_order_of_candidates_do_not_matter((n, votes) in votes(1..=5, 9), turn in 0usize..5, weighs in any::<bool>()) {
        // Candidate `a` of the first profile is `(a + turn) % n` in the second.
        let moved: Vec<Vote> = votes.iter().map(|vote| {
            let places = vote.places.as_ref().map(|places| (0..n).map(|to| places[(to + n - turn % n) % n]).collect());
            Vote { places, weight: vote.weight }
        }).collect();
        let (first, second) = (profile(n, &votes), profile(n, &moved));
        for method in METHODS {
            let (one, other) = (method.count(&first, &weigh(weighs)), method.count(&second, &weigh(weighs)));
            let expected = names((0..n).filter(|&a| one.winners.contains(&name(a))).map(|a| (a + turn) % n));
            prop_assert_eq!(other.winners, expected, "{}", method.name);
        }
    }

    #[test]
    fn raising_a_winner_does_not_make_it_lose((n, votes) in votes(2..=5, 9), who in any::<Index>(), whose in any::<Index>(), to in any::<Index>()) {
        prop_assume!(!votes.is_empty());
        let before = profile(n, &votes);
        for by in MONOTONE {
            let winners = count(&before, by, &Rules::default()).winners;
            if winners.is_empty() { continue }
            let winner = &winners[who.index(winners.len())];
            let at = (0..n).find(|&at| name(at) == *winner).expect("a candidate");
            let mut raised = votes.clone();
            let Some(places) = &mut raised[whose.index(votes.len())].places else { continue };
            // Room between the places; the winner goes to any better one, shared or of its own.
            places.iter_mut().for_each(|place| *place = 2 * *place + 1);
            places[at] = to.index(places[at] + 1);
            let after = count(&profile(n, &raised), by, &Rules::default()).winners;
            prop_assert!(after.contains(winner), "{} loses by {} after a raise: {:?} to \
                {:?}", winner, by, votes, raised);
        }
    }

    #[test]
    fn whoever_beats_all_wins_and_whoever_loses_to_all_has_no_borda_win((n, votes) in votes(2..=5, 11)) {
        let (profile, brute) = (profile(n, &votes), Brute::new(n, &votes, false));
        if let Some(winner) = brute.condorcet_winner() {
            for by in CONDORCET {
                prop_assert_eq!(count(&profile, by, &Rules::default()).winners, names([winner]), "{}", by);
            }
            // The other way round: Borda cannot put that winner at or below the average.
            prop_assert!(2 * brute.borda_doubled()[winner] as usize * n > 2 * brute.borda_doubled().iter().sum::<i64>() as usize);
        }
        if let Some(loser) = brute.condorcet_loser() {
            prop_assert!(!count(&profile, "borda", &Rules::default()).winners.contains(&name(loser)));
        }
    }

    #[test]
    fn breaking_ties_in_one_way_gives_one_of_the_winners((n, votes) in votes(2..=5, 7), rule in 0usize..5, seed in any::<u64>()) {
        let rule = ["order", "borda", "condorcet", "most-first", &format!("seed:{seed}")][rule].to_owned();
        let rules = Rules { tie_break: rule.parse::<TieBreak>().expect("a \
            rule"), ..Rules::default() };
        let profile = profile(n, &votes);
        for method in METHODS {
            let (plain, broken) = (method.count(&profile, &Rules::default()), method.count(&profile, &rules));
            prop_assert_eq!(&plain.winners, &broken.winners, "a tie-break changes no winners");
            prop_assert!(broken.winner.iter().all(|winner| broken.winners.contains(winner)));
            prop_assert_eq!(broken.tie_break.is_some(), plain.ending == Ended::Tie && broken.ending == Ended::Decided);
            if rule == "order" || rule.starts_with("seed") {
                prop_assert_ne!(broken.ending, Ended::Tie, "{} always decides", rule);
            }
        }
        let brute = Brute::new(n, &votes, false);
        if !brute.nobody() {
            let one_way = runoff_with_one_tie_break(&brute);
            prop_assert!(count(&profile, "instant-runoff", &Rules::default()).winners.contains(&name(one_way)));
        }
    }

    #[test]
    fn nothing_handed_in_can_break_a_count(
        candidates in vec("[A-Da]?", 0..6),
        ballots in vec((("[v-x]?", "[0-9.e-]{1,6}"), weighted(0.5, any::<f64>()), vec(vec("[A-Ea]?", 0..4), 0..4),
            weighted(0.3, vec("[A-E]", 0..4)), weighted(0.3, proptest::collection::btree_map("[A-E]", any::<f64>(), 0..4))), 0..6),
        weighs in any::<bool>(),
    ) {
        let ballots: Vec<Ballot> = ballots.into_iter().map(|((voter, weight), confidence, ranking, approves, scores)|
            Ballot { voter, weight: weight.parse().unwrap_or_default(), confidence, ranking, approves, scores }).collect();
        let (profile, problems) = Profile::lenient(candidates.clone(), ballots.clone());
        prop_assert_eq!(Profile::new(candidates, ballots).is_ok(), problems.is_empty());
        let known: BTreeSet<&String> = profile.candidates().iter().collect();
        for method in METHODS {
            let count = method.count(&profile, &weigh(weighs));
            prop_assert!(count.winners.iter().all(|winner| known.contains(winner)));
            prop_assert_eq!(count.ending == Ended::NoQuorum, count.voters == 0);
            prop_assert_eq!(count.winner.is_some(), count.ending == Ended::Decided);
            let json = serde_json::to_string(&count).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<rebut_engine::voting::Count>(&json).expect("a \
                count"), count);
        }
    }
}

/// Instant runoff where of those tied for last the latest letter goes.
fn runoff_with_one_tie_break(brute: &Brute) -> usize {
    let mut left: Vec<usize> = (0..brute.n).collect();
    while left.len() > 1 {
        let firsts = brute.firsts(&left);
        let gone = left
            .iter()
            .copied()
            .min_by_key(|&at| (firsts[at], std::cmp::Reverse(at)))
            .expect("somebody is left");
        left.retain(|&at| at != gone);
    }
    left[0]
}
