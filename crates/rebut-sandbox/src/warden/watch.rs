//! Watching a cell until its program ends, its time is over or nobody wants it any more; then
//! nothing of it is left.

use super::during;
use crate::wire::{self, Reported, Said, Status};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, wait},
};
use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::Child,
    time::{Duration, Instant},
};

/// What was seen of a cell.
pub(super) struct Seen {
    /// How the program ended, when it did so itself.
    pub status: Option<Status>,
    pub is_late: bool,
    pub ms: u64,
}

/// How long a cell may take to be made; a machine with too much to do still makes one in less.
const MAKING: Duration = Duration::from_secs(30);
/// Between two looks at what is still alive.
const PAUSE: Duration = Duration::from_millis(1);

/// Stays until the cell is over. Errors are reasons why it never was one.
pub(super) fn watch(
    control: &mut UnixStream,
    child: Child,
    reports: File,
    wall: Duration,
) -> Result<Seen, String> {
    let mut cell = Watched::new(&child, reports)?;
    let started = match cell.next(control, Instant::now() + MAKING) {
        Next::Reported(Reported::Started) => Instant::now(),
        Next::Reported(Reported::Refused(why)) => return Err(cell.without(why)),
        Next::Late => {
            return Err(cell.without(format!("no cell was made in {} s", MAKING.as_secs())));
        }
        Next::Unwanted => return Err(cell.without("nobody wants it any more".to_owned())),
        Next::Reported(Reported::Ended(_)) | Next::Gone => {
            return Err(cell.without("bubblewrap made no cell".to_owned()));
        }
    };
    let told = wire::write(control, &Said::Started, []);
    let next = if told.is_ok() {
        cell.next(control, started + wall)
    } else {
        Next::Unwanted
    };
    let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    kill_all();
    let status = if let Next::Reported(Reported::Ended(status)) = next {
        Some(status)
    } else {
        None
    };
    Ok(Seen {
        status,
        is_late: matches!(next, Next::Late),
        ms,
    })
}

enum Next {
    Reported(Reported),
    Late,
    /// Whoever ordered the cell went away or ended it.
    Unwanted,
    /// Bubblewrap ended and nothing was said.
    Gone,
}

struct Watched {
    bubblewrap: OwnedFd,
    reports: BufReader<File>,
}

impl Watched {
    fn new(child: &Child, reports: File) -> Result<Self, String> {
        let pid = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or("bubblewrap has no number")?;
        let bubblewrap =
            pidfd_open(pid, PidfdFlags::empty()).map_err(during("cannot watch bubblewrap"))?;
        Ok(Self {
            bubblewrap,
            reports: BufReader::new(reports),
        })
    }

    /// Ends what there is; gives the reason back.
    fn without(&self, why: String) -> String {
        kill_all();
        why
    }

    /// What happens next, at the latest at that moment.
    fn next(&mut self, control: &UnixStream, until: Instant) -> Next {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(timeout) = Timespec::try_from(left) else {
                return Next::Late;
            };
            let mut looked = [
                PollFd::new(self.reports.get_ref(), PollFlags::IN),
                PollFd::new(control, PollFlags::IN),
                PollFd::new(&self.bubblewrap, PollFlags::IN),
            ];
            let count = match poll(&mut looked, Some(&timeout)) {
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(_) => return Next::Gone,
            };
            let [has_report, is_unwanted, is_gone] = looked.map(|one| !one.revents().is_empty());
            // A report counts before everything else: the program ended before whatever happened
            // since.
            if has_report && let Some(report) = self.report() {
                return Next::Reported(report);
            }
            match (is_unwanted, is_gone || has_report, count) {
                (true, _, _) => return Next::Unwanted,
                (_, true, _) => return Next::Gone,
                (_, _, 0) => return Next::Late,
                _ => {}
            }
        }
    }

    /// One line of what the first process in the cell says; `None` when it says no more.
    fn report(&mut self) -> Option<Reported> {
        let mut line = String::new();
        let read = self.reports.read_line(&mut line).ok()?;
        if read == 0 {
            None
        } else {
            serde_json::from_str(&line).ok()
        }
    }
}

/// Kills every process below us until there is none. Orphans become our children, so none can hide;
/// what is in the cell dies with its first process.
fn kill_all() {
    loop {
        for child in children() {
            // One that is gone by now is what we want.
            let _ = kill_process(child, Signal::KILL);
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) | Err(Errno::INTR) => break,
                Err(_) => return,
            }
        }
        std::thread::sleep(PAUSE);
    }
}

fn children() -> Vec<Pid> {
    let file = format!(
        "/proc/self/task/{}/children",
        rustix::thread::gettid().as_raw_nonzero()
    );
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_ascii_whitespace()
        .filter_map(|number| number.parse().ok().and_then(Pid::from_raw))
        .collect()
}
