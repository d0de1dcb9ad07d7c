//! `rebut vote`: hand-computed cases, both file forms, errors that say where, and files nobody
//! should write.

use crate::rebut::Rebut;
use serde_json::{Value, json};
use std::{io::Write, process::Stdio};

/// Every key of `expected` must be in `found` as it is.
fn assert_holds(found: &Value, expected: &Value, what: &str) {
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(&found[key], value, "{what}: `{key}` in {found:#}");
    }
}

#[test]
fn hand_computed_cases_come_out_as_computed() {
    let rebut = Rebut::new();
    let cases: Value = serde_json::from_str(include_str!("vote_cases.json")).expect("JSON");
    let cases = cases["cases"].as_array().expect("a list");
    assert!(cases.len() >= 12);
    for case in cases {
        // The whole case is handed in: keys beside the ballots are passed over.
        rebut.write("ballots.json", &case.to_string());
        for (method, expected) in case["expect"].as_object().expect("an object") {
            let output = rebut.run(&["vote", "ballots.json", "--method", method, "--json"]);
            let what = format!("{} by {method}", case["id"]);
            let found: Value = serde_json::from_str(&output.stdout)
                .unwrap_or_else(|error| panic!("{what}: {error}: {}", output.stderr));
            assert_holds(&found, expected, &what);
            let code = match found["ending"].as_str() {
                Some("decided") => 0,
                Some("tie" | "none") => 3,
                Some("no_quorum") => 1,
                other => panic!("{what}: {other:?}"),
            };
            assert_eq!(output.code, code, "{what}");
            assert!(
                found["working"]
                    .as_array()
                    .is_some_and(|lines| !lines.is_empty()),
                "{what}"
            );
        }
    }
}

