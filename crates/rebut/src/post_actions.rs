//! What a command was to do when its debate has ended: files to write, and what its exit code hangs
//! on. It is kept in the user's own folder while the debate is open, so that `resume` does the
//! same. Neither in the journal nor beside it: it names places of this machine, and those may come
//! from anywhere.

use crate::{
    app::App,
    atomic_file,
    cli::{Form, OutputArgs},
    commands::{ask, code::applying, review, solve},
    data_dir::Place,
    debates::Debates,
    error::CliError,
    output, read_file,
};
use rebut_engine::{
    DebateId, Desk, Running, Start,
    agent::Agent,
    formats::{Format, review::Severity},
    outcome::Ending,
    view::View,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The exit code of a debate that ended well, but not well enough for what was asked.
const HELD_BACK: u8 = 6;

/// What is to be done. Every path is absolute once it is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Afterwards {
    /// Files to write, each in the form of its ending.
    pub output: Vec<PathBuf>,
    /// Whether ends that are no errors give 0.
    pub exit_zero: bool,
    pub feature_dir: Option<PathBuf>,
    pub write: Option<PathBuf>,
    /// From which severity on a review's findings hold it back.
    pub worst: Option<Severity>,
    pub analysis: Option<PathBuf>,
    /// The total an evaluation must reach.
    pub least: Option<f64>,
    /// Where the code that won goes.
    pub code: Option<PathBuf>,
    /// Whether it may take the place of something else.
    pub force: bool,
    /// The arm to compare with. Only the command itself runs it.
    pub baseline: Option<String>,
    /// Where paths of scripts are meant, if somebody speaks by one. That is nothing to do, but
    /// needed to go on from elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun_in: Option<PathBuf>,
}

impl Afterwards {
    /// What the flags of every command ask for.
    pub fn of(output: &OutputArgs) -> Self {
        Self {
            output: output.output.clone(),
            exit_zero: output.exit_zero,
            ..Self::default()
        }
    }

    /// Starts a debate after writing down what is to be done at its end.
    pub async fn start(&self, app: &App, desk: &Desk, start: Start) -> Result<Running, CliError> {
        self.start_as(app, desk, DebateId::new(), start).await
    }

    /// The same under an id that is known before.
    pub async fn start_as(
        &self,
        app: &App,
        desk: &Desk,
        id: DebateId,
        start: Start,
    ) -> Result<Running, CliError> {
        let has_script = start
            .agents
            .iter()
            .flat_map(models_of)
            .any(|model| model.starts_with("script:"));
        let begun_in = has_script.then(|| app.origin.current_dir.clone());
        Self {
            begun_in,
            ..self.clone()
        }
        .remember(app, id)?;
        match desk.start_as(id, start).await {
            Ok(running) => Ok(running),
            Err(error) => {
                forget(app, id)?;
                Err(error.into())
            }
        }
    }

    /// Whether there is something to do.
    pub fn asks(&self) -> bool {
        Self {
            begun_in: None,
            ..self.clone()
        } != Self::default()
    }

    /// Writes it down for a debate that is open.
    pub fn remember(&self, app: &App, id: DebateId) -> Result<(), CliError> {
        if *self == Self::default() {
            return Ok(());
        }
        let text = serde_json::to_string(&self.settled()?)
            .map_err(|error| CliError::failed(error.to_string()))?;
        match note(app, app.place()?, id) {
            Some(path) => atomic_file::replace_private(&path, &text),
            None => {
                warn_line!(
                    "HOME is not set: should this be interrupted, `rebut resume` will not know \
                     which files to write"
                );
                Ok(())
            }
        }
    }

