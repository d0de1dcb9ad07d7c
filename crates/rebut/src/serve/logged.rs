//! A store that tells of every debate's beginning and end, whoever runs it in this process.

use super::log::Log;
use rebut_engine::{
    DebateId,
    projection::Tables,
    record::Record,
    seal::Checkpoint,
    store::{Append, Changed, Filter, Session, Store, StoreError},
};
use serde::Deserialize;
use std::sync::Arc;

/// The events that are told, and the fields of each that matter to whoever reads a log.
const TOLD: &[(&str, &[&str])] = &[
    ("debate.started", &["format", "initiated_by"]),
    ("debate.resumed", &[]),
    ("debate.paused", &["reason"]),
    ("gate.opened", &["gate", "until"]),
    ("gate.decided", &["gate", "approved", "by"]),
    ("human.cancelled", &["by"]),
    ("debate.completed", &["outcome"]),
];

/// A store and a log.
pub struct Logged {
    store: Arc<dyn Store>,
    log: Log,
}

impl Logged {
    /// Tells of what is appended to `store`.
    pub fn new(store: Arc<dyn Store>, log: Log) -> Self {
        Self { store, log }
    }

    fn tell(&self, debate: DebateId, happened: Vec<Happened>) {
        let id = debate.to_string();
        for (kind, details) in happened {
            let details: Vec<(&str, &str)> =
                std::iter::once(("debate", id.as_str())).chain(details.iter().map(|(name, value)| (*name, value.as_str()))).collect();
            self.log.say(kind, &details);
        }
    }
}

/// An event and what is told of it.
type Happened = (&'static str, Vec<(&'static str, String)>);

/// What is told of a record, if anything is.
fn told(record: &Record) -> Option<Happened> {
    let (kind, fields) = TOLD.iter().find(|(kind, _)| *kind == record.kind)?;
    let data: serde_json::Value = Deserialize::deserialize(&mut serde_json::Deserializer::from_str(&record.data)).ok()?;
    let field = |name: &&'static str| match data.get(*name) {
        Some(serde_json::Value::String(text)) => Some((*name, text.clone())),
        Some(other) => Some((*name, other.to_string())),
        None => None,
    };
    Some((*kind, fields.iter().filter_map(field).collect()))
}

#[async_trait::async_trait]
impl Store for Logged {
    async fn append(&self, append: Append) -> Result<(), StoreError> {
        let (debate, happened) = (append.debate, append.records.iter().filter_map(told).collect());
        self.store.append(append).await?;
        self.tell(debate, happened);
        Ok(())
    }

    async fn load(&self, debate: DebateId, after: u64) -> Result<Vec<Record>, StoreError> {
        self.store.load(debate, after).await
    }

    async fn checkpoints(&self, debate: DebateId) -> Result<Vec<Checkpoint>, StoreError> {
        self.store.checkpoints(debate).await
    }

    async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, StoreError> {
        self.store.sessions(filter).await
    }

    async fn tables(&self, debate: DebateId) -> Result<Tables, StoreError> {
        self.store.tables(debate).await
    }

    async fn redact(&self, tombstone: Record, append: Append) -> Result<(), StoreError> {
        self.store.redact(tombstone, append).await
    }

    async fn remove(&self, debate: DebateId) -> Result<(), StoreError> {
        self.store.remove(debate).await?;
        self.tell(debate, vec![("debate.removed", Vec::new())]);
        Ok(())
    }

    async fn runner(&self, debate: DebateId) -> Result<Option<String>, StoreError> {
        self.store.runner(debate).await
    }

    async fn changed_elsewhere(&self) -> Result<Changed, StoreError> {
        self.store.changed_elsewhere().await
    }

    fn may_be_unreachable(&self) -> bool {
        self.store.may_be_unreachable()
    }

    async fn abandoned(&self, most: usize) -> Result<Vec<DebateId>, StoreError> {
        self.store.abandoned(most).await
    }
}
