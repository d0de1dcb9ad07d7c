//! The debate kernel: a format is a plain async function, four verbs make it durable, and
//! everything a person sees is a reading of the journal. No network, no SQL, no environment, no
//! terminal, no process here.
//!
//! A debate needs a [`Store`](store::Store), [`Models`](model::Models) and a [`Desk`] over both:
//! see `examples/library.rs`.

#[warn(missing_docs)]
pub mod agent;
pub mod audit;
pub mod budget;
pub mod clean;
#[warn(missing_docs)]
pub mod clock;
mod deadlines;
#[warn(missing_docs)]
pub mod debate;
mod desk;
mod disabled_models;
pub mod embedding;
pub mod error;
pub mod event;
pub mod facts;
mod fallback_report;
pub mod family;
pub mod fence;
pub mod formats;
pub mod gate;
mod id;
mod journal;
pub mod journal_file;
pub mod learning;
pub mod lessons;
pub mod memory_store;
#[warn(missing_docs)]
pub mod model;
pub mod model_mismatch;
pub mod moves;
pub mod observer;
pub mod offline_eval;
pub mod outbox;
#[warn(missing_docs)]
pub mod outcome;
pub mod planning;
pub mod policy;
pub mod projection;
pub mod prompt;
mod rate_limit;
pub mod record;
pub mod reflections;
mod replay;
pub mod reply;
pub mod report;
pub mod retally;
pub mod retrieval;
pub mod run_code;
#[warn(missing_docs)]
pub mod sandbox;
pub mod schema_check;
pub mod seal;
pub mod secrets;
pub mod stopping;
#[warn(missing_docs)]
pub mod store;
pub mod suggest;
pub mod tools;
pub mod topology;
pub mod triage;
mod turn;
pub mod view;
pub mod voting;
pub mod web_session;

pub use desk::{Desk, DeskOptions, Fork, More, PausedGates, Replayed, Running, Start, Watch};
pub use id::DebateId;
