//! A temporary worktree and branch `debate/<id>` of a user's repository. The user's checkout,
//! index, settings and hooks are never touched, and nothing the repository names is run: no hook,
//! filter, watcher, helper, pager or other program.

mod names;
mod owner;
mod repository;
mod safely;
#[cfg(test)]
mod tests;

pub use names::check_name;
pub use repository::Repository;

use super::commits::Step;
use crate::{atomic_file::replace, error::AppError};
use owner::{Owned, Owner};
use rebut_engine::DebateId;
use safely::{git, git_as, succeeded};
use std::{
    ffi::OsStr,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// A worktree while it is there. Dropping it without [`Worktree::remove`] leaves it to the next
/// [`clean_up`].
pub struct Worktree {
    owner: Owner,
}

/// What becomes of a branch without its worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// It goes too, unless somebody else has committed to it.
    Remove,
    /// It stays, unless nothing was committed to it.
    Keep,
    Leave,
}

impl Worktree {
    /// Makes the worktree of a debate below `home`, on a branch of its own. `if_we_die` is what
    /// becomes of that branch then.
    pub fn create(
        home: &Path,
        repository: Repository,
        debate: DebateId,
        if_we_die: Branch,
    ) -> Result<Self, AppError> {
        let branch = branch_of(debate);
        if repository.tip(&branch)?.is_some() {
            let hint =
                format!("it may hold an earlier try; remove it with: git branch -D {branch}");
            return Err(AppError::usage(format!("there is a branch {branch} already")).hint(hint));
        }
        Self::make(home, repository, debate, if_we_die, None)
    }

    /// Makes it again on the branch that an earlier process left, or on a new one where that is
    /// gone.
    pub fn reopen(home: &Path, repository: Repository, debate: DebateId) -> Result<Self, AppError> {
        let tip = repository.tip(&branch_of(debate))?;
        Self::make(home, repository, debate, Branch::Keep, tip)
    }

    fn make(
        home: &Path,
        from: Repository,
        debate: DebateId,
        if_we_die: Branch,
        tip: Option<String>,
    ) -> Result<Self, AppError> {
        let Repository {
            dir: repository,
            base,
        } = from;
        let is_new = tip.is_none();
        let (branch, tip) = (branch_of(debate), tip.unwrap_or_else(|| base.clone()));
        let owned = Owned {
            repository,
            branch,
            tip,
            base,
            stays: if_we_die == Branch::Keep,
        };
        let worktree = Self {
            owner: Owner::take(home, debate, owned)?,
        };
        if let Err(error) = worktree.add(is_new) {
            // Why it could not be made matters; what is left of it goes at the next start at the
            // latest.
            let _ = worktree.remove(if is_new { Branch::Keep } else { Branch::Leave });
            return Err(error);
        }
        Ok(worktree)
    }

    fn add(&self, is_new: bool) -> Result<(), AppError> {
        let Owned {
            repository,
            branch,
            base,
            ..
        } = &self.owner.owned;
        let path = self.path();
        let args = [
            "worktree",
            "add",
            "--quiet",
            "--no-track",
            "--no-guess-remote",
            "-b",
            branch,
            "--",
        ]
        .map(OsStr::new);
        let (args, at) = if is_new {
            (&args[..], base)
        } else {
            (
                &["worktree", "add", "--quiet", "--"].map(OsStr::new)[..],
                branch,
            )
        };
        succeeded(
            "make a worktree",
            git(
                repository,
                &[args, &[path.as_os_str(), OsStr::new(at)]].concat(),
                b"",
            )?,
        )
        .map(drop)
    }

    pub fn path(&self) -> PathBuf {
        self.owner.folder()
    }

    pub fn branch(&self) -> &str {
        &self.owner.owned.branch
    }

    pub fn repository(&self) -> &Path {
        &self.owner.owned.repository
    }

    /// The messages of all commits since the branch began.
    pub fn messages(&self) -> Result<String, AppError> {
        let Owned { base, tip, .. } = &self.owner.owned;
        let args = ["rev-list", "--format=%B", &format!("{base}..{tip}"), "--"];
        succeeded("read the branch", git(&self.path(), &args, b"")?)
    }

