//! Writing a file that somebody named: whole or not at all, and through no link of a project.

use crate::{
    atomic_file::{check_dir, parent, replace},
    beneath::Typed,
    error::AppError,
};
use std::path::Path;

/// Writes a text to a file, and makes its directory if need be. Whatever goes wrong, what was there
/// before stays whole; where nothing can be made beside it (a pipe, a directory that only lets this
/// file be written) it is written in its place.
pub fn write(file: &Path, text: &str) -> Result<(), AppError> {
    check_no_link(file)?;
    make_parent(file)?;
    let failed = |error: std::io::Error| AppError::file("write", file, &error);
    // Outside of any project a link is the user's own, and leads to the file they mean.
    let place = file
        .canonicalize()
        .ok()
        .filter(|_| file.is_symlink())
        .unwrap_or_else(|| file.to_owned());
    let in_place = match place.metadata() {
        Ok(known) if known.is_file() => check_dir(parent(&place)).is_err(),
        Ok(known) => !known.is_dir(),
        Err(_) => false,
    };
    if !in_place {
        return replace(&place, text.as_bytes());
    }
    std::fs::write(&place, text).map_err(failed) // tidy: looked at by check_no_link
}

/// Refuses to write through a link of a project: it may lead anywhere.
pub fn check_no_link(file: &Path) -> Result<(), AppError> {
    Typed::new(file)
        .and_then(|typed| typed.check_file())
        .map_err(|error| AppError::file("write", file, &error))
}

/// Makes a file's directory if it is not there. Says whether it was not.
pub fn make_parent(file: &Path) -> Result<bool, AppError> {
    match file
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty() && !dir.is_dir())
    {
        Some(dir) => {
            let made = Typed::new(dir).and_then(|dir| dir.folder());
            made.map(|_| true)
                .map_err(|error| AppError::file("create", dir, &error))
        }
        None => Ok(false),
    }
}
