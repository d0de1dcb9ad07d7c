//! The workspace of a challenge: a numbered directory with the challengers' context files and a readable copy of the debate.

mod guard;
mod names;
mod projection;

pub use names::{persona_files, slug, speaker_names};

use crate::{app::App, cli::OutputArgs, commands::follow, error::CliError, output::write};
use guard::{ContextFiles, Guarded};
use rebut_engine::{DebateId, Desk, Running, clean::for_people, formats::challenge, model::Models, view::View};
use rebut_store::SqliteStore;
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The task that writes a workspace's files.
pub type Keeping = tokio::task::JoinHandle<Result<(), CliError>>;

/// A debate's directory.
#[derive(Clone, Debug)]
pub struct Workspace {
    dir: PathBuf,
}

impl Workspace {
    /// Makes the next one below `debates`: `NNN-topic-slug`, a number nobody else has, also when two begin at once.
    pub fn create(debates: &Path, input: &challenge::Input) -> Result<Self, CliError> {
        std::fs::create_dir_all(debates).map_err(|error| CliError::file("create", debates, &error))?;
        let failed = |error: &std::io::Error| CliError::file("create a workspace in", debates, error);
        let mut number = taken(debates)?.into_iter().max().unwrap_or(0) + 1;
        loop {
            // Whoever makes this directory holds the number until it is renamed; then the number is seen by its name.
            let claim = debates.join(format!(".{number:03}-claimed"));
            match std::fs::create_dir(&claim) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(failed(&error)),
                Ok(()) if taken(debates)?.contains(&number) => {
                    std::fs::remove_dir(&claim).map_err(|error| failed(&error))?;
                    number += 1;
                }
                Ok(()) => {
                    let dir = debates.join(format!("{number:03}-{}", slug(&input.topic)));
                    std::fs::rename(&claim, &dir).map_err(|error| failed(&error))?;
                    let workspace = Self { dir };
                    workspace.begin(input)?;
                    return Ok(workspace);
                }
            }
        }
    }

    /// The workspace of a kept debate, if it has one. One that is gone is an error: nobody could be held to its context file.
    pub fn of(app: &App, view: &View) -> Result<Option<Self>, CliError> {
        let Some(started) = view.started.as_ref().filter(|started| started.format == challenge::FORMAT.name) else { return Ok(None) };
        let input = challenge::Input::parse(&started.input).map_err(CliError::usage)?;
        // A fork has its origin's input, but the files are the origin's.
        if input.workspace.is_empty() || started.forked_from.is_some() {
            return Ok(None);
        }
        let dir = app.project().join(&input.workspace);
        if dir.is_dir() {
            return Ok(Some(Self { dir }));
        }
        let id = crate::text::short(view);
        Err(CliError::usage(format!("the workspace {} of debate {id} is not there", dir.display())).hint(format!(
            "put it back, or go on without its files: rebut fork {id} --at \"STEP\" (`rebut show {id} --transcript` lists the steps)"
        )))
    }

    /// Where it is, as a debate's input holds it: from the project on, where it lies inside.
    pub fn pinned(&self, project: &Path) -> String {
        self.dir.strip_prefix(project).unwrap_or(&self.dir).to_string_lossy().into_owned()
    }

    /// Takes it away again, when the debate could not begin.
    pub fn discard(self) -> Result<(), CliError> {
        std::fs::remove_dir_all(&self.dir).map_err(|error| CliError::file("remove", &self.dir, &error))
    }

    /// A desk whose models check each challenger's context file before it is asked.
    pub fn desk(&self, app: &App, view: &View) -> Result<Desk, CliError> {
        let registry = Arc::new(app.registry()?);
        let store = SqliteStore::open(&app.place.database())?;
        let started = view.started.as_ref().ok_or_else(|| CliError::failed("the debate has no beginning"))?;
        let pinned = Pinned { agents: &started.agents, config: &started.config };
        app.desk_over(Arc::new(store), &registry, self.guarded(registry.clone(), &pinned))
    }

    /// The same models, each challenger held to its context file.
    pub fn guarded(&self, models: Arc<dyn Models>, pinned: &Pinned<'_>) -> Arc<dyn Models> {
        Arc::new(Guarded::new(models, ContextFiles::new(&self.dir, pinned)))
    }

    /// Follows a run to its end, and keeps the files as the journal tells.
    pub async fn follow(&self, app: &App, desk: &Desk, running: Running, output: &OutputArgs) -> Result<u8, CliError> {
        let keeping = self.keep(desk, running.id);
        let code = follow::follow(app, desk, running, output).await?;
        Self::kept(keeping).await?;
        if !app.global.quiet {
            eprintln!("kept in {}", self.dir.display());
        }
        Ok(code)
    }

    /// Keeps the files as the journal tells, beside whatever follows the run.
    pub fn keep(&self, desk: &Desk, id: DebateId) -> Keeping {
        tokio::spawn(projection::keep(desk.clone(), id, self.dir.clone()))
    }

    /// Waits until the last of them is written.
    pub async fn kept(keeping: Keeping) -> Result<(), CliError> {
        keeping.await.map_err(|error| CliError::failed(format!("the workspace was not written: {error}")))?
    }

    /// What is there before anybody speaks.
    fn begin(&self, input: &challenge::Input) -> Result<(), CliError> {
        let context = if input.context.trim().is_empty() { "(none)" } else { &input.context };
        let text = format!("# {}\n\n{}\n", rebut_engine::clean::on_one_line(&input.topic), for_people(context).trim_end());
        write(&self.dir.join("context.md"), &text)?;
        std::fs::create_dir(self.dir.join("rounds")).map_err(|error| CliError::file("create", &self.dir.join("rounds"), &error))
    }
}

/// What of a debate decides about its context files.
pub struct Pinned<'a> {
    /// Who takes part; the first proposes.
    pub agents: &'a [rebut_engine::agent::Agent],
    /// The settings.
    pub config: &'a serde_json::Value,
}

/// The numbers that are taken below a directory.
fn taken(debates: &Path) -> Result<Vec<u64>, CliError> {
    let failed = |error: std::io::Error| CliError::file("read", debates, &error);
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(debates).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        numbers.extend(name.split('-').next().and_then(|number| number.parse::<u64>().ok()));
    }
    Ok(numbers)
}
