//! Holding challengers to their context files: written once, compared before every later use, and nobody is asked with another.

use super::{Pinned, persona_files};
use rebut_engine::{
    formats::challenge::Config,
    model::{Allowance, Answer, Fault, FaultKind, Model, Models, Price, Request},
};
use std::{
    collections::BTreeMap,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    sync::Arc,
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
    /// By challenger.
    names: BTreeMap<String, String>,
    /// The step at which each file is written.
    first_step: &'static str,
}

struct GuardedModel {
    model: Arc<dyn Model>,
    files: Arc<ContextFiles>,
}

impl Guarded {
    /// The same models, guarded.
    pub fn new(models: Arc<dyn Models>, files: ContextFiles) -> Self {
        Self { models, files: Arc::new(files) }
    }
}

impl Models for Guarded {
    fn open(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(Arc::new(GuardedModel { model: self.models.open(name)?, files: self.files.clone() }))
    }
}

#[async_trait::async_trait]
impl Model for GuardedModel {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        self.files.check(&request)?;
        self.model.ask(request).await
    }

    fn wire(&self, request: &Request<'_>) -> String {
        self.model.wire(request)
    }

    fn patience(&self) -> Option<Duration> {
        self.model.patience()
    }

    fn is_rehearsal(&self) -> bool {
        self.model.is_rehearsal()
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
        Self { dir: dir.to_owned(), names, first_step: if preflight { "preflight" } else { "challenge" } }
    }

    /// Writes a challenger's file when it is first asked; later it must still be what was written.
    fn check(&self, request: &Request<'_>) -> Result<(), Fault> {
        let Some(name) = self.names.get(&*request.agent.name) else { return Ok(()) };
        let path = self.dir.join(name);
        let persona = format!("{}\n", request.agent.brief);
        let is_first = request.turn.split('/').next() == Some(self.first_step);
        let changed = |what: String| Err(Fault::new(FaultKind::ContextChanged, format!("{} {what}", path.display())));
        if is_first {
            match write_new(&path, &persona) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return changed(format!("cannot be written: {error}")),
            }
        }
        // A link could lead anywhere, and to something else a moment later.
        match std::fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() => changed("is no file any more".to_owned()),
            Ok(_) => match std::fs::read(&path) {
                Ok(found) if found == persona.as_bytes() => Ok(()),
                Ok(_) => changed("is not what was written at the start".to_owned()),
                Err(error) => changed(format!("cannot be read: {error}")),
            },
            Err(error) => changed(format!("is missing: {error}")),
        }
    }
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}
