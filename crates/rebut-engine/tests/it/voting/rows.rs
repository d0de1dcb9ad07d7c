//! Hand-made rows: edges, weights, confidences, approvals, scores, thresholds, tie-breaks, and what
//! is wrong with ballots.

use super::count;
use rebut_engine::voting::{
    Ballot, Count, Ended, METHODS, Profile, Rules, Threshold, auto, method,
};

fn names(text: &str) -> Vec<String> {
    text.split(' ')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// `B>A=C` with a weight and a confidence behind it: `B>A=C*0.7@0.5`.
fn ballots(text: &str) -> Vec<Ballot> {
    let read = |(at, word): (usize, &str)| {
        let (word, confidence) = word.split_once('@').map_or((word, None), |(word, stated)| {
            (word, Some(stated.parse().expect("a number")))
        });
        let (order, weight) = word.split_once('*').unwrap_or((word, "1"));
        let ranking = order
            .split('>')
            .filter(|tier| *tier != "-")
            .map(|tier| tier.split('=').map(str::to_owned).collect())
            .collect();
        Ballot {
            voter: format!("v{at}"),
            weight: weight.parse().expect("a weight"),
            confidence,
            ranking,
            ..Ballot::default()
        }
    };
    text.split(' ')
        .filter(|word| !word.is_empty())
        .enumerate()
        .map(read)
        .collect()
}

fn counted(candidates: &str, text: &str, by: &str, rules: &Rules) -> Count {
    count(
        &Profile::new(names(candidates), ballots(text)).expect("right"),
        by,
        rules,
    )
}

fn scores(count: &Count) -> String {
    count
        .scores
        .iter()
        .map(|(name, score)| format!("{name} {score}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn edges_are_defined() {
    use Ended::{Decided, NoQuorum, None as Nobody, Tie};
    let rows = [
        // method, candidates, ballots, winners, ending, scores
        ("unanimous", "A B", "A", "A", Decided, "A 1 B 0"),
        ("unanimous", "A B", "A A>B", "A", Decided, "A 2 B 0"),
        ("unanimous", "A B", "A B", "", Nobody, "A 1 B 1"),
        ("unanimous", "A B", "A -", "A", Decided, "A 1 B 0"),
        ("unanimous", "A B", "A A=B", "", Nobody, "A 1.5 B 0.5"),
        ("unanimous", "A B", "", "", NoQuorum, "A 0 B 0"),
        ("unanimous", "A B", "- -", "", NoQuorum, "A 0 B 0"),
        ("majority", "A B C", "A A B C", "", Nobody, "A 2 B 1 C 1"),
        ("majority", "A B C", "A A B", "A", Decided, "A 2 B 1 C 0"),
        (
            "majority",
            "A B C",
            "A A B - - -",
            "A",
            Decided,
            "A 2 B 1 C 0",
        ),
        (
            "plurality",
            "A B C",
            "A=B=C A=B=C A>B",
            "A",
            Decided,
            "A 5/3 B 2/3 C 2/3",
        ),
        ("plurality", "A B", "A B", "A B", Tie, "A 1 B 1"),
        (
            "weighted",
            "A B",
            "A*0.1 A*0.2 B*0.3",
            "A B",
            Tie,
            "A 0.3 B 0.3",
        ),
        (
            "weighted",
            "A B",
            "A*2@0.25 B@0.51",
            "B",
            Decided,
            "A 0.5 B 0.51",
        ),
        ("weighted", "A B", "A*0 B@0", "", NoQuorum, "A 0 B 0"),
        ("weighted", "A B", "A*0 B", "B", Decided, "A 0 B 1"),
        ("borda", "A B C", "A>B>C B", "B", Decided, "A 2.5 B 3 C 0.5"),
        ("borda", "A", "A", "A", Decided, "A 0"),
        ("score", "A", "A A", "A", Decided, "A 2"),
        (
            "score",
            "A B C",
            "A>B>C B",
            "B",
            Decided,
            "A 1.25 B 1.5 C 0.25",
        ),
        (
            "condorcet",
            "A B C",
            "A>B>C A>C>B B>A>C",
            "A",
            Decided,
            "A 2 B 1 C 0",
        ),
        (
            "condorcet",
            "A B C",
            "A>B>C B>C>A C>A>B",
            "A B C",
            Tie,
            "A 3 B 3 C 3",
        ),
        ("approval", "A B C", "A=B B=C", "B", Decided, "A 1 B 2 C 1"),
        (
            "instant-runoff",
            "A B C",
            "A>B>C A>B>C B>C>A B>C>A C>B>A",
            "B",
            Decided,
            "A 2 B 2 C 1",
        ),
        ("ranked-pairs", "A B", "A>B B>A", "A B", Tie, "A 0 B 0"),
        ("schulze", "A B", "A>B B>A", "A B", Tie, "A 0 B 0"),
    ];
    for (by, candidates, text, winners, ending, expected) in rows {
        let count = counted(candidates, text, by, &Rules::default());
        let found = (count.winners.join(" "), count.ending, scores(&count));
        assert_eq!(
            found,
            (winners.to_owned(), ending, expected.to_owned()),
            "{by} of {text}: {:#?}",
            count.working
        );
    }
    for method in METHODS {
        let nobody = Profile::new(names("A B"), Vec::new()).expect("right");
        assert_eq!(
            method.count(&nobody, &Rules::default()).ending,
            NoQuorum,
            "{}",
            method.name
        );
        let alone = Profile::new(names("A"), ballots("A - A")).expect("right");
        let count = method.count(&alone, &Rules::default());
        assert_eq!(
            (count.winner.as_deref(), count.voters, count.abstained),
            (Some("A"), 2, vec!["v1".to_owned()]),
            "{}",
            method.name
        );
    }
}

#[test]
fn a_cycle_is_named_and_a_tie_is_none() {
    let cycle = counted(
        "A B C",
        "A>B>C A>B>C B>C>A C>A>B",
        "condorcet",
        &Rules::default(),
    );
    assert_eq!(
        (
            cycle.fallback_used,
            cycle.cycle.join(""),
            cycle.winners.join("")
        ),
        (true, String::new(), "A".to_owned()),
        "two ties"
    );
    let cycle = counted(
        "A B C",
        "A>B>C A>B>C B>C>A B>C>A C>A>B",
        "condorcet",
        &Rules::default(),
    );
    assert_eq!(
        (
            cycle.fallback_used,
            cycle.cycle.join(""),
            cycle.winners.join("")
        ),
        (true, "ABC".to_owned(), "B".to_owned())
    );
    assert!(
        cycle
            .working
            .iter()
            .any(|line| line
                .contains("A beats B by 3 to 2, B beats C by 4 to 1, C beats A by 3 to 2")),
        "{:?}",
        cycle.working
    );
    let tie = counted("A B", "A>B B>A", "condorcet", &Rules::default());
    assert_eq!(
        (tie.fallback_used, tie.cycle.len(), tie.ending),
        (true, 0, Ended::Tie)
    );
    let below = counted(
        "W A B C",
        "W>A>B>C W>B>C>A W>C>A>B",
        "condorcet",
        &Rules::default(),
    );
    assert_eq!(
        (
            below.fallback_used,
            below.cycle.join(""),
            below.winner.as_deref()
        ),
        (false, "ABC".to_owned(), Some("W"))
    );
}

#[test]
fn weights_count_everywhere_when_asked() {
    let weigh = Rules {
        weigh: true,
        ..Rules::default()
    };
    let text = "A>B>C*0.5 A>B>C*0.5 B>A>C*1.000000000000000001";
    for by in [
        "majority",
        "plurality",
        "borda",
        "condorcet",
        "approval",
        "instant-runoff",
        "ranked-pairs",
        "schulze",
        "score",
    ] {
        assert_eq!(
            counted("A B C", text, by, &Rules::default())
                .winner
                .as_deref(),
            Some("A"),
            "{by} counts voters"
        );
        assert_eq!(
            counted("A B C", text, by, &weigh).winner.as_deref(),
            Some("B"),
            "{by} counts weights to the last digit"
        );
    }
    let pairwise =
        serde_json::to_value(counted("A B", "A*0.5 B*0.7", "condorcet", &weigh).pairwise)
            .expect("JSON");
    assert_eq!(
        pairwise,
        serde_json::json!({"A": {"B": "0.5"}, "B": {"A": "0.7"}})
    );
}

#[test]
fn thresholds_and_tie_breaks_are_named_rules() {
    let rows = [
        ("plurality", "A A B", Some(0.66), "none", Some("A"), None),
        ("plurality", "A A B", Some(0.67), "none", None, None),
        ("plurality", "A A B", Some(0.7), "none", None, None),
        ("majority", "A A B B", Some(0.5), "none", None, None),
        (
            "majority",
            "A A B B",
            Some(0.5),
            "order",
            Some("A"),
            Some("order"),
        ),
        (
            "majority",
            "A A B B C",
            Some(0.4),
            "most-first,order",
            Some("A"),
            Some("order"),
        ),
        ("approval", "A=B A=B B", Some(1.0), "none", Some("B"), None),
        ("weighted", "A*0.66 B*0.34", Some(0.67), "none", None, None),
        (
            "borda",
            "A>B>C B>A>C",
            Some(0.9),
            "order",
            Some("A"),
            Some("order"),
        ),
        ("plurality", "A>B>C B>C>A C>B>A", None, "none", None, None),
        (
            "plurality",
            "A>B>C B>C>A C>B>A",
            None,
            "borda",
            Some("B"),
            Some("borda"),
        ),
        (
            "plurality",
            "A>B>C B>C>A C>B>A",
            None,
            "condorcet",
            Some("B"),
            Some("condorcet"),
        ),
        ("borda", "A>B>C B>A>C", None, "borda", None, None),
        (
            "borda",
            "A>C>B B>A>C B>A>C",
            None,
            "most-first",
            Some("B"),
            Some("most-first"),
        ),
    ];
    for (by, text, threshold, rule, winner, used) in rows {
        let threshold = threshold.map(|share| Threshold::new(share).expect("a share"));
        let count = counted(
            "A B C",
            text,
            by,
            &Rules {
                threshold,
                weigh: false,
                tie_break: rule.parse().expect("a rule"),
            },
        );
        assert_eq!(
            (count.winner.as_deref(), count.tie_break.as_deref()),
            (winner, used),
            "{by} of {text}: {:#?}",
            count.working
        );
    }
    let half = Rules {
        threshold: Threshold::new(0.5).ok(),
        ..Rules::default()
    };
    for (votes, said, winner) in [
        (
            99,
            "A has 99 of 200 (0.495): that is below the share of 0.5 that is needed.",
            None,
        ),
        (
            100,
            "A has 100 of 200 (0.5): that reaches the share of 0.5 that is needed.",
            Some("A"),
        ),
    ] {
        // The others are divided, so that A leads.
        let text = format!(
            "{}{}{}",
            "A ".repeat(votes),
            "B ".repeat(60),
            "C ".repeat(140 - votes)
        );
        let count = counted("A B C", &text, "majority", &half);
        assert_eq!(count.winner.as_deref(), winner, "{votes}");
        assert!(
            count.working.iter().any(|line| line == said),
            "{said}\n{:?}",
            count.working
        );
    }
    let lots: Vec<Option<String>> = (0..20)
        .map(|seed| {
            counted(
                "A B",
                "A B",
                "plurality",
                &Rules {
                    tie_break: format!("seed:{seed}").parse().expect("a rule"),
                    ..Rules::default()
                },
            )
            .winner
        })
        .collect();
    assert!(
        lots.contains(&Some("A".to_owned())) && lots.contains(&Some("B".to_owned())),
        "{lots:?}"
    );
    for bad in ["", "alphabet", "seed:", "seed:x", "order,,borda"] {
        assert!(
            bad.parse::<rebut_engine::voting::TieBreak>().is_err(),
            "{bad}"
        );
    }
}

#[test]
fn approvals_and_scores_are_read_where_given() {
    let ballot = |json: &str| serde_json::from_str::<Ballot>(json).expect("a ballot");
    let all = vec![
        ballot(r#"{"voter": "a", "ranking": [["A"], ["B"]], "approves": ["B", "C"]}"#),
        ballot(r#"{"voter": "b", "ranking": [["A"]]}"#),
        ballot(r#"{"voter": "c", "approves": [], "scores": {"A": 0.1, "C": 0.2}}"#),
        ballot(r#"{"voter": "d", "weight": "2", "scores": {"A": 0.2, "B": -1, "C": 0.1}}"#),
    ];
    let profile = Profile::new(names("A B C"), all.clone()).expect("right");
    let approval = count(&profile, "approval", &Rules::default());
    assert_eq!(
        (
            scores(&approval),
            approval.voters,
            approval.abstained.join("")
        ),
        ("A 1 B 1 C 1".to_owned(), 3, "d".to_owned())
    );
    let score = count(&profile, "score", &Rules::default());
    assert_eq!(
        (scores(&score), score.winners.join(""), score.fallback_used),
        ("A 0.3 B -1 C 0.3".to_owned(), "AC".to_owned(), false)
    );
    assert_eq!(score.abstained.join(""), "ab");
    let weighed = count(
        &profile,
        "score",
        &Rules {
            weigh: true,
            ..Rules::default()
        },
    );
    assert_eq!(
        (scores(&weighed), weighed.winners.join("")),
        ("A 0.5 B -2 C 0.4".to_owned(), "A".to_owned())
    );
    // More weights than are summed apart.
    let scored = |at: usize| {
        ballot(&format!(
            r#"{{"voter": "{at}", "weight": "{at}.5", "scores": {{"A": 1e12, "B": -0.5}}}}"#
        ))
    };
    let many = Profile::new(names("A B"), (0..200).map(scored).collect()).expect("right");
    let many = count(
        &many,
        "score",
        &Rules {
            weigh: true,
            ..Rules::default()
        },
    );
    assert_eq!(
        scores(&many),
        "A 20000000000000000 B -10000",
        "the weights come to 20000"
    );
    assert_eq!(
        count(&profile, "plurality", &Rules::default())
            .abstained
            .join(""),
        "cd"
    );
    let refused = Profile::new(names("A B C"), all[2..3].to_vec()).expect("right");
    let nobody = count(&refused, "approval", &Rules::default());
    assert_eq!(
        (nobody.ending, nobody.voters),
        (Ended::None, 1),
        "an empty list approves nobody"
    );
}

#[test]
fn what_is_wrong_is_told_and_mended() {
    let ballot = |voter: &str, ranking: &[&[&str]]| Ballot {
        voter: voter.to_owned(),
        ranking: ranking
            .iter()
            .map(|tier| tier.iter().map(|name| (*name).to_owned()).collect())
            .collect(),
        ..Ballot::default()
    };
    let candidates = ["Alpha", "Beta", "Alpha", " "].map(str::to_owned).to_vec();
    let all = vec![
        ballot("x", &[&["Alpha"]]),
        ballot("y", &[&["Bta"], &["Alpha", "Alpha"], &[]]),
        ballot("x", &[&["Beta"]]),
        ballot("", &[&["Gamma delta"]]),
        Ballot {
            confidence: Some(f64::NAN),
            ..ballot("z", &[&["Beta"]])
        },
        Ballot {
            confidence: Some(1.5),
            scores: Some([("Beta".to_owned(), f64::INFINITY)].into()),
            ..ballot("w", &[])
        },
    ];
    let (profile, problems) = Profile::lenient(candidates.clone(), all.clone());
    let told: Vec<String> = problems
        .iter()
        .map(|problem| format!("{problem} -> {}", problem.mended))
        .collect();
    let expected = [
        "the candidate `Alpha` is listed twice -> counted once",
        "a candidate has no name -> left out",
        "ballot 2 (y): unknown candidate `Bta`; did you mean `Beta`? -> left out",
        "ballot 2 (y): `Alpha` is ranked twice -> its best place counts",
        "ballot 2 (y): a tier of the ranking is empty -> left out",
        "ballot 3 (x): this voter has another ballot -> the last one counts",
        "ballot 4: the voter has no name -> called `#4`",
        "ballot 4: unknown candidate `Gamma delta` -> left out",
        "ballot 5 (z): the confidence NaN is not between 0 and 1 -> counted as if none was stated",
        "ballot 6 (w): the confidence 1.5 is not between 0 and 1 -> counted as if none was stated",
        "ballot 6 (w): the score inf for `Beta` is not a number between -10^12 and 10^12 -> \
         counted as if none was given",
    ];
    assert_eq!(told, expected);
    let count = count(&profile, "weighted", &Rules::default());
    assert_eq!(
        (scores(&count), count.abstained.join(" ")),
        ("Alpha 1 Beta 2".to_owned(), "#4 w".to_owned())
    );
    assert!(
        count.working.iter().any(|line| line == "x: Beta"),
        "{:?}",
        count.working
    );
    assert_eq!(Profile::new(candidates, all).expect_err("wrong"), problems);
    assert_eq!(
        Profile::new(Vec::new(), Vec::new()).expect_err("wrong")[0].what,
        "there are no candidates"
    );
}

#[test]
fn the_method_follows_the_number_of_voters() {
    let chosen: Vec<&str> = (0..8).map(|voters| auto(voters).name).collect();
    assert_eq!(
        chosen,
        [
            "unanimous",
            "unanimous",
            "unanimous",
            "weighted",
            "weighted",
            "weighted",
            "borda",
            "borda"
        ]
    );
    assert!(method("Borda").is_none() && method("borda").is_some());
}
