//! Which files were opened: a path says nothing of the file behind it, which somebody may have
//! deleted or replaced. SQLite would go on writing to the old one, which nobody finds any more.

use rebut_engine::store::StoreError;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// What tells a file from every other that there is: its device and its number there. Unknown where
/// the system has no such numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(Option<(u64, u64)>);

impl Identity {
    /// Of the file that is at `path` now; `None` when there is none.
    pub(crate) fn at(path: &Path) -> Result<Option<Self>, StoreError> {
        match fs::metadata(path) {
            Ok(found) => Ok(Some(Self(numbers(&found)))),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(StoreError::Unavailable(format!(
                "looking at the database: {error}"
            ))),
        }
    }

    /// Fails unless it is this file that is at `path`.
    pub(crate) fn check(self, path: &Path) -> Result<(), StoreError> {
        if Self::at(path)? == Some(self) {
            Ok(())
        } else {
            Err(StoreError::Replaced(path.display().to_string()))
        }
    }
}

#[cfg(unix)]
fn numbers(found: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn numbers(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// The files of an open database: itself, its log, and what its users share about the log.
pub(crate) struct Files {
    database: (PathBuf, Identity),
    /// There from the first use to the last close; known from the first look on.
    beside: [(PathBuf, Option<Identity>); 2],
}

impl Files {
    /// The files of the database at `path`, which is the one with this identity.
    pub(crate) fn new(path: &Path, identity: Identity) -> Self {
        let beside = ["-wal", "-shm"].map(|end| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            (PathBuf::from(name), None)
        });
        Self {
            database: (path.to_owned(), identity),
            beside,
        }
    }

    /// Fails unless all are those that were opened.
    pub(crate) fn check(&mut self) -> Result<(), StoreError> {
        self.database.1.check(&self.database.0)?;
        for (path, known) in &mut self.beside {
            match known {
                Some(known) => known.check(path)?,
                None => *known = Identity::at(path)?,
            }
        }
        Ok(())
    }

    /// To be called when the database is closed: what is beside it may go then.
    pub(crate) fn closed(&mut self) {
        self.beside.iter_mut().for_each(|(_, known)| *known = None);
    }
}
