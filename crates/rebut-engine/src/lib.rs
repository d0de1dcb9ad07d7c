//! The debate kernel: a format is a plain async function, four verbs make it durable, and everything a
//! person sees is a reading of the journal. No network, no SQL, no environment, no terminal, no process here.

pub mod agent;
pub mod clean;
pub mod clock;
pub mod event;
mod id;
pub mod memory;
pub mod model;
pub mod outcome;
pub mod prompt;
pub mod record;
pub mod reply;
pub mod seal;
pub mod store;

pub use id::DebateId;
