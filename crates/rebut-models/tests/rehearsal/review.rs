//! The rehearsal as reviewer, editor, side and judge: whole reviews, made of the given text, the
//! same for the same text.

use crate::stage::{Rehearsed, agent};
use rebut_engine::{
    Desk, Start,
    formats::review::{FORMAT, ReviewResult},
    memory_store::MemoryStore,
    outcome::Ending,
};
use serde_json::json;
use std::sync::Arc;

async fn review(text: &str, kind: &str) -> ReviewResult {
    let mut config: toml::Table = toml::from_str(FORMAT.preset).expect("a preset");
    config["debate"]["enabled"] = true.into();
    let start = Start {
        format: "review".to_owned(),
        input: json!({"title": "t", "text": text, "kind": kind}),
        config: serde_json::to_value(config).expect("settings"),
        agents: [
            "security",
            "testing",
            "clarity",
            "performance",
            "editor",
            "judge",
        ]
        .map(agent)
        .to_vec(),
        seed: Some(7),
        ..Start::default()
    };
    let desk = Desk::new(Arc::new(MemoryStore::new()), Arc::new(Rehearsed));
    let (id, outcome) = desk.run(start).await.expect("a review");
    assert_eq!(
        (outcome.outcome, &*outcome.degraded),
        (Ending::Completed, &[][..]),
        "every reply is valid at once"
    );
    ReviewResult::of(&desk.view(id).await.expect("a view")).expect("a result")
}

const TEXT: &str = "# Deploy\n\nRead the environment for the token. Keep some backups of \
    everything.\nIt should work offline.\n";

#[tokio::test]
async fn a_rehearsed_review_is_made_of_the_text_and_plays_every_turn() {
    let result = review(TEXT, "text").await;
    assert!(
        result.operations.iter().all(|operation| operation.verified),
        "it quotes what is there: {:?}",
        result.operations
    );
    let targets: Vec<&str> = result
        .operations
        .iter()
        .map(|operation| operation.target.as_str())
        .collect();
    assert!(
        targets.contains(&"read environment") && targets.contains(&"keep backups"),
        "{targets:?}"
    );
    // Two lenses on one sentence contradict each other, so that a debate can be seen too.
    let [conflict] = result.conflicts.as_slice() else {
        panic!("{:?}", result.conflicts)
    };
    assert!(
        conflict.is_direct
            && *conflict.agents[0] == *"security"
            && *conflict.agents[1] == *"testing",
        "{conflict:?}"
    );
    let debate = result.debate.expect("a debate");
    assert_eq!(
        (
            debate.pairs.len(),
            debate.judge_feedback.len(),
            debate.failed_pairs.len()
        ),
        (1, 2, 0)
    );
    let edited = result.edited.expect("a revised text");
    assert!(
        edited.starts_with("# Deploy") && edited.contains("Say who may reach read environment"),
        "{edited}"
    );
    assert_eq!(
        result.editing.applied.len() + result.editing.not_applied.len(),
        result.merged.len()
    );
}

#[tokio::test]
async fn the_same_text_gives_the_same_review_and_another_text_another_one() {
    let [one, again] = [review(TEXT, "text").await, review(TEXT, "text").await];
    assert_eq!(one, again);
    let other = review(
        "# Lunch\n\nEvery guest picks a soup. The cook may choose some spices.\n",
        "text",
    )
    .await;
    assert!(
        other.operations.iter().all(|operation| !one
            .operations
            .iter()
            .any(|known| known.text == operation.text)),
        "{other:?}"
    );
    assert!(
        !other.operations.is_empty() && other.conflicts.is_empty(),
        "{other:?}"
    );
    let fine = review("Hello there, reader.\n", "text").await;
    assert_eq!((fine.operations.len(), fine.edited), (0, None));
    // Of a change only what is added is looked at.
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-Read the password of every user.\n+Ask somebody \
        for some numbers.\n";
    let diff = review(diff, "diff").await;
    assert_eq!(
        diff.operations
            .iter()
            .map(|operation| &*operation.by)
            .collect::<Vec<_>>(),
        ["clarity"],
        "{diff:?}"
    );
}
