//! The engine's own tests: cases and their crashes, audits, replies, steering, replay, who hears whom, planning, voting.

mod audits;
mod cases;
mod evaluate;
mod example;
mod hearing;
mod kernel;
mod leaving;
mod planning;
mod replies;
mod topology;
mod turns;
mod voting;
