//! Writing a debate's code to a file: never over something that nobody could bring back, and known
//! to be possible before anybody is asked and paid.

use crate::{
    atomic_file::{check_dir, replace},
    error::CliError,
    versions::{as_file, usual_name},
};
use rebut_engine::{
    clean::{has_hostile, on_one_line},
    facts::CodeRecorded,
    view::View,
};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// Writes the code to a file, which may hold another version of this debate, and nothing else.
pub fn apply(
    view: &View,
    chosen: &CodeRecorded,
    file: &Path,
    force: bool,
    quiet: bool,
) -> Result<(), CliError> {
    let file = if file.as_os_str().is_empty() {
        PathBuf::from(usual_name(&chosen.language))
    } else {
        file.to_owned()
    };
    let text = as_file(&chosen.code);
    if !force {
        check_unchanged(view, &file)?;
    }
    replace(&file, text.as_bytes())?;
    if has_hostile(&text) {
        warn_line!(
            "careful: {} holds characters that cannot be seen, or that reorder what is seen",
            file.display()
        );
    }
    if !quiet {
        warn_line!(
            "version {} ({}) written to {}",
            chosen.version,
            on_one_line(&chosen.candidate),
            file.display()
        );
    }
    Ok(())
}

/// Refuses a file that holds something which is not in the debate's record: nobody could bring it
/// back.
fn check_unchanged(view: &View, file: &Path) -> Result<(), CliError> {
    let held = match file.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(CliError::file("read", file, &error)),
        // A link may lead to anything; what it leads to is not looked at.
        Ok(found) if !found.is_file() => None,
        Ok(_) => Some(crate::read_file::bytes(file)?),
    };
    let is_ours = held.is_some_and(|held| {
        view.code
            .iter()
            .any(|code| as_file(&code.code).as_bytes() == held)
    });
    if is_ours {
        return Ok(());
    }
    let message = format!(
        "{} holds something that is no version of this debate; it stays as it is",
        file.display()
    );
    Err(CliError::usage(message)
        .hint("give another FILE, move it away, or overwrite it with --force"))
}

/// Refuses a file for the code of a debate that has not begun: a folder, and without `force`
/// whatever is there.
pub fn check_free(file: &Path, force: bool) -> Result<(), CliError> {
    let refused = |what: &str, hint: &str| {
        Err(CliError::usage(format!("{} {what}", file.display())).hint(hint))
    };
    match file.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound && file.file_name().is_some() => Ok(()),
        Err(error) => Err(CliError::file("write", file, &error)),
        Ok(found) if found.is_dir() => refused(
            "is a folder; the code needs a file",
            "give the name of a file in it",
        ),
        Ok(_) if force => Ok(()),
        Ok(_) => refused(
            "is there already; it stays as it is",
            "give another FILE, move it away, or overwrite it with --force",
        ),
    }
}

/// Whether the file can be written, in a folder that is made if need be.
pub fn check_writable(file: &Path) -> Result<(), CliError> {
    check_dir(
        file.parent()
            .filter(|dir| !dir.as_os_str().is_empty())
            .unwrap_or(Path::new(".")),
    )
}
