//! `rebut evaluate`: an idea on disk, three topics, scores that move, and what is written beside
//! the idea.

use crate::rebut::{Rebut, script};
use rebut_testkit::model_server::{Behaviour, ModelServer};
use serde_json::{Value, json};
use std::{fs, path::Path};

const IDEA: &str = "# Ward handover\n\nNurses lose 40 minutes a shift to handover on paper. Three \
    clinics asked for a pilot.\n";

const ARGUES: &str = r#"{"arguments":[{"claim":"The loss is measured.","reasoning":"It is a number.","evidence":["Nurses lose 40 minutes a shift"]},
    {"claim":"All want it.","reasoning":"They say so.","evidence":["Every hospital in the country has asked for it"]}]}"#;
const ATTACKS: &str = r#"{"arguments":[{"claim":"Nobody pays.","reasoning":"Asking is free.","evidence":["Three clinics asked for a pilot."]}]}"#;
const ANSWERS: &str =
    r##"{"answers":[{"argument":"#1","verdict":"attack","text":"Not enough.","evidence":[]}]}"##;

fn verdict(winner: &str, confidence: f64) -> String {
    format!(
        r#"{{"winner":"{winner}","reasoning":"Side {winner} shows more.","key_points":["k"],"confidence":{confidence},"strongest":"1#1"}}"#
    )
}

/// The advocate wins the first topic, the challenger the second; the third flips with the order.
pub fn debate() -> String {
    let judged = [
        ("1", "1", "2", 0.9),
        ("2", "2", "1", 0.8),
        ("3", "1", "1", 0.7),
    ]
    .map(|(topic, forwards, backwards, sure)| {
        let order = |word: &str, winner: &str| {
            (
                format!("judge {topic} {word}/arbiter"),
                verdict(winner, sure),
            )
        };
        [order("forwards", forwards), order("backwards", backwards)]
    });
    let mut replies: Vec<(&str, &str)> = vec![
        ("argue ?/advocate", ARGUES),
        ("argue ?/challenger", ATTACKS),
        ("rebuttal ?/*", ANSWERS),
    ];
    replies.extend(
        judged
            .iter()
            .flatten()
            .map(|(turn, said)| (turn.as_str(), said.as_str())),
    );
    script(&replies)
}

pub fn with_idea() -> Rebut {
    let rebut = Rebut::new();
    rebut.write("idea/idea.md", IDEA);
    rebut.write(
        "idea/scores.json",
        r#"{"problem": 7, "solution": {"score": 6.5, "confidence": 0.6}, "market": 5}"#,
    );
    rebut.write("debate.md", &debate());
    rebut
}

