//! A child and everything it started, so that all of it can be ended: also what left its group or
//! lost its parent.

use std::{
    path::PathBuf,
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
struct Marks {
    /// `NAME=VALUE` in their environment, of this run only.
    variable: String,
    /// The pipes to us that they hold, as the system names them.
    pipes: Vec<PathBuf>,
    /// The directory of this run alone, in which they work. Unlike the environment it stays known
    /// while a process becomes another program.
    directory: PathBuf,
    /// When the child started, in the system's own ticks: nothing older is a descendant.
    not_before: u64,
}

/// One look at all processes.
#[derive(Default)]
struct Scan {
    /// How many were ours, and are killed now.
    killed: usize,
    /// Whether there are some that may be ours.
    is_unclear: bool,
}

/// How long a program may take to leave when asked politely.
const POLITE: Duration = Duration::from_millis(300);
/// How long a process that cannot be told yet is looked at again. One that is just becoming another
/// program has no environment for a moment.
const UNCLEAR: Duration = Duration::from_secs(1);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(2);
/// How long killing may take; only what cannot be killed takes so long.
const KILLING: Duration = Duration::from_secs(2);

impl Tree {
    /// Guards a child that leads its own process group, has that `NAME=VALUE` in its environment,
    /// holds those pipes and works in that directory, which must be this run's alone.
    pub(super) fn new(
        child: Child,
        variable: String,
        pipes: Vec<PathBuf>,
        directory: PathBuf,
    ) -> Self {
        let leader = child.id();
        let not_before = leader.and_then(system::start_of).unwrap_or(0);
        Self {
            leader,
            child,
            marks: Marks {
                variable,
                pipes,
                directory,
                not_before,
            },
        }
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
        let began = self.begin_killing();
        while !self.kill_once(began) {
            // Others work on this thread too; only a drop has no choice but to hold it up.
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn begin_killing(&self) -> Instant {
        // Also when the child has left: its group lives as long as anybody is in it.
        if let Some(leader) = self.leader {
            system::kill_group(leader);
        }
        Instant::now()
    }

    /// Kills all that are there, and says whether none is left. New ones may come while the old
    /// ones are found, hence the repetition by whoever calls this.
    fn kill_once(&mut self, began: Instant) -> bool {
        let Some(leader) = self.leader else {
            return true;
        };
        // A child that already left needs no killing; on systems without groups this is what kills
        // it.
        let _ = self.child.start_kill();
        // Reaps the child; until it is gone there is something to wait for.
        let is_gone = !matches!(self.child.try_wait(), Ok(None));
        let scan = system::kill_descendants(Some(leader), &self.marks);
        let is_clear = scan.killed == 0 && (!scan.is_unclear || began.elapsed() >= UNCLEAR);
        let is_over = (is_gone && is_clear) || began.elapsed() >= KILLING;
        if is_over {
            self.leader = None;
        }
        is_over
    }
}

/// Kills whoever has that `NAME=VALUE` in its environment or works in that directory, with all
/// their descendants: what somebody else's run left. Takes as long as needed, but no more than what
/// cannot be killed is worth.
pub(super) fn kill_marked(variable: String, directory: PathBuf) {
    let marks = Marks {
        variable,
        pipes: Vec::new(),
        directory,
        not_before: 0,
    };
    let began = Instant::now();
    while system::kill_descendants(None, &marks).killed > 0 && began.elapsed() < KILLING {
        thread::sleep(PAUSE);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let began = self.begin_killing();
        while !self.kill_once(began) {
            thread::sleep(PAUSE);
        }
    }
}

#[cfg(unix)]
mod system {
    use super::{Marks, Scan};
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use std::{collections::BTreeMap, fs};

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
        i32::try_from(number)
            .ok()
            .filter(|number| *number > 1)
            .and_then(Pid::from_raw)
    }

    /// Kills every living process of this run. Needs `/proc`; elsewhere the group is all we know.
    pub(super) fn kill_descendants(leader: Option<u32>, marks: &Marks) -> Scan {
        let all = processes(marks);
        let found = descendants(leader, &all);
        for number in &found {
            // One that left in between is what we want; one we may not kill is met again until time
            // is up.
            let _ = pid(*number).map(|process| kill_process(process, Signal::KILL));
        }
        Scan {
            killed: found.len(),
            is_unclear: all.values().any(|process| process.is_unclear),
        }
    }

    struct Process {
        parent: u32,
        group: u32,
        is_marked: bool,
        is_unclear: bool,
    }

    fn processes(marks: &Marks) -> BTreeMap<u32, Process> {
        let own = line_of(std::process::id());
        let numbers = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers
            .filter(|number| !own.contains(number) && *number > 1)
            .filter_map(|number| Some((number, process(number, marks)?)))
            .collect()
    }

    /// A process and all above it: the shell we were started from may work in any directory.
    fn line_of(process: u32) -> Vec<u32> {
        let parent = |number: &u32| {
            stat(*number)?
                .get(PARENT)?
                .parse()
                .ok()
                .filter(|parent| *parent > 1)
        };
        std::iter::successors(Some(process), parent).collect()
    }

    /// The child, whoever is marked, whoever is in the group of one of them, and all their
    /// children.
    fn descendants(leader: Option<u32>, all: &BTreeMap<u32, Process>) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        loop {
            let is_known = |number: u32| leader == Some(number) || found.contains(&number);
            let is_ours = |process: &Process| {
                process.is_marked || is_known(process.group) || is_known(process.parent)
            };
            let more: Vec<u32> = all
                .iter()
                .filter(|(number, process)| !found.contains(number) && is_ours(process))
                .map(|(number, _)| *number)
                .collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    }

    /// What the system says of a process after its name: its state, parent, group and so on.
    fn stat(number: u32) -> Option<Vec<String>> {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        // The name in brackets may hold anything, brackets too.
        Some(
            stat.rsplit_once(')')?
                .1
                .split_ascii_whitespace()
                .map(str::to_owned)
                .collect(),
        )
    }

    const STATE: usize = 0;
    const PARENT: usize = 1;
    const GROUP: usize = 2;
    const START: usize = 19;
    /// The parent of all threads of the kernel.
    const KERNEL: u32 = 2;

    /// When a process started.
    pub(super) fn start_of(number: u32) -> Option<u64> {
        stat(number)?.get(START)?.parse().ok()
    }

    /// A living process; `None` for one that is gone, only waits to be reaped, or is older than the
    /// child.
    fn process(number: u32, marks: &Marks) -> Option<Process> {
        let stat = stat(number)?;
        let is_older = stat
            .get(START)?
            .parse::<u64>()
            .is_ok_and(|start| start < marks.not_before);
        if is_older || matches!(stat.get(STATE)?.as_str(), "Z" | "X") {
            return None;
        }
        let (parent, group) = (
            stat.get(PARENT)?.parse().ok()?,
            stat.get(GROUP)?.parse().ok()?,
        );
        let environment = fs::read(format!("/proc/{number}/environ"));
        // Threads of the kernel never have an environment, and never are ours.
        let is_unclear = parent != KERNEL && environment.as_ref().is_ok_and(Vec::is_empty);
        let in_environment = || {
            environment.is_ok_and(|all| {
                all.split(|byte| *byte == 0)
                    .any(|entry| entry == marks.variable.as_bytes())
            })
        };
        let holds_pipe = || {
            let held = |fd: u8| {
                fs::read_link(format!("/proc/{number}/fd/{fd}"))
                    .is_ok_and(|link| marks.pipes.contains(&link))
            };
            (0..3).any(held)
        };
        let works_here = || {
            fs::read_link(format!("/proc/{number}/cwd"))
                .is_ok_and(|directory| directory.starts_with(&marks.directory))
        };
        Some(Process {
            parent,
            group,
            is_marked: in_environment() || holds_pipe() || works_here(),
            is_unclear,
        })
    }
}

#[cfg(not(unix))]
mod system {
    use super::{Marks, Scan};

    pub(super) fn ask_group_to_end(_leader: u32) {}

    pub(super) fn kill_group(_leader: u32) {}

    pub(super) fn kill_descendants(_leader: Option<u32>, _marks: &Marks) -> Scan {
        Scan::default()
    }

    pub(super) fn start_of(_process: u32) -> Option<u64> {
        None
    }
}
