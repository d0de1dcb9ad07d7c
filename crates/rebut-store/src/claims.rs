//! Who runs a debate: a claim names a runner, and a runner lives as long as it holds the lock on
//! its file. Everything but a mere [`look`] happens inside a write transaction, so only one process
//! at a time makes or removes these files.

use rebut_engine::store::Status;
use rusqlite::{Connection, OptionalExtension, params};
use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};
use uuid::Uuid;

/// This store's side of the claims.
pub(crate) struct Claims {
    folder: PathBuf,
    name: Arc<str>,
    me: Option<Runner>,
}

/// A name that no other runner has.
pub(crate) fn new_name() -> Arc<str> {
    Uuid::new_v4().to_string().into()
}

/// What stands before the reason in the place of a runner's name, where a debate was given up. No
/// runner has such a name.
const GIVEN_UP: &str = "nobody: ";

impl Claims {
    /// The claims in the database at `path`, for a runner of this name. Touches no file yet.
    pub(crate) fn new(path: &Path, name: Arc<str>) -> Self {
        Self {
            folder: folder_of(path),
            name,
            me: None,
        }
    }

    /// The other living runner of a debate, in words; `None` when the debate may be taken.
    pub(crate) fn held_by(
        &mut self,
        connection: &Connection,
        debate: &[u8; 16],
    ) -> Result<Option<String>, ClaimError> {
        let runner = claimed_by(connection, debate)?;
        let Some(runner) =
            runner.filter(|runner| self.me.as_ref().is_none_or(|me| me.name != *runner))
        else {
            return Ok(None);
        };
        // A name that is not ours to give is no file of ours either.
        match Uuid::parse_str(&runner) {
            Ok(name) => Ok(living(&self.folder.join(name.to_string()))?),
            Err(_) => Ok(None),
        }
    }

    /// Writes the claim. [`Claims::held_by`] must have been asked before.
    pub(crate) fn take(
        &mut self,
        connection: &Connection,
        debate: &[u8; 16],
    ) -> Result<(), ClaimError> {
        let me = match &mut self.me {
            Some(me) => me,
            place => place.insert(Runner::start(&self.folder, &self.name)?),
        };
        let mut statement = connection
            .prepare_cached("INSERT OR REPLACE INTO claims (debate_id, runner) VALUES (?1, ?2)")?;
        statement.execute(params![debate, me.name])?;
        Ok(())
    }

    /// Gives the debate up and keeps the reason in the place of the runner. [`Claims::held_by`]
    /// must have been asked before.
    pub(crate) fn give_up(
        connection: &Connection,
        debate: &[u8; 16],
        why: &str,
    ) -> rusqlite::Result<()> {
        let mut statement = connection
            .prepare_cached("INSERT OR REPLACE INTO claims (debate_id, runner) VALUES (?1, ?2)")?;
        statement
            .execute(params![debate, format!("{GIVEN_UP}{why}")])
            .map(drop)
    }

    pub(crate) fn release(connection: &Connection, debate: &[u8; 16]) -> rusqlite::Result<()> {
        connection
            .prepare_cached("DELETE FROM claims WHERE debate_id = ?1")?
            .execute([debate])
            .map(drop)
    }
}

/// The runner named by a debate's claim, dead or alive.
pub(crate) fn claimed_by(
    connection: &Connection,
    debate: &[u8; 16],
) -> rusqlite::Result<Option<String>> {
    let mut statement =
        connection.prepare_cached("SELECT runner FROM claims WHERE debate_id = ?1")?;
    statement.query_row([debate], |row| row.get(0)).optional()
}

/// Every debate that is recorded as running, the oldest first, with the runner named by its claim,
/// dead or alive.
pub(crate) fn running(connection: &Connection) -> rusqlite::Result<Vec<(String, Option<String>)>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, (SELECT runner FROM claims WHERE debate_id = unhex(replace(id, '-', ''))) FROM \
         debate_sessions
         WHERE status = ?1 ORDER BY created_at, id",
    )?;
    let rows = statement.query_map([Status::Running.as_str()], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    rows.collect()
}

/// Every debate that is recorded as running and claimed by this runner, the oldest first.
pub(crate) fn held(connection: &Connection, runner: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM debate_sessions JOIN claims ON claims.debate_id = unhex(replace(id, '-', \
         ''))
         WHERE status = ?1 AND runner = ?2 ORDER BY created_at, id",
    )?;
    let rows = statement.query_map([Status::Running.as_str(), runner], |row| row.get(0))?;
    rows.collect()
}

/// Why a debate was given up, if it was and nobody took it since.
pub(crate) fn why_given_up(
    connection: &Connection,
    debate: &[u8; 16],
) -> rusqlite::Result<Option<String>> {
    let claim = claimed_by(connection, debate)?;
    Ok(claim.and_then(|runner| runner.strip_prefix(GIVEN_UP).map(str::to_owned)))
}

/// What the file of that runner says if it lives. Only looks, so it needs no transaction: a claim
/// is written after the lock was taken.
pub(crate) fn look(path: &Path, runner: &str) -> io::Result<Option<String>> {
    match Uuid::parse_str(runner) {
        Ok(name) => locked(&folder_of(path).join(name.to_string())),
        Err(_) => Ok(None),
    }
}

/// Where the runners of the database at `path` have their files.
fn folder_of(path: &Path) -> PathBuf {
    let mut folder = path.as_os_str().to_owned();
    folder.push(".runners");
    folder.into()
}

/// Why a claim could not be looked at or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClaimError {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error("the runner's file: {0}")]
    File(#[from] io::Error),
}

struct Runner {
    name: String,
    path: PathBuf,
    /// Locked for as long as we live; the system lets go of it however we die.
    lock: File,
}

impl Runner {
    fn start(folder: &Path, name: &str) -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder)?;
        for entry in fs::read_dir(folder)? {
            // Asking removes what the dead left behind.
            living(&entry?.path())?;
        }
        let name = name.to_owned();
        let path = folder.join(&name);
        let lock = File::create_new(&path)?;
        // From here on the file goes with it, also where there is no room for what it is to say.
        let runner = Self { name, path, lock };
        runner.lock.lock()?;
        write!(&runner.lock, "process {}", std::process::id())?;
        Ok(runner)
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // What stays here is removed by the next runner: its lock is gone with us.
        let _ = fs::remove_file(&self.path);
    }
}

/// What the file of a living runner says. The file of a dead one is removed.
fn living(path: &Path) -> io::Result<Option<String>> {
    if let Some(words) = locked(path)? {
        return Ok(Some(words));
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(None),
    }
}

/// What a locked file says; `None` when nobody holds it, or it is gone.
fn locked(path: &Path) -> io::Result<Option<String>> {
    // A pipe in its place would be waited for, for ever.
    let is_file = |file: fs::Metadata| file.is_file().then_some(());
    let file = match fs::symlink_metadata(path)
        .map(is_file)
        .and_then(|is_file| is_file.map(|()| File::open(path)).transpose())
    {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // Shared, so that two who look at a dead runner's file do not take each other for the runner.
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => {
            // Some systems do not let others read a locked file.
            let words = fs::read_to_string(path).unwrap_or_default();
            Ok(Some(if words.is_empty() {
                "another process".to_owned()
            } else {
                words
            }))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}
