//! Holding challengers to their context files: written once, compared before every later use, and
//! nobody is asked with another.

use super::{Pinned, persona_files};
use crate::beneath::Folder;
use rebut_engine::{
    agent::Agent,
    formats::challenge::Config,
    model::{Allowance, Answer, Fault, FaultKind, Model, Models, Price, Request},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{ErrorKind, Read, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Models whose challengers are held to their context files.
pub struct Guarded {
    models: Arc<dyn Models>,
    files: Arc<ContextFiles>,
}

/// The context files of a debate.
pub struct ContextFiles {
    dir: PathBuf,
    names: BTreeMap<String, String>,
    /// The step at which each file is written.
    first_step: &'static str,
    /// Who was asked already: their files are not written again.
    asked: Mutex<BTreeSet<String>>,
}

struct GuardedModel {
    model: Arc<dyn Model>,
    files: Arc<ContextFiles>,
}

impl Guarded {
    pub fn new(models: Arc<dyn Models>, files: ContextFiles) -> Self {
        Self {
            models,
            files: Arc::new(files),
        }
    }
}

impl Models for Guarded {
    fn open(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(Arc::new(GuardedModel {
            model: self.models.open(name)?,
            files: self.files.clone(),
        }))
    }
}

#[async_trait::async_trait]
impl Model for GuardedModel {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        // Looked at again: the file may have been changed while the call waited for its place.
        self.files.check(request.turn, request.agent)?;
        self.model.ask(request).await
    }

    fn hindrance(&self, turn: &str, agent: &Agent) -> Option<Fault> {
        self.files
            .check(turn, agent)
            .err()
            .or_else(|| self.model.hindrance(turn, agent))
    }

    fn wire(&self, request: &Request<'_>) -> String {
        self.model.wire(request)
    }

    fn left_out(&self, request: &Request<'_>) -> Vec<&'static str> {
        self.model.left_out(request)
    }

    fn patience(&self) -> Option<Duration> {
        self.model.patience()
    }

    fn is_rehearsal(&self) -> bool {
        self.model.is_rehearsal()
    }

    fn answer_limit(&self, agent: &Agent) -> Option<u32> {
        self.model.answer_limit(agent)
    }

    fn price(&self) -> Option<Price> {
        self.model.price()
    }

    fn allowance(&self) -> Allowance {
        self.model.allowance()
    }
}

impl ContextFiles {
    /// The files of a debate in its workspace.
    pub fn new(dir: &Path, pinned: &Pinned<'_>) -> Self {
        let preflight = Config::parse(pinned.config).is_ok_and(|config| config.preflight);
        let names = persona_files(pinned.agents).into_iter().collect();
        let first_step = if preflight { "preflight" } else { "challenge" };
        Self {
            dir: dir.to_owned(),
            names,
            first_step,
            asked: Mutex::default(),
        }
    }

    /// Whether nobody has asked this challenger before. Asked again, also to clarify, it must find
    /// the file it was first asked with.
    fn is_first(&self, turn: &str, agent: &str) -> bool {
        let is_new = self.asked().insert(agent.to_owned());
        is_new && turn.split_once('/') == Some((self.first_step, agent))
    }

    fn asked(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a challenger's file when it is first asked; later it must still be what was written.
    fn check(&self, turn: &str, agent: &Agent) -> Result<(), Fault> {
        let Some(name) = self.names.get(&*agent.name) else {
            return Ok(());
        };
        let path = self.dir.join(name);
        let persona = format!("{}\n", agent.brief);
        // By its name only: the journal goes to others, and tells nothing of this machine.
        let changed = |what: String| {
            Err(Fault::new(
                FaultKind::ContextChanged,
                format!("{name} {what}"),
            ))
        };
        if self.is_first(turn, &agent.name) {
            match write_new(&path, &persona) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    // Nobody was asked with it; looked at again, it is told again.
                    self.asked().remove(&*agent.name);
                    return changed(format!("cannot be written: {error}"));
                }
            }
        }
        // A link could lead anywhere, and to something else a moment later.
        match std::fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() => changed("is no file any more".to_owned()),
            Ok(_) => match read(&self.dir, name) {
                Ok(found) if found == persona.as_bytes() => Ok(()),
                Ok(_) => changed("is not what was written at the start".to_owned()),
                Err(error) => changed(format!("cannot be read: {error}")),
            },
            Err(error) => changed(format!("is missing: {error}")),
        }
    }
}

/// The bytes of a file in a folder, through no link.
fn read(dir: &Path, name: &str) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Folder::own(dir)?
        .open(Path::new(name))?
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes beside it, and gives the whole its name unless something has that: a crash leaves no half
/// of a file behind.
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let beside = path.with_extension("md.new");
    let written = write_fresh(&beside, text)
        .and_then(|file| file.sync_all())
        .and_then(|()| match std::fs::hard_link(&beside, path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            // Not every file system has two names for a file.
            Err(_)
                if std::fs::symlink_metadata(path)
                    .is_err_and(|error| error.kind() == ErrorKind::NotFound) =>
            {
                std::fs::rename(&beside, path)
            }
            linked => linked,
        });
    match (written, std::fs::remove_file(&beside)) {
        (Ok(()), Err(error)) if error.kind() != ErrorKind::NotFound => Err(error),
        (written, _) => written,
    }
}

/// A new file in the place of whatever stood there, never written through a link.
pub fn write_fresh(path: &Path, text: &str) -> std::io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = std::fs::OpenOptions::new() // tidy: a new file goes through no link
        .write(true)
        .create_new(true)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_file_comes_whole_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, beside) = (dir.path().join("QWEN.md"), dir.path().join("QWEN.md.new"));
        // A directory cannot be replaced by a file: writing fails half way.
        std::fs::create_dir(&beside).expect("a directory");
        write_new(&path, "whole").expect_err("it cannot be written");
        assert!(!path.exists(), "nothing of it has the name");
        std::fs::remove_dir(&beside).expect("a directory");
        std::fs::write(&beside, "ha").expect("what a crash left");
        write_new(&path, "whole").expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), "whole");
        assert!(!beside.exists(), "nothing is left beside it");
        let again = write_new(&path, "other").expect_err("it has its name already");
        assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), "whole");
        assert!(!beside.exists());
    }

    #[test]
    fn only_the_first_question_to_a_challenger_may_write_its_file() {
        let files = |first_step| ContextFiles {
            dir: PathBuf::new(),
            names: BTreeMap::new(),
            first_step,
            asked: Mutex::default(),
        };
        let rows = [
            ("preflight", "preflight/operator", true),
            ("preflight", "preflight/operator/clarify", false),
            ("preflight", "preflight/other", false),
            ("preflight", "challenge/operator", false),
            ("challenge", "challenge/operator", true),
            ("challenge", "challenge/operator/clarify", false),
            ("challenge", "rebuttal 2/operator", false),
        ];
        for (step, turn, expected) in rows {
            let files = files(step);
            assert_eq!(files.is_first(turn, "operator"), expected, "{step} {turn}");
            assert!(
                !files.is_first(turn, "operator"),
                "{step} {turn}: asked again"
            );
        }
    }
}
