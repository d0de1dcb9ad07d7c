//! The stage: everything a cell shall hold, gathered in memory in a mount namespace of the warden's
//! own. It is gone with the warden.

use super::{Owner, during};
use crate::{spec::Given, sys, wire::Order};
use rustix::{
    fs::{CWD, Gid, Mode, OFlags, ResolveFlags, Uid, chown, fchown, openat2},
    mount::{MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change},
    process::{getegid, geteuid},
};
use std::{
    ffi::CString,
    fs::{self, File, OpenOptions},
    io::Write,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

/// Where the parts of a cell wait for bubblewrap.
pub(super) struct Stage {
    pub root: PathBuf,
    /// The folders of the machine, in their order.
    pub folders: Vec<PathBuf>,
    /// The cell's `/box`, held open: what is collected is looked for in this and in nothing that
    /// took its place.
    pub box_folder: OwnedFd,
}

/// A folder every system has, and that holds nothing bubblewrap is started with: in our namespace
/// the stage covers it.
const ROOT: &str = "/tmp";
/// The largest the rest of the stage may be: the files given, and little else.
const OWN_BYTES: u64 = 256 << 20;

/// The files a cell begins with.
pub(super) struct Files<'a> {
    pub read_only: &'a [Given],
    pub writable: &'a [Given],
    /// Below `/box`, and nobody in the cell can change them.
    pub pinned: &'a [Given],
}

/// Makes the stage. Sources are opened before anything is covered, so that what is bound is what
/// was opened.
pub(super) fn build(order: &Order, owner: &Owner, files: &Files<'_>) -> Result<Stage, String> {
    enter_namespace(owner)?;
    let inner = open_path(&order.inner)?;
    let sources: Vec<OwnedFd> = order
        .folders
        .iter()
        .map(|folder| open_folder(folder))
        .collect::<Result<_, _>>()?;
    let root = PathBuf::from(ROOT);
    mount_memory(&root, OWN_BYTES, 65_536)?;
    let folders: Vec<PathBuf> = (0..sources.len())
        .map(|number| root.join(format!("folders/{number}")))
        .collect();
    for (source, target) in sources.iter().zip(&folders) {
        make_folder(target)?;
        bind(source, target)?;
    }
    make_file(&root.join("inner"), b"", 0o755)?;
    bind(&inner, &root.join("inner"))?;
    make_etc(&root)?;
    make_nothing(&root)?;
    make_folder(&root.join("in"))?;
    files
        .read_only
        .iter()
        .try_for_each(|file| give(&root.join("in"), file, None))?;
    make_folder(&root.join("pinned"))?;
    files
        .pinned
        .iter()
        .try_for_each(|file| give(&root.join("pinned"), file, None))?;
    let scratch = root.join("scratch");
    make_folder(&scratch)?;
    mount_memory(
        &scratch,
        order.limits.scratch_bytes,
        order.limits.scratch_files,
    )?;
    for name in ["box", "tmp", "shm"] {
        make_folder(&scratch.join(name))?;
        own(&scratch.join(name), owner)?;
    }
    files
        .writable
        .iter()
        .try_for_each(|file| give(&scratch.join("box"), file, Some(owner)))?;
    let box_folder = open_path(&scratch.join("box"))?;
    Ok(Stage {
        root,
        folders,
        box_folder,
    })
}

/// A mount namespace of our own. Whoever is not root needs a user namespace for it, in which they
/// are who they were.
fn enter_namespace(owner: &Owner) -> Result<(), String> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let what = if owner.is_dropped {
        "cannot make a mount namespace"
    } else {
        "cannot make a user namespace"
    };
    sys::leave_namespaces(!owner.is_dropped).map_err(|error| match error.raw_os_error() {
        // The kernel's own words for it are "no space left on device".
        Some(libc::ENOSPC) => format!("{what}: the system's limit on them is reached, or 0"),
        _ => format!("{what}: {error}"),
    })?;
    if !owner.is_dropped {
        let write = |file: &str, text: String| {
            fs::write(format!("/proc/self/{file}"), text).map_err(during("cannot map the user"))
        };
        write("setgroups", "deny".to_owned())?;
        write("uid_map", format!("{user} {user} 1"))?;
        write("gid_map", format!("{group} {group} 1"))?;
    }
    mount_change(
        "/",
        MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC,
    )
    .map_err(during("cannot keep mounts to ourselves"))
}

