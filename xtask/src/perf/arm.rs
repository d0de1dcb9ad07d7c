//! The arms: whoever can hold one debate of six calls, and the table of them.

use super::{
    case::Prompts,
    engine::Engine,
    floor::Floor,
    scenarios::{Scenario, Size, Values},
};
use std::{future::Future, path::PathBuf};

/// Holds debates of three agents and two rounds, six calls each, against the model server.
pub trait Arm: Send + Sync + 'static {
    /// Holds one debate from start to end.
    fn debate(&self, number: usize) -> impl Future<Output = Result<(), String>> + Send;
}

/// Where an arm finds its models, and how far it may go.
pub struct Place {
    /// One endpoint per port of the model server; a debate uses the one of its number.
    pub endpoints: Vec<String>,
    /// Calls in flight at most.
    pub calls: usize,
    /// A folder on the disk for what the whole run shares and for databases.
    pub folder: PathBuf,
}

impl Place {
    /// The file of the texts the engine sends.
    pub fn prompts_file(folder: &std::path::Path) -> PathBuf {
        folder.join("prompts.json")
    }

    /// The texts the engine sends.
    pub fn prompts(&self) -> Result<Prompts, String> {
        let file = std::fs::read(Self::prompts_file(&self.folder))
            .map_err(|error| format!("the recorded prompts: {error}"))?;
        serde_json::from_slice(&file).map_err(|error| format!("the recorded prompts: {error}"))
    }
}

/// A row of the table of arms.
pub struct ArmRow {
    /// Its name in reports and on the command line.
    pub name: &'static str,
    /// Runs a scenario on it. Generic code is made for each arm here, so that none pays for being
    /// one of many.
    pub run: fn(&Scenario, Size, &Place) -> Result<Values, String>,
    /// Whether it keeps what it did: only such a one has something to resume, and is what the
    /// binary is made of.
    pub durable: bool,
}

/// The arms; the first is what the others are compared with.
pub const ARMS: &[ArmRow] = &[
    ArmRow {
        name: "floor",
        durable: false,
        run: |scenario, size, place| scenario.run(size, || Floor::new(place)),
    },
    ArmRow {
        name: "rebut",
        durable: false,
        run: |scenario, size, place| scenario.run(size, || Engine::in_memory(place)),
    },
    ArmRow {
        name: "rebut-sqlite",
        durable: true,
        run: |scenario, size, place| scenario.run(size, || Engine::on_disk(place)),
    },
];
