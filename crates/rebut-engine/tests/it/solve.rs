//! What cases cannot show of solve: every subset of phases, hidden tests that nobody is told, and
//! gates that people decide.

use rebut_engine::{
    Desk, DeskOptions, Fork, Start,
    agent::Role,
    error::DeskError,
    event::{Event, GateDecided},
    formats::solve::{Config, Phase, SolveResult},
    memory_store::MemoryStore,
    model::{Answer, Fault, Model, Models, Request},
    outcome::{Ending, Outcome},
    store::Store,
};
use rebut_models::simulator::Simulator;
use rebut_testkit::{cases::Case, clock::SimulatedClock, toy_sandbox::ToySandbox};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
};

/// Passes on to another model and keeps every prompt.
struct Overheard<M> {
    inner: M,
    told: Mutex<Vec<String>>,
}

#[async_trait::async_trait]
impl<M: Model> Model for Overheard<M> {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        self.told.lock().expect("nobody panicked").push(format!(
            "{}\n{}",
            request.prompt.system, request.prompt.user
        ));
        self.inner.ask(request).await
    }
}

struct Everybody(Arc<dyn Model>);

impl Models for Everybody {
    fn open(&self, _: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(self.0.clone())
    }
}

fn start(input: Value, config: Value) -> Start {
    let roles = [
        "generator",
        "implementer",
        "critic",
        "tester",
        "red-team",
        "judge",
    ];
    Start {
        format: "solve".to_owned(),
        input,
        config,
        agents: roles
            .iter()
            .map(|role| {
                Role::built_in(role)
                    .expect("a built-in role")
                    .played_by("rehearsal")
            })
            .collect(),
        seed: Some(7),
        ..Start::default()
    }
}

fn desk(model: Arc<dyn Model>) -> Desk {
    let options = DeskOptions {
        clock: Arc::new(SimulatedClock::new()),
        sandbox: Arc::new(ToySandbox::default()),
        ..DeskOptions::default()
    };
    Desk::with_options(
        Arc::new(MemoryStore::new()),
        Arc::new(Everybody(model)),
        options,
    )
}

fn result_of(outcome: &Outcome) -> SolveResult {
    SolveResult::deserialize(&outcome.result).expect("a result of solve")
}

const HIDDEN: &str = "zebracanary: has quixotic\nokapicanary: lacks mellifluous\n";

#[tokio::test(start_paused = true)]
async fn every_subset_of_the_phases_runs_and_nobody_is_told_a_hidden_test() {
    let model = Arc::new(Overheard {
        inner: Simulator,
        told: Mutex::default(),
    });
    for bits in 0..256_u32 {
        let phases: Vec<Phase> = Phase::ALL
            .into_iter()
            .enumerate()
            .filter(|(at, _)| bits & (1 << at) != 0)
            .map(|(_, phase)| phase)
            .collect();
        let config = Config {
            phases: phases.clone(),
            clarify_from_words: 0,
            ..Config::default()
        };
        let input = json!({"task": "Add two \
            numbers.", "language": "python", "tests": "adds: has a + b\n", "hidden_tests": HIDDEN});
        let start = start(input, serde_json::to_value(config).expect("JSON"));
        let (_, outcome) = desk(model.clone())
            .run(start)
            .await
            .unwrap_or_else(|error| panic!("{phases:?}: {error}"));
        assert_eq!(
            (outcome.outcome, &outcome.degraded),
            (Ending::Completed, &Vec::new()),
            "{phases:?}: {}",
            outcome.summary
        );
        let result = result_of(&outcome);
        let held: Vec<&str> = result
            .phases
            .iter()
            .filter(|phase| phase.held)
            .map(|phase| phase.phase.as_str())
            .collect();
        assert_eq!(
            held,
            phases.iter().map(|phase| phase.name()).collect::<Vec<_>>()
        );
        assert_eq!(
            result.phases.len(),
            8,
            "those that were not held are listed too"
        );
        assert_eq!(
            result.candidates.len(),
            2,
            "{phases:?}: somebody always writes"
        );
        assert!(result.code.contains("REHEARSAL"), "{phases:?}");
        let hidden = result.hidden.expect("hidden tests ran");
        assert_eq!((hidden.passed, hidden.total), (1, 2), "{phases:?}");
        assert!(
            result.tests.is_none_or(|tests| tests.passed != tests.total),
            "a stub is never called passed"
        );
    }
    let told = model.told.lock().expect("nobody panicked");
    assert!(told.len() > 1000, "only {} prompts", told.len());
    for word in ["zebracanary", "okapicanary", "quixotic", "mellifluous"] {
        assert!(
            told.iter().all(|prompt| !prompt.contains(word)),
            "somebody was told `{word}`"
        );
    }
}

fn case(name: &str) -> Case {
    Case::read(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/cases/solve")
            .join(name),
    )
}

