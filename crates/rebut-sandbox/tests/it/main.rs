//! The crate's integration tests. They need bubblewrap, the toolchains of all languages and
//! `setpriv`; `./check` installs what is missing.
#![cfg(target_os = "linux")]

mod abuse;
mod canary;
mod forgeries;
mod grading;
mod languages;
mod many;
mod names;
mod users;

use rebut_sandbox::Inner;

fn inner() -> Inner {
    let program = std::env::var_os(users::INNER)
        .unwrap_or_else(|| env!("CARGO_BIN_EXE_rebut-sandbox-inner").into());
    Inner {
        program: program.into(),
        args: Vec::new(),
    }
}
