//! The crate's integration tests.

mod grading;
mod languages;

use rebut_sandbox::Inner;

fn inner() -> Inner {
    Inner { program: env!("CARGO_BIN_EXE_rebut-sandbox-inner").into(), args: Vec::new() }
}
