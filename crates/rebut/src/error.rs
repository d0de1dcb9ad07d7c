//! Errors at the command line: those of the application, and the exit code that each gives.

pub use rebut_app::error::{AppError as CliError, innermost};

use rebut_app::error::ErrorKind;
use rebut_engine::outcome::Ending;

/// The process's exit code for an error.
pub fn exit_code(error: &CliError) -> u8 {
    match error.kind() {
        ErrorKind::Usage => 2,
        ErrorKind::Failed => 1,
        ErrorKind::NoModel => Ending::NoModel.exit_code(),
        ErrorKind::Interrupted => Ending::Cancelled.exit_code(),
    }
}
