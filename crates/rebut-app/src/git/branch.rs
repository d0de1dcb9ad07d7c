//! The branch of a debate that writes code: each version becomes a commit as it comes. A reading of
//! the journal beside the debate: what git cannot do is said, and never stops a debate or loses
//! anything of it.

use super::{
    commits::{Done, listed, missing},
    worktree::{Branch, Repository, Worktree, branch_of, clean_up},
};
use crate::{
    app::App,
    atomic_file::replace,
    data_dir::Place,
    error::AppError,
    hint_command::command,
    versions::{Version, usual_name, winner},
};
use rebut_engine::{
    DebateId, Desk, clean::on_one_line, facts::CodeRecorded, outcome::Ending, view::View,
};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{sync::Notify, task::JoinHandle};

/// What was asked for, and looked at: nothing is made yet.
pub struct Plan {
    repository: Repository,
    file: String,
}

impl Plan {
    /// Refuses what could not be done, before anybody is asked. Without a name the file is called
    /// as the language has it.
    pub fn check(dir: &Path, file: Option<&str>, language: &str) -> Result<Self, AppError> {
        let file = file
            .filter(|file| !file.is_empty())
            .map_or_else(|| usual_name(language), str::to_owned);
        let repository = Repository::find(dir)?;
        repository.check_place(&file)?;
        Ok(Self { repository, file })
    }

    /// Makes worktree and branch, and notes that whoever goes on with the debate goes on with them.
    pub fn begin(self, home: &Path, id: DebateId) -> Result<Recorder, AppError> {
        let Self { repository, file } = self;
        let note = Note {
            repository: repository.dir.clone(),
            base: repository.base.clone(),
            file: file.clone(),
        };
        let worktree = Worktree::create(home, repository, id, Branch::Keep)?;
        let recorder = Recorder {
            id,
            worktree,
            file,
            home: home.to_owned(),
        };
        match note.write(home, id) {
            Ok(()) => Ok(recorder),
            Err(error) => {
                recorder.discard();
                Err(error)
            }
        }
    }

    /// Writes all there is of a debate at once; says what was committed, newest first.
    pub fn write(
        self,
        home: &Path,
        id: DebateId,
        versions: &[Version],
        view: &View,
    ) -> Result<String, AppError> {
        let worktree = Worktree::create(home, self.repository, id, Branch::Remove)?;
        let mut recorder = Recorder {
            id,
            worktree,
            file: self.file,
            home: home.to_owned(),
        };
        recorder.catch_up(versions, winner(view))?;
        let messages = recorder.worktree.messages()?;
        recorder.worktree.remove(Branch::Keep)?;
        let lines = listed(&messages).into_iter().map(|(hash, subject)| {
            format!(
                "{} {}\n",
                hash.get(..8).unwrap_or(hash),
                on_one_line(subject)
            )
        });
        Ok(format!("{}\n{}", branch_of(id), lines.collect::<String>()))
    }
}

/// What outlives a process: where the branch of a debate that may go on is. Kept beside the
/// worktrees; the journal says nothing of this machine.
#[derive(Serialize, Deserialize)]
struct Note {
    repository: PathBuf,
    base: String,
    file: String,
}

impl Note {
    fn path(home: &Path, id: DebateId) -> PathBuf {
        home.join(format!("{id}.branch"))
    }

    fn write(&self, home: &Path, id: DebateId) -> Result<(), AppError> {
        let text = serde_json::to_vec(self).map_err(|error| AppError::failed(error.to_string()))?;
        replace(&Self::path(home, id), &text)
    }

    fn read(home: &Path, id: DebateId) -> Result<Option<Self>, AppError> {
        let path = Self::path(home, id);
        let read = fs::read(&path); // tidy: in the user's own folder for notes
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(AppError::file("read", &path, &error)),
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| {
                AppError::failed(format!(
                    "{} does not say where the branch is: {error}",
                    path.display()
                ))
            }),
        }
    }
}

