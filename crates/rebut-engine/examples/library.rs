//! A debate from another crate: a store, somebody who answers, a desk over both.

use rebut_engine::{
    Desk, Start,
    agent::Role,
    formats::decide::{Choice, Config, Input},
    memory_store::MemoryStore,
    report,
};
use rebut_models::{Registry, simulator::Simulator};
use std::{collections::BTreeMap, error::Error, sync::Arc};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let models = Registry::new(".", &BTreeMap::new(), &|_| None)?
        .with("rehearsal", Arc::new(|_| Ok(Arc::new(Simulator))));
    let desk = Desk::new(Arc::new(MemoryStore::new()), Arc::new(models));
    let option = |id: &str, label: &str| Choice {
        id: id.into(),
        label: label.into(),
        description: String::new(),
    };
    let input = Input {
        question: "Where do sessions live?".into(),
        options: vec![option("A", "Redis"), option("B", "Memcached")],
        context: "Redis persists sessions. Memcached is simpler but loses sessions on restart."
            .into(),
        ..Input::default()
    };
    let judges = ["risk", "value", "effort"]
        .iter()
        .filter_map(|role| Role::built_in(role));
    let (id, outcome) = desk
        .run(Start {
            format: "decide".into(),
            input: serde_json::to_value(input)?,
            config: serde_json::to_value(Config::default())?,
            agents: judges.map(|role| role.played_by("rehearsal")).collect(),
            ..Start::default()
        })
        .await?;
    println!("{}: {}", outcome.outcome.as_str(), outcome.summary);
    println!("{}", report::transcript(&desk.view(id).await?));
    Ok(())
}
