//! Profiles beyond one tile and one width of the flat array, and more ties than can be followed.

use super::{Vote, brute::Brute, count, names};
use rebut_engine::voting::{Ballot, Ended, Figure, METHODS, Profile, Rules};

/// A stream of numbers that only looks random.
fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

fn named(candidates: usize) -> Vec<String> {
    (0..candidates).map(|at| format!("c{at:03}")).collect()
}

#[test]
fn the_quick_loops_agree_with_slow_ones_at_every_width() {
    // Beyond a tile of 4096 rows, with rests; narrow and wide cells; with and without equals.
    for (candidates, rows, levels) in [
        (3, 4096 + 37, 3),
        (5, 9001, 2),
        (128, 300, 128),
        (129, 300, 40),
        (200, 65, 200),
    ] {
        let mut next = numbers(candidates as u64);
        let places: Vec<u16> = (0..candidates * rows)
            .map(|_| next(levels) as u16)
            .collect();
        let profile = Profile::of_places(named(candidates), &places);
        let row = |row: usize| &places[row * candidates..][..candidates];
        let above = |a: usize, b: usize| (0..rows).filter(|&at| row(at)[a] < row(at)[b]).count();
        let condorcet = count(&profile, "condorcet", &Rules::default());
        for (a, wins) in condorcet.pairwise.values().enumerate() {
            let expected: Vec<Figure> = (0..candidates)
                .filter(|&b| b != a)
                .map(|b| Figure::Whole(above(a, b) as i64))
                .collect();
            assert!(
                wins.values().eq(&expected),
                "{candidates} × {rows}, row {a}"
            );
        }
        // Borda is the pairwise sum: all above, and half of those equal.
        let borda = count(&profile, "borda", &Rules::default());
        for (a, points) in borda.scores.values().enumerate() {
            let doubled: usize = (0..candidates)
                .filter(|&b| b != a)
                .map(|b| rows + above(a, b) - above(b, a))
                .sum();
            assert_eq!(
                points.to_string().parse::<f64>().expect("a number") * 2.0,
                doubled as f64,
                "{candidates} × {rows}, candidate {a}"
            );
        }
        // With equal weights every method's other, weighed way must come to the same.
        for method in METHODS.iter().filter(|_| candidates < 6) {
            let one = method.count(&profile, &Rules::default());
            let weighed = method.count(
                &profile,
                &Rules {
                    weigh: true,
                    ..Rules::default()
                },
            );
            assert_eq!(one.winners, weighed.winners, "{}", method.name);
            let text = |count: &rebut_engine::voting::Count| {
                count
                    .scores
                    .values()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
            };
            assert_eq!(text(&one), text(&weighed), "{}", method.name);
        }
    }
}

#[test]
fn first_choices_of_many_ballots_agree_with_the_definition() {
    let mut next = numbers(7);
    let places: Vec<u16> = (0..5 * 5000).map(|_| next(3) as u16).collect();
    let profile = Profile::of_places((0..5).map(super::name).collect(), &places);
    let votes: Vec<Vote> = places
        .chunks(5)
        .map(|row| Vote {
            places: Some(row.iter().map(|&place| place.into()).collect()),
            weight: 1,
        })
        .collect();
    let brute = Brute::new(5, &votes, false);
    for method in [
        "plurality",
        "majority",
        "approval",
        "instant-runoff",
        "borda",
        "schulze",
    ] {
        assert_eq!(
            count(&profile, method, &Rules::default()).winners,
            names(brute.winners(method)),
            "{method}"
        );
    }
}