/// Forgets where a debate's branch is: nothing more will be committed to it. The branch stays.
pub fn forget(home: &Path, id: DebateId) -> Result<(), AppError> {
    let path = Note::path(home, id);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(AppError::file("remove", &path, &error))
        }
        _ => Ok(()),
    }
}

/// Removes what processes that are gone have left; where that fails it is said, since what was
/// asked for can be done all the same.
pub fn clean_up_after_others(app: &App) {
    let Some(home) = app.place.as_ref().and_then(Place::worktrees) else {
        return;
    };
    if let Err(error) = clean_up(&home) {
        notice!("a worktree of an interrupted debate could not be removed: {error}");
    }
}

/// Whether the versions of a debate go to a branch.
pub fn is_kept(home: &Path, id: DebateId) -> bool {
    Note::path(home, id).exists()
}

pub struct Recorder {
    id: DebateId,
    worktree: Worktree,
    file: String,
    home: PathBuf,
}

impl Recorder {
    /// Takes everything away again, when the debate could not begin.
    pub fn discard(self) {
        let (home, id) = (self.home, self.id);
        if let Err(error) = self
            .worktree
            .remove(Branch::Remove)
            .and_then(|()| forget(&home, id))
        {
            notice!("{error}");
        }
    }

    /// Commits beside a debate that runs, until it ends or is left.
    pub fn keep(self, desk: &Desk) -> Keeping {
        Keeping::start(desk, self.id, move || Ok(self))
    }

    /// Commits what the branch does not hold yet. What it holds is asked of the branch itself: an
    /// earlier process may have died at any point.
    fn catch_up(
        &mut self,
        versions: &[Version],
        winner: Option<&CodeRecorded>,
    ) -> Result<(), AppError> {
        let done = Done::of(&self.worktree.messages()?);
        for step in missing(&done, self.id, &self.file, versions, winner) {
            self.worktree.commit(&step)?;
        }
        Ok(())
    }

    /// Takes the worktree away and says what there is. Without a commit there is no branch either.
    /// Where the debate may go on, so may this.
    fn finish(self, end: &End) -> Result<String, AppError> {
        let commits = self
            .worktree
            .messages()
            .map(|messages| listed(&messages).len());
        let (branch, repository) = (
            self.worktree.branch().to_owned(),
            self.worktree.repository().to_owned(),
        );
        self.worktree.remove(Branch::Keep)?;
        if end.is_complete {
            forget(&self.home, self.id)?;
        }
        Ok(match commits? {
            0 if end.wrote => "nothing could be committed, so there is no branch".to_owned(),
            0 => "no code was written, so there is no branch".to_owned(),
            count => in_words(&branch, count, &repository),
        })
    }
}

struct End {
    wrote: bool,
    /// Whether the branch holds all of a debate that is over.
    is_complete: bool,
}

/// How to look at a branch, and what can be done with it.
fn in_words(branch: &str, count: usize, repository: &Path) -> String {
    let commits = if count == 1 {
        "1 commit".to_owned()
    } else {
        format!("{count} commits")
    };
    let top = repository.parent().unwrap_or(repository);
    let is_here = std::env::current_dir().is_ok_and(|dir| dir.starts_with(top));
    let place = if is_here {
        String::new()
    } else {
        format!(" in {}", repository.display())
    };
    format!(
        "branch {branch}{place}: {commits}\n  look at it: git log -p {branch}\n  take it:    git \
         merge --squash {branch}\n  delete it:  git branch -D {branch}"
    )
}

/// Commits under way beside a debate.
pub struct Keeping {
    task: JoinHandle<Result<String, AppError>>,
    leave: Arc<Notify>,
}

