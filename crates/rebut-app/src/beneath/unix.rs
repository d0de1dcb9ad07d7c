//! The steps on systems that open files relative to an open folder.

use super::{About, Kind, Readers};
use rustix::{
    fs::{
        AtFlags, CWD, FileType, Mode, OFlags, fsync, linkat, mkdirat, openat, renameat, statat,
        unlinkat,
    },
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    path::Path,
};

pub(super) type Dir = OwnedFd;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

pub(super) fn open(path: &Path) -> io::Result<Dir> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    Ok(openat(CWD, path, FOLDER, Mode::empty())?)
}

pub(super) fn same(dir: &Dir) -> io::Result<Dir> {
    dir.try_clone()
}

pub(super) fn open_at(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    Ok(openat(dir, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?)
}

pub(super) fn make_at(dir: &Dir, name: &OsStr) -> io::Result<()> {
    Ok(mkdirat(dir, name, Mode::from_raw_mode(0o777))?)
}

/// Not waiting: a pipe that somebody left there would be waited for until somebody writes.
pub(super) fn read_at(dir: &Dir, name: &OsStr) -> io::Result<File> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(openat(dir, name, flags, Mode::empty())?.into())
}

pub(super) fn append_at(dir: &Dir, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDWR
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    Ok(openat(dir, name, flags, Mode::from_raw_mode(0o666))?.into())
}

pub(super) fn create_at(dir: &Dir, name: &OsStr, readers: Readers) -> io::Result<File> {
    let mode = if readers == Readers::Owner {
        0o600
    } else {
        0o666
    };
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(dir, name, flags, Mode::from_raw_mode(mode))?.into())
}

pub(super) fn rename_at(dir: &Dir, from: &OsStr, to: &OsStr) -> io::Result<()> {
    Ok(renameat(dir, from, dir, to)?)
}

pub(super) fn link_at(dir: &Dir, from: &OsStr, to: &OsStr) -> io::Result<()> {
    Ok(linkat(dir, from, dir, to, AtFlags::empty())?)
}

pub(super) fn remove_at(dir: &Dir, name: &OsStr) -> io::Result<()> {
    Ok(unlinkat(dir, name, AtFlags::empty())?)
}

pub(super) fn sync(dir: &Dir) -> io::Result<()> {
    match fsync(dir) {
        // Some file systems keep no names that could be lost, and say so.
        Err(Errno::INVAL) => Ok(()),
        synced => Ok(synced?),
    }
}

pub(super) fn about(dir: &Dir, name: &OsStr) -> io::Result<About> {
    let found = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let kind = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    };
    #[allow(
        clippy::useless_conversion,
        reason = "the width differs between systems"
    )]
    let names = u64::from(found.st_nlink);
    Ok(About {
        kind,
        owner: Some(found.st_uid),
        others_write: found.st_mode & 0o002 != 0,
        names,
    })
}

/// How many names an open file has.
pub(super) fn names_of(file: &File) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink())
}

pub(super) fn names(dir: &Dir) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    Ok(names)
}

pub(super) fn this_user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}
