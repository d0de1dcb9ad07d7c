//! The crate's tests against real parts: loopback HTTP, real programs and real files.

mod asking;
mod charged;
mod chat;
#[cfg(target_os = "linux")]
mod cli;
mod deadlines;
mod embeddings;
mod registry;
mod script;
mod sweep;
mod wires;
