//! Which folder a repository's files are in. The repository's own settings can name any other
//! folder as its working tree, and a `.git` file any other repository: both are looked at before a
//! file is read.

use super::{first_line, git, succeeded};
use crate::{
    beneath::{Folder, Kind},
    error::AppError,
};
use rebut_engine::clean::on_one_line;
use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

/// The top of the working tree that `dir` is in. Refused where what git says is not what lies
/// there.
pub(super) fn top(dir: &Path) -> Result<PathBuf, AppError> {
    check_regular(dir)?;
    let asked = git(dir, &["rev-parse", "--is-inside-work-tree"])?;
    if !asked.status.success() {
        let why = first_line(&asked.stderr);
        return Err(
            AppError::usage(format!("--diff needs a git repository here: {why}"))
                .hint("give a file instead: rebut review FILE"),
        );
    }
    let top = one(dir, "find the repository's directory", "--show-toplevel")?;
    let inner = one(dir, "find the repository", "--absolute-git-dir")?;
    let outer = top.join(".git");
    let here = dir
        .canonicalize()
        .map_err(|error| AppError::file("enter", dir, &error))?;
    if !here.starts_with(&top) || outer.symlink_metadata().is_err() {
        return Err(refused(&format!(
            "the settings of this repository say that its files are in {}",
            top.display()
        )));
    }
    if outer.is_symlink() {
        return Err(refused(&format!(
            "{} is a link to another repository",
            outer.display()
        )));
    }
    if inner != outer && !belongs(&inner, &outer, &top)? {
        return Err(refused(&format!(
            "{} names the repository {}, which knows nothing of it",
            outer.display(),
            inner.display()
        )));
    }
    // A worktree shares the objects of the repository that it lies in; nothing else shares any.
    let shared = dir.join(one(dir, "find the repository", "--git-common-dir")?);
    let shared = shared
        .canonicalize()
        .map_err(|error| AppError::file("find", &shared, &error))?;
    let inner = inner
        .canonicalize()
        .map_err(|error| AppError::file("find", &inner, &error))?;
    check_plain(&shared)?;
    if !inner.starts_with(&shared)
        || shared
            .join("objects/info/alternates")
            .symlink_metadata()
            .is_ok()
    {
        let error = refused(
            "it takes its history from another repository (alternates, a shared folder or a link)",
        );
        return Err(error.and_hint(
            "or make it whole: git repack -a -d, then remove .git/objects/info/alternates",
        ));
    }
    Ok(top)
}

/// Files that git opens before it says anything.
const READ_FIRST: &[&str] = &[
    ".git/HEAD",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/index",
    ".git/packed-refs",
    ".git/shallow",
    ".git/info/exclude",
    ".git/info/attributes",
    ".gitignore",
    ".gitattributes",
];

/// Refuses a repository in which one of these is a pipe or a device: git would wait for it, or
/// never come to its end.
fn check_regular(dir: &Path) -> Result<(), AppError> {
    let above = dir
        .ancestors()
        .find(|dir| dir.join(".git").symlink_metadata().is_ok());
    let is_odd = |file: &PathBuf| {
        file.metadata()
            .is_ok_and(|found| !found.is_file() && !found.is_dir())
    };
    let odd = above.and_then(|top| {
        READ_FIRST
            .iter()
            .map(|name| top.join(name))
            .chain([top.join(".git")])
            .find(is_odd)
    });
    odd.map_or(Ok(()), |file| {
        Err(refused(&format!("{} is no regular file", file.display())))
    })
}

/// Parts of a repository's own folder that git follows to wherever they lead. Hooks are often
/// links, and are never run here.
const FOLLOWED: &[&str] = &["objects", "refs", "logs", "info", "worktrees", "reftable"];
/// So many files are looked at; no repository that people work in has more that are not packed.
const MOST_FILES: usize = 2_000_000;

/// Refuses a repository with a link or a pipe among its own files: history would be read from, or
/// written to, somewhere else.
fn check_plain(git_dir: &Path) -> Result<(), AppError> {
    let failed = |error: std::io::Error| AppError::file("read", git_dir, &error);
    let odd = |path: &Path| {
        refused(&format!(
            "{} is no regular file or folder",
            on_one_line(&path.display().to_string())
        ))
    };
    let mut folders = vec![(Folder::own(git_dir).map_err(failed)?, true)];
    let mut seen = 0;
    while let Some((folder, is_first)) = folders.pop() {
        for name in folder.names().map_err(failed)? {
            seen += 1;
            let path = folder.path().join(&name);
            match folder.about(&name).map_err(failed)?.kind {
                Kind::Link | Kind::Other if is_first && name == "hooks" => {}
                Kind::Link | Kind::Other => return Err(odd(&path)),
                Kind::Folder if !is_first || FOLLOWED.iter().any(|known| name == *known) => {
                    folders.push((folder.below(Path::new(&name)).map_err(failed)?, false));
                }
                Kind::Folder | Kind::File => {}
            }
        }
        if seen > MOST_FILES {
            return Err(refused("it has too many loose files").and_hint("pack them: git gc"));
        }
    }
    Ok(())
}

/// Refuses settings that hold only under some condition: they could hold where a worktree is made
/// and not where they were looked for.
pub(super) fn check_includes(git_dir: &Path) -> Result<(), AppError> {
    for file in ["config", "config.worktree"].map(|name| git_dir.join(name)) {
        let listed = super::output(
            super::quiet(git_dir)
                .args(["config", "--file"])
                .arg(&file)
                .args(["--name-only", "--get-regexp", "^include"]),
        )?;
        if !listed.stdout.is_empty() {
            return Err(refused("its settings include others").and_hint(format!(
                "take `include` and `includeIf` out of {}",
                file.display()
            )));
        }
    }
    Ok(())
}

/// Whether the repository behind a `.git` file names it in turn: by a worktree's pointer back, or
/// as the place of a submodule.
fn belongs(inner: &Path, outer: &Path, top: &Path) -> Result<bool, AppError> {
    let same = |one: &Path, other: &Path| {
        one.canonicalize()
            .is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
    };
    if outer.is_dir() {
        return Ok(same(inner, outer));
    }
    let back = pointer_back(inner)
        .ok()
        .map(|back| inner.join(back.trim_end()));
    if back.is_some_and(|back| same(&back, outer)) {
        return Ok(true);
    }
    let place = super::output(
        super::quiet(inner)
            .args(["config", "--file"])
            .arg(inner.join("config"))
            .args(["core.worktree"]),
    )?;
    let place = String::from_utf8_lossy(&place.stdout).trim_end().to_owned();
    Ok(!place.is_empty() && same(&inner.join(place), top))
}

/// What a worktree's own folder says of where it is.
fn pointer_back(inner: &Path) -> io::Result<String> {
    /// More bytes than a `gitdir` file ever has.
    const LONGEST: u64 = 64 << 10;
    let mut text = String::new();
    Folder::own(inner)?
        .open(Path::new("gitdir"))?
        .take(LONGEST)
        .read_to_string(&mut text)?;
    Ok(text)
}

fn one(dir: &Path, doing: &str, question: &str) -> Result<PathBuf, AppError> {
    let said = succeeded(doing, git(dir, &["rev-parse", question])?)?;
    Ok(PathBuf::from(said.trim_end_matches(['\r', '\n'])))
}

fn refused(why: &str) -> AppError {
    AppError::usage(format!("this repository is not read: {why}"))
        .hint("make a fresh clone of it, or give a file instead: rebut review FILE")
}
