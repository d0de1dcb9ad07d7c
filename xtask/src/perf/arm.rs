//! The arms: whoever can hold one debate of six calls, and the table of them.

use super::{
    floor::Floor,
    scenarios::{Scenario, Size, Values},
};
use std::future::Future;

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
}

/// A row of the table of arms.
pub struct ArmRow {
    /// Its name in reports and on the command line.
    pub name: &'static str,
    /// Runs a scenario on it. Generic code is made for each arm here, so that none pays for being one of many.
    pub run: fn(&Scenario, Size, Place) -> Result<Values, String>,
}

/// The arms; the first is what the others are compared with.
///
/// The engine's arms (`rebut`, with a journal in memory, and `rebut-sqlite`, with one on the disk) get a row each.
pub const ARMS: &[ArmRow] = &[ArmRow { name: "floor", run: |scenario, size, place| scenario.run(size, || Floor::new(place)) }];
