//! Whose worktree it is: a file beside it, locked for as long as its process lives. The system lets
//! go of the lock however it dies.

use crate::error::AppError;
use rebut_engine::DebateId;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

/// The end of an owner file's name.
const ENDING: &str = "owner";

/// What must be known to take a worktree away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Owned {
    pub repository: PathBuf,
    pub branch: String,
    pub base: String,
    /// The commit we left it at.
    pub tip: String,
    /// Whether the branch outlives us if we die, with what was committed by then.
    #[serde(default)]
    pub stays: bool,
}

/// The file, and the lock on it.
#[derive(Debug)]
pub struct Owner {
    file: File,
    path: PathBuf,
    pub owned: Owned,
}

impl Owner {
    /// Makes the file of a debate's worktree below `home`.
    pub fn take(home: &Path, debate: DebateId, owned: Owned) -> Result<Self, AppError> {
        let failed = |error: io::Error| AppError::file("write into", home, &error);
        let mut folders = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
        folders.recursive(true).create(home).map_err(failed)?;
        let path = home.join(format!("{debate}.{ENDING}"));
        if path.exists() {
            let message = format!("debate {} has a worktree already", debate.short());
            return Err(
                AppError::failed(message).hint("another process works with it; wait for its end")
            );
        }
        // It gets its name when it is locked: whoever cleans up never meets one that only seems
        // dead.
        let fresh = home.join(format!("{debate}.{}.new", std::process::id()));
        let file = OpenOptions::new() // tidy: a new file
            .read(true)
            .write(true)
            .create_new(true)
            .open(&fresh)
            .map_err(failed)?;
        file.lock().map_err(failed)?;
        let mut owner = Self { file, path, owned };
        owner
            .write()
            .and_then(|()| fs::rename(&fresh, &owner.path))
            .map_err(failed)?;
        Ok(owner)
    }

    /// Those below `home` whose process is gone; each is ours now. What cannot be read is passed
    /// over: it may be anything.
    pub fn of_the_dead(home: &Path) -> Result<Vec<Self>, AppError> {
        let entries = match fs::read_dir(home) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| AppError::file("read", home, &error))?,
        };
        let mut dead = Vec::new();
        for entry in entries {
            let path = entry
                .map_err(|error| AppError::file("read", home, &error))?
                .path();
            let Some(debate) = debate_of(&path)
                .filter(|_| path.symlink_metadata().is_ok_and(|found| found.is_file()))
            else {
                continue;
            };
            let owner = dead_one(&path).map_err(|error| AppError::file("read", &path, &error))?;
            dead.extend(owner.filter(|owner| owner.owned.branch == super::branch_of(debate)));
        }
        Ok(dead)
    }

    pub fn folder(&self) -> PathBuf {
        self.path.with_extension("")
    }

    /// Notes where we left the branch.
    pub fn moved(&mut self, tip: &str) -> Result<(), AppError> {
        tip.clone_into(&mut self.owned.tip);
        self.write()
            .map_err(|error| AppError::file("write", &self.path, &error))
    }

    /// Removes the file: there is nothing left to own.
    pub fn release(self) -> Result<(), AppError> {
        fs::remove_file(&self.path).map_err(|error| AppError::file("remove", &self.path, &error))
    }

    fn write(&mut self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.owned)?;
        self.file.rewind()?;
        self.file.write_all(&text)?;
        self.file.set_len(text.len() as u64)?;
        self.file.sync_data()
    }
}

/// The debate whose worktree an owner file stands beside. A name that is no debate's is not one
/// that we gave.
fn debate_of(path: &Path) -> Option<DebateId> {
    let name = path.file_name()?.to_str()?;
    let id = name.strip_suffix(ENDING)?.strip_suffix('.')?;
    id.parse()
        .ok()
        .filter(|debate: &DebateId| debate.to_string() == id)
}

fn dead_one(path: &Path) -> io::Result<Option<Owner>> {
    let opened = OpenOptions::new().read(true).write(true).open(path); // tidy: in the user's own folder for notes
    let mut file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text).ok().map(|owned| Owner {
        file,
        path: path.to_owned(),
        owned,
    }))
}