impl Keeping {
    /// Goes on with the branch of a debate that has one.
    pub fn resume(app: &App, desk: &Desk, id: DebateId) -> Option<Self> {
        let home = app.place.as_ref()?.worktrees()?;
        let note = Note::read(&home, id).transpose()?;
        let open = move || {
            let Note {
                repository,
                base,
                file,
            } = note?;
            let worktree = Worktree::reopen(
                &home,
                Repository {
                    dir: repository,
                    base,
                },
                id,
            )?;
            Ok(Recorder {
                id,
                worktree,
                file,
                home,
            })
        };
        Some(Self::start(desk, id, open))
    }

    fn start(
        desk: &Desk,
        id: DebateId,
        open: impl FnOnce() -> Result<Recorder, AppError> + Send + 'static,
    ) -> Self {
        let leave = Arc::new(Notify::new());
        let (desk, left) = (desk.clone(), leave.clone());
        let task = tokio::spawn(async move {
            let recorder = match beside(open).await {
                Ok(recorder) => recorder,
                // At once, since nothing will be committed; there is nothing to say at the end.
                Err(error) => {
                    notice!("{error}\n{}", goes_on(id));
                    return Ok(String::new());
                }
            };
            let (recorder, end) = commit_all(&desk, recorder, &left).await?;
            beside(move || recorder.finish(&end)).await
        });
        Self { task, leave }
    }

    /// Waits until the last of it is committed, and says what there is. `is_left` is when nobody
    /// waits for the debate's end.
    pub async fn end(self, quiet: bool, is_left: bool) {
        if is_left {
            self.leave.notify_one();
        }
        match self.task.await {
            Ok(Ok(said)) if !quiet && !said.is_empty() => notice!("{said}"),
            Ok(Ok(_)) => {}
            Ok(Err(error)) => notice!("{error}"),
            Err(error) => notice!("the branch was not written: {error}"),
        }
    }
}

/// Commits what a journal brings until it ends or is left.
async fn commit_all(
    desk: &Desk,
    mut recorder: Recorder,
    left: &Notify,
) -> Result<(Recorder, End), AppError> {
    let id = recorder.id;
    let (mut versions, mut view) = (Vec::new(), View::default());
    let mut known_problem = None;
    let mut watch = desk.watch(id, 0).await?;
    loop {
        let next = tokio::select! {
            next = watch.next() => next.inspect_err(|error| notice!("{error}")).ok().flatten(),
            () = left.notified() => None,
        };
        let version = next
            .as_ref()
            .and_then(|record| Version::of(record, view.started.as_deref()));
        if let Some(record) = &next {
            view.apply(record);
        }
        if next.is_some() && version.is_none() {
            continue;
        }
        versions.extend(version);
        // What won is known only at the end.
        let (all, won) = (
            versions.clone(),
            winner(&view).filter(|_| next.is_none()).cloned(),
        );
        let (back, done) = beside(move || {
            let done = recorder.catch_up(&all, won.as_ref());
            Ok((recorder, done))
        })
        .await?;
        recorder = back;
        let problem = done.err().map(|error| error.to_string());
        if let Some(new) = problem.as_ref().filter(|_| problem != known_problem) {
            notice!("{new}\n{}", goes_on(id));
        }
        if next.is_none() {
            let is_over = view
                .outcome
                .is_some_and(|outcome| outcome.outcome != Ending::Stopped);
            return Ok((
                recorder,
                End {
                    wrote: !versions.is_empty(),
                    is_complete: is_over && problem.is_none(),
                },
            ));
        }
        known_problem = problem;
    }
}

/// What git cannot do costs nothing but the commits.
fn goes_on(id: DebateId) -> String {
    let (branch, write) = (
        branch_of(id),
        command(format_args!("code {} --branch", id.short())),
    );
    format!(
        "the debate goes on, and its journal has every version; to write the branch later: git \
         branch -D {branch}; {write}"
    )
}

/// Runs what waits for git, without holding up the debate.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AppError> + Send + 'static,
) -> Result<T, AppError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| AppError::failed(error.to_string()))?
}
