//! Control groups: a bound on all processes of a cell together, where the machine lets us make one.

use crate::limits::Limits;
use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Where groups of cells are made.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    parents: Vec<Parent>,
}

#[derive(Clone, Debug)]
struct Parent {
    /// The group the new ones are made in.
    folder: PathBuf,
    /// What is written into a new one.
    settings: &'static [Setting],
}

#[derive(Debug)]
struct Setting {
    file: &'static str,
    value: fn(&Limits) -> u64,
}

/// What is written counts as memory too, because it is kept in memory.
const fn memory(limits: &Limits) -> u64 {
    limits.memory.saturating_add(limits.scratch_bytes)
}

fn processes(limits: &Limits) -> u64 {
    u64::from(limits.processes)
}

/// Without swap: what does not fit is not moved to a disk.
const V2: &[Setting] = &[
    Setting {
        file: "memory.max",
        value: memory,
    },
    Setting {
        file: "pids.max",
        value: processes,
    },
];
const V1_MEMORY: &[Setting] = &[Setting {
    file: "memory.limit_in_bytes",
    value: memory,
}];
const V1_PIDS: &[Setting] = &[Setting {
    file: "pids.max",
    value: processes,
}];
pub(super) const PREFIX: &str = "rebut-cell-";
const PROCESSES: &str = "cgroup.procs";

impl Groups {
    /// Finds hierarchies that bound memory and processes, makes a group there to be sure, and
    /// removes what dead programs left.
    pub(super) fn find() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let groups = Self {
            parents: unified(&mounts).or_else(|| separate(&mounts, &own))?,
        };
        groups
            .parents
            .iter()
            .for_each(|parent| remove_left(&parent.folder));
        groups.make(&Limits::default()).ok().map(|_| groups)
    }

    /// The folders that groups are made in.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.parents.iter().map(|parent| parent.folder.as_path())
    }

    pub(super) fn make(&self, limits: &Limits) -> io::Result<Group> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "{PREFIX}{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let mut group = Group {
            folders: Vec::new(),
            enter: Vec::new(),
            leave: Vec::new(),
        };
        for parent in &self.parents {
            let folder = parent.folder.join(&name);
            fs::create_dir(&folder)?;
            group.folders.push(folder.clone());
            for setting in parent.settings {
                fs::write(
                    folder.join(setting.file),
                    (setting.value)(limits).to_string(),
                )?;
            }
            group.enter.push(
                OpenOptions::new()
                    .write(true)
                    .open(folder.join(PROCESSES))?,
            );
            group.leave.push(
                OpenOptions::new()
                    .write(true)
                    .open(parent.folder.join(PROCESSES))?,
            );
        }
        Ok(group)
    }
}

/// The control groups of one cell. Dropping removes them.
#[derive(Debug)]
pub(super) struct Group {
    folders: Vec<PathBuf>,
    /// Whoever writes `0` here is in the group.
    pub enter: Vec<File>,
    /// Whoever writes `0` here is out of it.
    pub leave: Vec<File>,
}

/// Files that count how often a limit was met, the word before the count, and what the limit is on.
const COUNTS: &[(&str, &str, &str)] = &[
    ("memory.events", "oom_kill", "memory"),
    ("memory.oom_control", "oom_kill", "memory"),
    ("pids.events", "max", "processes"),
];

impl Group {
    /// Which limit was met, if one was.
    pub(super) fn met(&self) -> Option<&'static str> {
        let met = |(file, word, what): &(&str, &str, &'static str)| {
            let count =
                |folder: &PathBuf| count_in(&fs::read_to_string(folder.join(file)).ok()?, word);
            self.folders
                .iter()
                .filter_map(count)
                .any(|count| count > 0)
                .then_some(*what)
        };
        COUNTS.iter().find_map(met)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            // One that is not empty yet is removed by the sweeper, or by the next program that
            // makes groups here.
            let _ = fs::remove_dir(folder);
        }
    }
}

pub(super) fn members(group: &Path) -> Vec<i32> {
    fs::read_to_string(group.join(PROCESSES))
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect()
}

fn count_in(text: &str, word: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
}

/// The one hierarchy of newer systems, when it bounds both for groups at its root.
fn unified(mounts: &str) -> Option<Vec<Parent>> {
    let folder = mounts
        .lines()
        .find_map(|line| mounted(line, "cgroup2", None))?;
    let bounds = fs::read_to_string(folder.join("cgroup.subtree_control")).ok()?;
    let bounds: Vec<&str> = bounds.split_ascii_whitespace().collect();
    ["memory", "pids"]
        .iter()
        .all(|name| bounds.contains(name))
        .then(|| {
            vec![Parent {
                folder,
                settings: V2,
            }]
        })
}

/// One hierarchy for each thing that is bounded, as older systems have it.
fn separate(mounts: &str, own: &str) -> Option<Vec<Parent>> {
    let parent = |name: &str, settings: &'static [Setting]| {
        let root = mounts
            .lines()
            .find_map(|line| mounted(line, "cgroup", Some(name)))?;
        let path = own.lines().find_map(|line| {
            line.split_once(&format!(":{name}:"))
                .map(|(_, path)| path.trim_start_matches('/'))
        })?;
        let folder = root.join(path);
        Some(Parent {
            folder: if folder.is_dir() { folder } else { root },
            settings,
        })
    };
    Some(vec![parent("memory", V1_MEMORY)?, parent("pids", V1_PIDS)?])
}

/// Where a file system of that kind (with that option) is mounted, by one line of `mountinfo`.
fn mounted(line: &str, kind: &str, option: Option<&str>) -> Option<PathBuf> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    let is_kind = after.next() == Some(kind);
    let has_option = option.is_none_or(|option| {
        after
            .nth(1)
            .is_some_and(|all| all.split(',').any(|one| one == option))
    });
    (is_kind && has_option).then(|| before.split(' ').nth(4).map(PathBuf::from))?
}

/// Removes groups of programs that are gone. Those that still hold somebody cannot be removed, and
/// stay.
fn remove_left(folder: &Path) {
    let names = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    for name in names {
        let process = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('-').next())
            .and_then(|id| id.parse::<u32>().ok());
        if process.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            let _ = fs::remove_dir(folder.join(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_found_by_kind_and_option() {
        let rows = [
            (
                "30 23 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory",
                "cgroup",
                Some("memory"),
                Some("/sys/fs/cgroup/memory"),
            ),
            (
                "30 23 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory",
                "cgroup",
                Some("pids"),
                None,
            ),
            (
                "30 23 0:26 / /a rw shared:9 - cgroup cgroup rw,cpu,pids",
                "cgroup",
                Some("pids"),
                Some("/a"),
            ),
            (
                "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
                "cgroup2",
                None,
                Some("/sys/fs/cgroup"),
            ),
            (
                "31 23 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw",
                "cgroup2",
                None,
                None,
            ),
        ];
        for (line, kind, option, expected) in rows {
            assert_eq!(
                mounted(line, kind, option),
                expected.map(PathBuf::from),
                "{line}"
            );
        }
        assert_eq!(count_in("low 0\noom_kill 3\n", "oom_kill"), Some(3));
        assert_eq!(
            count_in("oom_kill_disable 0\nunder_oom 0\noom_kill 2", "oom_kill"),
            Some(2)
        );
        assert_eq!(count_in("max 7", "oom_kill"), None);
    }
}