    /// Makes a commit. Content that is there already makes one too: it is a step.
    pub fn commit(&mut self, step: &Step) -> Result<(), AppError> {
        for (name, code) in &step.files {
            check_name(name)?;
            match code {
                Some(code) => self.enter(name, code)?,
                None => self.take_out(name)?,
            }
        }
        let tree = self.one("keep the files", &["write-tree"], b"")?;
        let before = self.owner.owned.tip.clone();
        let date = format!("@{} +0000", step.at);
        let words = [
            ("GIT_AUTHOR_NAME", &*step.author),
            ("GIT_AUTHOR_DATE", &date),
            ("GIT_COMMITTER_DATE", &date),
        ];
        let args = ["commit-tree", "--no-gpg-sign", "-p", &before, &tree];
        let made = git_as(&words, &self.path(), &args, step.message.as_bytes())?;
        let commit = succeeded("commit", made)?.trim().to_owned();
        self.one(
            "move the branch",
            &["update-ref", &reference(self.branch()), &commit, &before],
            b"",
        )?;
        self.owner.moved(&commit)
    }

    fn enter(&self, name: &str, code: &str) -> Result<(), AppError> {
        // First: where no such file can be, nothing is committed.
        replace(&self.path().join(name), code.as_bytes())?;
        let blob = self.one(
            "keep the code",
            &["hash-object", "-w", "-t", "blob", "--no-filters", "--stdin"],
            code.as_bytes(),
        )?;
        let known = self.one(
            "look for the file",
            &[
                "ls-files",
                "--stage",
                "--",
                &format!(":(top,literal){name}"),
            ],
            b"",
        )?;
        let mode = if known.starts_with("100755 ") {
            "100755"
        } else {
            "100644"
        };
        self.one(
            "enter the file",
            &[
                "update-index",
                "--add",
                "--cacheinfo",
                &format!("{mode},{blob},{name}"),
            ],
            b"",
        )
        .map(drop)
    }

    fn take_out(&self, name: &str) -> Result<(), AppError> {
        let path = self.path().join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(AppError::file("remove", &path, &error));
            }
            _ => {}
        }
        self.one(
            "take out the file",
            &["update-index", "--force-remove", "--", name],
            b"",
        )
        .map(drop)
    }

    fn one(&self, doing: &str, args: &[&str], input: &[u8]) -> Result<String, AppError> {
        succeeded(doing, git(&self.path(), args, input)?).map(|said| said.trim().to_owned())
    }

    /// Removes the worktree; the branch as that says.
    pub fn remove(self, branch: Branch) -> Result<(), AppError> {
        remove(&self.owner.folder(), &self.owner.owned, branch)?;
        self.owner.release()
    }
}

/// Removes what is left of debates whose process is gone; says how many there were.
pub fn clean_up(home: &Path) -> Result<usize, AppError> {
    let dead = Owner::of_the_dead(home)?;
    let count = dead.len();
    for owner in dead {
        let branch = if owner.owned.stays {
            Branch::Keep
        } else {
            Branch::Remove
        };
        remove(&owner.folder(), &owner.owned, branch)?;
        owner.release()?;
    }
    Ok(count)
}

/// Takes a worktree away, whatever of it is there.
fn remove(folder: &Path, owned: &Owned, branch: Branch) -> Result<(), AppError> {
    if owned.repository.is_dir() {
        // It may never have been made, or be gone already: what counts is that nothing is left,
        // which is looked at below.
        let args = ["worktree", "remove", "--force", "--"].map(OsStr::new);
        git(
            &owned.repository,
            &[&args[..], &[folder.as_os_str()]].concat(),
            b"",
        )?;
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(AppError::file("remove", folder, &error));
        }
        _ => {}
    }
    // Only at this commit: what else was committed there stays.
    let at = match branch {
        Branch::Remove => &owned.tip,
        Branch::Keep => &owned.base,
        Branch::Leave => return Ok(()),
    };
    if owned.repository.is_dir() {
        git(
            &owned.repository,
            &["update-ref", "-d", &reference(&owned.branch), at],
            b"",
        )?;
    }
    Ok(())
}

pub fn branch_of(debate: DebateId) -> String {
    format!("debate/{debate}")
}

fn reference(branch: &str) -> String {
    format!("refs/heads/{branch}")
}
