//! Writing files in one step: whole or not at all, a link planted in a file's place replaced or refused, never followed, and secrets readable only by
//! their owner.

use crate::error::CliError;
use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Puts a file in its place in one step: whoever reads it sees the old one or the new one, whole.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let failed = |error: io::Error| CliError::file("write", path, &error);
    let known = path.symlink_metadata().ok();
    if known.as_ref().is_some_and(std::fs::Metadata::is_dir) {
        return Err(CliError::failed(format!("cannot write {}: it is a directory", path.display())).hint("move it away"));
    }
    make_dir(parent(path))?;
    let (mut file, beside) = beside(path, Readers::Usual).map_err(failed)?;
    let written = file.write_all(bytes).and_then(|()| match known.filter(std::fs::Metadata::is_file) {
        Some(known) => file.set_permissions(known.permissions()),
        None => Ok(()),
    });
    drop(file);
    settle(written.and_then(|()| std::fs::rename(&beside, path)), &beside).map_err(failed)
}

/// The same for a file that only its owner reads, from its first byte on.
pub fn replace_private(path: &Path, text: &str) -> Result<(), CliError> {
    private(path, text, |beside| std::fs::rename(beside, path))
}

/// Puts such a file where there is none yet. Of two that do so at once the first one's stays, and both have done well.
pub fn create_private(path: &Path, text: &str) -> Result<(), CliError> {
    private(path, text, |beside| {
        match std::fs::hard_link(beside, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        std::fs::remove_file(beside)
    })
}

fn private(path: &Path, text: &str, put: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), CliError> {
    let failed = |error: io::Error| CliError::file("write", path, &error);
    make_dir(parent(path))?;
    let (mut file, beside) = beside(path, Readers::Owner).map_err(failed)?;
    let written = file.write_all(text.as_bytes());
    drop(file);
    settle(written.and_then(|()| put(&beside)), &beside).map_err(failed)
}

/// Clears away what a step that failed left beside its file. What went wrong is told; whether that could be done matters less.
fn settle(done: io::Result<()>, beside: &Path) -> io::Result<()> {
    done.inspect_err(|_| drop(std::fs::remove_file(beside)))
}

/// Adds one line in one write, so that two that end together do not mix theirs.
pub fn append_line(path: &Path, line: &str) -> Result<(), CliError> {
    if path.is_symlink() {
        let message = format!("cannot write {}: it is a link, and may lead anywhere", path.display());
        return Err(CliError::failed(message).hint("remove it, or write into the directory it leads to"));
    }
    let failed = |error: io::Error| CliError::file("write", path, &error);
    let mut open = OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
    open.write_all(format!("{line}\n").as_bytes()).map_err(failed)
}

/// Whether files can be written into a directory, before anybody is asked and paid. It is made if need be.
pub fn check_dir(dir: &Path) -> Result<(), CliError> {
    make_dir(dir)?;
    let probed = beside(&dir.join("probe"), Readers::Usual).and_then(|(_, probe)| std::fs::remove_file(probe));
    probed.map_err(|error| CliError::file("write into", dir, &error))
}

/// Who reads a new file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    /// Whoever the user lets read their files.
    Usual,
    /// The user alone.
    Owner,
}

/// A new file beside another, under a name nobody has.
fn beside(path: &Path, readers: Readers) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    for number in 0..100 {
        let beside = parent(path).join(format!(".{name}.{}-{number}.part", std::process::id()));
        match options.open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

/// The directory of a file.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn make_dir(dir: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(dir).map_err(|error| CliError::file("create", dir, &error))
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
        symlink(at("precious"), at(&format!(".new.{}-0.part", std::process::id()))).expect("a link");
        for name in ["new", "old", "link", "dangling", "deep/new"] {
            replace(&at(name), b"text\r\n").unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert_eq!(fs::read(at(name)).expect(name), b"text\r\n");
            assert!(!at(name).is_symlink(), "{name}");
        }
        let mode = |name: &str| fs::metadata(at(name)).expect(name).permissions().mode() & 0o777;
        fs::write(at("secret"), "read by all").expect("a file");
        for (name, text) in [("secret", "one"), ("secret", "two"), ("fresh secret", "two")] {
            replace_private(&at(name), text).expect(name);
            assert_eq!((fs::read_to_string(at(name)).expect(name).as_str(), mode(name)), (text, 0o600), "{name}");
        }
        for name in ["secret", "made"] {
            create_private(&at(name), "two").expect(name);
            create_private(&at(name), "three").expect("the first one's stays");
            assert_eq!((fs::read_to_string(at(name)).expect(name).as_str(), mode(name)), ("two", 0o600), "{name}");
        }
        symlink(at("precious"), at("log")).expect("a link");
        assert!(append_line(&at("log"), "line").is_err());
        assert!(replace(&at("deep"), b"").is_err() && at("deep/new").exists());
        append_line(&at("old"), "more").expect("a file");
        assert_eq!(fs::read_to_string(at("old")).expect("a file"), "text\r\nmore\n");
        assert_eq!(fs::read_to_string(at("precious")).expect("a file"), "mine");
        check_dir(&at("fresh/one")).expect("a directory");
        assert!(check_dir(&at("old")).is_err());
        let left = |dir: &Path| fs::read_dir(dir).expect("a directory").count();
        assert_eq!((left(&at("fresh/one")), left(dir.path())), (0, 12), "nothing is left beside");
    }
}
