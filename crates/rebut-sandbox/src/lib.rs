//! Untrusted code in a cell: bubblewrap and namespaces around it, Landlock and seccomp inside, a warden that leaves nothing behind.

mod languages;
mod limits;
mod spec;

#[cfg(target_os = "linux")]
mod cell;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod cell;

pub use cell::{Cell, Jail};
pub use limits::Limits;
pub use spec::{Ended, Given, Inner, Spec, check_path};

use std::process::ExitCode;

/// What `main` calls when its first argument is [`INNER`], before anything else; `args` are those behind it.
pub fn inner_main(_args: impl Iterator<Item = String>) -> ExitCode {
    ExitCode::from(125)
}

/// The word by which the program knows that it is the inner stage of a sandbox.
pub const INNER: &str = "__sandbox-inner";
