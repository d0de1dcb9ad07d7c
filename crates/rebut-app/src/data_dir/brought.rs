//! A data folder that a project may have brought: its debates,
//! webhooks and keys are somebody else's until the user trusts it. What this program
//! made itself is known by its sealing key, which nobody else has.

use super::{Place, SEAL};
use crate::{
    beneath::{Folder, without_links},
    config::{Standing, Trust},
    error::AppError,
    git,
    hint_command::command,
    read_file,
};
use rebut_engine::{clean::on_one_line, record::decode_hex, seal::Seal};
use rebut_store::SqliteStore;
use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A database of more bytes is not looked into.
const MOST_BYTES: u64 = 4 << 30;

impl Place {
    /// Refuses a data folder that lies in a project and that neither was made here nor is trusted.
    pub fn check_not_brought(&self) -> Result<(), AppError> {
        self.check_untracked()?;
        let why = match self.standing()? {
            Standing::Trusted => return Ok(()),
            Standing::Changed => "has another sealing key than before: somebody has replaced it",
            Standing::Unknown => {
                "is not empty and was not made by you on this machine: it may have come with the \
                 project"
            }
        };
        let message = format!(
            "the data folder {} {why}",
            on_one_line(&self.dir.display().to_string())
        );
        Err(AppError::usage(message).hint(format!(
            "see what it would allow: {}; or name another folder",
            command("trust")
        )))
    }

    /// Refuses a data folder of which git has files: a pull would replace debates,
    /// or put keys and a log beside them. From then on it is not known as the user's own any more.
    pub fn check_untracked(&self) -> Result<(), AppError> {
        if !self.may_be_brought()? {
            return Ok(());
        }
        let Some(file) = git::first_tracked(&self.dir)? else {
            return Ok(());
        };
        // Whoever wrote that file may have written others: once git tracks none of them, the user
        // looks before they count.
        if let Some(record) = self.record() {
            record.revoke(&self.whole())?;
        }
        let dir = on_one_line(&self.dir.display().to_string());
        let message = format!(
            "git tracks `{}` in the data folder {dir}: whoever changes the repository could \
             replace your debates",
            on_one_line(&file)
        );
        let hint = format!(
            "take the folder out of the repository (git rm -r --cached), then see what it allows \
             ({}); or name another: --data DIR",
            command("trust")
        );
        Err(AppError::usage(message).hint(hint))
    }

