//! Git, called so that nothing the repository or the user's settings name is run.

use super::super::{filters_of, first_line, running, without_filters};
use crate::error::AppError;
use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Output},
    time::Duration,
};

/// Runs git in `dir` with nothing of the repository's own, nor of the user's.
pub fn git(dir: &Path, args: &[impl AsRef<OsStr>], input: &[u8]) -> Result<Output, AppError> {
    git_as(&[], dir, args, input)
}

/// The same with words of the environment, such as an author's name.
pub fn git_as(
    words: &[(&str, &str)],
    dir: &Path,
    args: &[impl AsRef<OsStr>],
    input: &[u8],
) -> Result<Output, AppError> {
    if !dir.is_dir() {
        return Err(AppError::failed(format!("{} is gone", dir.display())));
    }
    let filters = filters_of(output(
        safe(dir).args(["config", "-z", "--name-only", "--get-regexp", r"^filter\."]),
        b"",
    )?);
    let mut command = safe(dir);
    without_filters(&mut command, &filters, 0);
    output(command.args(args).envs(words.iter().copied()), input)
}

/// What every call says: no hooks, no watcher, no signatures, no other repository, links as plain
/// files.
const SAFELY: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    "core.quotePath=false",
    "diff.external=",
    "log.showSignature=false",
    "commit.gpgSign=false",
    "gpg.program=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "protocol.allow=never",
    "blame.ignoreRevsFile=",
    "advice.detachedHead=false",
];

/// What of the environment git needs; the rest could name programs and other repositories.
const ENVIRONMENT: &[&str] = &["PATH", "TMPDIR", "SYSTEMROOT"];

fn safe(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .args(["--no-pager", "--no-optional-locks"])
        .current_dir(dir);
    for setting in SAFELY {
        command.args(["-c", setting]);
    }
    command.env_clear().envs(
        ENVIRONMENT
            .iter()
            .filter_map(|name| std::env::var_os(name).map(|value| (name, value))),
    );
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    command
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "none");
    command
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .env("GIT_LITERAL_PATHSPECS", "0");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "rebut")
            .env(format!("GIT_{who}_EMAIL"), "rebut@localhost");
    }
    // Ctrl-C at the terminal is for us, who end in order; git would die in the middle of a commit.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// Large trees are checked out within this time.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs a command with this input to its end.
pub fn output(command: &mut Command, input: &[u8]) -> Result<Output, AppError> {
    running::output(command, input, PATIENCE)
}

/// What it printed, if it ended well.
pub fn succeeded(doing: &str, output: Output) -> Result<String, AppError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(AppError::failed(format!(
        "git could not {doing}: {}",
        first_line(&output.stderr)
    )))
}
