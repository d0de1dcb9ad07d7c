//! The repository's own tools: `tidy` holds the house rules, `measure` counts what readers of the
//! sources meet, `perf` measures against a hand-written floor, `load` puts load on a real server.

pub mod load;
pub mod measure;
pub mod perf;
pub mod tidy;

use std::path::{Path, PathBuf};

/// The repository's root: the folder above this crate.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default()
}