    /// What is still to be done for a debate; nothing for one that needs nothing, or was begun
    /// elsewhere.
    pub fn recall(app: &App, id: DebateId) -> Result<Option<Self>, CliError> {
        let Some(path) = app.place.as_ref().and_then(|place| note(app, place, id)) else {
            return Ok(None);
        };
        let Some(text) = read_file::text_if_there(&path)? else {
            return Ok(None);
        };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            CliError::failed(format!("{} cannot be read: {error}", path.display()))
                .hint("remove it to go on without what it asks for")
        })
    }

    /// This, and what is asked for now. Gives the flags to follow the run with, too.
    pub fn with(mut self, now: &OutputArgs) -> Result<(Self, OutputArgs), CliError> {
        let new = Self::of(now).settled()?;
        self.output.extend(
            new.output
                .into_iter()
                .filter(|file| !self.output.contains(file))
                .collect::<Vec<_>>(),
        );
        self.exit_zero |= new.exit_zero;
        let flags = OutputArgs {
            output: self.output.clone(),
            exit_zero: self.exit_zero,
            ..now.clone()
        };
        Ok((self, flags))
    }

    /// Whether all of it can be done, before anybody is asked and paid.
    pub fn check(&self, format: &str) -> Result<(), CliError> {
        output::check_files(
            &OutputArgs {
                output: self.output.clone(),
                ..OutputArgs::default()
            },
            format,
        )?;
        let words = self.feature_dir.as_deref().map(output::judges_dir);
        self.code
            .as_deref()
            .map_or(Ok(()), applying::check_writable)?;
        [words.as_ref(), self.write.as_ref(), self.analysis.as_ref()]
            .into_iter()
            .flatten()
            .try_for_each(|dir| atomic_file::check_dir(dir))
    }

    /// Does it when the debate has ended, but for the files that were written with its result.
    /// `code` is the exit code so far.
    pub async fn finish(
        &self,
        app: &App,
        debates: &Debates,
        id: DebateId,
        code: u8,
    ) -> Result<u8, CliError> {
        let view = debates.view(id).await?;
        let Some(outcome) = &view.outcome else {
            return Ok(code);
        };
        if let Some(dir) = &self.feature_dir {
            ask::write_words(app, &view, dir)?;
        }
        if let Some(dir) = &self.write {
            review::write_files(app, &view, dir)?;
        }
        if let Some(dir) = &self.analysis {
            write_analysis(app, debates, &view, dir).await?;
        }
        if let Some(file) = &self.code {
            solve::write_code(&view, file, self.force, app.global.quiet)?;
        }
        // Nobody goes on with it any more.
        if outcome.outcome != Ending::Stopped {
            forget(app, id)?;
        }
        let passes = code != 0 || (review::passes(&view, self.worst) && reaches(&view, self.least));
        Ok(if passes || self.exit_zero {
            code
        } else {
            HELD_BACK
        })
    }

    /// Paths as they are meant here, for whoever goes on from elsewhere.
    fn settled(&self) -> Result<Self, CliError> {
        let absolute = |path: &Path| {
            std::path::absolute(path).map_err(|error| CliError::file("find", path, &error))
        };
        let all = |path: &Option<PathBuf>| path.as_deref().map(absolute).transpose();
        Ok(Self {
            output: self
                .output
                .iter()
                .map(|file| absolute(file))
                .collect::<Result<_, _>>()?,
            feature_dir: all(&self.feature_dir)?,
            write: all(&self.write)?,
            analysis: all(&self.analysis)?,
            code: all(&self.code)?,
            ..self.clone()
        })
    }
}

/// Writes the transcript and the whole result, also when topics were skipped or a limit was met.
async fn write_analysis(
    app: &App,
    debates: &Debates,
    view: &View,
    dir: &Path,
) -> Result<(), CliError> {
    let files = [("debate.md", Form::Markdown), ("debate.json", Form::Json)];
    for (name, form) in files {
        // The folder may come from somebody else: no link in it is followed.
        let (file, text) = (dir.join(name), output::render(debates, view, form).await?);
        atomic_file::replace(&file, text.as_bytes())?;
    }
    if !app.global.quiet {
        warn_line!(
            "wrote {}, {}",
            dir.join(files[0].0).display(),
            dir.join(files[1].0).display()
        );
    }
    Ok(())
}

/// Whether the result reaches what was asked for; otherwise says why not.
fn reaches(view: &View, least: Option<f64>) -> bool {
    let Some(needed) = least else { return true };
    let why = view.outcome.as_ref().map_or_else(
        || Some("there is no result".to_owned()),
        |outcome| {
            let reading = Format::of(view)?.reading?;
            (reading.held_back)(outcome, needed)
        },
    );
    if let Some(why) = &why {
        warn_line!("{why}");
    }
    why.is_none()
}

/// Every model that may speak for an agent.
fn models_of(agent: &Agent) -> impl Iterator<Item = &str> {
    std::iter::once(&*agent.model).chain(agent.fallbacks.iter().map(String::as_str))
}

/// Where it is written down, by where the debate is.
fn note(app: &App, place: &Place, id: DebateId) -> Option<PathBuf> {
    if app.global.server.is_some() {
        place.afterwards_there(id)
    } else {
        place.afterwards(id)
    }
}

/// Takes away what was written down for a debate, if anything was.
pub fn forget(app: &App, id: DebateId) -> Result<(), CliError> {
    let Some(path) = app.place.as_ref().and_then(|place| note(app, place, id)) else {
        return Ok(());
    };
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(CliError::file("remove", &path, &error))
        }
        _ => Ok(()),
    }
}