    /// The database as it would be opened, on a copy: looking must change nothing.
    /// `None` where there is none.
    pub fn copied_database(&self) -> Result<Option<(TempDir, SqliteStore)>, AppError> {
        let dir = tempfile::tempdir()
            .map_err(|error| AppError::failed(format!("no temporary folder: {error}")))?;
        let folder = Folder::own(&self.dir)
            .map_err(|error| AppError::file("look into", &self.dir, &error))?;
        for name in ["rebut.db", "rebut.db-wal", "rebut.db-journal"] {
            let failed = |error: io::Error| AppError::file("read", &self.dir.join(name), &error);
            let from = match folder.open(Path::new(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                from => from.map_err(failed)?,
            };
            if from.metadata().map_err(failed)?.len() > MOST_BYTES {
                let message = format!(
                    "{} is too large to be looked into",
                    self.dir.join(name).display()
                );
                return Err(AppError::failed(message)
                    .hint("export what you need of it where it was made: rebut export"));
            }
            let mut to = File::create(dir.path().join(name)).map_err(failed)?; // tidy: a new folder of this process
            io::copy(&mut from.take(MOST_BYTES), &mut to).map_err(failed)?;
        }
        let file = dir.path().join("rebut.db");
        if file.exists() {
            Ok(Some((dir, SqliteStore::open(&file)?)))
        } else {
            Ok(None)
        }
    }

    /// How the data folder stands. Whatever does not lie in a project is the user's own choice,
    /// and in an empty folder there is nothing to trust.
    pub fn standing(&self) -> Result<Standing, AppError> {
        if !self.may_be_brought()? {
            return Ok(Standing::Trusted);
        }
        let Some(record) = self.record() else {
            return Ok(Standing::Unknown);
        };
        // Somebody may be making it right now.
        let _lock = record.lock()?;
        let seal = read_file::text_if_there(&self.dir.join(SEAL))?.unwrap_or_default();
        record.standing(&self.whole(), &seal)
    }

    /// Whether a project may have brought what is there.
    pub fn may_be_brought(&self) -> Result<bool, AppError> {
        Ok(self.in_project && self.is_empty()? == Some(false))
    }

    /// Where it is, whole and without links, as it is recorded.
    pub fn whole(&self) -> PathBuf {
        whole(&self.dir)
    }

    /// Makes the sealing key before anything else is put into a folder in a project,
    /// and remembers that this folder was made here.
    pub fn claim(&self) -> Result<(), AppError> {
        match self.record() {
            Some(record) if self.in_project && self.is_empty()? == Some(true) => {
                record.record_new(&self.whole(), Vec::new(), || {
                    Folder::own_or_new(&self.dir)
                        .map_err(|error| AppError::file("create", &self.dir, &error))?;
                    // Of two that begin at once, the second finds the key that the first made.
                    self.seal_text()
                })
            }
            _ => Ok(()),
        }
    }

    /// Remembers the data folder as one that may be used. `allows` is what that was said to allow.
    ///
    /// Whoever brought it has its sealing key, and could bring another folder with the same.
    /// So it gets a new one; seals of the old one still count.
    pub fn trust_it(&self, allows: Vec<String>) -> Result<(), AppError> {
        let Some(record) = self.record() else {
            return Ok(());
        };
        record.record_new(&self.whole(), allows, || {
            let path = self.dir.join(SEAL);
            if let Some(text) = read_file::text_if_there(&path)? {
                if let Some(secret) = decode_hex(text.trim()) {
                    self.trust(Seal::from_secret(&secret).public())?;
                }
                let removed =
                    Folder::own(&self.dir).and_then(|folder| folder.remove(OsStr::new(SEAL)));
                removed.map_err(|error| AppError::file("remove", &path, &error))?;
            }
            self.seal_text()
        })
    }

    fn record(&self) -> Option<Trust> {
        self.state.as_deref().map(Trust::new)
    }

    /// Whether nothing is there yet. `None` where it is no folder,
    /// of which whoever opens the database says what is wrong.
    fn is_empty(&self) -> Result<Option<bool>, AppError> {
        match Folder::own(&self.dir).and_then(|folder| folder.names()) {
            Ok(names) => Ok(Some(names.is_empty())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(true)),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
            Err(error) => Err(AppError::file("look into", &self.dir, &error)),
        }
    }
}

/// A path as it is recorded: whole, and without links.
pub fn whole(path: &Path) -> PathBuf {
    // Only an empty path cannot be made whole.
    without_links(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

/// The text by which something that is trusted is known: a data folder's sealing key, a file's own.
pub fn known_by(path: &Path) -> Option<String> {
    read_file::text(&path.join(SEAL))
        .or_else(|_| read_file::text(path))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A place in a project, and the user's own folder.
    fn place(at: &Path) -> Place {
        Place {
            dir: at.join("clone/data"),
            server: None,
            state: Some(at.join("state")),
            in_project: true,
        }
    }

    #[test]
    fn what_was_made_here_is_known_and_what_came_from_elsewhere_is_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let place = place(dir.path());
        place.check_not_brought().expect("nothing is there yet");
        place.claim().expect("claimed");
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(
                &fs::metadata(&place.dir).expect("a folder").permissions()
            ) & 0o777,
            0o700
        );
        fs::write(place.dir.join("rebut.db"), "debates").expect("a file");
        place.check_not_brought().expect("made here");
        place.claim().expect("there is nothing to do");
        fs::write(place.dir.join(SEAL), "00".repeat(32)).expect("another key");
        assert_eq!(place.standing().expect("known"), Standing::Changed);
        place.trust_it(vec![]).expect("trusted");
        place.check_not_brought().expect("trusted");
        let known = fs::read_to_string(place.dir.join("trusted.keys")).expect("keys");
        assert_eq!(
            known.trim(),
            Seal::from_secret(&[0; 32]).public(),
            "old seals still count"
        );
        fs::write(place.dir.join(SEAL), "00".repeat(32))
            .expect("the key of whoever brought it, once more");
        assert_eq!(place.standing().expect("known"), Standing::Changed);
    }

    #[test]
    fn a_folder_that_holds_anything_needs_trust_with_and_without_a_sealing_key() {
        for file in [SEAL, "rebut.db", "server.keys", "anything"] {
            let dir = tempfile::tempdir().expect("a folder");
            let place = place(dir.path());
            fs::create_dir_all(&place.dir).expect("a folder");
            fs::write(place.dir.join(file), "00".repeat(32)).expect("a file");
            let error = place.check_not_brought().expect_err(file).to_string();
            assert!(error.contains("was not made by you"), "{file}: {error}");
            let elsewhere = Place {
                in_project: false,
                ..place.clone()
            };
            elsewhere
                .check_not_brought()
                .expect("the user's own choice");
            let homeless = Place {
                state: None,
                ..place
            };
            assert!(
                homeless.check_not_brought().is_err(),
                "nothing can be known without a home"
            );
        }
    }
}
