//! Where journals are kept: one SQLite file, or a PostgreSQL database that several nodes share. One
//! writes, many appends share a commit, reads go beside it.

mod change_feed;
mod claims;
mod identity;
mod outbox;
mod postgres;
mod projections;
mod readers;
mod rows;
mod schema;
mod sqlite;
mod transaction;
mod waits;
mod web_session;
mod writer;

pub use postgres::{
    PostgresOptions, PostgresStore, is_url as is_postgres_url, password as postgres_password,
    shown as shown_postgres_url,
};
pub use sqlite::SqliteStore;

use rebut_engine::store::StoreError;
use rusqlite::ErrorCode;
use std::{fmt::Display, path::Path};

/// The failure of a reading. A file that is damaged, or is none of its own, is told apart: no
/// waiting and no free disk mends that.
fn sql_failed(doing: &str, path: &Path, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Foreign(path.display().to_string())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy(format!("{doing}: {error}"))
        }
        _ if is_of_the_disk(error) => StoreError::Unavailable(format!("{doing}: {error}")),
        _ => failed(doing, error),
    }
}

/// The failure of a change that was not made. One that may work later, since it only waited in vain
/// or the disk is full, is told apart.
fn unwritten(doing: &str, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy(format!("{doing}: {error}"))
        }
        _ if is_of_the_disk(error) => StoreError::Unwritable(format!("{doing}: {error}")),
        _ => failed(doing, error),
    }
}

/// Whether nothing is wrong with what was asked for, but with the disk: it is full, it fails, or it
/// takes no more files.
fn is_of_the_disk(error: &rusqlite::Error) -> bool {
    use ErrorCode::{
        CannotOpen, DiskFull, OutOfMemory, PermissionDenied, ReadOnly, SystemIoFailure,
    };
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(CannotOpen | DiskFull | OutOfMemory | PermissionDenied | ReadOnly | SystemIoFailure)
    )
}

/// The failure of something below us, with what was being done.
fn failed(doing: &str, error: impl Display) -> StoreError {
    StoreError::Failed(format!("{doing}: {error}"))
}
