//! The change since a commit, asked of git in a way in which the repository cannot run anything of its own.

mod untracked;

use crate::{context::is_denied, error::CliError};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// A change to review.
#[derive(Debug, PartialEq)]
pub struct Change {
    /// The unified diff.
    pub text: String,
    /// Files that were left out, and why.
    pub left_out: Vec<(String, &'static str)>,
}

/// The commit with which the working tree is compared when nobody names another. What is new since then need not be known to git.
pub const LAST_COMMIT: &str = "HEAD";

/// Why most files are left out.
const SECRETS: &str = "may hold secrets";

/// At most so much of a change is reviewed; more would not be read by anybody.
const MOST_BYTES: usize = 512 * 1024;

/// What every call of git here says first: no hooks, no watcher, no pager, no helper of the repository's own.
const QUIET: &[&str] = &[
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.pager=cat",
    "-c",
    "diff.external=",
    "-c",
    "core.quotePath=false",
];

/// The change of the working tree in `dir` since `base`, without files that may hold secrets. Since the last commit, files that git does
/// not know yet are part of it.
pub fn change_since(dir: &Path, base: &str, deny: &[String]) -> Result<Change, CliError> {
    if base.starts_with('-') || base.trim().is_empty() {
        return Err(CliError::usage(format!("`{base}` cannot be a commit")).hint("name a commit, branch or tag: rebut review --diff main"));
    }
    let inside = git(dir, &["rev-parse", "--is-inside-work-tree"])?;
    if !inside.status.success() {
        let why = first_line(&inside.stderr);
        return Err(CliError::usage(format!("--diff needs a git repository here: {why}")).hint("give a file instead: rebut review FILE"));
    }
    let commit = commit(dir, base)?;
    let (taken, secret) = changed_files(dir, &commit, deny)?;
    let text = if taken.is_empty() { String::new() } else { diff(dir, &commit, &taken)? };
    let mut change = Change { text, left_out: secret.into_iter().map(|name| (name, SECRETS)).collect() };
    if base == LAST_COMMIT {
        untracked::add(&mut change, &top(dir)?, deny)?;
    }
    Ok(change)
}

/// The commit's hash; before the first one, that of nothing at all.
fn commit(dir: &Path, base: &str) -> Result<String, CliError> {
    let known = git(dir, &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{base}^{{commit}}")])?;
    if known.status.success() {
        return Ok(String::from_utf8_lossy(&known.stdout).trim().to_owned());
    }
    // A branch on which nothing was committed yet.
    if base == LAST_COMMIT && git(dir, &["symbolic-ref", "--quiet", "HEAD"])?.status.success() {
        let empty = succeeded("name the empty tree", git(dir, &["hash-object", "-t", "tree", "--stdin"])?)?;
        return Ok(empty.trim().to_owned());
    }
    Err(CliError::usage(format!("git knows no commit `{base}` here")).hint("`git log` and `git branch -a` show what there is"))
}

/// The directory of the whole repository.
fn top(dir: &Path) -> Result<PathBuf, CliError> {
    let top = succeeded("find the repository's directory", git(dir, &["rev-parse", "--show-toplevel"])?)?;
    Ok(PathBuf::from(top.trim_end_matches(['\r', '\n'])))
}

/// The names of the changed files: those that may be sent, and those that may not.
fn changed_files(dir: &Path, commit: &str, deny: &[String]) -> Result<(Vec<String>, Vec<String>), CliError> {
    let listed = git(dir, &["diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--name-only", "-z", commit, "--"])?;
    let names = succeeded("list the changed files", listed)?;
    let names = names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned);
    Ok(names.partition(|name| !is_denied(Path::new(name), deny)))
}

fn diff(dir: &Path, commit: &str, files: &[String]) -> Result<String, CliError> {
    // Names are given from the top of the repository, and mean themselves.
    let files = files.iter().map(|file| format!(":(top,literal){file}"));
    let fixed =
        ["diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", commit, "--"];
    let args: Vec<String> = fixed.into_iter().map(str::to_owned).chain(files).collect();
    let text = succeeded("show the change", git(dir, &args.iter().map(String::as_str).collect::<Vec<_>>())?)?;
    if text.len() > MOST_BYTES {
        let message = format!("the change is larger than {} KiB", MOST_BYTES / 1024);
        return Err(CliError::usage(message).hint("review it in parts: --diff against a later commit, or a file with a part of the diff"));
    }
    Ok(text)
}

fn git(dir: &Path, args: &[&str]) -> Result<std::process::Output, CliError> {
    let mut command = Command::new("git");
    command.args(QUIET).args(args).current_dir(dir).stdin(std::process::Stdio::null());
    for name in ["GIT_EXTERNAL_DIFF", "GIT_PAGER", "PAGER", "GIT_DIFF_OPTS"] {
        command.env_remove(name);
    }
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    command.output().map_err(|error| CliError::failed(format!("cannot run git: {error}")).hint("install git, or review a file"))
}

fn succeeded(doing: &str, output: std::process::Output) -> Result<String, CliError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(CliError::failed(format!("git could not {doing}: {}", first_line(&output.stderr))))
}

fn first_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().next().unwrap_or_default().trim_start_matches("fatal: ").to_owned()
}