#[test]
fn more_ties_than_can_be_followed_end_by_a_rule_that_prefers_nobody() {
    // Everybody votes only for themselves: every order of elimination is possible.
    let alone: Vec<Ballot> = named(20)
        .into_iter()
        .map(|name| Ballot::single(name.clone(), name))
        .collect();
    let profile = Profile::new(named(20), alone).expect("right");
    let runoff = count(&profile, "instant-runoff", &Rules::default());
    assert_eq!((runoff.ending, runoff.winners.len()), (Ended::Tie, 20));
    assert!(
        runoff
            .working
            .iter()
            .any(|line| line.contains("too many ways")),
        "{:?}",
        runoff.working
    );

    // Few voters and many candidates: hundreds of equally strong victories, in cycles.
    let mut next = numbers(3);
    let mut order: Vec<u16> = Vec::new();
    for _ in 0..5 {
        let mut row: Vec<u16> = (0..30).collect();
        (1..30).for_each(|at| row.swap(at, next(at as u64 + 1) as usize));
        order.extend(row);
    }
    let profile = Profile::of_places(named(30), &order);
    let pairs = count(&profile, "ranked-pairs", &Rules::default());
    assert!(
        pairs
            .working
            .iter()
            .any(|line| line.contains("too many orders")),
        "{:?}",
        pairs.working
    );
    assert!(!pairs.winners.is_empty());
    // The same with the candidates in another order: the same winners.
    let turned: Vec<u16> = order
        .chunks(30)
        .flat_map(|row| (0..30).map(|at| row[(at + 11) % 30]))
        .collect();
    let names: Vec<String> = (0..30)
        .map(|at| named(30)[(at + 11) % 30].clone())
        .collect();
    assert_eq!(
        count(
            &Profile::of_places(names, &turned),
            "ranked-pairs",
            &Rules::default()
        )
        .winners,
        pairs.winners
    );
}

#[test]
fn ties_among_as_many_candidates_as_there_may_be_are_given_up_at_once() {
    // One ballot that holds a thousand equal, and a thousand voters for themselves: each tie opens
    // a thousand ways.
    let candidates = named(1000);
    let equal = vec![Ballot {
        voter: "v".to_owned(),
        ranking: vec![candidates.clone()],
        ..Ballot::default()
    }];
    let alone: Vec<Ballot> = candidates
        .iter()
        .map(|name| Ballot::single(name.clone(), name.clone()))
        .collect();
    for ballots in [equal, alone] {
        let profile = Profile::new(candidates.clone(), ballots).expect("right");
        let runoff = count(&profile, "instant-runoff", &Rules::default());
        assert_eq!(
            (runoff.ending, runoff.winners.len(), runoff.rounds.len()),
            (Ended::Tie, 1000, 0)
        );
        assert!(
            runoff
                .working
                .iter()
                .any(|line| line.contains("too many ways")),
            "{:?}",
            runoff.working.len()
        );
    }
}

#[test]
fn ranked_pairs_give_up_before_many_states_go_through_many_strengths() {
    // Four cycles of three equally strong victories on top leave 3^4 states; thousands of weaker
    // strengths follow, by weights.
    let cycles = 4;
    let candidates = named(200);
    let turned = |by: usize| -> Vec<Vec<String>> {
        let cyclic = (0..cycles).flat_map(|cycle| (0..3).map(move |at| 3 * cycle + (at + by) % 3));
        cyclic.map(|at| vec![candidates[at].clone()]).collect()
    };
    let mut ballots: Vec<Ballot> = (0..3)
        .map(|by| Ballot {
            voter: format!("t{by}"),
            weight: "1000".parse().expect("a weight"),
            ranking: turned(by),
            ..Ballot::default()
        })
        .collect();
    let mut next = numbers(11);
    for at in 0..16 {
        let mut below: Vec<String> = candidates[3 * cycles..].to_vec();
        (1..below.len()).for_each(|at| below.swap(at, next(at as u64 + 1) as usize));
        let ranking = [
            vec![candidates[..3 * cycles].to_vec()],
            below.into_iter().map(|name| vec![name]).collect(),
        ]
        .concat();
        let weight = format!("0.{}", 1 + next(1_000_000_000))
            .parse()
            .expect("a weight");
        ballots.push(Ballot {
            voter: format!("b{at}"),
            weight,
            ranking,
            ..Ballot::default()
        });
    }
    let profile = Profile::new(candidates.clone(), ballots).expect("right");
    let pairs = count(
        &profile,
        "ranked-pairs",
        &Rules {
            weigh: true,
            ..Rules::default()
        },
    );
    assert!(
        pairs
            .working
            .iter()
            .any(|line| line.contains("too many orders")),
        "{:?}",
        pairs.working
    );
    assert_eq!(
        pairs.winners,
        candidates[..3],
        "the first cycle is above all others: {:?}",
        pairs.working
    );
}
