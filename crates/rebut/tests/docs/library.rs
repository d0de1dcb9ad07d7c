//! The example of the book's page on the library, as code that compiles and runs.

use crate::text;

// The page shows this file from the next line to the end of `ask`.
use rebut_engine::{
    Desk, Start, agent::Role, error::DeskError, formats::decide, memory_store::MemoryStore,
};
use rebut_models::{Registry, simulator::Simulator};
use std::{collections::BTreeMap, sync::Arc};

async fn ask() -> Result<String, DeskError> {
    let no_keys = |_: &str| None;
    let models =
        Registry::new(".", &BTreeMap::new(), &no_keys).expect("the built-in providers are valid");
    let models = models.with("rehearsal", Arc::new(|_| Ok(Arc::new(Simulator))));
    let desk = Desk::new(Arc::new(MemoryStore::new()), Arc::new(models));

    let choice = |id: &str, label: &str| serde_json::json!({"id": id, "label": label});
    let judges = ["risk", "value", "effort"].map(|role| {
        Role::built_in(role)
            .expect("a built-in role")
            .played_by("rehearsal")
    });
    let start = Start {
        format: "decide".to_owned(),
        input: serde_json::json!({
            "question": "Offline support?",
            "options": [choice("A", "Online only"), choice("B", "Full offline")],
            "context": "Online only needs 2 weeks. Full offline needs 14 weeks and can lose data.",
        }),
        config: serde_json::to_value(decide::Config::default()).expect("settings are JSON"),
        agents: judges.to_vec(),
        ..Start::default()
    };
    let (id, outcome) = desk.run(start).await?;
    Ok(format!(
        "{id}: {} ({})",
        outcome.summary,
        outcome.outcome.as_str()
    ))
}

#[tokio::test]
async fn the_example_runs_and_is_the_one_in_the_book() {
    let said = ask().await.expect("an outcome");
    assert!(
        said.ends_with("(consensus)") || said.ends_with("(contested)"),
        "{said}"
    );
    let page = text("docs/src/library.md");
    let shown = page
        .split("```rust\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("a rust block");
    assert!(
        include_str!("library.rs").contains(shown),
        "docs/src/library.md shows other code than tests/docs/library.rs"
    );
}
