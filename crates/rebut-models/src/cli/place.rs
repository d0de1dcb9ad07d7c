//! Where a CLI runs: fresh directories below the temporary one, outside any repository, gone afterwards.

use super::plan::Plan;
use rebut_engine::model::{Fault, FaultKind};
use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The directories of one call, removed when dropped.
pub(super) struct Place {
    root: PathBuf,
    /// What we put into the workspace, to see whether it stays so.
    given: Vec<(PathBuf, String)>,
}

/// The paths a plan is made with.
pub(super) struct Paths {
    pub dir: String,
    pub home: String,
    pub tmp: String,
    pub schema_file: String,
}

impl Paths {
    /// For showing a plan nobody runs.
    pub(super) fn shown() -> Self {
        Self { dir: "{dir}".to_owned(), home: "{home}".to_owned(), tmp: "{tmp}".to_owned(), schema_file: "{schema_file}".to_owned() }
    }
}

impl Place {
    /// Makes the directories, readable by nobody else. `context_files` are what the CLI would read in directories above.
    pub(super) fn make(temp: &Path, context_files: &[String]) -> Result<Self, Fault> {
        let unusable = |why: String| Fault::new(FaultKind::Unavailable, format!("{why}; set TMPDIR to another directory"));
        let temp = temp.canonicalize().map_err(|error| unusable(format!("the temporary directory cannot be used ({error})")))?;
        for above in temp.ancestors() {
            if above.join(".git").exists() {
                return Err(unusable(format!("{} is a repository, which an agent would read", above.display())));
            }
            if let Some(name) = context_files.iter().find(|name| above.join(name).exists()) {
                return Err(unusable(format!("{} holds {name}, which an agent would obey", above.display())));
            }
        }
        let made = tempfile::Builder::new().prefix("rebut-cli-").tempdir_in(&temp);
        let root = made.map_err(|error| unusable(format!("no directory could be made below the temporary one ({error})")))?.keep();
        let place = Self { root, given: Vec::new() };
        for name in ["work", "home", "tmp"] {
            fs::create_dir(place.root.join(name)).map_err(|error| unusable(format!("no directory could be made ({error})")))?;
        }
        Ok(place)
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(super) fn paths(&self) -> Paths {
        let below = |name: &str| self.root.join(name).to_string_lossy().into_owned();
        Paths { dir: below("work"), home: below("home"), tmp: below("tmp"), schema_file: below("schema.json") }
    }

    /// Writes a plan's files.
    pub(super) fn fill(&mut self, plan: &Plan) -> Result<(), Fault> {
        for file in &plan.files {
            let path = self.root.join(file.place.name()).join(&file.path);
            let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, &file.text));
            written.map_err(|error| {
                Fault::new(FaultKind::Unavailable, format!("{} could not be written for the agent ({error}); is the disk full?", file.path))
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
            let same_size = fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == text.len() as u64);
            same_size && fs::read(path).is_ok_and(|found| found == text.as_bytes())
        };
        let (path, _) = self.given.iter().find(|(path, text)| !is_as_given(path, text))?;
        Some(path.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }
}

impl Drop for Place {
    /// Processes killed a moment ago may still be leaving, so it is tried a few times. What then remains (a file of another
    /// user) cannot be reported from here and does not change the answer.
    fn drop(&mut self) {
        for _ in 0..10 {
            match fs::remove_dir_all(&self.root) {
                Ok(()) => return,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return,
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}
