//! The change since a commit, asked of git in a way in which the repository cannot run anything of
//! its own.

pub mod branch;
mod commits;
mod running;
mod top;
mod untracked;
pub mod worktree;

use crate::{
    beneath::{Folder, Kind},
    context::is_denied,
    error::AppError,
};
use rebut_engine::clean::on_one_line;
use std::{
    ffi::{OsStr, OsString},
    path::{Component, Path},
    process::{Command, Output},
    time::Duration,
};

#[derive(Debug, PartialEq)]
pub struct Change {
    pub text: String,
    /// Files that were left out, and why.
    pub left_out: Vec<(String, &'static str)>,
}

/// The commit with which the working tree is compared when nobody names another. What is new since
/// then need not be known to git.
pub const LAST_COMMIT: &str = "HEAD";

/// Why most files are left out.
const SECRETS: &str = "may hold secrets";
const SECOND_NAME: &str = "has a second name elsewhere (a hard link)";

/// At most so much of a change is reviewed; more would not be read by anybody.
const MOST_BYTES: usize = 512 * 1024;

/// What every call of git here says first: no hooks, no watcher, no pager, no helper of the
/// repository's own.
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
    "-c",
    "diff.autoRefreshIndex=false",
];

/// How every diff is asked for: by git alone, whole, from the top, and without a look into the
/// working trees of submodules.
const DIFF: &[&str] = &[
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-relative",
    "--no-color",
    "--submodule=short",
    "--ignore-submodules=dirty",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// The change of the working tree in `dir` since `base`, without files that may hold secrets. Since
/// the last commit, files that git does not know yet are part of it.
pub fn change_since(dir: &Path, base: &str, deny: &[String]) -> Result<Change, AppError> {
    if base.starts_with('-') || base.trim().is_empty() {
        return Err(AppError::usage(format!("`{base}` cannot be a commit"))
            .hint("name a commit, branch or tag: rebut review --diff main"));
    }
    let top = top::top(dir)?;
    let commit = commit(dir, base)?;
    let (taken, left_out) = changed_files(dir, &top, &commit, deny)?;
    let text = if taken.is_empty() {
        String::new()
    } else {
        diff(dir, &commit, &taken)?
    };
    let mut change = Change { text, left_out };
    if base == LAST_COMMIT {
        untracked::add(&mut change, &top, deny)?;
    }
    Ok(change)
}

/// The commit's hash; before the first one, that of nothing at all.
fn commit(dir: &Path, base: &str) -> Result<String, AppError> {
    let known = git(
        dir,
        &[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{base}^{{commit}}"),
        ],
    )?;
    if known.status.success() {
        return Ok(String::from_utf8_lossy(&known.stdout).trim().to_owned());
    }
    // A branch on which nothing was committed yet.
    if base == LAST_COMMIT
        && git(dir, &["symbolic-ref", "--quiet", "HEAD"])?
            .status
            .success()
    {
        let empty = succeeded(
            "name the empty tree",
            git(dir, &["hash-object", "-t", "tree", "--stdin"])?,
        )?;
        return Ok(empty.trim().to_owned());
    }
    Err(
        AppError::usage(format!("git knows no commit `{base}` here"))
            .hint("`git log` and `git branch -a` show what there is"),
    )
}

/// A file that is left out, and why.
type LeftOut = (String, &'static str);

/// The names of the changed files: those that may be sent, and those that may not.
fn changed_files(
    dir: &Path,
    top: &Path,
    commit: &str,
    deny: &[String],
) -> Result<(Vec<OsString>, Vec<LeftOut>), AppError> {
    let listed = git(dir, &[DIFF, &["--name-only", "-z", commit, "--"]].concat())?;
    let names = bytes_of("list the changed files", listed)?;
    let (mut taken, mut left_out) = (Vec::new(), Vec::new());
    for name in names
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(name_of)
    {
        match problem(top, &name, deny) {
            None => taken.push(name),
            Some(why) => left_out.push((on_one_line(&name.to_string_lossy()), why)),
        }
    }
    Ok((taken, left_out))
}

/// Why a file is not sent, if it is not. The index of a repository can be forged, and name files
/// outside of it.
fn problem(top: &Path, name: &OsStr, deny: &[String]) -> Option<&'static str> {
    let path = Path::new(name);
    let is_plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(part) if !part.eq_ignore_ascii_case(".git")));
    if !is_plain {
        return Some("is not a file of this repository");
    }
    if is_denied(path, deny) {
        return Some(SECRETS);
    }
    has_second_name(top, path).then_some(SECOND_NAME)
}

/// Whether a file has another name somewhere, which may be that of a private one. What is gone has
/// none.
fn has_second_name(top: &Path, path: &Path) -> bool {
    let folder = Folder::own(top).and_then(|top| top.below(path.parent().unwrap_or(Path::new(""))));
    let about = folder.and_then(|folder| folder.about(path.file_name().unwrap_or_default()));
    about.is_ok_and(|about| about.kind == Kind::File && about.names > 1)
}

/// A name as the file system has it, which need not be UTF-8: a name that is not the file's own
/// finds nothing.
#[cfg(unix)]
fn name_of(bytes: &[u8]) -> OsString {
    <OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes).to_owned()
}

