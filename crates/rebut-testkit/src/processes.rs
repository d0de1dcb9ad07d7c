//! Processes of a test: all that are below one of them, each held by a descriptor, so that its end
//! can be waited for and none is mistaken for another that got its number.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{
        Pid, PidfdFlags, Resource, Rlimit, Signal, getpid, getrlimit, pidfd_open,
        pidfd_send_signal, set_child_subreaper, setrlimit,
    },
};
use std::{
    collections::BTreeMap,
    fs,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

/// Processes that were alive when they were looked for.
#[derive(Debug)]
pub struct Family {
    members: BTreeMap<Identity, Member>,
}

/// A number alone says nothing: it is given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    pid: u32,
    start: u64,
}

#[derive(Debug)]
struct Member {
    /// How it was started, as far as it was known when it was found.
    command: String,
    handle: OwnedFd,
}

/// What must end soon has ended by then, also on a machine with too much to do. Whoever is left has
/// been forgotten.
const PATIENCE: Duration = Duration::from_secs(60);

impl Family {
    /// All that are alive below a process; looks until a look finds nobody new. Look before you
    /// kill: whoever lost its parent is found below another.
    pub fn below(pid: u32) -> Self {
        let mut members = BTreeMap::new();
        loop {
            let new = alive_below(pid)
                .into_iter()
                .filter(|found| !members.contains_key(found));
            let new: Vec<_> = new
                .filter_map(|found| Some((found, hold(found)?)))
                .collect();
            if new.is_empty() {
                return Self { members };
            }
            members.extend(new);
        }
    }

    /// How many were started by a command with this in it.
    pub fn count(&self, words: &str) -> usize {
        self.members
            .values()
            .filter(|member| member.command.contains(words))
            .count()
    }

    /// All but those that were started by a command with this in it.
    #[must_use]
    pub fn without(mut self, words: &str) -> Self {
        self.members
            .retain(|_, member| !member.command.contains(words));
        self
    }

    /// Kills those that were started by a command with this in it; fails when there is none.
    pub fn kill(&self, words: &str) {
        assert!(self.count(words) > 0, "nobody is `{words}`: {self:?}");
        for member in self
            .members
            .values()
            .filter(|member| member.command.contains(words))
        {
            match pidfd_send_signal(&member.handle, Signal::KILL) {
                Ok(()) | Err(Errno::SRCH) => {}
                Err(error) => panic!("{} cannot be killed: {error}", member.command),
            }
        }
    }

    /// Waits for the end of all. Fails and says who is left when that takes too long.
    pub fn wait_until_gone(&self) {
        let left = self.left_after(PATIENCE);
        if !left.is_empty() {
            // A test that failed leaves nobody behind.
            self.kill("");
            panic!(
                "{} of {} are left: {left:#?}",
                left.len(),
                self.members.len()
            );
        }
    }

    /// Who has not ended by then.
    fn left_after(&self, time: Duration) -> Vec<String> {
        let until = Instant::now() + time;
        let left = self
            .members
            .iter()
            .filter(|(_, member)| !member.ends_by(until));
        left.map(|(identity, member)| format!("{} {}", identity.pid, member.command))
            .collect()
    }
}

impl Member {
    fn ends_by(&self, until: Instant) -> bool {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).expect("a minute is not too long");
            match poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&left)) {
                Ok(ended) => return ended > 0,
                Err(Errno::INTR) => {}
                Err(error) => panic!("{} cannot be waited for: {error}", self.command),
            }
        }
    }
}

/// From now on whoever loses its parent below this process is found below it, and nobody can hide.
pub fn adopt_orphans() {
    set_child_subreaper(Some(getpid())).expect("orphans can be adopted");
}

/// Lets this process have so many files open, as sockets of a model that a thousand debates ask at
/// once. Fails where the system forbids it.
pub fn allow_open_files(wanted: u64) {
    let now = getrlimit(Resource::Nofile);
    if now.current.is_some_and(|current| current < wanted) {
        let raised = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(wanted),
                maximum: now.maximum,
            },
        );
        raised.unwrap_or_else(|error| {
            panic!("{wanted} open files are needed (`ulimit -Hn` shows how many may be): {error}")
        });
    }
}

/// Waits until nobody is alive below this process: its children, and with [`adopt_orphans`] all
/// they left.
pub fn wait_until_alone() {
    loop {
        let family = Family::below(std::process::id());
        if family.members.is_empty() {
            return;
        }
        family.wait_until_gone();
    }
}

/// Whoever is below a process now. One that ended and waits for its parent to notice is nobody.
fn alive_below(pid: u32) -> Vec<Identity> {
    let entries = fs::read_dir("/proc")
        .expect("/proc shows processes")
        .flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<Stat> = numbers
        .filter_map(stat)
        .filter(|stat| stat.is_alive)
        .collect();
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for child in all.iter().filter(|stat| stat.parent == parent) {
            found.push(child.identity);
            parents.push(child.identity.pid);
        }
    }
    found
}

/// What is asked of a line of `/proc/PID/stat`.
struct Stat {
    identity: Identity,
    parent: u32,
    is_alive: bool,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before can hold anything, also spaces and brackets.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let identity = Identity {
        pid,
        start: fields.get(19)?.parse().ok()?,
    };
    Some(Stat {
        identity,
        parent: fields.get(1)?.parse().ok()?,
        is_alive: !matches!(*fields.first()?, "Z" | "X"),
    })
}

/// Takes hold of a process; of none when it has ended, also if another has its number now.
fn hold(found: Identity) -> Option<Member> {
    let number = Pid::from_raw(i32::try_from(found.pid).ok()?)?;
    let handle = match pidfd_open(number, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(Errno::SRCH) => return None,
        Err(error) => panic!("process {} cannot be held: {error}", found.pid),
    };
    let bytes = fs::read(format!("/proc/{}/cmdline", found.pid)).ok()?;
    let command = String::from_utf8_lossy(&bytes)
        .replace('\0', " ")
        .trim_end()
        .to_owned();
    stat(found.pid)
        .filter(|now| now.identity == found && now.is_alive)
        .map(|_| Member { command, handle })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{BufRead, BufReader},
        process::{Command, Stdio},
    };

    #[test]
    fn a_family_is_found_below_its_first_and_is_waited_for_to_its_last() {
        adopt_orphans();
        // Both wait for a line that never comes.
        let script = "exec 3<&0; sh -c 'echo up; read never; :' <&3 & read never";
        let mut command = Command::new("sh");
        let mut first = command
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let _never = first.stdin.take();
        let mut line = String::new();
        BufReader::new(first.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("a line");
        assert_eq!(line, "up\n");
        let family = Family::below(std::process::id());
        assert_eq!(
            (
                family.count("echo up"),
                family.count("exec 3"),
                family.count("no such word")
            ),
            (2, 1, 0),
            "{family:?}"
        );
        assert_eq!(family.left_after(Duration::ZERO).len(), 2, "both are alive");
        family.kill("exec 3");
        first.wait().expect("it ends");
        let left = family.left_after(Duration::ZERO);
        assert!(
            left.len() == 1 && left[0].contains("sh -c echo up"),
            "the child outlives its parent, and is named: {left:?}"
        );
        assert_eq!(
            Family::below(std::process::id()).count("echo up"),
            1,
            "it was adopted"
        );
        family.kill("echo up");
        family.wait_until_gone();
        wait_until_alone();
    }
}