#[test]
fn all_forms_of_a_file_are_the_same_ballots() {
    let rebut = Rebut::new();
    rebut.write(
        "one.csv",
        "voter,weight,ranking\nann,0.5,B>A=C\n\"bob, jr\",2,A\ncy,,\n",
    );
    rebut.write(
        "two.csv",
        "\u{feff}Voter,1,2,weight\r\nann,B,A = C,0.5\r\n\"bob, jr\",A,,2\r\ncy,,,\r\n",
    );
    let ballots = json!([
        {"voter": "cy"}, {"voter": "bob, jr", "weight": 2, "ranking": ["A"]},
        {"voter": "ann", "weight": "0.50", "ranking": [["B"], ["C", "A"]]},
    ]);
    rebut.write(
        "three.json",
        &json!({"ballots": ballots, "candidates": ["A", "B", "C"]}).to_string(),
    );
    rebut.write("four", &json!({"ballots": ballots}).to_string());
    let read = |file: &str, args: &[&str]| {
        rebut.json(
            0,
            &[&["vote", file, "--json", "-m", "borda", "--weigh"], args].concat(),
        )
    };
    let first = read("one.csv", &[]);
    assert_holds(
        &first,
        &json!({"winner": "A", "scores": {"A": "4.25", "B": "2", "C": "1.25"}, "abstained": ["cy"]}),
        "one.csv",
    );
    assert_eq!(
        first["ballots"][1],
        json!({"voter": "bob, jr", "weight": "2", "ranking": [["A"]]}),
        "who voted what is there"
    );
    for file in ["two.csv", "three.json", "four"] {
        assert_eq!(read(file, &[]), first, "{file}");
    }
    assert_eq!(
        read("one.csv", &["--candidates", "C,B,A"])["scores"],
        first["scores"]
    );
    let mut child = rebut
        .command(&["vote", "-", "--json", "-m", "borda", "--weigh"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(rebut.read("one.csv").as_bytes())
        .expect("written");
    let output = child.wait_with_output().expect("ends");
    assert_eq!(
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON"),
        first,
        "standard input"
    );
}

#[test]
fn all_methods_at_once_and_tie_breaks() {
    let rebut = Rebut::new();
    rebut.write(
        "b.csv",
        "voter,ranking,score:A,score:B\n1,A>B>C,1,0\n2,B>C>A,,5\n3,C>B>A,0,0\n",
    );
    let all = rebut.json(0, &["vote", "b.csv", "--all", "--json"]);
    assert_eq!(all["counts"].as_object().expect("an object").len(), 11);
    assert_holds(&all, &json!({"agree": true}), "--all");
    assert_eq!(
        (
            &all["counts"]["borda"]["winner"],
            &all["counts"]["score"]["scores"]["B"]
        ),
        (&json!("B"), &json!(5))
    );
    let text = rebut.expect(0, &["vote", "b.csv", "--all"]);
    for line in [
        "majority        NONE  nobody wins",
        "plurality       TIE  A, B, C",
        "schulze         WINNER  B",
        "  B  2  ·  2",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let broken = rebut.json(
        0,
        &[
            "vote",
            "b.csv",
            "-m",
            "plurality",
            "--tie-break",
            "condorcet",
            "--json",
        ],
    );
    assert_holds(
        &broken,
        &json!({"winners": ["A", "B", "C"], "winner": "B", "tie_break": "condorcet"}),
        "--tie-break",
    );
    rebut.expect(
        3,
        &[
            "vote",
            "b.csv",
            "-m",
            "plurality",
            "--threshold",
            "0.5",
            "--tie-break",
            "order",
        ],
    );
}

#[test]
fn pairs_weigh_what_the_count_weighs_and_say_so() {
    let rebut = Rebut::new();
    rebut.write(
        "b.csv",
        "voter,weight,confidence,ranking\na,2,0.5,A>B\nb,0.4,,B>A\nc,0.3,,B>A\n",
    );
    let rows = [
        (
            &["-m", "weighted"][..],
            "votes by weight × confidence",
            json!({"A": {"B": "1"}, "B": {"A": "0.7"}}),
        ),
        (
            &["-m", "plurality", "--weigh"],
            "votes by weight",
            json!({"A": {"B": "2"}, "B": {"A": "0.7"}}),
        ),
        (
            &["-m", "condorcet", "--weigh"],
            "votes by weight",
            json!({"A": {"B": "2"}, "B": {"A": "0.7"}}),
        ),
        (
            &["-m", "plurality"],
            "votes",
            json!({"A": {"B": 1}, "B": {"A": 2}}),
        ),
        (&["--all"], "votes", json!({"A": {"B": 1}, "B": {"A": 2}})),
        (
            &["--all", "--weigh"],
            "votes by weight",
            json!({"A": {"B": "2"}, "B": {"A": "0.7"}}),
        ),
    ];
    for (args, are, pairwise) in rows {
        let args = [&["vote", "b.csv"], args].concat();
        let found: Value =
            serde_json::from_str(&rebut.run(&[&args[..], &["--json"]].concat()).stdout)
                .expect("JSON");
        assert_holds(
            &found,
            &json!({"pairwise": pairwise, "pairwise_are": are}),
            &args.join(" "),
        );
        let shown = rebut.run(&args).stdout;
        assert!(
            shown.contains(&format!("\n{are} that put the row above the column\n")),
            "{args:?}\n{shown}"
        );
    }
}

#[test]
fn what_is_shown_can_be_told_apart_and_is_no_more_than_fits() {
    let rebut = Rebut::new();
    rebut.write(
        "b.csv",
        "voter,ranking\na,\"B, jr\"\nb,C\nc,\"say \"\"x\"\", D\"\n",
    );
    let shown = rebut.expect(3, &["vote", "b.csv", "-m", "plurality"]);
    assert!(
        shown.starts_with(r#"TIE  "B, jr", C, "say \"x\", D"  plurality"#),
        "{shown}"
    );
    assert!(
        shown.contains(r#""B, jr", C and "say \"x\", D" are tied."#),
        "{shown}"
    );
    for candidates in [16, 17] {
        let names = (0..candidates)
            .map(|at| format!("\"c{at}\""))
            .collect::<Vec<_>>()
            .join(",");
        rebut.write(
            "b.json",
            &format!(
                r#"{{"candidates": [{names}], "ballots": [{{"voter": "a", "ranking": ["c0"]}}]}}"#
            ),
        );
        for how in [&["-m", "plurality"][..], &["-m", "condorcet"], &["--all"]] {
            let args = [&["vote", "b.json"], how].concat();
            let shown = rebut.expect(0, &args);
            let found = (
                shown.contains("above the column"),
                shown.contains("pairwise: 17 × 17 numbers, see --json"),
            );
            assert_eq!(
                found,
                (candidates == 16, candidates == 17),
                "{how:?}\n{shown}"
            );
            let json = rebut.json(0, &[&args[..], &["--json"]].concat());
            assert_eq!(
                json["pairwise"].as_object().expect("an object").len(),
                candidates,
                "{how:?}"
            );
        }
    }
}

#[test]
fn no_ballots_are_no_quorum_whoever_the_candidates_are() {
    let rebut = Rebut::new();
    for text in [
        r#"{"ballots": []}"#,
        r#"{"ballots": [{"voter": "a"}]}"#,
        "voter,ranking\n",
        "voter,ranking\na,\n",
        "voter,1,2,score:A\n",
    ] {
        rebut.write("x", text);
        let shown = rebut.expect(1, &["vote", "x"]);
        assert!(
            shown.starts_with("NO QUORUM  no ballot counts"),
            "{text}\n{shown}"
        );
        let one = rebut.json(1, &["vote", "x", "--json", "-m", "condorcet"]);
        assert_holds(
            &one,
            &json!({"ending": "no_quorum", "winner": null, "winners": [], "scores": {}, "pairwise": {}}),
            text,
        );
        let shown = rebut.expect(1, &["vote", "x", "--all"]);
        assert_eq!(shown.matches("NO QUORUM").count(), 11, "{text}\n{shown}");
        let all = rebut.json(1, &["vote", "x", "--all", "--json"]);
        assert!(
            all["counts"]
                .as_object()
                .expect("an object")
                .values()
                .all(|count| count["ending"] == "no_quorum"),
            "{all:#}"
        );
    }
    rebut.write("x", r#"{"candidates": [], "ballots": []}"#);
    assert!(
        rebut
            .run(&["vote", "x"])
            .stderr
            .contains("there are no candidates"),
        "stated, and nobody"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let rebut = Rebut::new();
    let rows = [
        (
            "x.csv",
            "voter,ranking\na,A>B\nb,A>A\n",
            "line 3, ballot 2 (b): `A` is ranked twice",
        ),
        (
            "x.csv",
            "voter,weight,ranking\na,-1,A\n",
            "line 2, ballot 1 (a): `-1` is not a weight (negative)",
        ),
        (
            "x.csv",
            "voter,confidence,ranking\na,NaN,A\n",
            "the confidence NaN is not between 0 and 1",
        ),
        (
            "x.csv",
            "voter,ranking\na,A\na,B\n",
            "line 3, ballot 2 (a): this voter has another ballot",
        ),
        (
            "x.csv",
            "voter,ranking\na\n",
            "line 2 has 1 columns, the header has 2",
        ),
        ("x.csv", "voter,rankin\na,A\n", "did you mean `ranking`?"),
        (
            "x.csv",
            "voter,points\na,A\n",
            "unknown column `points`. Columns are voter, ",
        ),
        (
            "x.csv",
            "voter;weight;ranking\na;1;A>B\n",
            "line 1: the columns are separated by `;`; separate them by commas",
        ),
        (
            "x.csv",
            "voter\tranking\na\tA>B\n",
            "line 1: the columns are separated by tabs; separate them by commas",
        ),
        (
            "x.csv",
            "voter,weight\na,1\n",
            "no column says what was voted",
        ),
        ("x.csv", "voter,ranking,1\na,A,A\n", "not in both"),
        ("x.csv", "", "it is empty"),
        (
            "x.csv",
            "voter,ranking\na,>\n",
            "a candidate without a name",
        ),
        (
            "x.json",
            r#"{"candidates": ["Alpha"], "ballots": [{"voter": "a", "ranking": [["Alhpa"]]}]}"#,
            "unknown candidate `Alhpa`; did you mean `Alpha`?",
        ),
        (
            "x.json",
            r#"{"candidates": ["A"], "ballots": [{"voter": "a", "rankings": []}]}"#,
            "ballot 1: unknown field `rankings`",
        ),
        (
            "x.json",
            r#"{"candidates": ["A"], "ballots": [{"voter": "a"}, {"voter": "b", "ranking": "A"}]}"#,
            "ballot 2: invalid type",
        ),
        (
            "x.json",
            r#"{"candidates": ["A"], "ballots": [{"voter": "a", "weight": "x", "ranking": ["A"]}]}"#,
            "`x` is not a weight",
        ),
        (
            "x.json",
            r#"{"candidates": ["A"], "ballots": [{"voter": "a", "confidence": 1e999, "ranking": ["A"]}]}"#,
            "the confidence inf",
        ),
        (
            "x.json",
            r#"{"candidates": ["A", "A"], "ballots": []}"#,
            "the candidate `A` is listed twice",
        ),
        ("x.json", r#"{"candidates": []}"#, "there is no `ballots`"),
        (
            "x.json",
            r#"{"candidates": ["A"], "ballots": [}"#,
            "ballot 1: expected value at line 1 column 35",
        ),
        (
            "x.json",
            "{\"ballots\": []} trailing",
            "trailing characters",
        ),
    ];
    for (file, text, expected) in rows {
        rebut.write(file, text);
        let output = rebut.run(&["vote", file]);
        assert!(
            output.code == 2 && output.stderr.contains(expected) && output.stdout.is_empty(),
            "{text}\n{expected}\n{output:?}"
        );
        assert!(output.stderr.contains("hint: "), "{}", output.stderr);
    }
    for (args, expected) in [
        (&["vote", "none.json"][..], "cannot read"),
        (&["vote", "x.json", "-m", "bordda"], "borda"),
        (
            &["vote", "x.json", "--tie-break", "luck"],
            "unknown tie-break `luck`",
        ),
        (
            &["vote", "x.json", "--threshold", "2"],
            "--threshold is a share",
        ),
    ] {
        let output = rebut.run(args);
        assert!(
            output.code == 2 && output.stderr.contains(expected),
            "{args:?}: {output:?}"
        );
    }
    rebut.write("x.csv", "voter,weight,ranking\na,-1,A>A\na,2,B>A\nb,1,B\n");
    let output = rebut.run(&["vote", "x.csv", "--lenient", "-m", "weighted"]);
    assert!(
        output.code == 0 && output.stdout.starts_with("WINNER  B"),
        "{output:?}"
    );
    assert!(
        output.stderr.contains(
            "mended: line 3, ballot 2 (a): this voter has another ballot: the last one counts"
        ),
        "{}",
        output.stderr
    );
}

#[test]
fn files_nobody_should_write_end_with_an_error_or_a_result() {
    let rebut = Rebut::new();
    let list = |count: usize| {
        (0..count)
            .map(|at| format!("\"c{at}\""))
            .collect::<Vec<_>>()
            .join(",")
    };
    let ballot = |names: &str| {
        format!(
            r#"{{"candidates": [{names}], "ballots": [{{"voter": "a", "ranking": [[{names}]]}}]}}"#
        )
    };
    let deep = |open: &str| format!("{{\"ballots\": {}", open.repeat(200_000));
    let rows = [
        (deep("["), 2, "ballot 1: "),
        (deep("{\"a\":"), 2, "ballot"),
        (
            format!("{{\"other\": {}", "[".repeat(200_000)),
            2,
            "EOF while parsing",
        ),
        (
            format!(r#"{{"ballots": [{{"ranking": {}"#, "[".repeat(200_000)),
            2,
            "ballot 1: ",
        ),
        (ballot(&list(100_000)), 2, "more than 1000 candidates"),
        (ballot(&list(1000)), 3, ""),
        ("\u{0}".repeat(1000), 2, "unknown column"),
        (
            format!("voter,ranking\na,{}", "A>".repeat(300_000)),
            2,
            "`A` is ranked twice",
        ),
        (
            format!("voter,ranking\na,{}\n", "x".repeat(3_000_000)),
            0,
            "",
        ),
        (
            format!(
                "voter,ranking\n{}",
                (0..20_000)
                    .map(|at| format!("v{at},A>B=C\n"))
                    .collect::<String>()
            ),
            0,
            "",
        ),
    ];
    for (text, code, expected) in rows {
        rebut.write("x", &text);
        let output = rebut.run(&["vote", "x", "-m", "plurality"]);
        let beginning: String = text.chars().take(60).collect();
        assert!(
            output.code == code && output.stderr.contains(expected),
            "{beginning}: {} {:.500}",
            output.code,
            output.stderr
        );
    }
    // Every way of breaking such a tie would take longer than anybody waits.
    rebut.write("x", &ballot(&list(300)));
    let shown = rebut.expect(3, &["vote", "x", "--all"]);
    assert!(shown.contains("No method names one winner."), "{shown}");
    std::fs::write(rebut.path("x"), b"voter,ranking\na,\xff\xfe\n").expect("a file");
    let output = rebut.run(&["vote", "x"]);
    assert!(
        output.code == 2 && output.stderr.contains("not UTF-8 text, from byte 16 on"),
        "{output:?}"
    );
    rebut.write("x", "voter,ranking\n\u{1b}[31ma,A\u{1b}]0;title\u{7}\n");
    let shown = rebut.expect(0, &["vote", "x"]);
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\u{7}'),
        "{shown:?}"
    );
}
