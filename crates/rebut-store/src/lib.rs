//! Where journals are kept: one SQLite file, or a PostgreSQL database that several nodes share. One writes, many appends share a commit, reads
//! go beside it.

mod claims;
mod derived;
mod elsewhere;
mod ledger;
mod outbox;
mod postgres;
mod readers;
mod rows;
mod schema;
mod sqlite;
mod visits;
mod writer;

pub use postgres::{PostgresOptions, PostgresStore, is_url as is_postgres_url, password as postgres_password, shown as shown_postgres_url};
pub use sqlite::SqliteStore;

use rebut_engine::store::StoreError;
use rusqlite::ErrorCode;
use std::{fmt::Display, path::Path};

/// The failure of SQLite. A file that is damaged, or is none of its own, is told apart: no waiting and no free disk mends that.
fn sql_failed(doing: &str, path: &Path, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Foreign(path.display().to_string()),
        _ => unwritten(doing, error),
    }
}

/// The failure of a change that was not made. One that only waited in vain is told apart: no disk is to be mended.
fn unwritten(doing: &str, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy(format!("{doing}: {error}")),
        _ => failed(doing, error),
    }
}

/// The failure of something below us, with what was being done.
fn failed(doing: &str, error: impl Display) -> StoreError {
    StoreError::Failed(format!("{doing}: {error}"))
}
