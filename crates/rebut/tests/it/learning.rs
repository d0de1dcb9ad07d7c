//! What turned out right is marked, voters are weighed by it, and recorded answers are measured
//! without a model.

use crate::rebut::{Rebut, case, recommends, responds, script_of};
use std::{fs, io::Write, path::Path};

/// A debate in which these judges speak for these options, in both rounds.
fn says(rebut: &Rebut, judges: &[(&'static str, &str)]) {
    let heading = |step: &str, judge: &str| -> &'static str { format!("{step}/{judge}").leak() };
    let first = judges
        .iter()
        .map(|(judge, option)| (heading("recommend", judge), recommends(option)));
    let second = judges
        .iter()
        .map(|(judge, option)| (heading("challenge 2", judge), responds(option, &[])));
    rebut.write(
        "debate.md",
        &script_of(&first.chain(second).collect::<Vec<_>>()),
    );
}

const ONE_KNOWS: [(&str, &str); 3] = [("risk", "A"), ("value", "B"), ("effort", "B")];

#[test]
fn a_debate_is_marked_and_marked_again_and_stays_whole() {
    let rebut = Rebut::new();
    says(&rebut, &[("risk", "A"), ("value", "B"), ("effort", "C")]);
    rebut.expect(3, &case(&[]));
    for (option, says) in [
        (
            "D",
            "`D` is not an option; choose one of: A Online only, B Full offline, C Limited offline",
        ),
        ("", "choose one of"),
    ] {
        let refused = rebut.run(&["mark", "last", option]);
        assert!(
            refused.code == 2 && refused.stderr.contains(says),
            "{}",
            refused.stderr
        );
    }
    rebut.expect(0, &["answer", "last", "b"]);
    rebut.expect(0, &["mark", "last", "a"]);
    let again = rebut.run(&["mark", "last", "C", "--reason", "the pilot showed it"]);
    assert_eq!(
        (again.code, again.stderr.as_str()),
        (0, "marked: C turned out right\n")
    );
    let shown = rebut.json(0, &["show", "last", "--json"]);
    assert_eq!(shown["marked"]["option"], "C", "the last word counts");
    assert_eq!(
        shown["answer"]["option"], "B",
        "what was chosen is not what turned out right"
    );
    assert!(
        rebut
            .expect(0, &["show", "last"])
            .contains("right     C by tester: “the pilot showed it”")
    );
    let marks = rebut
        .events("last")
        .iter()
        .filter(|event| event["type"] == "human.marked")
        .count();
    assert_eq!(marks, 2, "the earlier one stays on record");
    assert!(rebut.expect(0, &["audit", "verify", "last"]).contains("ok"));
    let replayed = rebut.run(&["replay", "last"]);
    assert!(
        replayed.code == 0 && replayed.stderr.contains("identical"),
        "{}",
        replayed.stderr
    );
    rebut.expect(0, &["export", "last", "-o", "journal.ndjson"]);
    let elsewhere = Rebut::new();
    elsewhere.write("journal.ndjson", &rebut.read("journal.ndjson"));
    elsewhere.expect(0, &["import", "journal.ndjson", "--trust"]);
    assert_eq!(
        elsewhere.json(0, &["voters", "--json"])["debates"],
        1,
        "a mark travels with its journal"
    );
}

#[test]
fn what_was_not_decided_is_not_marked_and_what_nobody_said_is_not_counted() {
    let rebut = Rebut::new();
    rebut.write("debate.md", "# nothing\n\n## recommend/*\n!error 400\n");
    assert_ne!(rebut.run(&case(&[])).code, 0);
    let refused = rebut.run(&["mark", "last", "A"]);
    assert!(
        refused.code == 2 && refused.stderr.contains("there is nothing to mark"),
        "{}",
        refused.stderr
    );
    let nothing = rebut.expect(0, &["voters"]);
    assert!(
        nothing.contains("plain plurality") && nothing.contains("rebut mark ID OPTION"),
        "{nothing}"
    );

    let ended = rebut.run(&[
        "decide",
        "A or B?",
        "-O",
        "A=x",
        "-O",
        "B=y",
        "-m",
        "rehearsal",
    ]);
    assert!([0, 3].contains(&ended.code));
    rebut.expect(0, &["mark", "last", "A"]);
    says(&rebut, &ONE_KNOWS);
    rebut.expect(0, &case(&[]));
    rebut.expect(0, &["mark", "last", "A"]);
    rebut.expect(0, &["fork", "last", "--at", "end", "--threshold", "0.6"]);
    rebut.expect(0, &["mark", "last", "A"]);
    let voters = rebut.json(0, &["voters", "--json"]);
    assert_eq!(
        voters["debates"], 1,
        "neither a rehearsal nor a fork's copy is a voter's own answer: {voters}"
    );
    let risk = &voters["voters"][0];
    assert_eq!(
        (
            &risk["role"],
            &risk["answers"],
            &risk["right"],
            &risk["model"]
        ),
        (
            &"risk".into(),
            &1.into(),
            &1.into(),
            &"script:debate.md".into()
        )
    );
}

#[test]
fn learned_weights_are_pinned_counted_exactly_and_told() {
    let rebut = Rebut::new();
    says(&rebut, &ONE_KNOWS);
    let equal = rebut.run(&case(&["--weights", "learned"]));
    assert_eq!(equal.code, 0);
    assert!(
        equal.stderr.contains("no debate is marked")
            && equal.stdout.contains("B Full offline, 2 of 3  confidence"),
        "{equal:?}"
    );
    assert!(
        rebut
            .json(0, &["show", "last", "--json"])
            .get("weights")
            .is_none()
    );
    rebut.expect(0, &["mark", "last", "A"]);
    for _ in 0..5 {
        rebut.expect(0, &case(&["-q"]));
        rebut.expect(0, &["mark", "last", "A"]);
    }
    let table = rebut.expect(0, &["voters"]);
    assert!(
        table.contains("6 marked debates; 3 voters are worth 1.4 independent ones")
            && table.contains("too little to go by"),
        "{table}"
    );

    let weighed = rebut.run(&case(&["--weights", "learned"]));
    assert_eq!(weighed.code, 0, "{weighed:?}");
    assert!(
        weighed
            .stderr
            .contains("weights learned from 6 marked debates (few"),
        "{}",
        weighed.stderr
    );
    assert!(
        weighed.stdout.contains("votes are weighed: effort 0.")
            && weighed.stdout.contains("A Online only, 1 of 3 (2."),
        "{}",
        weighed.stdout
    );
    let shown = rebut.json(0, &["show", "last", "--json"]);
    let pinned = rebut.events("last").swap_remove(0)["data"]["config"]["weights"].clone();
    assert_eq!(shown["weights"], pinned);
    let weights: Vec<f64> = ["risk", "value", "effort"]
        .iter()
        .map(|judge| {
            pinned[judge]
                .as_str()
                .and_then(|text| text.parse().ok())
                .expect("a decimal")
        })
        .collect();
    assert!(
        (weights.iter().sum::<f64>() - 3.0).abs() < 0.02
            && weights[0] > 2.0
            && weights[1] == weights[2],
        "{weights:?}"
    );
    assert!(
        rebut
            .expect(0, &["retally", "last"])
            .contains("A stays the winner"),
        "a recount counts what the debate counted"
    );
    assert!(
        rebut
            .expect(0, &["retally", "last", "--without", "risk"])
            .contains("B wins instead of A")
    );
    rebut.expect(0, &["export", "last", "-o", "journal.ndjson"]);
    let elsewhere = Rebut::new();
    elsewhere.write("journal.ndjson", &rebut.read("journal.ndjson"));
    assert!(
        elsewhere
            .run(&["replay", "journal.ndjson"])
            .stderr
            .contains("identical"),
        "no history is needed to replay"
    );

    rebut.expect(0, &case(&["--weights", "equal"]));
    let by_hand = rebut.expect(
        0,
        &case(&["--set", "decide.weights.risk=\"2.5\"", "--threshold", "0.5"]),
    );
    assert!(
        by_hand.contains("A Online only, 1 of 3 (2.5 of 4.5 by weight)"),
        "{by_hand}"
    );
    let unknown = rebut.run(&case(&["--set", "decide.weights.nobody=\"1\""]));
    assert!(
        unknown.code == 2
            && unknown
                .stderr
                .contains("a weight for `nobody`, but the panel has risk, value, effort"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn recorded_answers_are_measured_as_pinned() {
    let rebut = Rebut::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/recorded");
    let pinned = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/recorded.txt");
    for name in ["debates.jsonl", "panel.tsv"] {
        let text = fs::read(examples.join(name)).expect("an example");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(&text).expect("bytes");
        fs::write(
            rebut.path(&format!("{name}.gz")),
            packed.finish().expect("bytes"),
        )
        .expect("a file");
        fs::write(rebut.path(name), text).expect("a file");
    }
    let table = rebut.expect(0, &["bench", "recorded", "debates.jsonl", "panel.tsv"]);
    if std::env::var_os("REBUT_UPDATE_CASES").is_some() {
        fs::write(&pinned, &table).expect("a file");
    }
    assert_eq!(
        table,
        fs::read_to_string(&pinned).expect("the pinned table"),
        "read the difference, then run with REBUT_UPDATE_CASES=1"
    );
    assert_eq!(
        rebut
            .expect(
                0,
                &["bench", "recorded", "debates.jsonl.gz", "panel.tsv.gz"]
            )
            .replace(".gz:", ":"),
        table
    );
    let json = rebut.json(0, &["bench", "recorded", "panel.tsv", "--json"]);
    assert_eq!(json[0]["rows"][0]["arm"], "plurality of all");
    rebut.write("other.tsv", "a\tb\n1\t2\n");
    rebut.write("broken.jsonl.gz", "not packed");
    for (file, code, says) in [
        ("other.tsv", 2, "no column `n_options`"),
        ("broken.jsonl.gz", 1, "cannot read"),
        ("none.tsv", 2, "cannot read"),
    ] {
        let refused = rebut.run(&["bench", "recorded", file]);
        assert!(
            refused.code == code && refused.stderr.contains(says),
            "{file}: {refused:?}"
        );
    }
}
