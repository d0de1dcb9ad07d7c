//! What a review promises beyond its cases: the debate never reaches the merge, its tokens are
//! counted, and its reports have their form.

use rebut_engine::{
    Desk, DeskOptions,
    budget::Caps,
    event::Limits,
    formats::review::{AuditEntry, audit_entry, render},
    memory_store::MemoryStore,
    model::{Answer, Fault, Model, Models, Request},
    outcome::Ending,
    report,
    view::View,
};
use rebut_models::script::ScriptModel;
use rebut_testkit::{cases::Case, clock::SimulatedClock};
use serde_json::Value;
use std::{
    path::Path,
    sync::{Arc, Mutex},
};

/// The script of a case, and every prompt of the editor it was shown, without the debate's own
/// marker.
struct Listening {
    model: Arc<ScriptModel>,
    editor: Mutex<Vec<String>>,
}

#[async_trait::async_trait]
impl Model for Listening {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        if request.turn.starts_with("edit/") {
            let whole = format!("{}\n{}", request.prompt.system, request.prompt.user);
            let marker = whole
                .split("<<<data ")
                .last()
                .and_then(|rest| rest.split(">>>").next())
                .expect("a marker")
                .to_owned();
            self.editor
                .lock()
                .expect("no test panicked meanwhile")
                .push(whole.replace(&marker, "MARKER"));
        }
        self.model.ask(request).await
    }
}

struct Everybody(Arc<Listening>);

impl Models for Everybody {
    fn open(&self, _: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(self.0.clone())
    }
}

fn case(name: &str) -> Case {
    Case::read(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/cases/review")
            .join(name),
    )
}

/// Runs a case; gives its view and what its editor was asked.
async fn run(name: &str) -> (View, Vec<String>) {
    run_within(name, None).await
}

/// The same with so many calls at most.
async fn run_within(name: &str, calls: Option<u64>) -> (View, Vec<String>) {
    let mut case = case(name);
    let caps = Caps {
        calls,
        ..Caps::default()
    };
    case.start.limits = Some(Limits {
        caps,
        ..Limits::default()
    });
    let listening = Arc::new(Listening {
        model: case.model(),
        editor: Mutex::default(),
    });
    let options = DeskOptions {
        clock: Arc::new(SimulatedClock::new()),
        ..DeskOptions::default()
    };
    let desk = Desk::with_options(
        Arc::new(MemoryStore::new()),
        Arc::new(Everybody(listening.clone())),
        options,
    );
    let (id, _) = desk
        .run(case.start.clone())
        .await
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(
        desk.replay(id)
            .await
            .is_ok_and(|replayed| replayed.identical),
        "{name} within {calls:?} calls: a replay is the same"
    );
    let asked = listening
        .editor
        .lock()
        .expect("no test panicked meanwhile")
        .clone();
    (desk.view(id).await.expect("a view"), asked)
}

fn result(view: &View) -> Value {
    view.outcome.as_ref().expect("an outcome").result.clone()
}

fn entry(view: &View) -> AuditEntry {
    audit_entry(view).expect("an entry")
}

/// Everything of a result that people and editors act on, as bytes.
fn acted_on(view: &View) -> String {
    let result = result(view);
    let keys = [
        "reviewers",
        "operations",
        "conflicts",
        "order",
        "merged",
        "dropped",
        "edited",
        "editing",
    ];
    keys.map(|key| format!("{key}: {}\n", result[key])).concat()
}

#[tokio::test(start_paused = true)]
async fn merged_and_edited_are_the_same_with_the_debate_on_off_and_failing() {
    let (off, asked) = run("conflict-debate-off").await;
    assert_eq!(result(&off)["debate"], Value::Null);
    assert!(
        acted_on(&off).contains("DEPLOY_TOKEN") && asked.len() == 1,
        "{}",
        acted_on(&off)
    );
    // A debate with a winner, one that flips, one without a judge, and some that a limit cuts off.
    let limited = (4..10).map(|calls| ("debate-on", Some(calls)));
    for (on, calls) in [("debate-on", None), ("flip", None), ("judge-missing", None)]
        .into_iter()
        .chain(limited)
    {
        let (view, same) = run_within(on, calls).await;
        assert!(
            result(&view)["debate"].is_object(),
            "{on} {calls:?}: there was a debate"
        );
        assert_eq!(acted_on(&view), acted_on(&off), "{on} {calls:?}");
        assert_eq!(same, asked, "{on} {calls:?}: the editor is asked the same");
    }
    // The same with two conflicts: judged both times, and with a side that does not answer.
    let ((both, one), (failing, other)) = (run("two-pairs").await, run("failed-pair").await);
    assert_eq!((acted_on(&both), one), (acted_on(&failing), other));
}

