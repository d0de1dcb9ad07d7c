//! The crate's tests against real parts: loopback HTTP and real files.

mod asking;
mod openai;
mod registry;
mod script;
