//! Where journals are kept: one SQLite file. One thread writes, many appends share a commit, reads go beside it.

mod claims;
mod derived;
mod elsewhere;
mod ledger;
mod readers;
mod rows;
mod schema;
mod sqlite;
mod writer;

pub use sqlite::SqliteStore;

use rebut_engine::store::StoreError;
use std::fmt::Display;

/// The failure of something below us, with what was being done.
fn failed(doing: &str, error: impl Display) -> StoreError {
    StoreError::Failed(format!("{doing}: {error}"))
}