/// Both decisions, by a person while the debate waits.
#[tokio::test(start_paused = true)]
async fn a_person_decides_at_a_gate() {
    for (approved, ending) in [(true, Ending::Completed), (false, Ending::Rejected)] {
        let mut case = case("gate-timed-out");
        case.start.config["phases"] = json!(["proposal"]);
        let store = Arc::new(MemoryStore::new());
        let desk = case.desk(store.clone(), case.model());
        let running = desk.start(case.start.clone()).await.expect("it starts");
        let id = running.id;
        let mut watch = desk.watch(id, 0).await.expect("it can be watched");
        let opened = loop {
            let record = watch.next().await.expect("a record").expect("it goes on");
            if let Some(Event::GateOpened(opened)) = record.event().expect("events can be read") {
                break opened;
            }
        };
        assert!(
            opened.summary.contains("given tests 2 of 2 hold"),
            "{}",
            opened.summary
        );
        let code = opened
            .pending
            .as_ref()
            .and_then(|pending| pending["candidates"][0]["code"].as_str());
        assert!(
            code.is_some_and(|code| !code.is_empty()),
            "the code itself is shown: {:?}",
            opened.pending
        );
        let decision = |approved, by: &str| GateDecided {
            gate: opened.gate.clone(),
            approved,
            by: by.to_owned(),
            reason: "seen".to_owned(),
        };
        desk.decide(id, decision(approved, "somebody"), Some(opened.content))
            .await
            .expect("decided");
        let outcome = running.outcome().await.expect("an end");
        assert_eq!(outcome.outcome, ending, "{}", outcome.summary);
        let again = desk
            .decide(id, decision(!approved, "somebody else"), None)
            .await;
        assert!(again.is_err(), "a gate is decided once");
        let ungated = BTreeMap::from([("gates".to_owned(), json!([]))]);
        let fork = |config| Fork {
            at: "end".to_owned(),
            config,
            ..Fork::default()
        };
        assert!(
            matches!(
                desk.fork(id, fork(ungated)).await,
                Err(DeskError::BadRequest(_))
            ),
            "nor does a fork lose it"
        );
        let forked = desk
            .fork(id, fork(BTreeMap::new()))
            .await
            .expect("it forks")
            .outcome()
            .await
            .expect("an end");
        assert_eq!(
            forked.outcome,
            Ending::Rejected,
            "a fork asks again, and here nobody answers"
        );
        assert!(store.load(id, 0).await.expect("a journal").len() > 5);
    }
}

/// A cap that is met in the middle leaves what stands so far.
#[tokio::test(start_paused = true)]
async fn a_met_limit_leaves_the_best_code_so_far() {
    let mut case = case("straight");
    let limits = rebut_engine::event::Limits {
        caps: rebut_engine::budget::Caps {
            calls: Some(8),
            ..Default::default()
        },
        ..rebut_engine::event::Limits::default()
    };
    case.start.limits = Some(limits);
    let (_, ran) = case.run(Arc::new(MemoryStore::new())).await.expect("a run");
    assert_eq!(
        ran.outcome.outcome,
        Ending::Stopped,
        "{}",
        ran.outcome.summary
    );
    let result = result_of(&ran.outcome);
    assert!(
        result.code.contains("a + b") && result.chosen.contains("met a limit"),
        "{}",
        result.chosen
    );
    assert_eq!(result.hidden, None, "hidden tests score an end, not a stop");
}

/// A linter is a run like any other: on record, once for each text, and not where the settings of
/// the journal know nothing of it.
#[tokio::test(start_paused = true)]
async fn each_text_is_linted_once_where_the_settings_say_so() {
    type Change = fn(&mut Value);
    let rows: [(&str, Change, &[&str]); 5] = [
        (
            "as it is",
            |_| {},
            &["lint 1/generator", "lint 2/implementer", "lint 3/generator"],
        ),
        ("switched off", |config| config["lints"] = json!(false), &[]),
        (
            "settings that do not say",
            |config| {
                let config = config.as_object_mut().expect("a table");
                for key in ["lints", "embeddings", "similarity"] {
                    config.remove(key).expect("the preset has it");
                }
            },
            &[],
        ),
        (
            "no such program",
            |config| config["tools"]["lint"] = json!(["absent"]),
            &["lint 1/generator"],
        ),
        (
            "the table's is not there either",
            |config| config["tools"]["lint"] = json!([]),
            &["lint 1/generator"],
        ),
    ];
    for (why, change, expected) in rows {
        let mut case = case("linted");
        change(&mut case.start.config);
        let store = Arc::new(MemoryStore::new());
        let desk = case.desk(store.clone(), case.model());
        let (id, outcome) = desk.run(case.start.clone()).await.expect("a run");
        let events = store.load(id, 0).await.expect("a journal");
        let runs: Vec<String> = events
            .iter()
            .filter_map(|record| match record.event() {
                Ok(Some(Event::RunStarted(started))) if started.run.starts_with("lint") => {
                    Some(started.run.to_string())
                }
                _ => None,
            })
            .collect();
        assert_eq!(runs, expected, "{why}");
        let lints: Vec<Option<u32>> = desk
            .view(id)
            .await
            .expect("a view")
            .code
            .iter()
            .map(|code| code.metrics.lints)
            .collect();
        let found = if expected.len() == 3 {
            [Some(2), Some(1), Some(0), Some(0)]
        } else {
            [None; 4]
        };
        assert_eq!(lints, found, "{why}");
        assert_eq!(
            result_of(&outcome).without_evidence,
            None,
            "{why}: a missing linter takes no evidence away"
        );
        assert!(desk.replay(id).await.expect("a replay").identical, "{why}");
    }
}
