//! Counting a debate again: other methods, thresholds and panels, from the journal alone; and how
//! firmly a decision stands.

use crate::rebut::{Rebut, case, script_of, split_then_c};
use serde_json::{Value, json};

/// A script of judges with these rankings, and their names.
fn ranked(rankings: &[&str]) -> (String, String) {
    let roles = ["risk", "value", "effort", "security", "neutral"];
    let replies: Vec<(String, String)> = rankings
        .iter()
        .zip(roles)
        .map(|(ranking, role)| {
            let letters: Vec<String> = ranking.chars().map(|letter| letter.to_string()).collect();
            let reply =
                json!({"option": letters[0], "ranking": letters, "confidence": 0.5, "summary": "so", "claims": ["because"]}).to_string();
            (format!("recommend/{role}"), reply)
        })
        .collect();
    let replies: Vec<(&str, String)> = replies
        .iter()
        .map(|(turn, reply)| (turn.as_str(), reply.clone()))
        .collect();
    (script_of(&replies), roles[..rankings.len()].join(","))
}

fn debate(rebut: &Rebut, rankings: &[&str], threshold: &str, code: i32) -> Value {
    let (script, judges) = ranked(rankings);
    rebut.write("debate.md", &script);
    rebut.write(
        ".rebut/roles/security.md",
        "---\nstance: sceptical\nabout: Who could abuse it.\n---\nLook for abuse.\n",
    );
    rebut.json(
        code,
        &case(&[
            "--judges",
            &judges,
            "--rounds",
            "1",
            "--threshold",
            threshold,
            "--json",
        ]),
    )
}

#[test]
fn methods_thresholds_and_panels_change_with_no_call() {
    let rebut = Rebut::new();
    // First choices A 2, B 2, C 1; A beats B 3 to 2, B beats C 3 to 2, C beats A 3 to 2: a cycle.
    let contested = debate(&rebut, &["ABC", "ABC", "BCA", "BCA", "CAB"], "0.6", 3);
    assert_eq!(contested["robustness"], Value::Null, "nothing was decided");
    let events = rebut.json(0, &["show", "last", "--json"])["events"].clone();
    let cycle = rebut.json(
        0,
        &[
            "retally",
            "last",
            "--method",
            "condorcet",
            "--tie-break",
            "order",
            "--json",
        ],
    );
    assert_eq!(cycle["count"]["fallback_used"], true);
    assert_eq!(cycle["count"]["cycle"], json!(["A", "B", "C"]));
    assert_eq!(
        (&cycle["before"], &cycle["winner"], &cycle["flips"]),
        (&Value::Null, &"B".into(), &true.into())
    );
    let rows: &[(&[&str], Option<&str>, bool)] = &[
        (&[], None, false),
        (&["--threshold", "0.4"], None, false),
        (
            &["--without", "effort", "--threshold", "0.5"],
            Some("A"),
            true,
        ),
        (&["--without", "effort", "--threshold", "0.51"], None, false),
        (&["--without", "effort,security,neutral"], Some("A"), true),
        (&["--method", "instant-runoff"], Some("A"), true),
        (
            &["--method", "instant-runoff", "--threshold", "0.5"],
            None,
            false,
        ),
        (&["--method", "unanimous"], None, false),
        (&["--method", "auto"], None, false),
    ];
    for (flags, winner, flips) in rows {
        let code = if winner.is_some() { 0 } else { 3 };
        let counted = rebut.json(code, &[&["retally", "last", "--json"], *flags].concat());
        assert_eq!(
            (counted["winner"].as_str(), counted["flips"].as_bool()),
            (*winner, Some(*flips)),
            "{flags:?}: {counted}"
        );
    }
    let text = rebut.run(&[
        "retally",
        "last",
        "--without",
        "effort",
        "--threshold",
        "0.5",
    ]);
    assert!(
        text.stdout
            .starts_with("FLIPS  the outcome flips: A wins, and nobody had won\n"),
        "{}",
        text.stdout
    );
    let tied = rebut.run(&[
        "retally",
        "last",
        "--method",
        "plurality",
        "--tie-break",
        "order",
    ]);
    assert!(
        tied.stdout.starts_with(
            "FLIPS  the outcome flips: A wins, and nobody had won, by \
            tie-break `order` among A, B\n"
        ),
        "{}",
        tied.stdout
    );
    let short = rebut.run(&[
        "retally",
        "last",
        "--method",
        "instant-runoff",
        "--threshold",
        "0.5",
    ]);
    assert!(
        !short.stdout.contains("A wins.")
            && short
                .stdout
                .contains("A leads, but has less than 0.5 of all first choices: nobody wins."),
        "{}",
        short.stdout
    );
    let stays = rebut.run(&["retally", "last", "--threshold", "0.9"]);
    assert!(
        stays.stdout.starts_with("STANDS  nobody wins, as before"),
        "{}",
        stays.stdout
    );
    for (flags, word) in [
        (["--without", "nobody"], "did not vote"),
        (
            ["--threshold", "7"],
            "must be from 0 (plurality) to 1, not 7",
        ),
        (["--round", "9"], "nothing was counted in round 9"),
        (["--method", "coin"], "invalid value 'coin'"),
    ] {
        let refused = rebut.run(&[&["retally", "last"], &flags[..]].concat());
        assert_eq!(refused.code, 2, "{flags:?}");
        assert!(
            refused.stderr.contains(word),
            "{flags:?}: {}",
            refused.stderr
        );
    }
    assert_eq!(
        rebut.json(0, &["show", "last", "--json"])["events"],
        events,
        "counting again leaves no trace"
    );
}

