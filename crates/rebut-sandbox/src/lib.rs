//! Untrusted code in a cell: bubblewrap and namespaces around it, Landlock and seccomp inside, a warden that leaves nothing behind.

mod limits;
mod spec;

#[cfg(target_os = "linux")]
mod cell;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod cell;
#[cfg(target_os = "linux")]
mod harvest;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod warden;
#[cfg(target_os = "linux")]
mod wire;

pub use cell::{Cell, Jail};
pub use limits::Limits;
pub use spec::{Ended, Given, Inner, Spec, check_path};

use std::process::ExitCode;

/// The word by which the program knows that it is the inner stage of a sandbox.
pub const INNER: &str = "__sandbox-inner";

/// What `main` calls when its first argument is [`INNER`], before anything else; `args` are those behind it.
#[cfg(target_os = "linux")]
pub fn inner_main(args: impl Iterator<Item = String>) -> ExitCode {
    let args: Vec<String> = args.collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["warden"] => warden::main(),
        ["cell", orders, report] => inner::main(orders, report),
        ["canary", port, ..] => inner::canary::main(port, &args[2..]),
        _ => {
            eprintln!("this is a part of the sandbox, and nothing to start by hand");
            ExitCode::from(inner::REFUSED)
        }
    }
}

/// What `main` calls when its first argument is [`INNER`]; there are no cells on this system.
#[cfg(not(target_os = "linux"))]
pub fn inner_main(_args: impl Iterator<Item = String>) -> ExitCode {
    ExitCode::from(125)
}
