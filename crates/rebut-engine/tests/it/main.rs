//! The engine's own tests: cases and their crashes, audits, replies, steering, replay, voting.

mod audits;
mod cases;
mod example;
mod kernel;
mod replies;
mod voting;
