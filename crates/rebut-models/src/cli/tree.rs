//! A child and everything it started, so that all of it can be ended: also what left its group or lost its parent.

use std::{
    process::ExitStatus,
    thread,
    time::{Duration, Instant},
};
use tokio::process::Child;

/// A running program with its descendants. Dropping it kills them all at once.
pub(super) struct Tree {
    child: Child,
    leader: Option<u32>,
    marks: Marks,
}

/// How descendants are known.
pub(super) struct Marks {
    /// `NAME=VALUE` in their environment, of this run only.
    pub variable: String,
    /// The pipes to us that they hold, as the system names them.
    pub pipes: Vec<std::path::PathBuf>,
}

/// How long a program may take to leave when asked politely.
const POLITE: Duration = Duration::from_millis(300);
/// How long killing may take; only what cannot be killed takes so long.
const KILLING: Duration = Duration::from_secs(2);

impl Tree {
    /// Guards a child that leads its own process group.
    pub(super) fn new(child: Child, marks: Marks) -> Self {
        Self { leader: child.id(), child, marks }
    }

    /// Waits for the program itself; safe to drop and call again.
    pub(super) async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks all to leave, then makes them.
    pub(super) async fn end(&mut self) {
        if self.child.id().is_some() {
            if let Some(leader) = self.leader {
                system::ask_group_to_end(leader);
            }
            // Whether it left in time or not, the rest is killed next.
            let _ = tokio::time::timeout(POLITE, self.child.wait()).await;
        }
        self.kill();
    }

    /// Kills all until none is left. New ones may come while the old ones are found, hence the repetition.
    pub(super) fn kill(&mut self) {
        let Some(leader) = self.leader else { return };
        let until = Instant::now() + KILLING;
        loop {
            if self.child.id().is_some() {
                system::kill_group(leader);
                // A child that already left needs no killing; on systems without groups this is what kills it.
                let _ = self.child.start_kill();
            }
            // Reaps the child; until it is gone there is something to wait for.
            let is_gone = !matches!(self.child.try_wait(), Ok(None));
            let found = system::kill_descendants(leader, &self.marks);
            if (is_gone && found == 0) || Instant::now() >= until {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.leader = None;
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(unix)]
mod system {
    use super::Marks;
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use std::{collections::BTreeMap, fs, path::PathBuf};

    pub(super) fn ask_group_to_end(leader: u32) {
        signal_group(leader, Signal::TERM);
    }

    pub(super) fn kill_group(leader: u32) {
        signal_group(leader, Signal::KILL);
    }

    fn signal_group(leader: u32, signal: Signal) {
        // A group that is empty by now is what we want.
        let _ = pid(leader).map(|group| kill_process_group(group, signal));
    }

    fn pid(number: u32) -> Option<Pid> {
        i32::try_from(number).ok().filter(|number| *number > 1).and_then(Pid::from_raw)
    }

    /// Kills every living process of this run and says how many there were. Needs `/proc`; elsewhere the group is all we know.
    pub(super) fn kill_descendants(leader: u32, marks: &Marks) -> usize {
        let found = descendants(leader, marks);
        for number in &found {
            // One that left in between is what we want; one we may not kill is met again until time is up.
            let _ = pid(*number).map(|process| kill_process(process, Signal::KILL));
        }
        found.len()
    }

    struct Process {
        parent: u32,
        group: u32,
        is_marked: bool,
    }

    fn descendants(leader: u32, marks: &Marks) -> Vec<u32> {
        let own = std::process::id();
        let numbers = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let all: BTreeMap<u32, Process> =
            numbers.filter(|number| *number != own && *number > 1).filter_map(|number| Some((number, process(number, marks)?))).collect();
        let mut found: Vec<u32> = Vec::new();
        loop {
            let is_ours = |process: &Process| {
                process.is_marked || process.group == leader || process.parent == leader || found.contains(&process.parent)
            };
            let more: Vec<u32> =
                all.iter().filter(|(number, process)| !found.contains(number) && is_ours(process)).map(|(number, _)| *number).collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    }

    /// A living process; `None` for one that is gone or only waits to be reaped.
    fn process(number: u32, marks: &Marks) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        // The name in brackets may hold anything, brackets too.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let in_environment = || {
            let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == marks.variable.as_bytes())
        };
        let holds_pipe = || {
            let held = |fd: u8| fs::read_link(format!("/proc/{number}/fd/{fd}")).is_ok_and(|link: PathBuf| marks.pipes.contains(&link));
            (0..3).any(held)
        };
        Some(Process { parent, group, is_marked: in_environment() || holds_pipe() })
    }
}

#[cfg(not(unix))]
mod system {
    use super::Marks;

    pub(super) fn ask_group_to_end(_leader: u32) {}

    pub(super) fn kill_group(_leader: u32) {}

    pub(super) fn kill_descendants(_leader: u32, _marks: &Marks) -> usize {
        0
    }
}
