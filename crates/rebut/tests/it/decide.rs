//! What a decision prints, returns and counts.

use crate::rebut::{Rebut, case, recommends, responds, script, script_of, split_then_c};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn a_decision_shows_rounds_moves_outcome_dissent_and_cost() {
    let rebut = Rebut::new();
    let priced = split_then_c().into_iter().map(|(turn, reply)| {
        (
            turn,
            format!("!usage input=100 output=20 reasoning=5 cost=0.01\n{reply}"),
        )
    });
    rebut.write("debate.md", &script_of(&priced.collect::<Vec<_>>()));
    rebut.write("spec.md", "The field has no reception.\n");
    let output = rebut.run(&case(&["-c", "spec.md"]));
    assert_eq!(output.code, 0, "{}", output.stderr);
    for expected in [
        "Offline support?  decide · 3 judges · ≤2 rounds · threshold 0.67\n",
        "  C Limited offline\n",
        "Round 1  blind                                            agreement 0.33\n",
        "  risk    sceptical   A   .80  A is best\n",
        "  value   optimistic  B   .80  B is best\n",
        "Round 2  challenge                                        agreement 0.67\n",
        "  risk    A → C           .70  convinced by effort·1·#1: that is new to me\n",
        "  value   B (held)        .70  B it is\n",
        "RECOMMENDED  C Limited offline, 2 of 3  confidence HIGH\n",
        "  dissent   value → B: “B it is”\n",
        "$0.0600 · 6 calls · 600 in 120 out · ",
    ] {
        assert!(
            output.stdout.contains(expected),
            "{expected:?} is not in\n{}",
            output.stdout
        );
    }
    assert!(
        output
            .stderr
            .contains("risk moved A → C, because of effort·1·#1"),
        "{}",
        output.stderr
    );
    let quiet = rebut.run(&case(&["--quiet"]));
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));

    let json = rebut.json(0, &case(&["--json"]));
    assert_eq!(
        (&json["format"], &json["outcome"], &json["rehearsal"]),
        (&"decide".into(), &"consensus".into(), &false.into())
    );
    let usage = &json["usage"];
    assert_eq!(
        (&json["degraded"], &usage["calls"]),
        (&Value::Array(Vec::new()), &6.into())
    );
    assert_eq!(
        (&usage["output_tokens"], &usage["reasoning_tokens"]),
        (&120.into(), &30.into())
    );
    assert_eq!(
        (
            &json["result"]["recommended_option"],
            &json["result"]["change_log"][0]["from"]
        ),
        (&"C".into(), &"A".into())
    );
    let shown = rebut.json(
        0,
        &["show", json["debate_id"].as_str().expect("an id"), "--json"],
    );
    assert_eq!(shown, json, "`show --json` prints what the run printed");
    let rehearsed = rebut.json(
        0,
        &[
            "decide",
            "Redis or Memcached?",
            "-O",
            "Redis",
            "-O",
            "Memcached",
            "-m",
            "rehearsal",
            "--json",
        ],
    );
    assert_eq!(
        rehearsed["rehearsal"], true,
        "nobody mistakes the built-in speaker for a model"
    );
}

/// A case as other tools write it.
const CASE_FILE: &str = r#"
debate_context:
  question_id: "q7"
  question_text: "Offline support?"
  options:
    - id: "A"
      label: "Online only"
      description: "none"
    - id: "B"
      label: "Full offline"
      description: "all"
    - id: "C"
      label: "Limited"
      description: "some"
  spec_context: |
    No reception.
  feature_name: "field app"
  feature_dir: "feature"
"#;

