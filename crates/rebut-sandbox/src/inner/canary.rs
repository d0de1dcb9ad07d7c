//! The canary: a program of our own that tries in a cell what must not be possible. It says what it
//! could do, and at last that it is done.

use std::{
    fs::{self, OpenOptions},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::ExitCode,
    time::Duration,
};

/// What it says when it tried everything.
pub(crate) const DONE: &str = "tried everything";
/// Of the machine, and never in a cell.
const HIDDEN: &[&str] = &[
    "/etc/shadow",
    "/etc/machine-id",
    "/etc/hostname",
    "/home",
    "/var",
    "/srv",
    "/boot",
    "/sys",
    "/run",
    "/mnt",
];
const VARIABLES: &[&str] = &["HOME", "LANG", "PATH", "TMPDIR"];
/// What the kernel says of a process that is held.
const STATUS: &[(&str, &str)] = &[
    ("NoNewPrivs:", "1"),
    ("Seccomp:", "2"),
    ("CapEff:", "0000000000000000"),
    ("CapPrm:", "0000000000000000"),
    ("CapInh:", "0000000000000000"),
];
const FIXED: &[&str] = &[
    "/canary",
    "/usr/canary",
    "/etc/canary",
    "/in/canary",
    "/dev/canary",
    "/proc/sys/kernel/core_pattern",
];

/// Tries everything. The arguments are a port of this machine that listens, and files of it that
/// exist.
pub(crate) fn main(port: &str, files: &[String]) -> ExitCode {
    let mut could = Vec::new();
    let hidden = HIDDEN
        .iter()
        .map(|path| (*path).to_owned())
        .chain(files.iter().cloned());
    could.extend(
        hidden
            .filter(|path| Path::new(path).exists())
            .map(|path| format!("see {path}")),
    );
    could.extend(
        FIXED
            .iter()
            .filter(|path| {
                OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(path)
                    .is_ok()
            })
            .map(|path| format!("write {path}")),
    );
    let address = port
        .parse()
        .map(|port: u16| SocketAddr::from(([127, 0, 0, 1], port)));
    if address
        .is_ok_and(|address| TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok())
    {
        could.push("reach a port of the machine".to_owned());
    }
    could.extend(
        std::env::vars()
            .filter(|(name, _)| !VARIABLES.contains(&name.as_str()))
            .map(|(name, _)| format!("see the variable {name}")),
    );
    if fs::read("/proc/1/environ").is_ok_and(|bytes| !bytes.is_empty()) {
        could.push("see the environment of the first process".to_owned());
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    could.extend(
        STATUS
            .iter()
            .filter(|(name, value)| !says(&status, name, value))
            .map(|(name, _)| format!("have another {name} than it must")),
    );
    if crate::sys::leave_namespaces(true).is_ok() {
        could.push("make a namespace".to_owned());
    }
    if fs::read_dir("/sys/class/net").is_ok() {
        could.push("see network devices".to_owned());
    }
    could.iter().for_each(|what| println!("{what}"));
    println!("{DONE}");
    ExitCode::from(u8::from(!could.is_empty()))
}

fn says(status: &str, name: &str, value: &str) -> bool {
    status.lines().any(|line| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.trim() == value)
    })
}
