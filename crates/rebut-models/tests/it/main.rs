//! The crate's tests against real parts: loopback HTTP, real programs and real files.

mod asking;
#[cfg(target_os = "linux")]
mod cli;
mod openai;
mod registry;
mod script;
