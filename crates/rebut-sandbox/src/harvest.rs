//! Taking files out of a cell when all in it are gone: regular files below its folder, nothing that
//! leads elsewhere or waits.

use crate::{
    limits::Limits,
    spec::{Given, check_path},
};
use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use std::{
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
};

/// The wanted files that are there. What is a link, a pipe, a device, too large or not to be read
/// is left where it is.
pub(crate) fn collect(folder: &OwnedFd, wanted: &[String], limits: &Limits) -> Vec<Given> {
    let mut left = limits.scratch_bytes;
    let mut files = Vec::new();
    for path in wanted {
        let most = left.min(limits.file_bytes);
        if let Ok(Some((bytes, executable))) = take(folder, path, most) {
            left -= bytes.len() as u64;
            files.push(Given {
                path: path.clone(),
                bytes,
                executable,
            });
        }
    }
    files
}

/// The most files and folders that are taken together, and the most bytes in them.
pub(crate) const MOST_FILES: usize = 512;
pub(crate) const MOST_BYTES: u64 = 8 << 20;
const DEEPEST: usize = 16;
/// What stands for all that was too much.
pub(crate) const MORE: &str = "/";

/// All files and folders, in the order of their names, folders with a `/` at their end. What is a
/// link, a pipe or a device, or has a name that is not plain, is left where it is; where there is
/// more than is taken, nothing is but [`MORE`].
pub(crate) fn collect_all(folder: &OwnedFd) -> Vec<Given> {
    let mut all = All {
        files: Vec::new(),
        bytes: MOST_BYTES,
    };
    match all.walk(folder, "", 0) {
        Some(()) => all.files,
        None => vec![Given::text(MORE, "")],
    }
}

struct All {
    files: Vec<Given>,
    bytes: u64,
}

impl All {
    /// Takes what is in one folder of the folder; nothing when there is too much.
    fn walk(&mut self, root: &OwnedFd, below: &str, depth: usize) -> Option<()> {
        let Ok(names) = names(root, below) else {
            return Some(());
        };
        for name in names {
            let path = format!("{below}{name}");
            if check_path(&path).is_err() {
                continue;
            }
            if self.files.len() >= MOST_FILES || depth >= DEEPEST {
                return None;
            }
            if open(root, &path, OFlags::PATH | OFlags::DIRECTORY).is_ok() {
                let inside = format!("{path}/");
                self.files.push(Given::text(inside.clone(), ""));
                self.walk(root, &inside, depth + 1)?;
            } else {
                self.file(root, path)?;
            }
        }
        Some(())
    }

    fn file(&mut self, root: &OwnedFd, path: String) -> Option<()> {
        let Ok(file) = open(
            root,
            &path,
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
        ) else {
            return Some(());
        };
        let Ok(facts) = fstat(&file) else {
            return Some(());
        };
        if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile || facts.st_nlink != 1 {
            return Some(());
        }
        let size = u64::try_from(facts.st_size)
            .ok()
            .filter(|size| *size <= self.bytes)?;
        let mut bytes = Vec::new();
        if File::from(file).take(size).read_to_end(&mut bytes).is_ok() {
            self.bytes -= bytes.len() as u64;
            self.files.push(Given {
                path,
                bytes,
                executable: facts.st_mode & 0o111 != 0,
            });
        }
        Some(())
    }
}

/// The names in one folder of the folder, sorted; those that are no text are not among them.
fn names(root: &OwnedFd, below: &str) -> io::Result<Vec<String>> {
    let folder = open(
        root,
        if below.is_empty() {
            "."
        } else {
            below.trim_end_matches('/')
        },
        OFlags::RDONLY | OFlags::DIRECTORY,
    )?;
    let entries = Dir::read_from(folder)?.flatten();
    let names = entries.filter_map(|entry| {
        entry
            .file_name()
            .to_str()
            .ok()
            .filter(|name| !matches!(*name, "." | ".."))
            .map(str::to_owned)
    });
    // Nobody reads the names of a million files.
    let mut names: Vec<String> = names.take(4 * MOST_FILES).collect();
    names.sort();
    Ok(names)
}

/// Opens what is below the folder, without following anything.
fn open(root: &OwnedFd, path: &str, how: OFlags) -> rustix::io::Result<OwnedFd> {
    let within = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    openat2(
        root,
        path,
        how | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
        within,
    )
}

/// The bytes of one file and whether it is a program; `None` for what is no regular file of its
/// own.
fn take(folder: &OwnedFd, path: &str, most: u64) -> io::Result<Option<(Vec<u8>, bool)>> {
    let how = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    // A pipe without a writer would be waited for.
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat2(folder, path, flags, Mode::empty(), how)?;
    let facts = fstat(&file)?;
    let is_own =
        FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && facts.st_nlink == 1;
    if !is_own || u64::try_from(facts.st_size).is_ok_and(|size| size > most) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::from(file).take(most).read_to_end(&mut bytes)?;
    Ok(Some((bytes, facts.st_mode & 0o111 != 0)))
}
