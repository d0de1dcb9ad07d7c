//! The engine's arms: the desk over the real OpenAI adapter, with a journal in memory or in SQLite.

use super::{
    arm::{Arm, Place},
    case,
};
use rebut_engine::{
    Desk, DeskOptions, Start,
    memory_store::MemoryStore,
    outcome::{Ending, Outcome},
    seal::Seal,
    store::Store,
};
use rebut_models::{ProviderData, Registry};
use rebut_store::SqliteStore;
use std::sync::Arc;
use tempfile::TempDir;

/// Debates by the engine.
pub struct Engine {
    desk: Desk,
    /// One per endpoint.
    starts: Vec<Start>,
    /// A journal in memory goes when its debate has ended, as in a program that keeps journals
    /// elsewhere.
    memory: Option<MemoryStore>,
    _folder: Option<TempDir>,
}

impl Engine {
    /// With journals in memory.
    pub fn in_memory(place: &Place) -> Result<Self, String> {
        let memory = MemoryStore::new();
        let desk = desk(place, Arc::new(memory.clone()))?;
        Ok(Self {
            desk,
            starts: starts(place)?,
            memory: Some(memory),
            _folder: None,
        })
    }

    /// With journals in a new SQLite file on the disk. They stay there.
    pub fn on_disk(place: &Place) -> Result<Self, String> {
        let folder = tempfile::tempdir_in(&place.folder).map_err(|error| error.to_string())?;
        let store = SqliteStore::open(&folder.path().join("rebut.db"))
            .map_err(|error| error.to_string())?;
        Ok(Self {
            desk: desk(place, Arc::new(store))?,
            starts: starts(place)?,
            memory: None,
            _folder: Some(folder),
        })
    }
}

impl Arm for Engine {
    async fn debate(&self, number: usize) -> Result<(), String> {
        let start = self.starts[number % self.starts.len()].clone();
        let (id, outcome) = self
            .desk
            .run(start)
            .await
            .map_err(|error| error.to_string())?;
        expect_contested(&outcome)?;
        match &self.memory {
            Some(memory) => memory.remove(id).await.map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }
}

/// The model of an endpoint's number. Each endpoint is a provider of its own.
pub fn model(endpoint: usize) -> String {
    format!("perf{endpoint}:perf")
}

/// A desk like that of a server.
pub fn desk(place: &Place, store: Arc<dyn Store>) -> Result<Desk, String> {
    let provider = |(at, base): (usize, &String)| {
        (
            format!("perf{at}"),
            ProviderData {
                base_url: Some(base.clone()),
                ..ProviderData::default()
            },
        )
    };
    let providers = place.endpoints.iter().enumerate().map(provider).collect();
    let registry =
        Registry::new(&place.folder, &providers, &|_| None).map_err(|fault| fault.to_string())?;
    let options = DeskOptions {
        seal: Some(Seal::from_secret(&[7; 32])),
        calls_per_provider: place.calls / place.endpoints.len(),
        ..DeskOptions::default()
    };
    Ok(Desk::with_options(store, Arc::new(registry), options))
}

/// An engine that went another way than the floor must not be compared with it.
pub fn expect_contested(outcome: &Outcome) -> Result<(), String> {
    if outcome.outcome == Ending::Contested && outcome.degraded.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the debate ended as {}: {}; missing: {:?}",
        outcome.outcome.as_str(),
        outcome.summary,
        outcome.degraded
    ))
}

fn starts(place: &Place) -> Result<Vec<Start>, String> {
    (0..place.endpoints.len())
        .map(|endpoint| case::start(&model(endpoint)))
        .collect()
}
