//! The number of a workspace: one that nobody else has, also when two begin at once, and also after
//! a crash.

use super::leftovers::Claim;
use crate::{beneath::Folder, error::AppError};
use std::{
    ffi::OsString,
    fs::TryLockError,
    path::{Path, PathBuf},
};

/// The last number there is. What begins with a larger one, a date perhaps, was not numbered here.
const LAST: u32 = 999_999;

/// Makes the next directory below `debates`: `NNN-SLUG`. Its number is held until the debate is on
/// record; `context` is what will stand in it before that.
pub fn next(debates: &Path, slug: &str, context: &str) -> Result<(PathBuf, Claim), AppError> {
    let failed = |error: &std::io::Error| AppError::file("create a workspace in", debates, error);
    let folder = Folder::own(debates).map_err(|error| failed(&error))?;
    let after = taken(debates)?.into_iter().max().unwrap_or(0) + 1;
    for number in after..=LAST {
        // Whoever has this file locked holds the number. It is only taken away once the number is
        // seen by a directory's name, so nobody can lock another file of that name before; and a
        // crash gives it back.
        let claim = claim_of(number);
        // What somebody else left under that name is theirs, and a second name of another file is
        // that file.
        if folder
            .about(&claim)
            .is_ok_and(|found| found.problem().is_some())
        {
            continue;
        }
        let file = folder.open_or_new(&claim).map_err(|error| failed(&error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
        }
        if taken(debates)?.contains(&number) {
            match folder.remove(&claim) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failed(&error));
                }
                _ => continue,
            }
        }
        let name = format!("{number:03}-{slug}");
        let claim = Claim::begin(file, debates.join(&claim), &name, context)?;
        let dir = debates.join(name);
        std::fs::create_dir(&dir).map_err(|error| failed(&error))?;
        return Ok((dir, claim));
    }
    Err(AppError::failed(format!(
        "no number is left in {}: {LAST} is the last",
        debates.display()
    ))
    .hint("rename the directory with the largest number, or use another place: --debates DIR"))
}

/// The file whose lock holds a number.
fn claim_of(number: u32) -> OsString {
    format!(".{number:03}-claimed").into()
}

/// The number that a file of that name holds.
pub fn claimed(name: &str) -> Option<u32> {
    let number = name
        .strip_prefix('.')?
        .strip_suffix("-claimed")?
        .parse()
        .ok()?;
    (claim_of(number) == name).then_some(number)
}

/// The number of a workspace, told by its name.
pub fn of(name: &str) -> Option<u32> {
    let (number, _) = name.split_once('-')?;
    number
        .parse()
        .ok()
        .filter(|number| *number <= LAST && name.starts_with(|c: char| c.is_ascii_digit()))
}

/// The numbers that are taken below a directory.
fn taken(debates: &Path) -> Result<Vec<u32>, AppError> {
    let failed = |error: std::io::Error| AppError::file("read", debates, &error);
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(debates).map_err(failed)? {
        numbers.extend(of(&entry.map_err(failed)?.file_name().to_string_lossy()));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn the_next_number_whatever_stands_there() {
        let rows: &[(&[&str], &[&str], Option<&str>)] = &[
            (&[], &[], Some("001-x")),
            (&["007-a", "notes", "-8"], &[], Some("008-x")),
            (
                &["18446744073709551615-x", "4294967295-x", "20260131-notes"],
                &[],
                Some("001-x"),
            ),
            (&["999999-x"], &[], None),
            // A crash left a claim, before or after the directory came into being.
            (&[], &[".001-claimed"], Some("001-x")),
            (&["001-a"], &[".001-claimed", ".002-claimed"], Some("002-x")),
        ];
        for (dirs, claims, expected) in rows {
            let debates = tempfile::tempdir().expect("a directory");
            dirs.iter().for_each(|name| {
                std::fs::create_dir(debates.path().join(name)).expect("a directory")
            });
            claims
                .iter()
                .for_each(|name| drop(File::create(debates.path().join(name)).expect("a file")));
            let made = next(debates.path(), "x", "").ok();
            assert_eq!(
                made.as_ref().map(|(dir, _)| dir.clone()),
                expected.map(|name| debates.path().join(name)),
                "{dirs:?}"
            );
            let last = made
                .map(|(_, claim)| claim.release())
                .map(|_| debates.path().join(".002-claimed"));
            assert!(
                last.is_none_or(|claim| !claim.exists()),
                "{claims:?}: what is used is taken away"
            );
        }
    }

    #[test]
    fn a_number_that_somebody_holds_is_passed_over() {
        let debates = tempfile::tempdir().expect("a directory");
        let held = File::create(debates.path().join(".001-claimed")).expect("a file");
        held.lock().expect("held");
        let (made, claim) = next(debates.path(), "x", "").expect("made");
        assert_eq!(made, debates.path().join("002-x"));
        // Its number stays held, and is seen.
        assert_eq!(
            next(debates.path(), "y", "").expect("made").0,
            debates.path().join("003-y")
        );
        claim.release().expect("released");
        assert!(!debates.path().join(".002-claimed").exists());
        drop(held);
    }

    #[test]
    fn a_claim_is_told_by_its_whole_name() {
        let rows = [
            (".001-claimed", Some(1)),
            (".1234-claimed", Some(1234)),
            (".01-claimed", None),
            ("001-claimed", None),
            (".001-claimed.md", None),
            (".x-claimed", None),
        ];
        for (name, expected) in rows {
            assert_eq!(claimed(name), expected, "{name}");
        }
    }
}
