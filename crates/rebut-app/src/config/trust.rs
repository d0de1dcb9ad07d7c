//! What the user trusts: projects' files by their place and the hash of their content,
//! and data folders by the hash of their sealing key, recorded
//! in the user's own folder. Any change asks again.

use crate::{atomic_file::replace_private, beneath::Folder, error::AppError, read_file};
use rebut_engine::record::Hash;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::File,
    path::{Path, PathBuf},
};

/// The record of what is trusted.
#[derive(Clone, Debug)]
pub struct Trust {
    file: PathBuf,
}

/// One file that is trusted as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub hash: String,
    /// What it allowed then, in words.
    pub allows: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is trusted as it is.
    Trusted,
    /// It was trusted, and was changed since.
    Changed,
    Unknown,
}

type Entries = BTreeMap<String, Entry>;

impl Trust {
    /// The record in the user's own folder.
    pub fn new(state: &Path) -> Self {
        Self {
            file: state.join("trusted.json"),
        }
    }

    /// A record apart, of files of results that a bench made for this user: each is known by its
    /// key.
    pub fn of_results(state: &Path) -> Self {
        Self {
            file: state.join("results.json"),
        }
    }

    /// How a file with that content stands.
    pub fn standing(&self, path: &Path, text: &str) -> Result<Standing, AppError> {
        Ok(match self.entries()?.get(&key(path)) {
            Some(entry) if entry.hash == hash(text) => Standing::Trusted,
            Some(_) => Standing::Changed,
            None => Standing::Unknown,
        })
    }

    /// Trusts a file as it is.
    pub fn record(&self, path: &Path, text: &str, allows: Vec<String>) -> Result<(), AppError> {
        self.record_new(path, allows, || Ok(text.to_owned()))
    }

    /// Trusts a file that `make` makes or finds, and whose content it gives.
    /// Nobody else reads or changes the record meanwhile.
    pub fn record_new(
        &self,
        path: &Path,
        allows: Vec<String>,
        make: impl FnOnce() -> Result<String, AppError>,
    ) -> Result<(), AppError> {
        let _lock = self.lock()?;
        let mut entries = self.entries()?;
        entries.insert(
            key(path),
            Entry {
                hash: hash(&make()?),
                allows,
            },
        );
        self.write(&entries)
    }

    /// Trusts a file no more. Says whether it was trusted.
    pub fn revoke(&self, path: &Path) -> Result<bool, AppError> {
        let _lock = self.lock()?;
        let mut entries = self.entries()?;
        let was = entries.remove(&key(path)).is_some();
        if was {
            self.write(&entries)?;
        }
        Ok(was)
    }

    /// Waits until nobody else changes the record; nobody does until the file is dropped.
    pub fn lock(&self) -> Result<File, AppError> {
        let dir = self.file.parent().unwrap_or(Path::new("."));
        let folder =
            Folder::own_or_new(dir).map_err(|error| AppError::file("create", dir, &error))?;
        let lock = folder
            .open_or_new(OsStr::new(LOCK))
            .and_then(|file| file.lock().map(|()| file));
        lock.map_err(|error| AppError::file("lock", &dir.join(LOCK), &error))
    }

    pub fn entries(&self) -> Result<Entries, AppError> {
        let Some(text) = read_file::text_if_there(&self.file)? else {
            return Ok(Entries::new());
        };
        serde_json::from_str(&text).map_err(|error| {
            AppError::failed(format!("{} cannot be read: {error}", self.file.display()))
                .hint("remove it and trust projects anew: rebut trust")
        })
    }

    fn write(&self, entries: &Entries) -> Result<(), AppError> {
        let text = serde_json::to_string_pretty(entries)
            .map_err(|error| AppError::failed(error.to_string()))?;
        replace_private(&self.file, &format!("{text}\n"))
    }
}

/// The file that is locked while the record is changed.
const LOCK: &str = "trusted.lock";

fn key(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn hash(text: &str) -> String {
    Hash::of(text.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_and_any_other_place_asks_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let trust = Trust::new(&dir.path().join("state"));
        let (here, there) = (Path::new("/a/rebut.toml"), Path::new("/b/rebut.toml"));
        assert_eq!(trust.standing(here, "x").expect("known"), Standing::Unknown);
        trust
            .record(here, "x", vec!["all".to_owned()])
            .expect("recorded");
        let standing = |path, text| trust.standing(path, text).expect("known");
        assert_eq!(standing(here, "x"), Standing::Trusted);
        assert_eq!(
            (standing(here, "x "), standing(there, "x")),
            (Standing::Changed, Standing::Unknown)
        );
        assert!(trust.revoke(here).expect("revoked") && !trust.revoke(here).expect("nothing"));
        assert_eq!(standing(here, "x"), Standing::Unknown);
    }
}