/// A file system in memory that holds at most so many bytes, files and folders.
fn mount_memory(target: &Path, bytes: u64, files: u32) -> Result<(), String> {
    let options = CString::new(format!("mode=755,size={bytes},nr_inodes={files}"))
        .map_err(during("wrong options"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", target, "tmpfs", flags, options.as_c_str())
        .map_err(during("cannot mount a file system in memory"))
}

fn open_path(path: &Path) -> Result<OwnedFd, String> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| format!("cannot open {}: {error}", path.display()))
}

/// A folder as it was named: what became a link since it was looked at is not followed.
fn open_folder(folder: &Path) -> Result<OwnedFd, String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat2(
        CWD,
        folder,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    );
    opened.map_err(|error| format!("cannot open the folder {}: {error}", folder.display()))
}

fn bind(source: &OwnedFd, target: &Path) -> Result<(), String> {
    let from = format!("/proc/self/fd/{}", source.as_raw_fd());
    mount_bind_recursive(from, target)
        .map_err(|error| format!("cannot bind {}: {error}", target.display()))
}

fn make_folder(path: &Path) -> Result<(), String> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
        .map_err(|error| format!("cannot make {}: {error}", path.display()))
}

fn make_file(path: &Path, bytes: &[u8], mode: u32) -> Result<File, String> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path);
    let written = made.and_then(|mut file| file.write_all(bytes).map(|()| file));
    written.map_err(|error| format!("cannot make {}: {error}", path.display()))
}

fn own(path: &Path, owner: &Owner) -> Result<(), String> {
    if !owner.is_dropped {
        return Ok(());
    }
    chown(
        path,
        Some(Uid::from_raw(owner.id)),
        Some(Gid::from_raw(owner.id)),
    )
    .map_err(during("cannot give a folder away"))
}

/// A file and a folder that nobody can open, to be put over what a cell shall not see.
fn make_nothing(root: &Path) -> Result<(), String> {
    make_file(&root.join("no-file"), b"", 0o000)?;
    fs::DirBuilder::new()
        .mode(0o000)
        .create(root.join("no-folder"))
        .map_err(during("cannot make an empty folder"))
}

/// The only users and hosts a cell knows of.
fn make_etc(root: &Path) -> Result<(), String> {
    let etc = root.join("etc");
    make_folder(&etc)?;
    make_file(
        &etc.join("passwd"),
        b"cell:x:1000:1000::/box:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
        0o644,
    )?;
    make_file(
        &etc.join("group"),
        b"cell:x:1000:\nnogroup:x:65534:\n",
        0o644,
    )?;
    make_file(
        &etc.join("hosts"),
        b"127.0.0.1 localhost cell\n::1 localhost\n",
        0o644,
    )
    .map(drop)
}

/// Puts one file where it belongs. Its path was checked before; the folder is new, so nothing in it
/// can lead elsewhere.
fn give(folder: &Path, file: &Given, owner: Option<&Owner>) -> Result<(), String> {
    let mut at = folder.to_path_buf();
    let parents = Path::new(&file.path)
        .parent()
        .into_iter()
        .flat_map(Path::components);
    for part in parents {
        at.push(part);
        if !at.is_dir() {
            make_folder(&at)?;
            owner.map_or(Ok(()), |owner| own(&at, owner))?;
        }
    }
    let mode = if file.executable { 0o755 } else { 0o644 };
    let made = make_file(&folder.join(&file.path), &file.bytes, mode)?;
    match owner.filter(|owner| owner.is_dropped) {
        Some(owner) => fchown(
            &made,
            Some(Uid::from_raw(owner.id)),
            Some(Gid::from_raw(owner.id)),
        )
        .map_err(during("cannot give a file away")),
        None => Ok(()),
    }
}