#[test]
fn three_topics_are_judged_and_scores_before_and_after_stand_in_both_files() {
    let rebut = with_idea();
    rebut.write("idea/.env", "TOKEN=hunter2-canary");
    rebut.write("idea/analysis/old.md", "canary-of-an-earlier-analysis");
    let output = rebut.run(&["evaluate", "idea", "-m", "script:debate.md"]);
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    for expected in [
        "Ward handover  evaluate · 3 topics · ±3 a verdict, ±5 in all\n",
        "                      pre  advocate  challenger  arbiter          post      Δ\n",
        // 3 × (2 × 0.9 − 1) × 0.5, since one of its two quotations is made up.
        "Problem validity      7.0  2 args    1 arg       advocate .90      8.2   +1.2\n",
        "Solution fit          6.5  2 args    1 arg       challenger .80    4.7   −1.8\n",
        "Market opportunity    5.0  2 args    1 arg       draw .70          5.0    0.0\n",
        "TOTAL                6.17                                         5.97   −0.2\n",
        "strongest: advocate·1·#1 “The loss is measured.”\n",
        "unverified: 1 quotation of the advocate on Problem validity not found in the idea\n",
        "flipped: the verdict on Market opportunity changed with the order of the sides, so it is \
         a draw\n",
        "COMPLETED  total 6.17 → 5.97 (−0.2), 3 of 3 topics judged\n",
    ] {
        assert!(
            output.stdout.contains(expected),
            "{expected:?} is not in\n{}",
            output.stdout
        );
    }
    for expected in [
        "scores from idea/scores.json",
        "left out idea/.env: may hold secrets",
        "wrote idea/analysis/debate.md, idea/analysis/debate.json",
    ] {
        assert!(
            output.stderr.contains(expected),
            "{expected:?} is not in\n{}",
            output.stderr
        );
    }
    let markdown = rebut.read("idea/analysis/debate.md");
    for row in [
        "| problem | 7.0 | 8.2 | +1.2 |",
        "| solution | 6.5 | 4.7 | −1.8 |",
        "| market | 5.0 | 5.0 | 0.0 |",
        "| **total** | 6.17 | 5.97 | −0.2 |",
    ] {
        assert!(markdown.contains(row), "{row} is not in\n{markdown}");
    }
    assert!(
        markdown.contains(
            "  - **unverified**, not found in the idea: “Every hospital in the \
            country has asked for it”\n  - strength 0.00"
        ),
        "{markdown}"
    );
    let whole: Value =
        serde_json::from_str(&rebut.read("idea/analysis/debate.json")).expect("JSON");
    let id = whole["debate_id"].as_str().expect("an id").to_owned();
    assert_eq!(
        rebut.json(0, &["show", &id, "--json"]),
        whole,
        "the file is what `--json` prints"
    );
    let result = &whole["result"];
    let of = |round: usize, field: &str| result["rounds"][round]["arbiter_verdict"][field].clone();
    assert_eq!(
        [of(0, "winner"), of(1, "winner"), of(2, "winner")],
        [json!("advocate"), json!("challenger"), json!("draw")]
    );
    assert_eq!(
        [of(0, "flipped"), of(2, "flipped"), of(0, "skipped")],
        [json!(false), json!(true), json!(false)]
    );
    assert_eq!(result["scores"]["problem"]["pre"], 7.0);
    assert_eq!(
        (
            &result["scores"]["problem"]["delta"],
            &result["scores"]["solution"]["delta"]
        ),
        (&json!(1.2), &json!(-1.8))
    );
    assert_eq!(
        result["rounds"][0]["advocate_arguments"][1]["id"],
        "advocate·1·#2"
    );
    assert_eq!(
        result["rounds"][0]["advocate_arguments"][1]["evidence"][0]["verified"],
        false
    );
    assert_eq!(
        result["rounds"][0]["score_adjustments"],
        json!({"problem": 1.2})
    );
    let started = &rebut.events(&id)[0]["data"]["input"];
    let sent = started["idea"].as_str().expect("text");
    assert!(
        sent.contains("40 minutes") && !sent.contains("canary") && !sent.contains("confidence"),
        "{sent}"
    );
    assert!(
        !rebut
            .events(&id)
            .iter()
            .any(|event| event.to_string().contains("canary")),
        "neither secrets nor an earlier analysis are sent"
    );
}

/// Planned or not: what counts is whose model judged whose.
#[tokio::test(flavor = "multi_thread")]
async fn an_arbiter_of_the_family_of_a_side_is_told_also_after_a_fallback() {
    let server = ModelServer::start(|_, seen| {
        let body = seen.json();
        match body["response_format"]["json_schema"]["name"].as_str() {
            _ if body["model"]
                .as_str()
                .is_some_and(|name| name.contains("gone")) =>
            {
                Behaviour::json(404, "{}")
            }
            Some("topic_arguments") => Behaviour::Say(ATTACKS.to_owned()),
            Some("topic_answers") => Behaviour::Say(ANSWERS.to_owned()),
            _ => Behaviour::Say(verdict("1", 0.9)),
        }
    })
    .await
    .expect("a server");
    let rows = [
        ("mine:claude-x", "mine:grok-x", false),
        ("mine:gpt-4o", "mine:grok-x", true),
        ("mine:gone-claude", "mine:gpt-4o", true),
        ("mine:gone-gpt", "mine:claude-x", false),
    ];
    for (arbiter, fallback, expected) in rows {
        let rebut = with_idea();
        rebut.trusted_config(&format!(
            "[providers.mine]\nbase_url = \"{}\"\n[panels.p]\nmembers = [\n{{ role = \"advocate\", \
             model = \"mine:gpt-5\" }},\n\
                 {{ role = \"challenger\", model = \"mine:mistral-x\" }},\n\
                 {{ role = \"arbiter\", model = \"{arbiter}\", fallbacks = [\"{fallback}\"] \
                 }},\n]\n",
            server.base_url()
        ));
        let told = rebut.json(0, &["evaluate", "idea", "-p", "p", "--json"]);
        assert_eq!(
            told["result"]["own_family"] == true,
            expected,
            "{arbiter}, else {fallback}: {told}"
        );
        assert_eq!(rebut.run(&["replay", "last"]).code, 0, "{arbiter}");
    }
}

