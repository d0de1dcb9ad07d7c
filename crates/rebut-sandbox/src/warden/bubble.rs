//! How bubblewrap is told what a cell is made of. Pure but for looking which system folders there
//! are.

use super::stage::Stage;
use crate::wire::Order;
use std::{
    ffi::OsString,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Where our own executable is in a cell.
pub(crate) const INNER: &str = "/.inner";
/// Folders of the system that programs need; links are made again as links.
const SYSTEM: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
];
/// What of `/etc` programs need: no configuration of this machine, no names.
const ETC: &[&str] = &["/etc/alternatives", "/etc/ld.so.cache"];
/// Where the kernel shows processes and much else.
const PROC: &str = "/proc";
const OWN: &[&str] = &["/etc", PROC, "/dev", "/in", "/box", "/tmp", INNER];
const ID: &str = "1000";

/// All of `/proc` that is not of one process and that programs need. Whatever else a kernel shows
/// there is of the machine, and hidden.
const KNOWN: &[&str] = &[
    "cpuinfo",
    "filesystems",
    "loadavg",
    "meminfo",
    "stat",
    "sys",
    "sysvipc",
    "uptime",
    "version",
];
/// What among that says which machine this is.
const NAMES: &[&str] = &["sys/kernel/random/boot_id"];
const FOR_ALL: u32 = 0o004;

/// All that can be read in a cell. One that judges needs nothing of `/proc`, where the memory of
/// processes is.
pub(super) fn readable(folders: &[PathBuf], judges: bool) -> Vec<PathBuf> {
    let own = SYSTEM
        .iter()
        .chain(OWN)
        .filter(|path| !judges || **path != PROC)
        .map(PathBuf::from);
    own.chain(folders.iter().cloned()).collect()
}

/// The arguments of bubblewrap, up to the command.
pub(super) fn arguments(order: &Order, stage: &Stage) -> Vec<OsString> {
    let mut all = Arguments(Vec::new());
    all.words(&[
        "--unshare-user",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]);
    if order.can_disable_userns {
        all.words(&["--disable-userns"]);
    }
    all.words(&[
        "--uid",
        ID,
        "--gid",
        ID,
        "--hostname",
        "cell",
        "--new-session",
        "--die-with-parent",
        "--as-pid-1",
        "--clearenv",
    ]);
    SYSTEM
        .iter()
        .for_each(|folder| all.system(Path::new(folder)));
    ETC.iter()
        .filter(|path| Path::new(path).exists())
        .for_each(|path| all.bind("--ro-bind", Path::new(path), Path::new(path)));
    all.bind(
        "--ro-bind",
        &stage.root.join("etc/passwd"),
        Path::new("/etc/passwd"),
    );
    all.bind(
        "--ro-bind",
        &stage.root.join("etc/group"),
        Path::new("/etc/group"),
    );
    all.bind(
        "--ro-bind",
        &stage.root.join("etc/hosts"),
        Path::new("/etc/hosts"),
    );
    all.words(&["--proc", PROC, "--dev", "/dev"]);
    // Where nothing of it can be read anyway, hiding parts would only take time.
    let hidden = if order.judges { Vec::new() } else { hidden() };
    hidden.iter().for_each(|path| {
        all.bind(
            "--ro-bind",
            &stage.root.join(if path.is_dir() {
                "no-folder"
            } else {
                "no-file"
            }),
            path,
        )
    });
    all.bind(
        "--bind",
        &stage.root.join("scratch/shm"),
        Path::new("/dev/shm"),
    );
    all.words(&["--remount-ro", "/dev"]);
    all.bind("--ro-bind", &stage.root.join("in"), Path::new("/in"));
    all.bind("--bind", &stage.root.join("scratch/box"), Path::new("/box"));
    for file in &order.pinned {
        // What is mounted over cannot be written to, removed or renamed.
        all.bind(
            "--ro-bind",
            &stage.root.join("pinned").join(&file.path),
            &Path::new("/box").join(&file.path),
        );
    }
    all.bind("--bind", &stage.root.join("scratch/tmp"), Path::new("/tmp"));
    // After `/tmp`, below which they may be.
    for (source, folder) in stage
        .folders
        .iter()
        .zip(&order.folders)
        .filter(|(_, folder)| !is_system(folder))
    {
        all.bind("--ro-bind", source, folder);
    }
    all.bind("--ro-bind", &stage.root.join("inner"), Path::new(INNER));
    all.words(&["--remount-ro", "/", "--chdir", "/box"]);
    all.0
}

/// What of `/proc` everybody can read and no cell shall. Links lead to processes.
fn hidden() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(PROC).into_iter().flatten().flatten();
    let others = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_process = name.starts_with(|c: char| c.is_ascii_digit());
        !is_process
            && !KNOWN.contains(&name.as_ref())
            && entry
                .metadata()
                .is_ok_and(|data| !data.is_symlink() && data.mode() & FOR_ALL != 0)
    });
    let names = NAMES
        .iter()
        .map(|name| Path::new(PROC).join(name))
        .filter(|path| path.exists());
    others.map(|entry| entry.path()).chain(names).collect()
}

/// Whether a folder is there anyway.
fn is_system(folder: &Path) -> bool {
    SYSTEM.iter().any(|system| folder.starts_with(system))
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn bind(&mut self, how: &str, from: &Path, to: &Path) {
        self.0.extend([how.into(), from.into(), to.into()]);
    }

    fn system(&mut self, folder: &Path) {
        match folder.read_link() {
            Ok(target) => self
                .0
                .extend(["--symlink".into(), target.into(), folder.into()]),
            Err(_) if folder.is_dir() => self.bind("--ro-bind", folder, folder),
            // Not every system has each of them.
            Err(_) => {}
        }
    }
}
