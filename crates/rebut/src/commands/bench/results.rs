//! The file that a bench keeps its results in. It is opened through no link, and in a project it
//! counts only if rebut made it there for this user: rows that came with a clone would pass for
//! results, and nothing would be run.

use crate::{
    beneath::Typed,
    config::{Standing, Trust},
    data_dir,
    error::CliError,
    git,
};
use rebut_engine::{clean::on_one_line, record::encode_hex, seal::Seal};
use std::{
    ffi::OsStr,
    fs::{File, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// The file's name in the folder that was typed.
const NAME: &str = "results.ndjson";

/// The file while a bench runs, which nobody else writes meanwhile.
pub struct Results {
    file: File,
    path: PathBuf,
    /// Whether it lies in a project, which may have brought it.
    in_project: bool,
}

impl Results {
    /// Opens the file in a folder, or makes it. One that another process writes is refused.
    pub fn open(dir: &Path) -> Result<Self, CliError> {
        let path = dir.join(NAME);
        let failed = |error: io::Error| CliError::file("create", dir, &error);
        let typed = Typed::new(dir).map_err(failed)?;
        let (folder, in_project) = (
            typed.folder().map_err(failed)?,
            data_dir::is_in_project(&typed).map_err(failed)?,
        );
        let file = folder
            .open_or_new(OsStr::new(NAME))
            .map_err(|error| CliError::file("write", &path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self {
                file,
                path,
                in_project,
            }),
            Err(TryLockError::WouldBlock) => Err(CliError::failed(format!(
                "another process writes {}",
                path.display()
            ))
            .hint("wait for it, or give another --out")),
            Err(TryLockError::Error(error)) => Err(CliError::file("lock", &path, &error)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was in it before this run.
    pub fn read(&mut self) -> Result<String, CliError> {
        let mut text = String::new();
        self.file
            .read_to_string(&mut text)
            .map_err(|error| CliError::file("read", &self.path, &error))?;
        Ok(text)
    }

    /// Refuses what was in it, unless this user made the file, here. `key` is the one in its
    /// header, if it has one.
    pub fn check_not_brought(&self, text: &str, key: &str) -> Result<(), CliError> {
        if !self.in_project || text.is_empty() {
            return Ok(());
        }
        let (shown, whole) = (
            on_one_line(&self.path.display().to_string()),
            data_dir::whole(&self.path),
        );
        let record = record();
        let why = match git::first_tracked(&self.path)? {
            Some(_) => {
                // Whoever changes the repository may have changed its rows: it is not known as the
                // user's any more.
                record.map_or(Ok(false), |record| record.revoke(&whole))?;
                "is tracked by git: whoever changes the repository could forge results"
            }
            None => {
                match record.map_or(Ok(Standing::Unknown), |record| record.standing(&whole, key))? {
                    Standing::Trusted => return Ok(()),
                    // Half a header is what a crash leaves; nothing of it counts.
                    Standing::Changed if !text.contains('\n') => return Ok(()),
                    Standing::Changed | Standing::Unknown => {
                        "was not made by you on this machine: its results may have come with the \
                         project"
                    }
                }
            }
        };
        Err(CliError::usage(format!("{shown} {why}")).hint("give another --out"))
    }

    /// A new key for a file that begins now, remembered in the user's own folder. Nobody else knows
    /// it.
    pub fn claim(&self) -> Result<String, CliError> {
        let Some(record) = record().filter(|_| self.in_project) else {
            return Ok(String::new());
        };
        let secret = Seal::new_secret()
            .map_err(|error| CliError::failed(format!("no randomness for a key: {error}")))?;
        let key = encode_hex(&secret);
        record.record(&data_dir::whole(&self.path), &key, Vec::new())?;
        Ok(key)
    }

    /// Cuts off a last line that a crash left incomplete.
    pub fn cut(&mut self, length: usize) -> Result<(), CliError> {
        self.file
            .set_len(length as u64)
            .map_err(|error| CliError::file("write", &self.path, &error))
    }

    /// Adds a line, whole, and waits for the disk: a result that was told is not lost.
    pub fn add(&mut self, line: &str) -> Result<(), CliError> {
        let written = self
            .file
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.file.sync_data());
        written.map_err(|error| {
            CliError::failed(format!("cannot write the results: {error}"))
                .hint("free the disk and start again: what is there is kept")
        })
    }
}

/// Which files of results this user made, by their place and the hash of their key.
fn record() -> Option<Trust> {
    data_dir::state_dir().map(|state| Trust::of_results(&state))
}
