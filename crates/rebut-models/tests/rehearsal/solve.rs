//! The turns of a solve debate: every reply passes the format's checks, says what it is, and claims
//! nothing.

use crate::stage::Rehearsed;
use rebut_engine::{
    Desk, Start,
    agent::Role,
    formats::solve::{Config, ROLES, SolveResult},
    memory_store::MemoryStore,
    outcome::Ending,
    sandbox::LANGUAGES,
};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

#[test]
fn a_stub_in_every_language_that_claims_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    for language in LANGUAGES {
        let config = Config {
            clarify_from_words: 0,
            planning: rebut_engine::formats::solve::Planning::Cpde,
            ..Config::default()
        };
        let start = Start {
            format: "solve".to_owned(),
            input: json!({"task": "Count the words of a \
                text.", "language": language, "tests": "anything"}),
            config: serde_json::to_value(config).expect("settings are JSON"),
            agents: ROLES
                .iter()
                .map(|role| {
                    Role::built_in(role)
                        .expect("a built-in role")
                        .played_by("rehearsal")
                })
                .collect(),
            ..Start::default()
        };
        let (_, outcome) = runtime
            .block_on(Desk::new(Arc::new(MemoryStore::new()), Arc::new(Rehearsed)).run(start))
            .expect("an outcome");
        assert_eq!(
            (outcome.outcome, &outcome.degraded),
            (Ending::Completed, &Vec::new()),
            "{language}: {outcome:?}"
        );
        let result = SolveResult::deserialize(&outcome.result).expect("a result");
        assert!(
            result.code.contains("REHEARSAL") && result.code.contains("Count the words"),
            "{language}: {}",
            result.code
        );
        assert_eq!((result.tests, result.hidden), (None, None), "{language}");
        assert!(
            result.rubric.iter().all(|rated| rated.correctness == 0.0),
            "{language}"
        );
    }
}
