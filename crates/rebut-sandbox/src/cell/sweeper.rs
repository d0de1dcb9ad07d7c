//! The sweeper: a small process that waits for the end of the program and removes the control
//! groups of its cells, which only root may remove. A program that is killed cannot do that itself,
//! and its wardens have given up root long before.

use super::group::{Groups, PREFIX, members};
use crate::{inner::REFUSED, spec::Inner, sys};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, getppid, pidfd_open},
};
use std::{
    fs, io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

/// How long processes that are being killed are waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// A group whose last process has just ended may be busy for a moment more.
const MOMENT: Duration = Duration::from_millis(10);

/// Starts the sweeper of this program, once.
pub(super) fn start(inner: &Inner, groups: &Groups) -> io::Result<()> {
    static SWEEPER: Mutex<Option<Child>> = Mutex::new(None);
    let mut sweeper = SWEEPER
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if sweeper.is_some() {
        return Ok(());
    }
    let mut command = Command::new(&inner.program);
    command
        .args(&inner.args)
        .arg("sweeper")
        .arg(std::process::id().to_string())
        .args(groups.folders());
    command
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // A group of its own: what a terminal sends to the program is not for it.
    *sweeper = Some(command.process_group(0).spawn()?);
    Ok(())
}

/// Waits for the end of the process `of` and removes its groups below these folders.
pub(crate) fn main(of: &str, folders: &[String]) -> ExitCode {
    let Some(program) = of.parse().ok().and_then(Pid::from_raw) else {
        return ExitCode::from(REFUSED);
    };
    if sys::close_on_exec_from(3).is_err() {
        return ExitCode::from(REFUSED);
    }
    // Whoever started this is its parent while it lives: another process with that number is not.
    if let Ok(watched) = pidfd_open(program, PidfdFlags::empty())
        && getppid() == Some(program)
    {
        wait_for(&[watched], None);
    }
    let prefix = format!("{PREFIX}{program}-");
    let until = Instant::now() + PATIENCE;
    for group in folders
        .iter()
        .flat_map(|folder| groups_in(Path::new(folder), &prefix))
    {
        remove(&group, until);
    }
    ExitCode::SUCCESS
}

fn groups_in(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            entry
                .file_name()
                .to_str()
                .is_some_and(|name| name.starts_with(prefix))
        })
        .map(|entry| entry.path())
        .collect()
}

/// Removes a group as soon as nobody is in it. Its warden is killing them; what cannot be removed
/// stays for the next program.
fn remove(group: &Path, until: Instant) {
    while let Err(error) = fs::remove_dir(group) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || error.kind() == io::ErrorKind::NotFound {
            return;
        }
        let alive: Vec<OwnedFd> = members(group)
            .into_iter()
            .filter_map(Pid::from_raw)
            .filter_map(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
            .collect();
        wait_for(&alive, Some(if alive.is_empty() { MOMENT } else { left }));
    }
}

/// Waits until one of them has ended, or that long.
fn wait_for(processes: &[OwnedFd], most: Option<Duration>) {
    let most = most.and_then(|most| Timespec::try_from(most).ok());
    let mut looked: Vec<PollFd<'_>> = processes
        .iter()
        .map(|process| PollFd::new(process, PollFlags::IN))
        .collect();
    while poll(&mut looked, most.as_ref()) == Err(rustix::io::Errno::INTR) {}
}