/// Where a limit is met, what stands so far is the result, and it is said. (Cases cannot have one:
/// a crash in flight uses up calls too.)
#[tokio::test(start_paused = true)]
async fn a_limit_leaves_what_stands() {
    let rows = [
        (2, None, None),
        (3, Some("stopped"), None),
        (4, Some("done"), Some(0)),
        (9, Some("done"), Some(0)),
        (10, Some("done"), Some(1)),
    ];
    for (calls, editing, pairs) in rows {
        let (view, _) = run_within("debate-on", Some(calls)).await;
        let outcome = view.outcome.clone().expect("an outcome");
        let is_cut = calls < 10;
        assert_eq!(
            (
                outcome.outcome == Ending::Stopped,
                outcome.stopped.is_some()
            ),
            (is_cut, is_cut),
            "{calls}"
        );
        assert_eq!(
            outcome.result["editing"]["state"].as_str(),
            editing,
            "{calls}"
        );
        assert_eq!(
            outcome.result["debate"]["pairs"].as_array().map(Vec::len),
            pairs,
            "{calls}"
        );
        let failed = outcome.result["debate"]["failed_pairs"]
            .as_array()
            .map(Vec::len);
        assert_eq!(
            failed,
            pairs.filter(|pairs| *pairs == 0).map(|_| 1),
            "{calls}"
        );
        assert_eq!(
            outcome.result["merged"].as_array().map(Vec::len),
            editing.map(|_| 4),
            "{calls}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_audit_entry_counts_the_debates_tokens_and_has_no_log_without_one() {
    for none in [
        "conflict-debate-off",
        "no-operations",
        "not-direct",
        "reviewer-missing",
        "straight-path",
        "diff",
    ] {
        let json = serde_json::to_value(entry(&run(none).await.0)).expect("well-formed");
        assert_eq!(json["debate_log"], Value::Null, "{none}");
        assert!(
            json["cost"]["input_tokens"]
                .as_u64()
                .is_some_and(|tokens| tokens > 100),
            "{none}: {json}"
        );
        assert!(
            ["debate_id", "at"]
                .iter()
                .all(|key| json[key].as_str().is_some_and(|said| said.len() > 10)),
            "{none}: {json}"
        );
    }
    let (off, on) = (
        entry(&run("conflict-debate-off").await.0),
        entry(&run("debate-on").await.0),
    );
    let log = on.debate_log.clone().expect("a log");
    assert!(log.cost.input_tokens > 0 && log.cost.output_tokens > 0);
    assert_eq!(
        on.cost.input_tokens,
        off.cost.input_tokens + log.cost.input_tokens
    );
    assert_eq!(
        on.cost.output_tokens,
        off.cost.output_tokens + log.cost.output_tokens
    );
    let json = serde_json::to_value(&log).expect("well-formed");
    assert_eq!(json["ran"], true);
    let expected: Value = serde_json::from_str(
        r#"[{"role_a": "security", "role_b": "testing", "conflict": "Add vs Remove on 'env access'", "winner": "security",
             "judge_scores": {"security": 8.13, "testing": 5.5}}]"#,
    )
    .expect("well-formed");
    assert_eq!(json["pairs"], expected);
    let keys = |value: &Value| {
        value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&json), ["cost", "judge_feedback", "pairs", "ran"]);
    assert_eq!(
        keys(&json["judge_feedback"][0]),
        [
            "argument_labels",
            "argument_quality_score",
            "policy_signal",
            "role"
        ]
    );
    assert_eq!(keys(&json["cost"]), ["input_tokens", "output_tokens"]);
    let failed =
        serde_json::to_value(entry(&run("failed-pair").await.0).debate_log).expect("well-formed");
    assert_eq!(
        (
            failed["pairs"].as_array().map(Vec::len),
            failed["failed_pairs"].as_array().map(Vec::len)
        ),
        (Some(1), Some(1))
    );
    let five = entry(&run("five-conflicts").await.0);
    assert_eq!(
        (
            five.conflicts.len(),
            five.debate_log.expect("a log").pairs.len()
        ),
        (5, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn sarif_has_what_its_schema_requires() {
    for case in ["straight-path", "diff", "hostile", "no-operations"] {
        let (view, _) = run(case).await;
        let log: Value =
            serde_json::from_str(&report::sarif(&view).expect("a review")).expect("well-formed");
        assert_eq!(log["version"], "2.1.0");
        assert!(
            log["$schema"]
                .as_str()
                .is_some_and(|schema| schema.ends_with("sarif-2.1.0.json"))
        );
        let [run] = log["runs"].as_array().expect("runs").as_slice() else {
            panic!("{case}: one run")
        };
        let driver = &run["tool"]["driver"];
        assert!(driver["name"].is_string(), "{case}");
        let rules = driver["rules"].as_array().expect("rules");
        let results = run["results"].as_array().expect("results");
        assert_eq!(
            results.len(),
            result(&view)["merged"].as_array().map_or(0, Vec::len),
            "{case}"
        );
        for found in results {
            assert!(
                found["message"]["text"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty()),
                "{case}: {found}"
            );
            assert!(
                ["error", "warning", "note"].contains(&found["level"].as_str().expect("a level")),
                "{case}: {found}"
            );
            let rule = &rules[usize::try_from(found["ruleIndex"].as_u64().expect("a number"))
                .expect("well-formed")];
            assert_eq!(rule["id"], found["ruleId"], "{case}");
            for place in found["locations"].as_array().into_iter().flatten() {
                let place = &place["physicalLocation"];
                let uri = place["artifactLocation"]["uri"].as_str().expect("a file");
                assert!(
                    ["prompt.md", "src/deploy.rs"].contains(&uri),
                    "{case}: no other file was reviewed: {uri}"
                );
                assert!(
                    place["region"]["startLine"]
                        .as_u64()
                        .is_none_or(|line| line > 0),
                    "{case}: {place}"
                );
            }
        }
    }
    let diff: Value = serde_json::from_str(&report::sarif(&run("diff").await.0).expect("a review"))
        .expect("well-formed");
    let first = &diff["runs"][0]["results"][0];
    assert_eq!(
        (&first["level"], &first["ruleId"]),
        (&"error".into(), &"security/Remove".into())
    );
    let place = &first["locations"][0]["physicalLocation"];
    assert_eq!(
        (
            &place["artifactLocation"]["uri"],
            &place["region"]["startLine"]
        ),
        (&"src/deploy.rs".into(), &3.into())
    );
    assert!(
        report::sarif(&run("too-few").await.0).is_err(),
        "without a result there is nothing to write"
    );
    let empty: Value =
        serde_json::from_str(&report::empty_sarif("nothing changed").expect("a log"))
            .expect("well-formed");
    assert_eq!(
        (&empty["version"], &empty["runs"][0]["results"]),
        (&"2.1.0".into(), &Value::Array(Vec::new()))
    );
}

#[tokio::test(start_paused = true)]
async fn reports_say_who_is_missing_and_that_it_was_a_rehearsal() {
    let told = |view: &View| {
        let log: Value =
            serde_json::from_str(&report::sarif(view).expect("a review")).expect("well-formed");
        let went = log["runs"][0]["invocations"][0].clone();
        let said = went["toolExecutionNotifications"]
            .as_array()
            .expect("a list")
            .clone();
        assert!(
            said.iter().all(|said| ["note", "warning", "error"]
                .contains(&said["level"].as_str().expect("a level"))),
            "{went}"
        );
        let said: Vec<String> = said
            .iter()
            .map(|said| said["message"]["text"].as_str().expect("a text").to_owned())
            .collect();
        (
            went["executionSuccessful"].as_bool(),
            went["properties"]["rehearsal"].as_bool(),
            said.join("; "),
        )
    };
    let (mut whole, _) = run("no-operations").await;
    assert_eq!(told(&whole), (Some(true), Some(false), String::new()));
    let whole_comment = report::comment(&whole).expect("a review");
    assert!(
        whole_comment.contains("**rebut review**: nothing to change · ")
            && !whole_comment.contains("missing"),
        "{whole_comment}"
    );

    Arc::make_mut(whole.started.as_mut().expect("a start")).rehearsal = true;
    assert_eq!(
        told(&whole),
        (
            Some(true),
            Some(true),
            "rehearsal: the built-in speaker answered, not a model".to_owned()
        )
    );
    // The same with one more who was asked and is not in the result.
    let started = Arc::make_mut(whole.started.as_mut().expect("a start"));
    let mut silent = started.agents[0].clone();
    silent.name = "silent".into();
    started.agents.push(silent);
    let comment = report::comment(&whole).expect("a review");
    assert!(
        comment.contains("**rebut review**: nothing found · 1 reviewer missing · ")
            && !comment.contains("nothing to change"),
        "{comment}"
    );

    let (missing, _) = run("reviewer-missing").await;
    let (went, _, said) = told(&missing);
    assert!(
        went == Some(false) && said.starts_with("missing: ") && said.contains("review/"),
        "{said}"
    );
    assert!(
        report::comment(&missing)
            .expect("a review")
            .lines()
            .nth(1)
            .is_some_and(|line| line.contains(" · 1 reviewer missing · "))
    );
    let (went, _, said) = told(&run_within("debate-on", Some(3)).await.0);
    assert!(
        went == Some(false) && said.starts_with("stopped: "),
        "{said}"
    );
}

/// Two pairs about the same in the same words: each keeps its own verdict, and what was joined is
/// counted.
#[tokio::test(start_paused = true)]
async fn conflicts_are_told_apart_by_their_names() {
    let (mut view, _) = run("one-target-twice").await;
    let comment = report::comment(&view).expect("a review");
    let blocks: Vec<&str> = comment.split("<details>").skip(1).collect();
    let [first, second] = blocks.as_slice() else {
        panic!("two conflicts: {comment}")
    };
    assert!(
        first.contains(": security ✕ testing<")
            && first.contains("debated: security argued better"),
        "{first}"
    );
    assert!(
        second.contains(": clarity ✕ testing<")
            && second.contains("debated: testing argued better"),
        "{second}"
    );
    let all = std::mem::take(&mut view.verdicts);
    view.verdicts = all
        .into_iter()
        .filter(|ruling| ruling.about.starts_with("C1 "))
        .collect();
    assert_eq!(
        report::comment(&view)
            .expect("a review")
            .matches("debated: ")
            .count(),
        1,
        "what was not debated is not called so"
    );

    let merged = |view: &View| {
        render::lines(view)
            .into_iter()
            .find(|line| line.starts_with("MERGED"))
            .expect("a line")
    };
    assert!(
        merged(&view).starts_with("MERGED 3 of 5 operations"),
        "{}",
        merged(&view)
    );
    view.outcome = None;
    assert_eq!(
        merged(&view),
        "MERGED 3 of 5 operations",
        "interrupted, it is the same"
    );

    let (failed, _) = run("failed-pair").await;
    let line = render::lines(&failed)
        .into_iter()
        .find(|line| line.contains("failed: "))
        .expect("a failed pair");
    assert!(line.starts_with("Pair C"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn a_comment_begins_with_its_mark_and_nothing_of_a_model_is_markup() {
    let (view, _) = run("debate-on").await;
    let text = report::comment(&view).expect("a review");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], report::MARKER);
    assert!(
        lines[1].starts_with(
            "**rebut review**: 1 critical · 1 high · 1 medium · 1 low · 1 conflict · n/a"
        ),
        "{}",
        lines[1]
    );
    assert!(
        text.contains("<details><summary>C1 Add vs Remove on 'env access'")
            && text.ends_with("</details>\n"),
        "{text}"
    );
    assert!(
        text.contains("security argued better (logged only"),
        "{text}"
    );
    let hostile = report::comment(&run("hostile").await.0).expect("a review");
    assert_eq!(hostile.matches(report::MARKER).count(), 1, "{hostile}");
    assert!(
        !hostile.contains("@everybody")
            && !hostile.contains("[click]")
            && !hostile.contains('\u{1b}'),
        "{hostile}"
    );
    assert_eq!(
        hostile.matches("</details>").count(),
        hostile.matches("<details>").count(),
        "{hostile}"
    );
    assert!(hostile.contains("Missing: clarity"), "{hostile}");
}
