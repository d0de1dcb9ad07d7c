//! The repository a branch is made in: found, and looked at before anything is made. Nothing here
//! writes.

use super::{
    check_name, reference,
    safely::{git, succeeded},
};
use crate::error::AppError;
use std::path::{Path, PathBuf};

/// A repository, and the commit a branch begins at.
#[derive(Clone, Debug, PartialEq)]
pub struct Repository {
    pub dir: PathBuf,
    pub base: String,
}

impl Repository {
    /// The one that `dir` belongs to, at its last commit. Refused where no branch `debate/<id>`
    /// could be made, or nobody could look at it.
    pub fn find(dir: &Path) -> Result<Self, AppError> {
        // A bare one has no working tree to look for; it is refused below.
        if dir
            .ancestors()
            .any(|dir| dir.join(".git").symlink_metadata().is_ok())
        {
            super::super::top::top(dir)?;
        }
        let found = git(
            dir,
            &["rev-parse", "--path-format=absolute", "--git-common-dir"],
            b"",
        )?;
        let top = succeeded("find the repository", found).map_err(|error| {
            AppError::usage(error.to_string())
                .hint("go to a directory of a git repository that is yours, or make one: git init")
        })?;
        let bare = succeeded(
            "look at the repository",
            git(dir, &["rev-parse", "--is-bare-repository"], b"")?,
        )?;
        if bare.trim() == "true" {
            return Err(
                AppError::usage("this repository is bare: nobody works in it")
                    .hint("go to a checkout of it: git clone, or git worktree add"),
            );
        }
        super::super::top::check_includes(Path::new(top.trim_end_matches(['\r', '\n'])))?;
        let repository = Self {
            dir: PathBuf::from(top.trim_end_matches(['\r', '\n'])),
            base: String::new(),
        };
        let Some(base) = commit(dir, "HEAD")? else {
            return Err(AppError::usage("this repository has no commit yet")
                .hint("commit something first: git commit"));
        };
        if repository.tip("debate")?.is_some() {
            let message = "there is a branch `debate`, and git cannot have `debate/<id>` beside it";
            return Err(
                AppError::usage(message).hint("rename it: git branch -m debate another-name")
            );
        }
        Ok(Self { base, ..repository })
    }

    /// Refuses a file that could not be committed at that place, or would take the place of
    /// something that is no plain file.
    pub fn check_place(&self, name: &str) -> Result<(), AppError> {
        check_name(name)?;
        let ends = name
            .match_indices('/')
            .map(|(end, _)| end)
            .chain([name.len()]);
        for part in ends.map(|end| &name[..end]) {
            let listed = git(
                &self.dir,
                &["ls-tree", "-z", "--full-tree", &self.base, "--", part],
                b"",
            )?;
            let entry = succeeded("look for the file", listed)?;
            let is_whole = part.len() == name.len();
            let fits = match entry.split(' ').next().unwrap_or_default() {
                "" => true,
                "100644" | "100755" => is_whole,
                "040000" => !is_whole,
                // A link or a submodule.
                _ => false,
            };
            if !fits {
                let what = if is_whole {
                    "is no plain file"
                } else {
                    "is no folder"
                };
                let message = format!(
                    "`{name}` cannot be the code's file: `{part}` {what} in this repository"
                );
                return Err(
                    AppError::usage(message).hint("name another one, such as src/solution.py")
                );
            }
        }
        Ok(())
    }

    /// The commit a branch is at, if there is such a branch.
    pub fn tip(&self, branch: &str) -> Result<Option<String>, AppError> {
        commit(&self.dir, &reference(branch))
    }
}

fn commit(dir: &Path, name: &str) -> Result<Option<String>, AppError> {
    let found = git(
        dir,
        &[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{name}^{{commit}}"),
        ],
        b"",
    )?;
    Ok(found
        .status
        .success()
        .then(|| String::from_utf8_lossy(&found.stdout).trim().to_owned()))
}
