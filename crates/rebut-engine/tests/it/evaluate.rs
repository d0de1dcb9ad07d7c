//! Evaluations under a cap: topics are judged whole or not at all, and what was judged stands. No
//! case folder can show that, since a call in flight at a crash counts twice.

use rebut_engine::{
    agent::Role,
    budget::Caps,
    event::{Event, Limits},
    formats::{
        Format,
        evaluate::{Config, EvaluateResult, ROLES},
    },
    memory_store::MemoryStore,
    outcome::Ending,
    store::Store,
};
use rebut_testkit::cases::Case;
use serde::Deserialize;
use serde_json::json;
use std::{path::Path, sync::Arc};

fn case(name: &str) -> Case {
    Case::read(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/cases/evaluate")
            .join(name),
    )
}

#[tokio::test(start_paused = true)]
async fn whatever_the_cap_no_topic_is_argued_for_nothing_and_what_was_judged_stands() {
    // One call to score, then six for each of three topics.
    for calls in 1..=19 {
        let mut case = case("evaluated-first");
        case.start.limits = Some(Limits {
            caps: Caps {
                calls: Some(calls),
                ..Caps::default()
            },
            ..Limits::default()
        });
        let (_, ran) = case.run(Arc::new(MemoryStore::new())).await.expect("a run");
        let result = EvaluateResult::deserialize(&ran.outcome.result).expect("a result");
        let ending = if calls < 19 {
            Ending::Stopped
        } else {
            Ending::Completed
        };
        let judged = (calls - 1) / 6;
        assert_eq!(
            (ran.outcome.outcome, result.rounds.len() as u64),
            (ending, judged),
            "{calls} calls: {:?}",
            ran.calls
        );
        assert!(
            ran.calls.len() as u64 <= calls,
            "{calls} calls: {:?}",
            ran.calls
        );
        assert!(
            result
                .rounds
                .iter()
                .all(|round| round.arbiter_verdict.winner.is_some()),
            "{calls} calls"
        );
        let moved = result
            .scores
            .values()
            .filter(|scored| scored.delta != 0.0)
            .count() as u64;
        assert_eq!(
            moved,
            judged.min(2),
            "{calls} calls: the third topic is a draw"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn each_topic_leaves_one_verdict_and_one_score_in_the_journal() {
    for (name, verdicts) in [("flipped", 3), ("arbiter-missing", 1), ("all-skipped", 0)] {
        let store = MemoryStore::new();
        let (id, _) = case(name)
            .run(Arc::new(store.clone()))
            .await
            .expect("a run");
        let records = store.load(id, 0).await.expect("memory can be read");
        let events: Vec<Event> = records
            .iter()
            .filter_map(|record| record.event().expect("an event"))
            .collect();
        let rulings: Vec<_> = events
            .iter()
            .filter_map(|event| {
                if let Event::VerdictRecorded(ruling) = event {
                    Some(ruling)
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(rulings.len(), verdicts, "{name}");
        assert_eq!(
            rulings.iter().filter(|ruling| ruling.flipped).count(),
            usize::from(name == "flipped"),
            "{name}"
        );
        assert_eq!(
            events
                .iter()
                .filter(|event| matches!(event, Event::ScoreAdjusted(_)))
                .count(),
            3,
            "{name}: skipped ones say so too"
        );
    }
}

#[test]
fn a_request_that_cannot_be_is_refused_with_the_word_that_was_meant() {
    let format = Format::named("evaluate").expect("a format");
    let config = serde_json::to_value(Config::default()).expect("settings are JSON");
    let agents = |roles: &[&str]| {
        roles
            .iter()
            .map(|role| Role::parse(role, "Speak.").played_by("script:x"))
            .collect::<Vec<_>>()
    };
    let input = |more: serde_json::Value| {
        let mut input = json!({"title": "T", "idea": "An idea."});
        input
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        input
    };
    let scored = json!({"scores": {"problem": 1, "solution": 10, "market": {"score": 5.5}}});
    let rows = [
        (scored.clone(), &ROLES[..3], None),
        (json!({}), &ROLES[..], None),
        (
            json!({}),
            &ROLES[..3],
            Some("the role `evaluator`: not every category has a score"),
        ),
        (
            scored.clone(),
            &["advocate", "arbiter"],
            Some("the role `challenger`"),
        ),
        (
            scored.clone(),
            &["advocate", "challenger", "arbiter", "risk"],
            Some("no seat for the role `risk`"),
        ),
        (
            scored.clone(),
            &["advocate", "challenger", "arbiter", "arbiter"],
            Some("one arbiter, not several"),
        ),
        (
            json!({"scores": {"Problem": 5}}),
            &ROLES[..],
            Some("did you mean `problem`?"),
        ),
        (
            json!({"scores": {"problem": 0.9}}),
            &ROLES[..],
            Some("a score is from 1 to 10"),
        ),
        (json!({"idea": " "}), &ROLES[..], Some("the idea is empty")),
        (
            json!({"topics": []}),
            &ROLES[..],
            Some("0 topics; give 1 to 20"),
        ),
        (
            json!({"challenges": [""]}),
            &ROLES[..],
            Some("challenge 1 has no text"),
        ),
        (
            json!({"scoers": {}}),
            &ROLES[..],
            Some("unknown field `scoers`"),
        ),
    ];
    for (more, roles, expected) in rows {
        let found = (format.check)(&input(more.clone()), &config, &agents(roles)).err();
        assert_eq!(
            found.is_some(),
            expected.is_some(),
            "{more} {roles:?}: {found:?}"
        );
        assert!(
            found
                .as_deref()
                .unwrap_or_default()
                .contains(expected.unwrap_or_default()),
            "{more} {roles:?}: {found:?}"
        );
        let foreseen =
            (format.foresee)(&input(more), &config, &agents(roles)).map(|calls| calls.len());
        assert_eq!(
            foreseen.ok(),
            expected
                .is_none()
                .then_some(if roles.len() == 3 { 18 } else { 19 })
        );
    }
}
