//! Opening the database file: its settings, and its schema.

use crate::{failed, sql_failed};
use rebut_engine::store::StoreError;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, config::DbConfig};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const SCHEMA: &str = include_str!("../migrations/schema.sql");

/// The version of that schema. A file of another version is refused.
pub(crate) const VERSION: i64 = 3;

/// How long to wait for another process that is writing.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// The connection that writes, on a database that has today's schema. Makes the file where there is
/// none.
pub(crate) fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    make_file(path).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Unwritable(format!("making {}: {error}", path.display()))
        }
        _ => no_place(path, error),
    })?;
    reopen_writer(path)
}

/// The same for a file that is there.
pub(crate) fn reopen_writer(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let opening = || format!("opening {}", path.display());
    prepare(&mut connection).map_err(|error| match error {
        Unready::Other(error) => error,
        Unready::NoLog(mode) => failed(
            "opening the database",
            format!("it stays in mode `{mode}`; keep it on a local disk"),
        ),
        Unready::Sql(error) if is_closed(&error) => no_place(path, error),
        Unready::Sql(error) => match sql_failed(&opening(), path, &error) {
            StoreError::Unavailable(why) => StoreError::Unwritable(why),
            other => other,
        },
    })?;
    Ok(connection)
}

/// How a reader has a database together with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// With a writer, here or in another process; the log is read too.
    WithWriters,
    /// With nobody who writes: it lies where nothing can be written, and there is no log.
    Unchanging,
}

/// A connection that only reads. With writers, one of them must be open.
pub(crate) fn open_reader(path: &Path, sharing: Sharing) -> Result<Connection, StoreError> {
    match sharing {
        Sharing::WithWriters => open(path, OpenFlags::SQLITE_OPEN_READ_ONLY),
        Sharing::Unchanging => open(
            &unchanging(path),
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        ),
    }
}

/// The version of a database that is there to be read.
pub(crate) fn version_at(path: &Path, sharing: Sharing) -> Result<i64, StoreError> {
    let connection = open_reader(path, sharing)?;
    version(&connection)
        .map_err(|error| sql_failed(&format!("opening {}", path.display()), path, &error))
}

/// The name of a file that nobody changes, for SQLite: no locks, no log, nothing made beside it.
fn unchanging(path: &Path) -> PathBuf {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    let mut name = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match is_plain(byte) {
            true => name.push(char::from(*byte)),
            false => name.push_str(&format!("%{byte:02X}")),
        }
    }
    (name + "?immutable=1").into()
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let open = || {
        let connection =
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(32);
        // Plans never depend on bound values; else SQLite prepares some statements anew for each
        // one.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // The file may come from anybody, and a schema can hold statements.
        // Ours has no triggers and no views.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        Ok::<_, rusqlite::Error>(connection)
    };
    open().map_err(|error| match is_closed(&error) {
        true => no_place(path, error),
        false => sql_failed(&format!("opening {}", path.display()), path, &error),
    })
}

/// Whether nothing can be kept there, whatever the file holds.
fn is_closed(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(
        error.sqlite_error_code(),
        Some(CannotOpen | PermissionDenied | ReadOnly)
    )
}

fn no_place(path: &Path, error: impl std::fmt::Display) -> StoreError {
    StoreError::NoPlace {
        path: path.display().to_string(),
        why: error.to_string(),
    }
}

enum Unready {
    Other(StoreError),
    NoLog(String),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Unready {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

fn prepare(connection: &mut Connection) -> Result<(), Unready> {
    // Freed text is overwritten at once: what is redacted or removed later must leave no older copy
    // behind.
    connection.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA synchronous = FULL",
    )?;
    let is_new = |connection: &Connection| {
        StoreError::refuse_schema(version(connection)?, VERSION).map_err(Unready::Other)
    };
    is_new(connection)?;
    use_log(connection)?;
    if !is_new(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have made it while we waited for the lock.
    if is_new(&transaction)? {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(transaction.commit()?)
}

/// Switches a new file to a write-ahead log. SQLite does not wait for others here, so we do.
fn use_log(connection: &Connection) -> Result<(), Unready> {
    let start = Instant::now();
    loop {
        match connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0))
        {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => return Err(Unready::NoLog(mode)),
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && start.elapsed() < BUSY =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The version of the schema that a database has.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Makes the file and its folders before SQLite does, to keep others from reading them.
/// Never opens an existing file: closing it again would drop the locks this process holds on it.
fn make_file(path: &Path) -> io::Result<()> {
    let mut folders = fs::DirBuilder::new();
    let mut file = fs::OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folders.mode(0o700);
        file.mode(0o600);
    }
    if path.exists() {
        return Ok(());
    }
    // From the file up: whose name is new in the folder above it.
    let new: Vec<&Path> = path.ancestors().take_while(|part| !part.exists()).collect();
    if let Some(parent) = path.parent() {
        folders.recursive(true).create(parent)?;
    }
    match file.write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => drop(made?),
    }
    new.iter()
        .rev()
        .filter_map(|part| part.parent())
        .try_for_each(sync_names)
}

/// Brings the names in a folder to the disk: what is committed to a file whose name is lost is lost
/// too.
#[cfg(unix)]
fn sync_names(folder: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied};
    match fs::File::open(folder).and_then(|folder| folder.sync_all()) {
        // A folder that may be written and not read, or a file system that keeps no names that
        // could be lost.
        Err(error) if matches!(error.kind(), PermissionDenied | InvalidInput) => Ok(()),
        synced => synced,
    }
}

#[cfg(not(unix))]
fn sync_names(_: &Path) -> io::Result<()> {
    Ok(())
}
