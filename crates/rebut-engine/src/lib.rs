//! The debate kernel: a format is a plain async function, four verbs make it durable, and
//! everything a person sees is a reading of the journal. No network, no SQL, no environment, no
//! terminal, no process here.
//!
//! A debate needs a [`Store`](store::Store), [`Models`](model::Models) and a [`Desk`] over both:
//! see `examples/library.rs`.

pub mod agent;
pub mod audit;
mod barred;
pub mod budget;
pub mod clean;
pub mod clock;
mod deadlines;
pub mod debate;
mod desk;
pub mod embedding;
pub mod episodes;
pub mod error;
pub mod event;
pub mod facts;
pub mod family;
pub mod fence;
pub mod form;
pub mod formats;
pub mod gating;
mod id;
mod journal;
mod lanes;
pub mod learning;
pub mod memory;
pub mod model;
pub mod moves;
pub mod nearest;
pub mod observing;
pub mod outbox;
pub mod outcome;
pub mod planning;
pub mod policy;
pub mod portable;
pub mod projection;
pub mod prompt;
pub mod record;
pub mod recorded;
pub mod recount;
mod replay;
pub mod reply;
pub mod report;
pub mod retrieval;
pub mod running;
pub mod sandbox;
pub mod seal;
pub mod secrets;
pub mod stopping;
pub mod store;
mod substitution;
pub mod switching;
pub mod tools;
pub mod topology;
pub mod triage;
mod turn;
pub mod view;
pub mod visits;
pub mod voting;
pub mod wisdom;

pub use desk::{Desk, DeskOptions, Fork, More, PausedGates, Replayed, Running, Start, Watch};
pub use id::DebateId;
