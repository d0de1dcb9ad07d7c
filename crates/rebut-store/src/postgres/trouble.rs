//! What an error of the database means: whether it can be reached, takes no changes now, or failed
//! at what was asked. Pure.

use rebut_engine::store::StoreError;
use std::{error::Error as _, io};
use tokio_postgres::{Error, error::SqlState};

/// Answers of the server by code, or by the class a code begins with. The first row that fits
/// counts.
const ANSWERS: &[(&str, Meaning, &str)] = &[
    ("08", Meaning::NotNow, "the connection broke"),
    (
        "25P03",
        Meaning::NotNow,
        "we were silent inside a transaction for too long",
    ),
    ("40001", Meaning::NotNow, "another transaction came between"),
    ("40P01", Meaning::NotNow, "a deadlock was broken up"),
    ("53300", Meaning::NotNow, "too many connections"),
    ("55P03", Meaning::NotNow, "a lock was not free in time"),
    ("57014", Meaning::NotNow, "the statement took too long"),
    (
        "57P",
        Meaning::NotNow,
        "the server is starting, stopping, or closed the connection",
    ),
    (
        "25006",
        Meaning::NoRoom,
        "a standby only reads, or the database was set to",
    ),
    ("53", Meaning::NoRoom, "the disk is full, or memory"),
    ("58", Meaning::NoRoom, "the disk fails"),
    ("3D000", Meaning::Restored, "the database is dropped"),
    ("3F000", Meaning::Restored, "its schema is not there yet"),
    ("42P01", Meaning::Restored, "a table is not there yet"),
    (
        "42P10",
        Meaning::Restored,
        "the key of a table is not there yet",
    ),
    ("42501", Meaning::Restored, "its rights are not there yet"),
];

/// Why the server refuses something with which nothing is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    /// It may work in a moment.
    NotNow,
    /// Nothing can be written; where that was tried, nothing was.
    NoRoom,
    /// As while a backup is being restored under a store that is open. At the first connection it
    /// means that the place is wrong.
    Restored,
}

/// The error while `doing` something with a store that is open. Says nothing of what was written:
/// details can hold a user's text.
pub(super) fn of(doing: &str, error: &Error) -> StoreError {
    told(doing, error, meaning(error).is_some())
}

/// The error of a transaction that was to write.
pub(super) fn of_writing(doing: &str, error: &Error) -> StoreError {
    match meaning(error) {
        Some(Meaning::NoRoom | Meaning::Restored) => {
            StoreError::Unwritable(format!("{doing}: {}", words(error)))
        }
        _ => of(doing, error),
    }
}

/// The error of a store that is being opened.
pub(super) fn at_first(doing: &str, error: &Error) -> StoreError {
    told(
        doing,
        error,
        meaning(error).is_some_and(|meaning| meaning != Meaning::Restored),
    )
}

/// The server did not answer in time.
pub(super) fn silent(doing: &str) -> StoreError {
    StoreError::Unavailable(format!("{doing}: the server does not answer"))
}

/// Whether another server may be the one that takes changes.
pub(super) fn only_reads(error: &Error) -> bool {
    error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION)
}

fn told(doing: &str, error: &Error, passes: bool) -> StoreError {
    let why = format!("{doing}: {}", words(error));
    if passes {
        StoreError::Unavailable(why)
    } else {
        StoreError::Failed(why)
    }
}

fn meaning(error: &Error) -> Option<Meaning> {
    if let Some(code) = error.code() {
        return ANSWERS
            .iter()
            .find(|(class, ..)| code.code().starts_with(class))
            .map(|(_, meaning, _)| *meaning);
    }
    let io = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>());
    // A certificate that is not trusted is bad data, and stays so.
    let broke = error.is_closed() || io.is_some_and(|io| io.kind() != io::ErrorKind::InvalidData);
    broke.then_some(Meaning::NotNow)
}

pub(super) fn words(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(answer), _) => format!("{} ({})", answer.message(), answer.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