#[test]
fn the_yaml_result_has_exactly_the_agreed_keys() {
    let consensus = [
        "question_id",
        "consensus",
        "recommended_option",
        "confidence",
        "perspectives",
        "change_log",
    ];
    let contested = [
        "question_id",
        "consensus",
        "outcome",
        "confidence",
        "distribution",
        "perspectives",
        "user_prompt",
    ];
    for (threshold, code, keys, perspectives) in [
        ("0.67", 0, &consensus[..], ["effort", "risk", "value"]),
        (
            "0.9",
            3,
            &contested[..],
            ["effort_favors", "risk_favors", "value_favors"],
        ),
    ] {
        let rebut = Rebut::new();
        rebut.write("debate.md", &script_of(&split_then_c()));
        rebut.write("case.yaml", CASE_FILE);
        rebut.expect(
            code,
            &[
                "decide",
                "--from",
                "case.yaml",
                "-m",
                "script:debate.md",
                "--threshold",
                threshold,
                "-o",
                "out/result.yaml",
                "-o",
                "r.adr.md",
            ],
        );
        let yaml: Value = serde_saphyr::from_str(&rebut.read("out/result.yaml")).expect("YAML");
        let result = yaml["debate_result"].as_object().expect("one key");
        assert_eq!(yaml.as_object().map(serde_json::Map::len), Some(1));
        assert_eq!(
            result.keys().map(String::as_str).collect::<BTreeSet<_>>(),
            keys.iter().copied().collect()
        );
        assert_eq!(
            result["perspectives"]
                .as_object()
                .expect("a map")
                .keys()
                .collect::<Vec<_>>(),
            perspectives
        );
        assert_eq!(
            (&result["question_id"], &result["consensus"]),
            (&"q7".into(), &(code == 0).into())
        );
        for file in [
            "risk",
            "value",
            "effort",
            "risk-r2",
            "value-r2",
            "effort-r2",
        ] {
            assert!(
                rebut
                    .read(&format!("feature/sadd/debate-q7-{file}.md"))
                    .contains("**Chosen option: "),
                "{file}"
            );
        }
        assert!(rebut.read("r.adr.md").contains(if code == 0 {
            "Status: Accepted"
        } else {
            "Status: Proposed"
        }));
    }
}

/// Scripts and what becomes of them: name, replies, flags, exit code, outcome, calls, who is
/// degraded and why.
#[test]
fn debates_end_as_their_rules_say() {
    let vote = |risk: &str, value: &str, effort: &str| {
        [
            ("recommend/risk", recommends(risk)),
            ("recommend/value", recommends(value)),
            ("recommend/effort", recommends(effort)),
        ]
        .to_vec()
    };
    let with = |mut replies: Vec<(&'static str, String)>, turn: &str, reply: &str| {
        replies
            .iter_mut()
            .filter(|(heading, _)| *heading == turn)
            .for_each(|(_, said)| *said = reply.to_owned());
        replies
    };
    let flip = with(split_then_c(), "challenge 2/risk", &responds("C", &[]));
    let mut stubborn = with(
        vote("B", "A", "A"),
        "recommend/risk",
        "I cannot approve of anything but B.",
    );
    stubborn.push(("recommend/risk/clarify", "As I said, B.".to_owned()));
    let mut repaired = with(vote("B", "B", "A"), "recommend/risk", "I like B.");
    repaired.push(("recommend/risk/clarify", recommends("B")));
    type Row<'a> = (
        &'a str,
        Vec<(&'static str, String)>,
        &'a [&'a str],
        i32,
        &'a str,
        u64,
        &'a [(&'a str, &'a str)],
    );
    let rows: Vec<Row<'_>> = vec![
        (
            "2 of 3 ends in round 1",
            vote("A", "B", "A"),
            &[],
            0,
            "consensus",
            3,
            &[],
        ),
        (
            "a three-way split is heard twice",
            split_then_c(),
            &[],
            0,
            "consensus",
            6,
            &[],
        ),
        (
            "an undocumented flip does not count",
            flip.clone(),
            &[],
            3,
            "contested",
            6,
            &[],
        ),
        (
            "unless told so",
            flip,
            &["--set", "decide.require_change_documentation=false"],
            0,
            "consensus",
            6,
            &[],
        ),
        (
            "contested, forgiven",
            split_then_c(),
            &["--threshold", "1", "--exit-zero"],
            0,
            "contested",
            6,
            &[],
        ),
        (
            "one is too late, the rest decide",
            with(vote("A", "A", "A"), "recommend/value", "!timeout"),
            &["--timeout", "1"],
            0,
            "consensus",
            3,
            &[("value", "timeout")],
        ),
        (
            "all are too late",
            vec![("*", "!timeout".to_owned())],
            &["--timeout", "1"],
            1,
            "no_quorum",
            3,
            &[
                ("risk", "timeout"),
                ("value", "timeout"),
                ("effort", "timeout"),
            ],
        ),
        (
            "one clarification helps",
            repaired,
            &[],
            0,
            "consensus",
            4,
            &[],
        ),
        (
            "one clarification does not help",
            stubborn,
            &[],
            0,
            "consensus",
            4,
            &[("risk", "invalid_reply")],
        ),
    ];
    for (name, replies, flags, code, outcome, calls, degraded) in rows {
        let rebut = Rebut::new();
        rebut.write("debate.md", &script_of(&replies));
        let json = rebut.json(code, &case(&[flags, &["--json"]].concat()));
        assert_eq!(
            (json["outcome"].as_str(), json["usage"]["calls"].as_u64()),
            (Some(outcome), Some(calls)),
            "{name}: {json:#}"
        );
        let missing = json["degraded"].as_array().expect("a list").iter();
        let missing: Vec<(&str, &str)> = missing
            .map(|absence| {
                (
                    absence["agent"].as_str().unwrap_or(""),
                    absence["reason"].as_str().unwrap_or(""),
                )
            })
            .collect();
        assert_eq!(missing, degraded, "{name}");
        if name.starts_with("an undocumented flip") {
            let text = rebut.expect(0, &["show", "last"]);
            assert!(
                text.contains(
                    "risk favours A: “C it is [said for C, without naming what \
                convinced it: not counted]”"
                ),
                "{text}"
            );
            let adr = rebut.expect(0, &["export", "last", "-f", "adr"]);
            assert!(adr.contains("not counted"), "{adr}");
        }
        if outcome == "no_quorum" {
            assert!(
                json["result"].is_null(),
                "{name}: nobody spoke, nothing is agreed"
            );
        }
    }
}