#[test]
fn what_is_wrong_is_said_before_anybody_is_asked() {
    let rebut = with_idea();
    rebut.write("typo.json", r#"{"problm": 7}"#);
    rebut.write("range.toml", "[scores]\nmarket = 11\n");
    rebut.write("sure.yaml", "market: { score: 5, confidence: 2 }\n");
    rebut.write("key.json", r#"[{"text": "x", "catgory": "market"}]"#);
    rebut.write("red.json", r#"[{"text": "x", "category": "marekt"}]"#);
    let topic = |name: &str| json!({"name": name, "category": "c", "advocate_position": "a", "challenger_position": "b"});
    rebut.write(
        "twice.json",
        &json!([topic("Team"), topic("team")]).to_string(),
    );
    rebut.write("empty.md", " \n");
    rebut.write("blocked", "a file, not a folder");
    let rows: &[(&[&str], i32, &str)] = &[
        (
            &["idea", "--scores", "typo.json"],
            2,
            "no topic is about the category `problm`; did you mean `problem`?",
        ),
        (
            &["idea", "--scores", "range.toml"],
            2,
            "`market` is 11; a score is from 1 to 10",
        ),
        (
            &["idea", "--scores", "sure.yaml"],
            2,
            "the confidence of `market` is 2",
        ),
        (
            &["idea", "--challenges", "red.json"],
            2,
            "challenge 1: no topic is about the category `marekt`; did you mean `market`?",
        ),
        (
            &["idea", "--challenges", "key.json"],
            2,
            "unknown key `catgory`; did you mean `category`?",
        ),
        (
            &["idea", "--topics", "twice.json"],
            2,
            "`team` is there twice",
        ),
        (
            &["idea", "--scores", "gone.json"],
            2,
            "cannot read gone.json",
        ),
        (&["empty.md"], 2, "there is no text in empty.md"),
        (&["nowhere.md"], 2, "cannot read nowhere.md"),
        (&["idea/.env"], 2, "cannot read idea/.env"),
        (&["idea", "--analysis", "blocked/here"], 1, "blocked"),
        (
            &["idea", "--fail-on", "70"],
            2,
            "--fail-on 70: a score is from 1 to 10",
        ),
        (
            &["idea", "--judges", "risk,value"],
            2,
            "its seats are advocate, challenger, arbiter, evaluator",
        ),
        (
            &["idea", "--set", "evaluate.max_scor_change=1"],
            2,
            "did you mean `max_score_change`?",
        ),
        (
            &["idea", "--set", "evaluate.max_score_change=10"],
            2,
            "max_score_change must be 0 to 9, not 10",
        ),
    ];
    for (args, code, says) in rows {
        let args: Vec<&str> = ["evaluate"]
            .iter()
            .chain(*args)
            .copied()
            .chain(["-m", "script:debate.md"])
            .collect();
        let output = rebut.run(&args);
        assert_eq!(output.code, *code, "{args:?}: {}", output.stderr);
        assert!(output.stderr.contains(says), "{args:?}: {}", output.stderr);
    }
    assert_eq!(
        rebut.expect(0, &["ls", "--json"]).trim(),
        "[]",
        "nothing was begun"
    );
    let estimate = rebut.expect(
        0,
        &["evaluate", "idea", "-m", "script:debate.md", "--estimate"],
    );
    assert!(
        estimate.starts_with("18 calls"),
        "six for each of three topics: {estimate}"
    );
    assert!(
        !rebut.path("idea/analysis").exists(),
        "an estimate writes nothing"
    );
}

#[test]
fn a_low_total_fails_only_where_that_was_asked_for_and_a_limit_leaves_a_partial_result() {
    let rebut = with_idea();
    for (more, code) in [
        (&["--fail-on", "5.97"][..], 0),
        (&["--fail-on", "5.98"], 6),
        (&["--fail-on", "5.98", "--exit-zero"], 0),
    ] {
        let args: Vec<&str> = ["evaluate", "idea", "-m", "script:debate.md", "--no-files"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        rebut.expect(code, &args);
        assert!(!rebut.path("idea/analysis").exists());
    }
    let stopped = rebut.run(&[
        "evaluate",
        "idea",
        "-m",
        "script:debate.md",
        "--max-calls",
        "8",
        "--analysis",
        "out",
    ]);
    assert_eq!(stopped.code, 5, "{}", stopped.stderr);
    assert!(
        stopped
            .stdout
            .contains("so far total 6.17 → 6.57 (+0.4), 1 of 3 topics judged"),
        "{}",
        stopped.stdout
    );
    let partial: Value = serde_json::from_str(&rebut.read("out/debate.json")).expect("JSON");
    assert_eq!(
        (
            partial["outcome"].as_str(),
            partial["result"]["rounds"].as_array().map(Vec::len)
        ),
        (Some("stopped"), Some(1))
    );
    assert!(
        rebut
            .read("out/debate.md")
            .contains("| problem | 7.0 | 8.2 | +1.2 |")
    );
    let id = partial["debate_id"].as_str().expect("an id");
    let whole = rebut.json(0, &["resume", id, "--max-calls", "30", "--json"]);
    assert_eq!(
        whole["result"]["totals"],
        json!({"pre": 6.17, "post": 5.97, "delta": -0.2}),
        "it goes on where it stopped"
    );
    assert_eq!(whole["usage"]["calls"], 18, "nothing is asked twice");
}

#[test]
fn a_total_over_a_part_of_the_categories_passes_no_gate() {
    let rebut = with_idea();
    rebut.write("part.json", r#"{"problem": 9, "solution": 9}"#);
    // Nobody in the script speaks for the evaluator.
    let args = [
        "evaluate",
        "idea",
        "-m",
        "script:debate.md",
        "--scores",
        "part.json",
        "--no-files",
    ];
    for (more, code) in [
        (&[][..], 0),
        (&["--fail-on", "1"], 6),
        (&["--fail-on", "1", "--exit-zero"], 0),
    ] {
        let output = rebut.run(&args.iter().chain(more).copied().collect::<Vec<_>>());
        assert_eq!(
            output.code, code,
            "{more:?}: {}{}",
            output.stdout, output.stderr
        );
        let says =
            "the total is incomplete, without a score of market: it does not pass --fail-on 1\n";
        assert_eq!(
            output.stderr.contains(says),
            !more.is_empty(),
            "{more:?}: {}",
            output.stderr
        );
    }
}

#[cfg(unix)]
#[test]
fn a_link_planted_in_an_idea_leads_nowhere() {
    use std::os::unix::fs::symlink;
    let rebut = with_idea();
    rebut.write("precious.md", "precious");
    rebut.write("idea/analysis/old.md", "");
    for planted in ["debate.md", "debate.json", ".rebut-was-here"] {
        symlink(
            "../../precious.md",
            rebut.path(&format!("idea/analysis/{planted}")),
        )
        .expect("a link");
    }
    rebut.expect(0, &["evaluate", "idea", "-m", "script:debate.md"]);
    assert_eq!(rebut.read("precious.md"), "precious");
    assert!(
        rebut
            .read("idea/analysis/debate.md")
            .contains("| problem | 7.0 | 8.2 | +1.2 |")
    );

    fs::remove_dir_all(rebut.path("idea/analysis")).expect("the folder");
    rebut.write("elsewhere/keep.md", "");
    rebut.write("idea/inside/keep.md", "");
    for (target, more, code) in [
        ("../elsewhere", &[][..], 2),
        ("../nowhere", &[], 2),
        ("../elsewhere", &["--no-files"], 0),
        ("../elsewhere", &["--analysis", "idea/analysis"], 2),
        ("inside", &[], 2),
    ] {
        symlink(target, rebut.path("idea/analysis")).expect("a link");
        let output = rebut.run(
            &["evaluate", "idea", "-m", "script:debate.md"]
                .iter()
                .chain(more)
                .copied()
                .collect::<Vec<_>>(),
        );
        assert_eq!(output.code, code, "{target} {more:?}: {}", output.stderr);
        let is_refused = output.stderr.contains("idea/analysis is a link to ")
            && output
                .stderr
                .contains("are not followed; give the real path");
        assert_eq!(
            is_refused,
            code == 2,
            "{target} {more:?}: {}",
            output.stderr
        );
        fs::remove_file(rebut.path("idea/analysis")).expect("the link");
    }
    assert!(!rebut.path("idea/inside/debate.md").exists() && !rebut.path("nowhere").exists());
}

#[test]
fn a_panel_of_judges_lends_its_models_and_the_rehearsal_takes_its_words_from_the_idea() {
    let rebut = with_idea();
    rebut.write(
        "rebut.toml",
        "[defaults]\npanel = \"mine\"\n[panels.mine]\nmembers = [{ role = \"risk\", model = \
         \"script:debate.md\" }]\n",
    );
    let lent = rebut.run(&["evaluate", "idea", "--no-files"]);
    assert_eq!(lent.code, 0, "{}", lent.stderr);
    assert!(
        lent.stderr
            .contains("panel mine, its models seated as advocate, challenger, arbiter"),
        "{}",
        lent.stderr
    );
    fs::remove_file(rebut.path("rebut.toml")).expect("the configuration");

    rebut.write(
        "good.md",
        "# Good\n\nIt is cheap and easy to build. Customers ask for it and love \
        it. It is safe and proven.\n",
    );
    rebut.write(
        "bad.md",
        "# Bad\n\nIt is a costly rewrite. It can lose data and break. Nobody \
        wants it, and it is slow.\n",
    );
    let total = |file: &str| {
        let json = rebut.json(
            0,
            &["evaluate", file, "-m", "rehearsal", "--no-files", "--json"],
        );
        assert_eq!(json["rehearsal"], true);
        let quotes = json["result"]["rounds"]
            .to_string()
            .matches("\"verified\":true")
            .count();
        assert!(
            quotes > 0 && !json.to_string().contains("\"verified\":false"),
            "what it quotes stands there: {json}"
        );
        json["result"]["totals"]["post"].as_f64().expect("a number")
    };
    assert_ne!(total("good.md"), total("bad.md"));
}

#[test]
fn the_recorded_example_replays_offline_and_gives_its_result() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/evaluate");
    let read = |name: &str| {
        fs::read_to_string(examples.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let rebut = Rebut::new();
    rebut.write("journal.ndjson", &read("journal.ndjson"));
    rebut.expect(0, &["replay", "journal.ndjson"]);
    let id = rebut
        .expect(0, &["import", "journal.ndjson", "--trust"])
        .trim()
        .to_owned();
    let expected: Value = serde_json::from_str(&read("result.json")).expect("JSON");
    assert_eq!(rebut.json(0, &["show", &id, "--json"])["result"], expected);
    // The recording is what the script says today.
    for file in [
        "script.md",
        "field-app/idea.md",
        "field-app/challenges.json",
    ] {
        rebut.write(&format!("examples/evaluate/{file}"), &read(file));
    }
    let now = rebut.json(
        0,
        &[
            "evaluate",
            "examples/evaluate/field-app",
            "-m",
            "script:examples/evaluate/script.md",
            "--no-files",
            "--json",
        ],
    );
    assert_eq!(now["result"], expected);
}
