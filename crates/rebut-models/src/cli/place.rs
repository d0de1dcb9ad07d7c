//! Where a CLI runs: fresh directories below the temporary one, outside any repository, gone
//! afterwards.

use super::{
    leftover::{PREFIX, prefix_of},
    plan::Plan,
};
use rebut_engine::model::{Fault, FaultKind};
use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The directories of one call, removed when dropped.
pub(super) struct Place {
    root: PathBuf,
    /// Shows others that somebody is here. None where the file system has no locks.
    _lock: Option<File>,
    /// What we put into the workspace, to see whether it stays so.
    given: Vec<(PathBuf, String)>,
}

/// The paths a plan is made with.
pub(super) struct Paths {
    pub root: String,
    pub dir: String,
    pub home: String,
    pub tmp: String,
    pub schema_file: String,
}

impl Paths {
    fn below(root: &Path) -> Self {
        let below = |name: &str| root.join(name).to_string_lossy().into_owned();
        Self {
            root: root.to_string_lossy().into_owned(),
            dir: below("work"),
            home: below("home"),
            tmp: below("tmp"),
            schema_file: below("schema.json"),
        }
    }

    /// For showing a plan nobody runs: the directory is made for each call, and its name ends in
    /// letters nobody knows before, hence the blanks.
    pub(super) fn shown(temp: &Path) -> Self {
        Self::below(&temp.join(format!("{PREFIX}______")))
    }

    /// What all processes of the call have in their environment: the directory's own name, which no
    /// other call has.
    pub(super) fn mark(&self) -> &str {
        self.root
            .rsplit(std::path::MAIN_SEPARATOR)
            .next()
            .unwrap_or(&self.root)
    }
}

impl Place {
    /// Makes the directories, readable by nobody else. `context_files` are what the CLI would read
    /// in directories above.
    pub(super) fn make(temp: &Path, context_files: &[String]) -> Result<Self, Fault> {
        let unusable = |why: String| {
            Fault::new(
                FaultKind::Unavailable,
                format!("{why}; set TMPDIR to another directory"),
            )
        };
        let temp = temp.canonicalize().map_err(|error| {
            unusable(format!("the temporary directory cannot be used ({error})"))
        })?;
        for above in temp.ancestors() {
            if above.join(".git").exists() {
                return Err(unusable(format!(
                    "{} is a repository, which an agent would read",
                    above.display()
                )));
            }
            if let Some(name) = context_files.iter().find(|name| above.join(name).exists()) {
                return Err(unusable(format!(
                    "{} holds {name}, which an agent would obey",
                    above.display()
                )));
            }
        }
        let made = |error: io::Error| {
            unusable(format!(
                "no directory could be made below the temporary one ({error})"
            ))
        };
        let (root, lock) = make_locked(&temp).map_err(made)?;
        let place = Self {
            root,
            _lock: lock,
            given: Vec::new(),
        };
        for name in ["work", "home", "tmp"] {
            private_dirs().create(place.root.join(name)).map_err(made)?;
        }
        Ok(place)
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(super) fn paths(&self) -> Paths {
        Paths::below(&self.root)
    }

    /// Writes a plan's files.
    pub(super) fn fill(&mut self, plan: &Plan) -> Result<(), Fault> {
        for file in &plan.files {
            let path = self.root.join(file.place.name()).join(&file.path);
            let written = path
                .parent()
                .map_or(Ok(()), |dir| private_dirs().recursive(true).create(dir));
            let written = written.and_then(|()| write_private(&path, &file.text));
            written.map_err(|error| {
                Fault::new(
                    FaultKind::Unavailable,
                    format!(
                        "{} could not be written for the agent ({error}); is the disk full?",
                        file.path
                    ),
                )
            })?;
            if file.place.is_guarded() {
                self.given.push((path, file.text.clone()));
            }
        }
        Ok(())
    }

    /// The name of a file of ours that is no longer what we wrote.
    pub(super) fn changed(&self) -> Option<String> {
        let is_as_given = |path: &Path, text: &str| {
            // A huge replacement is told by its size, and not read.
            let same_size = fs::symlink_metadata(path)
                .is_ok_and(|found| found.is_file() && found.len() == text.len() as u64);
            same_size && fs::read(path).is_ok_and(|found| found == text.as_bytes())
        };
        let (path, _) = self
            .given
            .iter()
            .find(|(path, text)| !is_as_given(path, text))?;
        Some(
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        )
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        remove(&self.root);
    }
}

/// Removes a directory. Processes killed a moment ago may still be leaving, so it is tried a few
/// times. What then remains (a file of another user) cannot be reported from here and does not
/// change the answer.
pub(super) fn remove(root: &Path) {
    for _ in 0..10 {
        match fs::remove_dir_all(root) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// A fresh directory, for its owner only, and the lock on it. Whoever clears up may meet it before
/// it is locked; then another is made.
fn make_locked(temp: &Path) -> io::Result<(PathBuf, Option<File>)> {
    let prefix = prefix_of(std::process::id());
    let mut maker = tempfile::Builder::new();
    maker.prefix(&prefix);
    #[cfg(unix)]
    maker.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    for _ in 0..10 {
        let root = maker.tempdir_in(temp)?.keep();
        let file = match File::open(&root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => return Ok((root, None)),
            Ok(file) => file,
        };
        match file.try_lock() {
            Ok(()) if root.exists() => return Ok((root, Some(file))),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(_)) => return Ok((root, None)),
        }
    }
    Err(io::Error::other("somebody removes them at once"))
}

fn private_dirs() -> fs::DirBuilder {
    let mut dirs = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut dirs, 0o700);
    dirs
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