#[cfg(not(unix))]
fn name_of(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

fn diff(dir: &Path, commit: &str, files: &[OsString]) -> Result<String, AppError> {
    // Names are given from the top of the repository, and mean themselves.
    let files = files.iter().map(|file| {
        let mut exact = OsString::from(":(top,literal)");
        exact.push(file);
        exact
    });
    let args: Vec<OsString> = DIFF
        .iter()
        .copied()
        .chain([commit, "--"])
        .map(OsString::from)
        .chain(files)
        .collect();
    let text = succeeded("show the change", git(dir, &args)?)?;
    if text.len() > MOST_BYTES {
        let message = format!("the change is larger than {} KiB", MOST_BYTES / 1024);
        return Err(AppError::usage(message).hint(
            "review it in parts: --diff against a later commit, or a file with a part of the diff",
        ));
    }
    Ok(text)
}

/// The first file in a folder that a repository around it has; `None` where there is no such
/// repository, or no git that could change the file. Where git cannot tell, that is an error: the
/// answer guards what is kept in the folder.
pub fn first_tracked(dir: &Path) -> Result<Option<String>, AppError> {
    let whole = dir
        .canonicalize()
        .map_err(|error| AppError::file("find", dir, &error))?;
    if !is_installed() {
        return Ok(None);
    }
    for top in whole.ancestors().filter(|dir| is_repository(dir)) {
        let rest = whole.strip_prefix(top).unwrap_or(Path::new(""));
        let rest = if rest.as_os_str().is_empty() {
            Path::new(".")
        } else {
            rest
        };
        let mut command = quiet(top);
        // The repository is named, and nothing in the environment or in its own configuration names
        // another.
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_git(name)) {
            command.env_remove(name);
        }
        command
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_TERMINAL_PROMPT", "0");
        command
            .arg("--git-dir")
            .arg(top.join(".git"))
            .arg("--work-tree")
            .arg(top);
        let listed = output(
            command
                .arg("--literal-pathspecs")
                .args(["ls-files", "-z", "--"])
                .arg(rest),
        )?;
        let listed = bytes_of("list the files of the repository", listed)?;
        if let Some(name) = listed
            .split(|byte| *byte == 0)
            .find(|name| !name.is_empty())
        {
            return Ok(Some(String::from_utf8_lossy(name).into_owned()));
        }
    }
    Ok(None)
}

/// Whether git would find a repository here. A folder `.git` without a `HEAD` is none.
fn is_repository(dir: &Path) -> bool {
    let git = dir.join(".git");
    git.symlink_metadata()
        .is_ok_and(|found| !found.is_dir() || git.join("HEAD").symlink_metadata().is_ok())
}

/// Whether a variable of the environment is one that git reads.
fn is_of_git(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"GIT_")
}

fn is_installed() -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join("git").is_file()))
}

/// Runs git without anything of the repository's own.
fn git(dir: &Path, args: &[impl AsRef<OsStr>]) -> Result<Output, AppError> {
    let mut command = quiet(dir);
    let known = std::env::var("GIT_CONFIG_COUNT")
        .ok()
        .and_then(|count| count.parse::<usize>().ok())
        .unwrap_or(0);
    without_filters(&mut command, &filters(dir)?, known);
    output(command.args(args))
}

/// Git with no hooks, no helpers, no programs of the environment, and no way to any other
/// repository.
fn quiet(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .args(QUIET)
        .current_dir(dir)
        .stdin(std::process::Stdio::null());
    for name in ["GIT_EXTERNAL_DIFF", "GIT_PAGER", "PAGER", "GIT_DIFF_OPTS"] {
        command.env_remove(name);
    }
    // What is missing in a partial clone is not fetched: the repository says from where, and that
    // may be a program.
    command
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "none");
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    command
}

/// The filters any configuration names: programs that git would run over the files it compares.
/// Asking for them runs none.
fn filters(dir: &Path) -> Result<Vec<OsString>, AppError> {
    Ok(filters_of(output(quiet(dir).args([
        "config",
        "-z",
        "--name-only",
        "--get-regexp",
        r"^filter\.",
    ]))?))
}

/// The names in a list of filters' settings.
fn filters_of(listed: Output) -> Vec<OsString> {
    // `filter.NAME.clean`; the name may hold dots itself.
    let names = listed.stdout.split(|byte| *byte == 0).filter_map(|key| {
        let end = key.iter().rposition(|byte| *byte == b'.')?;
        key.get(b"filter.".len()..end).map(name_of)
    });
    let mut names: Vec<OsString> = names.collect();
    names.dedup();
    names
}

/// Empties filters by the environment, where a name may hold `=`; the first `known` settings there
/// stay.
fn without_filters(command: &mut Command, filters: &[OsString], known: usize) {
    let settings = [
        (".clean", ""),
        (".smudge", ""),
        (".process", ""),
        (".required", "false"),
    ];
    let all = filters
        .iter()
        .flat_map(|name| settings.map(|(setting, value)| (name, setting, value)));
    let mut count = known;
    for (name, setting, value) in all {
        let mut key = OsString::from("filter.");
        key.push(name);
        key.push(setting);
        command
            .env(format!("GIT_CONFIG_KEY_{count}"), key)
            .env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    if count > known {
        command.env("GIT_CONFIG_COUNT", count.to_string());
    }
}

/// Git answers questions within this time.
const PATIENCE: Duration = Duration::from_secs(30);

fn output(command: &mut Command) -> Result<Output, AppError> {
    running::output(command, b"", PATIENCE)
}

fn succeeded(doing: &str, output: Output) -> Result<String, AppError> {
    bytes_of(doing, output).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn bytes_of(doing: &str, output: Output) -> Result<Vec<u8>, AppError> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(AppError::failed(format!(
        "git could not {doing}: {}",
        first_line(&output.stderr)
    )))
}

fn first_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text)
        .lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches("fatal: ")
        .to_owned()
}
