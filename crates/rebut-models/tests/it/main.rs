//! The crate's tests against real parts: loopback HTTP and real files.

mod asking;
mod chat;
mod deadlines;
mod registry;
mod script;
mod wires;
