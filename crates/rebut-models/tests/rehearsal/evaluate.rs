//! The turns of an evaluation: form, quotations, and that other ideas give other words.

use crate::stage::Rehearsed;
use rebut_engine::{
    Desk, Start,
    agent::Role,
    formats::evaluate::{Config, EvaluateResult, ROLES, scores::Winner},
    memory_store::MemoryStore,
    outcome::Ending,
};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// A whole evaluation by the real format, so that every reply passes its checks.
fn evaluate(idea: &str) -> EvaluateResult {
    let start = Start {
        format: "evaluate".to_owned(),
        input: json!({"title": "An idea", "idea": idea, "challenges": ["The licence of the map \
            data is unclear."]}),
        config: serde_json::to_value(Config::default()).expect("settings are JSON"),
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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (_, outcome) = runtime
        .block_on(Desk::new(Arc::new(MemoryStore::new()), Arc::new(Rehearsed)).run(start))
        .expect("an outcome");
    assert_eq!(
        (outcome.outcome, &outcome.degraded),
        (Ending::Completed, &Vec::new()),
        "{outcome:?}"
    );
    EvaluateResult::deserialize(&outcome.result).expect("a result")
}

const GOOD: &str = "Cyclists ask for it every week. It is cheap to build and the data is free. The \
    app is proven and stable. Growth is fast.";
const BAD: &str = "It needs a costly rewrite. The routes can be dangerous and nobody has tested \
    them. Users complain that it is slow.";

#[test]
fn the_text_decides_who_wins_and_nothing_is_made_up() {
    let mixed = format!("{GOOD}\n\n{BAD}");
    for (idea, winner) in [
        (GOOD, Some(Winner::Advocate)),
        (BAD, Some(Winner::Challenger)),
        (&mixed, None),
    ] {
        let result = evaluate(idea);
        assert_eq!(result, evaluate(idea), "the same idea gives the same words");
        for round in &result.rounds {
            if winner.is_some() {
                assert_eq!(
                    round.arbiter_verdict.winner, winner,
                    "{}: {:?}",
                    round.topic, round.arbiter_verdict
                );
            }
            assert!(!round.arbiter_verdict.flipped && !round.arbiter_verdict.skipped);
            let said = round
                .advocate_arguments
                .iter()
                .chain(&round.challenger_arguments);
            assert!(
                said.flat_map(|argued| &argued.evidence)
                    .all(|quoted| quoted.verified),
                "{round:?}"
            );
            let heard = round
                .challenger_arguments
                .iter()
                .any(|argued| argued.claim.contains("licence of the map data"));
            assert!(heard, "the red team is heard: {round:?}");
        }
    }
    let (good, bad) = (evaluate(GOOD), evaluate(BAD));
    assert!(good.totals.expect("a total").pre > bad.totals.expect("a total").pre);
    assert_ne!(
        good.rounds[0].advocate_arguments[0].claim,
        bad.rounds[0].advocate_arguments[0].claim
    );
}

#[test]
fn an_idea_that_says_nothing_is_still_debated() {
    for idea in [
        "x",
        "An app.",
        "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "好。也好。",
    ] {
        let result = evaluate(idea);
        assert_eq!(result.rounds.len(), 3, "{idea}");
    }
}
