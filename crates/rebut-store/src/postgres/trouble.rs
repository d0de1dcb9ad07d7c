//! What an error of the database means: whether it can be reached, or failed at what was asked. Pure.

use rebut_engine::store::StoreError;
use std::{error::Error as _, io};
use tokio_postgres::Error;

/// Answers of the server that mean "not now": nothing is wrong with what was asked. By code, or by the class a code begins with.
const NOT_NOW: &[(&str, &str)] = &[
    ("08", "the connection broke"),
    ("25006", "a standby only reads"),
    ("25P03", "we were silent inside a transaction for too long"),
    ("40001", "another transaction came between"),
    ("40P01", "a deadlock was broken up"),
    ("53300", "too many connections"),
    ("55P03", "a lock was not free in time"),
    ("57014", "the statement took too long"),
    ("57P", "the server is starting, stopping, or closed the connection"),
];

/// The error while `doing` something. Says nothing of what was written: details can hold a user's text.
pub(super) fn of(doing: &str, error: &Error) -> StoreError {
    let words = words(error);
    match is_not_now(error) {
        true => StoreError::Unavailable(format!("{doing}: {words}")),
        false => StoreError::Failed(format!("{doing}: {words}")),
    }
}

/// The server did not answer in time.
pub(super) fn silent(doing: &str) -> StoreError {
    StoreError::Unavailable(format!("{doing}: the server does not answer"))
}

fn is_not_now(error: &Error) -> bool {
    if let Some(code) = error.code() {
        return NOT_NOW.iter().any(|(class, _)| code.code().starts_with(class));
    }
    let io = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    // A certificate that is not trusted is bad data, and stays so.
    error.is_closed() || io.is_some_and(|io| io.kind() != io::ErrorKind::InvalidData)
}

pub(super) fn words(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(answer), _) => format!("{} ({})", answer.message(), answer.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
