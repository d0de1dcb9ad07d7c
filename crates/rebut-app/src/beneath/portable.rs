//! The steps on systems without open folders: by name, looking at each before it is used.

use super::{About, Kind, Readers};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

pub(super) type Dir = PathBuf;

pub(super) fn open(path: &Path) -> io::Result<Dir> {
    fs::canonicalize(path)
}

pub(super) fn same(dir: &Dir) -> io::Result<Dir> {
    Ok(dir.clone())
}

pub(super) fn open_at(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    match about(dir, name)?.kind {
        Kind::Folder => Ok(dir.join(name)),
        _ => Err(io::Error::from(io::ErrorKind::NotADirectory)),
    }
}

pub(super) fn make_at(dir: &Dir, name: &OsStr) -> io::Result<()> {
    fs::create_dir(dir.join(name))
}

pub(super) fn read_at(dir: &Dir, name: &OsStr) -> io::Result<File> {
    no_link(dir, name)?;
    File::open(dir.join(name))
}

pub(super) fn append_at(dir: &Dir, name: &OsStr) -> io::Result<File> {
    no_link(dir, name)?;
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(dir.join(name))
}

pub(super) fn create_at(dir: &Dir, name: &OsStr, _: Readers) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(dir.join(name))
}

pub(super) fn rename_at(dir: &Dir, from: &OsStr, to: &OsStr) -> io::Result<()> {
    fs::rename(dir.join(from), dir.join(to))
}

pub(super) fn link_at(dir: &Dir, from: &OsStr, to: &OsStr) -> io::Result<()> {
    fs::hard_link(dir.join(from), dir.join(to))
}

pub(super) fn remove_at(dir: &Dir, name: &OsStr) -> io::Result<()> {
    fs::remove_file(dir.join(name))
}

/// Here the system keeps names itself.
pub(super) fn sync(_: &Dir) -> io::Result<()> {
    Ok(())
}

pub(super) fn about(dir: &Dir, name: &OsStr) -> io::Result<About> {
    let found = fs::symlink_metadata(dir.join(name))?;
    let kind = match found.file_type() {
        kind if kind.is_symlink() => Kind::Link,
        kind if kind.is_dir() => Kind::Folder,
        kind if kind.is_file() => Kind::File,
        _ => Kind::Other,
    };
    Ok(About {
        kind,
        owner: None,
        others_write: false,
        names: 1,
    })
}

pub(super) fn names_of(_: &File) -> io::Result<u64> {
    Ok(1)
}

pub(super) fn names(dir: &Dir) -> io::Result<Vec<OsString>> {
    fs::read_dir(dir)?
        .map(|entry| Ok(entry?.file_name()))
        .collect()
}

fn no_link(dir: &Dir, name: &OsStr) -> io::Result<()> {
    match about(dir, name) {
        Ok(About {
            kind: Kind::Link, ..
        }) => Err(io::Error::other("it is a link")),
        _ => Ok(()),
    }
}

pub(super) fn this_user() -> Option<u32> {
    None
}
