//! What is left of calls whose process was killed: its agent programs are ended, their directories
//! removed.
//!
//! A call's directory is locked for as long as the process that made it lives, and the system lets
//! go of the lock however that dies. All processes of the call have the directory's name in their
//! environment.

use super::{place::remove, running::MARK, tree};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

/// How names of such directories begin; the number of the process follows.
pub(super) const PREFIX: &str = "rebut-cli-";

/// How names of the directories of a process begin.
pub(super) fn prefix_of(process: u32) -> String {
    format!("{PREFIX}{process}-")
}

/// Ends what is left of calls below `temp` whose process is gone; says of how many. What is still
/// in use, or somebody else's, stays.
pub(super) fn clear(temp: &Path) -> usize {
    let mut cleared = 0;
    for root in named(temp, PREFIX) {
        let Some(_lock) = claimed(&root) else {
            continue;
        };
        let mark = root
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        tree::kill_marked(format!("{MARK}={mark}"), root.clone());
        remove(&root);
        cleared += 1;
    }
    cleared
}

/// The directories below `temp` whose name begins so. A temporary directory that cannot be read has
/// none that we made.
pub(super) fn named(temp: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = temp
        .canonicalize()
        .and_then(fs::read_dir)
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect()
}

/// The lock of a directory of ours whose process is gone.
fn claimed(root: &Path) -> Option<File> {
    // A link could lead anywhere.
    let found = root.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
    if !is_ours(&found) {
        return None;
    }
    let file = File::open(root).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

#[cfg(unix)]
fn is_ours(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_ours(_found: &fs::Metadata) -> bool {
    true
}
