//! Workspaces of challenges that died before their debate was on record. Whoever makes one holds
//! its number by a locked file that says what was made; a process that dies leaves the file, and
//! the next challenge takes away what stands there, if nobody has touched it.

use super::number;
use crate::{
    beneath::{Folder, Kind},
    data_dir::{Kept, Place},
    error::AppError,
};
use rebut_engine::{DebateId, Desk, error::DeskError, record::Hash};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsStr,
    fs::{File, TryLockError},
    io::{self, ErrorKind, Read, Seek, Write},
    path::{Path, PathBuf},
};

/// The files of a workspace before anybody has spoken.
const CONTEXT: &str = "context.md";
const ROUNDS: &str = "rounds";

/// A number that is held for a workspace.
#[derive(Debug)]
pub struct Claim {
    file: File,
    path: PathBuf,
}

/// What a claim says, a line each: what was made, and then under which name a debate was to begin
/// there.
#[derive(Serialize, Deserialize)]
struct Made {
    folder: String,
    context: Hash,
}

#[derive(Serialize, Deserialize)]
struct Begins {
    debate: DebateId,
    /// The hash of where it is kept: names of places on this machine stay on it.
    database: Hash,
}

impl Claim {
    /// Says what is going to be made.
    pub(super) fn begin(
        file: File,
        path: PathBuf,
        folder: &str,
        context: &str,
    ) -> Result<Self, AppError> {
        let mut claim = Self { file, path };
        // What a crash left in it, before anything was made.
        claim
            .file
            .set_len(0)
            .map_err(|error| claim.failed(&error))?;
        claim.say(&Made {
            folder: folder.to_owned(),
            context: Hash::of(context.as_bytes()),
        })?;
        Ok(claim)
    }

    /// Says which debate is going to begin there: from now on the database knows whether it did.
    pub fn begins(&mut self, debate: DebateId, place: &Place) -> Result<(), AppError> {
        self.say(&Begins {
            debate,
            database: database(place),
        })
    }

    /// The debate is on record, or what was made is gone: nothing is to be taken away any more.
    pub fn release(self) -> Result<(), AppError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }

    fn say(&mut self, line: &impl Serialize) -> Result<(), AppError> {
        let line =
            serde_json::to_string(line).map_err(|error| AppError::failed(error.to_string()))?;
        self.file
            .write_all(format!("{line}\n").as_bytes())
            .map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> AppError {
        AppError::file("write", &self.path, error)
    }
}

fn database(place: &Place) -> Hash {
    let kept = match place.kept() {
        Kept::File(path) => path.to_string_lossy().into_owned(),
        Kept::Server(_) => place.shown_server().unwrap_or_default(),
    };
    Hash::of(kept.as_bytes())
}

/// Takes away what was made below `debates` for debates that never began. Gives the folders that
/// are gone.
pub async fn take_away(
    debates: &Path,
    place: &Place,
    desk: &Desk,
) -> Result<Vec<PathBuf>, AppError> {
    let failed = |error: &io::Error| AppError::file("clear up in", debates, error);
    let folder = Folder::own(debates).map_err(|error| failed(&error))?;
    let mut gone = Vec::new();
    for name in folder.names().map_err(|error| failed(&error))? {
        let Some(number) = name.to_str().and_then(number::claimed) else {
            continue;
        };
        let Some(claim) = left(&folder, &name).map_err(|error| failed(&error))? else {
            continue;
        };
        let Some((made, begins)) = claim.read().map_err(|error| failed(&error))? else {
            continue;
        };
        if number::of(&made.folder) != Some(number)
            || Path::new(&made.folder).components().count() != 1
        {
            continue;
        }
        let began = match begins {
            // Whether it began there is known to whoever uses that database.
            Some(begins) if begins.database != database(place) => continue,
            Some(begins) => is_known(desk, begins.debate).await?,
            None => false,
        };
        if !began {
            if !remove_untouched(&folder, &made).map_err(|error| failed(&error))? {
                continue;
            }
            gone.push(debates.join(&made.folder));
        }
        claim.release()?;
    }
    Ok(gone)
}

async fn is_known(desk: &Desk, id: DebateId) -> Result<bool, AppError> {
    match desk.find(&id.to_string()).await {
        Ok(_) => Ok(true),
        Err(DeskError::NotFound(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A claim whose holder is gone, now held by us; nothing where it is held, or is not what rebut
/// makes.
fn left(folder: &Folder, name: &OsStr) -> io::Result<Option<Claim>> {
    match folder.about(name) {
        Ok(about) if about.kind == Kind::File && about.problem().is_none() => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let file = folder.open_or_new(name)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // Another may have released it, and a third have claimed the number anew, before it was locked
    // here.
    let path = folder.path().join(name);
    match folder.open(Path::new(name)) {
        Ok(named) if is_same(&named, &file)? => Ok(Some(Claim { file, path })),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn is_same(one: &File, other: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (one, other) = (one.metadata()?, other.metadata()?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// Elsewhere nobody can tell; what is left stays.
#[cfg(not(unix))]
fn is_same(_: &File, _: &File) -> io::Result<bool> {
    Ok(false)
}

impl Claim {
    /// What it says; nothing where that is not what rebut writes.
    fn read(&self) -> io::Result<Option<(Made, Option<Begins>)>> {
        const LONGEST: u64 = 4096;
        let mut text = String::new();
        let mut file = &self.file;
        file.rewind()?;
        match file.take(LONGEST).read_to_string(&mut text) {
            Err(error) if error.kind() == ErrorKind::InvalidData => return Ok(None),
            read => drop(read?),
        }
        let mut lines = text.split_inclusive('\n');
        let Some(Ok(made)) = lines.next().map(serde_json::from_str) else {
            return Ok(None);
        };
        match (lines.next().map(serde_json::from_str), lines.next()) {
            (None, _) => Ok(Some((made, None))),
            (Some(Ok(begins)), None) => Ok(Some((made, Some(begins)))),
            // Half a line, or more than two: whether a debate began there is not known.
            _ => Ok(None),
        }
    }
}

/// Removes a folder that holds nothing but what was made for a debate. Says whether it is gone;
/// whatever else stands in it stays, with all of it.
fn remove_untouched(debates: &Folder, made: &Made) -> io::Result<bool> {
    let folder = match debates.below(Path::new(&made.folder)) {
        Ok(folder) => folder,
        // It was not made, or somebody took it away.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        // Through no link, and no file.
        Err(_) => return Ok(false),
    };
    for name in folder.names()? {
        let is_untouched = match name.to_str() {
            Some(CONTEXT) => holds(&folder, made.context)?,
            Some(ROUNDS) => folder
                .below(Path::new(ROUNDS))
                .is_ok_and(|rounds| rounds.names().is_ok_and(|names| names.is_empty())),
            _ => false,
        };
        if !is_untouched {
            return Ok(false);
        }
    }
    let path = debates.path().join(&made.folder);
    // Only what is empty goes by its path: should anything come in between, it stays.
    gone(folder.remove(OsStr::new(CONTEXT)))?;
    gone(std::fs::remove_dir(path.join(ROUNDS)))?;
    gone(std::fs::remove_dir(path))?;
    Ok(true)
}

fn holds(folder: &Folder, context: Hash) -> io::Result<bool> {
    if folder.about(OsStr::new(CONTEXT))?.kind != Kind::File {
        return Ok(false);
    }
    let mut text = Vec::new();
    folder.open(Path::new(CONTEXT))?.read_to_end(&mut text)?;
    Ok(Hash::of(&text) == context)
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
