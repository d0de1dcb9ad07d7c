//! The workspace of a challenge: a numbered directory with the challengers' context files and a
//! readable copy of the debate.

mod guard;
mod leftovers;
mod names;
mod number;
mod projection;

pub use leftovers::{Claim, take_away};
pub use names::{persona_files, slug, speaker_names};

use crate::{app::App, beneath::Typed, error::AppError, hint_command::command, write_file::write};
use guard::{ContextFiles, Guarded};
use rebut_engine::{
    DebateId, Desk, clean::for_people, formats::challenge, model::Models, view::View,
};
use std::{
    io::Read,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

/// The task that writes a workspace's files.
pub type Keeping = tokio::task::JoinHandle<Result<(), AppError>>;

#[derive(Clone, Debug)]
pub struct Workspace {
    dir: PathBuf,
}

impl Workspace {
    /// Makes the next one below `debates`: `NNN-topic-slug`, a number nobody else has, also when
    /// two begin at once. The claim is to be held until the debate is on record; should this
    /// process die before, the next one takes the workspace away.
    pub fn create(debates: &Path, input: &challenge::Input) -> Result<(Self, Claim), AppError> {
        Typed::new(debates)
            .and_then(|debates| debates.folder())
            .map_err(|error| AppError::file("create", debates, &error))?;
        let context = context_of(input);
        let (dir, claim) = number::next(debates, &slug(&input.topic), &context)?;
        let workspace = Self { dir };
        workspace.begin(&context)?;
        Ok((workspace, claim))
    }

    /// The workspace of a kept debate, if it has one. One that is gone is an error: nobody could be
    /// held to its context file. So is one of another debate: the journal only says where to look,
    /// and it may come from elsewhere.
    pub fn of(app: &App, view: &View) -> Result<Option<Self>, AppError> {
        let Some(started) = view
            .started
            .as_ref()
            .filter(|started| started.format == challenge::FORMAT.name)
        else {
            return Ok(None);
        };
        let input = challenge::Input::parse(&started.input).map_err(AppError::usage)?;
        // A fork has its origin's input, but the files are the origin's.
        if input.workspace.is_empty() || started.forked_from.is_some() {
            return Ok(None);
        }
        let dir = app.project().join(&input.workspace);
        let id = crate::words::short(view);
        let Some(problem) = problem(&input.workspace, &dir, view.id) else {
            return Ok(Some(Self { dir }));
        };
        Err(AppError::usage(format!(
            "the workspace {} of debate {id} \
            {problem}",
            dir.display()
        ))
        .hint(format!(
            "go to the project where the debate began, or put its directory back; without its \
             files it goes on with: {} \
             (`{}` lists the steps)",
            command(format_args!("fork {id} --at \"STEP\"")),
            command(format_args!("show {id} --transcript"))
        )))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where it is, as a debate's input holds it: from the project on, where it lies inside.
    pub fn pinned(&self, project: &Path) -> String {
        self.dir
            .strip_prefix(project)
            .unwrap_or(&self.dir)
            .to_string_lossy()
            .into_owned()
    }

    /// Takes it away again, when the debate could not begin.
    pub fn discard(self) -> Result<(), AppError> {
        std::fs::remove_dir_all(&self.dir)
            .map_err(|error| AppError::file("remove", &self.dir, &error))
    }

    /// A desk whose models check each challenger's context file before it is asked.
    pub async fn desk(&self, app: &App, view: &View) -> Result<Desk, AppError> {
        let registry = Arc::new(app.registry()?);
        let store = app.store().await?;
        let started = view
            .started
            .as_ref()
            .ok_or_else(|| AppError::failed("the debate has no beginning"))?;
        let pinned = Pinned {
            agents: &started.agents,
            config: &started.config,
        };
        app.desk_over(store, &registry, self.guarded(registry.clone(), &pinned))
    }

    /// The same models, each challenger held to its context file.
    pub fn guarded(&self, models: Arc<dyn Models>, pinned: &Pinned<'_>) -> Arc<dyn Models> {
        Arc::new(Guarded::new(models, ContextFiles::new(&self.dir, pinned)))
    }

    /// Keeps the files as the journal tells, beside whatever follows the run.
    pub fn keep(&self, desk: &Desk, id: DebateId) -> Keeping {
        tokio::spawn(projection::keep(desk.clone(), id, self.dir.clone()))
    }

    /// Waits until the last of them is written.
    pub async fn kept(keeping: Keeping) -> Result<(), AppError> {
        keeping
            .await
            .map_err(|error| AppError::failed(format!("the workspace was not written: {error}")))?
    }

    /// What is there before anybody speaks.
    fn begin(&self, context: &str) -> Result<(), AppError> {
        write(&self.dir.join("context.md"), context)?;
        std::fs::create_dir(self.dir.join("rounds"))
            .map_err(|error| AppError::file("create", &self.dir.join("rounds"), &error))
    }
}

fn context_of(input: &challenge::Input) -> String {
    let context = if input.context.trim().is_empty() {
        "(none)"
    } else {
        &input.context
    };
    format!(
        "# {}\n\n{}\n",
        rebut_engine::clean::on_one_line(&input.topic),
        for_people(context).trim_end()
    )
}

/// What of a debate decides about its context files.
pub struct Pinned<'a> {
    /// Who takes part; the first proposes.
    pub agents: &'a [rebut_engine::agent::Agent],
    pub config: &'a serde_json::Value,
}

/// Why a directory is not the workspace of this debate, if it is not. Whatever a journal says, only
/// a directory that holds this debate's own state is written into.
fn problem(pinned: &str, dir: &Path, id: Option<DebateId>) -> Option<String> {
    let is_plain = Path::new(pinned).components().all(|part| match part {
        Component::Normal(_) => true,
        Component::RootDir | Component::Prefix(_) => Path::new(pinned).is_absolute(),
        Component::CurDir | Component::ParentDir => false,
    });
    let is_numbered = dir
        .file_name()
        .is_some_and(|name| number::of(&name.to_string_lossy()).is_some());
    if !is_plain || !is_numbered {
        return Some("is no place that rebut makes".to_owned());
    }
    // A link could lead out of it.
    let is_dir = |path: &Path| std::fs::symlink_metadata(path).map(|found| found.is_dir());
    match (is_dir(dir), is_dir(&dir.join("rounds"))) {
        (Err(_), _) => return Some("is not there".to_owned()),
        (Ok(false), _) => return Some("is no directory".to_owned()),
        (_, Ok(false) | Err(_)) => return Some("has no directory rounds".to_owned()),
        _ => {}
    }
    if Typed::new(dir).and_then(|dir| dir.check()).is_err() {
        return Some("is reached through a link".to_owned());
    }
    let mut text = Vec::new();
    let read = Typed::new(&dir.join("state.json")).and_then(|file| file.open_regular());
    match read.and_then(|mut file| file.read_to_end(&mut text)) {
        Ok(_) => {}
        // Broken off before the first word was kept: there is nothing that could be another's.
        Err(error)
            if error.kind() == std::io::ErrorKind::NotFound
                && !Path::new(pinned).is_absolute()
                && is_fresh(dir) =>
        {
            return None;
        }
        Err(error) => return Some(format!("has no state.json that says whose it is: {error}")),
    }
    let state: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let is_own = id.is_some_and(|id| state["debate_id"] == id.to_string());
    (!is_own).then(|| "is not its own: what is there belongs to another debate".to_owned())
}

/// Whether nothing was kept yet in a directory that was just made.
fn is_fresh(dir: &Path) -> bool {
    let names = |dir: &Path| -> std::io::Result<Vec<_>> {
        std::fs::read_dir(dir)?
            .map(|entry| Ok(entry?.file_name()))
            .collect()
    };
    let is_known = |name: &std::ffi::OsString| name == "rounds" || name == "context.md";
    names(dir).is_ok_and(|all| all.iter().all(is_known))
        && names(&dir.join("rounds")).is_ok_and(|all| all.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_cannot_say_where_to_write() {
        let project = tempfile::tempdir().expect("a directory");
        let id = DebateId::new();
        let make = |dir: &Path| {
            std::fs::create_dir_all(dir.join("rounds")).expect("directories");
            std::fs::write(
                dir.join("state.json"),
                format!("{{\"debate_id\": \"{id}\"}}"),
            )
            .expect("a file");
        };
        let absolute = project.path().join("elsewhere/007-x");
        for dir in [
            project.path().join("debates/001-x"),
            project.path().join("plain"),
            absolute.clone(),
        ] {
            make(&dir);
        }
        // Just made, and not quite.
        for (dir, file) in [
            ("debates/003-x", "context.md"),
            ("debates/004-x", "transcript.md"),
        ] {
            std::fs::create_dir_all(project.path().join(dir).join("rounds")).expect("directories");
            std::fs::write(project.path().join(dir).join(file), "").expect("a file");
        }
        let absolute = absolute.to_string_lossy();
        let rows = [
            ("debates/001-x", None),
            (&*absolute, None),
            (
                "debates/../debates/001-x",
                Some("is no place that rebut makes"),
            ),
            ("../001-x", Some("is no place that rebut makes")),
            ("./debates/001-x", Some("is no place that rebut makes")),
            ("plain", Some("is no place that rebut makes")),
            ("/", Some("is no place that rebut makes")),
            ("debates/002-x", Some("is not there")),
            ("debates/003-x", None),
            (
                "debates/004-x",
                Some(
                    "has no state.json that says whose it is: No such file or directory (os error \
                     2)",
                ),
            ),
        ];
        for (pinned, expected) in rows {
            assert_eq!(
                problem(pinned, &project.path().join(pinned), Some(id)).as_deref(),
                expected,
                "{pinned}"
            );
        }
        let other = problem(
            "debates/001-x",
            &project.path().join("debates/001-x"),
            Some(DebateId::new()),
        );
        assert_eq!(
            other.as_deref(),
            Some("is not its own: what is there belongs to another debate")
        );
    }
}
