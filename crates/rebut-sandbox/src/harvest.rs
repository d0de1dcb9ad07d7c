//! Taking files out of a cell when all in it are gone: regular files below its folder, nothing that leads elsewhere or waits.

use crate::{limits::Limits, spec::Given};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use std::{
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
};

/// The wanted files that are there. What is a link, a pipe, a device, too large or not to be read is left where it is.
pub(crate) fn collect(folder: &OwnedFd, wanted: &[String], limits: &Limits) -> Vec<Given> {
    let mut left = limits.scratch_bytes;
    let mut files = Vec::new();
    for path in wanted {
        let most = left.min(limits.file_bytes);
        if let Ok(Some((bytes, executable))) = take(folder, path, most) {
            left -= bytes.len() as u64;
            files.push(Given { path: path.clone(), bytes, executable });
        }
    }
    files
}

/// The bytes of one file and whether it is a program; `None` for what is no regular file of its own.
fn take(folder: &OwnedFd, path: &str, most: u64) -> io::Result<Option<(Vec<u8>, bool)>> {
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    // A pipe without a writer would be waited for.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat2(folder, path, flags, Mode::empty(), how)?;
    let facts = fstat(&file)?;
    let is_own = FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && facts.st_nlink == 1;
    if !is_own || u64::try_from(facts.st_size).is_ok_and(|size| size > most) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::from(file).take(most).read_to_end(&mut bytes)?;
    Ok(Some((bytes, facts.st_mode & 0o111 != 0)))
}