#[test]
fn a_person_answers_what_the_judges_could_not() {
    let rebut = Rebut::new();
    rebut.write(
        "debate.md",
        &script(&[
            ("*/risk", &recommends("A")),
            ("*/value", &recommends("B")),
            ("*/effort", &recommends("C")),
        ]),
    );
    let text = rebut.expect(3, &case(&["--rounds", "1"]));
    assert!(
        text.contains("CONTESTED  A risk · B value · C effort"),
        "{text}"
    );
    let id = rebut.json(0, &["ls", "--json"])[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let prefix = &id[..4];
    let wrong = rebut.run(&["answer", prefix, "Z"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong
            .stderr
            .contains("choose one of: A Online only, B Full offline, C Limited offline"),
        "{}",
        wrong.stderr
    );
    rebut.expect(0, &["answer", prefix, "b", "--reason", "the night shift"]);
    assert!(
        rebut
            .expect(0, &["show", prefix])
            .contains("answered  B by tester: “the night shift”")
    );
    assert_eq!(
        rebut.run(&["answer", prefix, "A"]).code,
        2,
        "one answer counts"
    );
    rebut.expect(0, &["audit", "verify", prefix]);
    let forked = rebut.json(
        3,
        &[
            "fork",
            prefix,
            "--at",
            "end",
            "--threshold",
            "0.3",
            "--json",
        ],
    );
    assert_eq!(
        forked["outcome"], "contested",
        "three equal sides have no leader, whatever the threshold"
    );
    rebut.expect(3, &["fork", prefix, "--at", "end", "--topology", "tree"]);
    let kinds: Vec<Value> = rebut
        .json(0, &["ls", "--json"])
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| row["topology_type"].clone())
        .collect();
    assert_eq!(
        kinds,
        ["tree", "graph_mesh", "graph_mesh"],
        "lists name the kind by the name of the table of sessions"
    );
}