#[test]
fn an_earlier_round_can_be_counted_and_who_was_missing_counts_for_nobody() {
    let rebut = Rebut::new();
    let mut replies = split_then_c();
    replies[5].1 = "!timeout".to_owned();
    rebut.write("debate.md", &script_of(&replies));
    let ended = rebut.json(3, &case(&["--timeout", "1", "--json"]));
    assert_eq!(
        ended["outcome"], "contested",
        "one for C, one for B, and one is missing"
    );
    let last = rebut.json(3, &["retally", "last", "--threshold", "0.5", "--json"]);
    assert_eq!(last["missing"], json!(["effort"]));
    let first = rebut.json(
        3,
        &[
            "retally",
            "last",
            "--round",
            "1",
            "--threshold",
            "0.3",
            "--json",
        ],
    );
    assert_eq!(
        (&first["missing"], &first["count"]["winners"]),
        (&json!([]), &json!(["A", "B", "C"]))
    );
    for method in ["majority", "unanimous"] {
        let counted = rebut.json(
            3,
            &[
                "retally",
                "last",
                "--method",
                method,
                "--without",
                "value",
                "--json",
            ],
        );
        assert_eq!(
            (&counted["winner"], &counted["count"]["winners"]),
            (&Value::Null, &json!([])),
            "{method}: one of two is missing"
        );
    }
    let auto = rebut.json(3, &["retally", "last", "--method", "auto", "--json"]);
    assert_eq!(auto["method"], "unanimous", "two voted");
    let without = rebut.json(
        0,
        &["retally", "last", "--without", "value,effort", "--json"],
    );
    assert_eq!(
        (&without["winner"], &without["flips"]),
        (&"C".into(), &true.into()),
        "left out is not the same as missing"
    );
}

#[test]
fn a_decision_says_how_firmly_it_stands() {
    let rebut = Rebut::new();
    // B leads with 3 of 5, but whoever does not put it first puts it last.
    let decided = debate(&rebut, &["BAC", "BAC", "BAC", "ACB", "ACB"], "0.6", 0);
    let robust = &decided["robustness"];
    assert_eq!(
        (&robust["winner"], &robust["voters"]),
        (&"B".into(), &5.into())
    );
    assert_eq!(robust["flips"], json!({"to_undecide": 1, "to_another": 1}));
    assert_eq!(robust["methods"]["plurality"], json!(["B"]));
    assert_eq!(
        robust["methods"]["borda"],
        json!(["A"]),
        "A is nobody's last choice"
    );
    assert_eq!(robust["methods_against"], json!(["borda", "unanimous"]));
    let left_out: Vec<&str> = robust["without_agent"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|out| out["left_out"].as_str())
        .collect();
    assert_eq!(left_out, ["risk", "value", "effort"]);
    let effective = robust["effective_voters"].as_f64().expect("a number");
    assert!(
        effective > 1.0 && effective < 5.0,
        "five of one model are no five: {effective}"
    );
    let shown = rebut.run(&["show", "last"]).stdout;
    for expected in [
        "  robust    1 ballot cast otherwise would undo it, 1 ballot would elect another\n",
        "  robust    without risk: nobody wins; without value: nobody wins; without effort: nobody \
         wins\n",
        "  robust    the same by condorcet, instant-runoff, majority, plurality, ranked-pairs, \
         schulze, weighted; borda: A wins; unanimous: nobody wins\n",
        "  robust    5 voters, worth about ",
    ] {
        assert!(shown.contains(expected), "{expected:?} is not in\n{shown}");
    }
    for form in ["markdown", "adr"] {
        let report = rebut.run(&["export", "last", "--format", form]).stdout;
        assert!(
            report.contains("- 1 ballot cast otherwise would undo it"),
            "{form}: {report}"
        );
    }
    let firm = debate(&rebut, &["ABC", "ABC", "ACB", "ABC", "ACB"], "0.6", 0);
    assert_eq!(
        firm["robustness"]["flips"],
        json!({"to_undecide": 3, "to_another": 3})
    );
    assert_eq!(
        (
            &firm["robustness"]["without_agent"],
            &firm["robustness"]["methods_against"]
        ),
        (&json!([]), &json!([]))
    );
    assert!(
        rebut
            .run(&["show", "last"])
            .stdout
            .contains("  robust    it stands without any one of the agents\n")
    );
}
