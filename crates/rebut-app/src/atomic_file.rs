//! Writing files in one step: whole or not at all, also after a power cut, never through a link
//! that somebody planted, and secrets readable only by their owner.

use crate::{
    beneath::{Folder, Kind, Readers, Typed},
    error::AppError,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Write},
    path::Path,
};

/// Puts a file in its place in one step: whoever reads it sees the old one or the new one, whole. A
/// link in its place is replaced, not followed.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), AppError> {
    let failed = |error: io::Error| AppError::file("write", path, &error);
    let (folder, name) = place_of(path)?;
    if folder
        .about(&name)
        .is_ok_and(|found| found.kind == Kind::Folder)
    {
        return Err(AppError::failed(format!(
            "cannot write {}: it is a directory",
            path.display()
        ))
        .hint("move it away"));
    }
    let (mut file, beside) = beside(&folder, &name, Readers::Usual).map_err(failed)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| match folder.open(Path::new(&name)) {
            Ok(known) => file.set_permissions(known.metadata()?.permissions()),
            Err(_) => Ok(()),
        });
    let synced = written.and_then(|()| file.sync_all());
    drop(file);
    settle(
        synced.and_then(|()| folder.rename(&beside, &name)),
        &folder,
        &beside,
    )
    .and_then(|()| folder.sync())
    .map_err(failed)
}

/// The same for a file that only its owner reads, from its first byte on.
pub fn replace_private(path: &Path, text: &str) -> Result<(), AppError> {
    private(path, text, Folder::rename)
}

/// Puts such a file where there is none yet. Of two that do so at once the first one's stays, and
/// both have done well.
pub fn create_private(path: &Path, text: &str) -> Result<(), AppError> {
    private(path, text, |folder, beside, name| {
        match folder.link(beside, name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        folder.remove(beside)
    })
}

fn private(
    path: &Path,
    text: &str,
    put: impl FnOnce(&Folder, &OsStr, &OsStr) -> io::Result<()>,
) -> Result<(), AppError> {
    let failed = |error: io::Error| AppError::file("write", path, &error);
    let (folder, name) = place_of(path)?;
    let (mut file, beside) = beside(&folder, &name, Readers::Owner).map_err(failed)?;
    // Its bytes first, then its name: a power cut leaves the old file or the new one, never an
    // empty one.
    let synced = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    drop(file);
    settle(
        synced.and_then(|()| put(&folder, &beside, &name)),
        &folder,
        &beside,
    )
    .and_then(|()| folder.sync())
    .map_err(failed)
}

/// Clears away what a step that failed left beside its file. What went wrong is told; whether that
/// could be done matters less.
fn settle(done: io::Result<()>, folder: &Folder, beside: &OsStr) -> io::Result<()> {
    done.inspect_err(|_| drop(folder.remove(beside)))
}

/// Adds one line in one write, so that two that end together do not mix theirs.
pub fn append_line(path: &Path, line: &str) -> Result<(), AppError> {
    let failed = |error: io::Error| AppError::file("write", path, &error);
    let (folder, name) = place_of(path)?;
    let mut open = folder.open_or_new(&name).map_err(failed)?;
    open.write_all(format!("{line}\n").as_bytes())
        .and_then(|()| open.sync_all())
        .and_then(|()| folder.sync())
        .map_err(failed)
}

/// Whether files can be written into a directory, before anybody is asked and paid. It is made if
/// need be.
pub fn check_dir(dir: &Path) -> Result<(), AppError> {
    let folder = Typed::new(dir)
        .and_then(|dir| dir.folder())
        .map_err(|error| AppError::file("create", dir, &error))?;
    let probed = beside(&folder, OsStr::new("probe"), Readers::Usual)
        .and_then(|(_, probe)| folder.remove(&probe));
    probed.map_err(|error| AppError::file("write into", dir, &error))
}

/// The folder a file goes into, made if need be, and its name there.
fn place_of(path: &Path) -> Result<(Folder, OsString), AppError> {
    Typed::new(path)
        .and_then(|path| path.parent())
        .map_err(|error| AppError::file("write", path, &error))
}

/// A new file beside another, under a name nobody has. Not by the crate `tempfile`, which makes and
/// renames files by their paths: a folder on the way could be replaced by a link in between.
fn beside(folder: &Folder, name: &OsStr, readers: Readers) -> io::Result<(File, OsString)> {
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for number in 0..100 {
        let beside = OsString::from(format!(
            ".{}.{}-{number}.part",
            name.to_string_lossy(),
            std::process::id()
        ));
        match folder.create(&beside, readers) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

pub fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    #[test]
    fn links_are_replaced_or_refused_and_directories_stay() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        fs::write(at("precious"), "mine").expect("a file");
        fs::write(at("old"), "longer than the new one").expect("a file");
        symlink(at("precious"), at("link")).expect("a link");
        symlink(at("nowhere"), at("dangling")).expect("a link");
        // The first name it would write under is taken, by a link.
        symlink(
            at("precious"),
            at(&format!(".new.{}-0.part", std::process::id())),
        )
        .expect("a link");
        for name in ["new", "old", "link", "dangling", "deep/new"] {
            replace(&at(name), b"text\r\n").unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert_eq!(fs::read(at(name)).expect(name), b"text\r\n");
            assert!(!at(name).is_symlink(), "{name}");
        }
        let mode = |name: &str| fs::metadata(at(name)).expect(name).permissions().mode() & 0o777;
        fs::write(at("secret"), "read by all").expect("a file");
        for (name, text) in [
            ("secret", "one"),
            ("secret", "two"),
            ("fresh secret", "two"),
        ] {
            replace_private(&at(name), text).expect(name);
            assert_eq!(
                (
                    fs::read_to_string(at(name)).expect(name).as_str(),
                    mode(name)
                ),
                (text, 0o600),
                "{name}"
            );
        }
        for name in ["secret", "made"] {
            create_private(&at(name), "two").expect(name);
            create_private(&at(name), "three").expect("the first one's stays");
            assert_eq!(
                (
                    fs::read_to_string(at(name)).expect(name).as_str(),
                    mode(name)
                ),
                ("two", 0o600),
                "{name}"
            );
        }
        symlink(at("precious"), at("log")).expect("a link");
        assert!(append_line(&at("log"), "line").is_err());
        assert!(replace(&at("deep"), b"").is_err() && at("deep/new").exists());
        append_line(&at("old"), "more").expect("a file");
        assert_eq!(
            fs::read_to_string(at("old")).expect("a file"),
            "text\r\nmore\n"
        );
        assert_eq!(fs::read_to_string(at("precious")).expect("a file"), "mine");
        check_dir(&at("fresh/one")).expect("a directory");
        assert!(check_dir(&at("old")).is_err());
        let left = |dir: &Path| fs::read_dir(dir).expect("a directory").count();
        assert_eq!(
            (left(&at("fresh/one")), left(dir.path())),
            (0, 12),
            "nothing is left beside"
        );
    }
}
