//! Honest fakes and harnesses: case folders, crash harness, store conformance, simulated clock, a server of the real wire format.

pub mod conformance;
pub mod openai_server;
