//! A temporary worktree and branch `debate/<id>` of a user's repository. The user's checkout, index, settings and hooks are never touched,
//! and nothing the repository names is run: no hook, filter, watcher, helper, pager or other program.

mod names;
mod owner;
#[cfg(test)]
mod tests;

pub use names::check_name;

use super::{filters_of, first_line, without_filters};
use crate::{error::CliError, replacing::replace};
use owner::{Owned, Owner};
use rebut_engine::{
    DebateId,
    clean::{for_people, on_one_line},
};
use std::{
    ffi::OsStr,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// A worktree while it is there. Dropping it without [`Worktree::remove`] leaves it to the next [`clean_up`].
pub struct Worktree {
    owner: Owner,
}

/// Whether a branch outlives its worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// It goes too, unless somebody else has committed to it.
    Remove,
    /// It stays.
    Keep,
}

/// What every call says: no hooks, no watcher, no signatures, no other repository, links as plain files.
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

impl Worktree {
    /// Makes the worktree of a debate below `home`, at the last commit of the repository in `dir`, on a branch of its own.
    pub fn create(home: &Path, dir: &Path, debate: DebateId) -> Result<Self, CliError> {
        let top = succeeded("find the repository", git(dir, &["rev-parse", "--path-format=absolute", "--git-common-dir"], b"")?)
            .map_err(|error| error.hint("go to a directory of a git repository that is yours"))?;
        let repository = PathBuf::from(top.trim_end_matches(['\r', '\n']));
        let head = git(dir, &["rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}"], b"")?;
        if !head.status.success() {
            return Err(CliError::usage("this repository has no commit yet").hint("commit something first: git commit"));
        }
        let base = String::from_utf8_lossy(&head.stdout).trim().to_owned();
        let branch = format!("debate/{debate}");
        if git(dir, &["rev-parse", "--verify", "--quiet", "--end-of-options", &reference(&branch)], b"")?.status.success() {
            let hint = format!("it may hold an earlier try; remove it with: git branch -D {branch}");
            return Err(CliError::usage(format!("there is a branch {branch} already")).hint(hint));
        }
        let owned = Owned { repository, branch, tip: base.clone(), base };
        let worktree = Self { owner: Owner::take(home, debate, owned)? };
        if let Err(error) = worktree.add() {
            // Why it could not be made matters; what is left of it goes at the next start at the latest.
            let _ = worktree.remove(Branch::Remove);
            return Err(error);
        }
        Ok(worktree)
    }

    fn add(&self) -> Result<(), CliError> {
        let Owned { repository, branch, base, .. } = &self.owner.owned;
        let path = self.path();
        let args = ["worktree", "add", "--quiet", "--no-track", "--no-guess-remote", "-b", branch].map(OsStr::new);
        let args = [&args[..], &[OsStr::new("--"), path.as_os_str(), OsStr::new(base)]].concat();
        succeeded("make a worktree", git(repository, &args, b"")?).map(drop)
    }

    /// Where its files are.
    pub fn path(&self) -> PathBuf {
        self.owner.folder()
    }

    /// Its branch.
    pub fn branch(&self) -> &str {
        &self.owner.owned.branch
    }

    /// Commits a file of the worktree with that content, and gives the commit. Content that is there already makes a commit too: it is a step.
    pub fn snapshot(&mut self, name: &str, code: &str, message: &str) -> Result<String, CliError> {
        check_name(name)?;
        // First: where no such file can be, nothing is committed.
        replace(&self.path().join(name), code.as_bytes())?;
        let one =
            |doing: &str, args: &[&str], input: &[u8]| succeeded(doing, git(&self.path(), args, input)?).map(|hash| hash.trim().to_owned());
        let blob = one("keep the code", &["hash-object", "-w", "-t", "blob", "--no-filters", "--stdin"], code.as_bytes())?;
        one("enter the file", &["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{name}")], b"")?;
        let tree = one("keep the files", &["write-tree"], b"")?;
        let before = &self.owner.owned.tip;
        let words = format!("{}\n", on_one_line(message));
        let commit = one("commit", &["commit-tree", "--no-gpg-sign", "-p", before, &tree], words.as_bytes())?;
        one("move the branch", &["update-ref", &reference(self.branch()), &commit, before], b"")?;
        self.owner.moved(&commit)?;
        Ok(commit)
    }

    /// What all snapshots together changed, as a unified diff.
    #[allow(dead_code, reason = "for debates that work in a repository; only tests call it so far")]
    pub fn diff(&self) -> Result<String, CliError> {
        let Owned { base, tip, .. } = &self.owner.owned;
        self.say("show the change", &[super::DIFF, &[base, tip, "--"]].concat())
    }

    /// The commits of a file, newest first, a line each: hash, day, author, first line of the message.
    pub fn history(&self, name: &str) -> Result<String, CliError> {
        check_name(name)?;
        let form = "--format=%h %ad %an: %s";
        let args = ["log", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--date=short", "--max-count=100", form];
        self.say("show the history", &[&args[..], &[&self.owner.owned.tip, "--", &literal(name)]].concat())
    }

    /// Which commit each line of a file comes from.
    #[allow(dead_code, reason = "for debates that work in a repository; only tests call it so far")]
    pub fn blame(&self, name: &str) -> Result<String, CliError> {
        check_name(name)?;
        self.say("show who wrote what", &["blame", "--no-textconv", "--date=short", &self.owner.owned.tip, "--", name])
    }

    fn say(&self, doing: &str, args: &[&str]) -> Result<String, CliError> {
        // What a repository holds may come from anywhere.
        succeeded(doing, git(&self.path(), args, b"")?).map(|text| for_people(&text).into_owned())
    }

    /// Removes the worktree, and its branch unless it is to stay.
    pub fn remove(self, branch: Branch) -> Result<(), CliError> {
        remove(&self.owner.folder(), &self.owner.owned, branch)?;
        self.owner.release()
    }
}

/// Removes what is left of debates whose process is gone; says how many there were.
pub fn clean_up(home: &Path) -> Result<usize, CliError> {
    let dead = Owner::of_the_dead(home)?;
    let count = dead.len();
    for owner in dead {
        remove(&owner.folder(), &owner.owned, Branch::Remove)?;
        owner.release()?;
    }
    Ok(count)
}

/// Takes a worktree away, whatever of it is there.
fn remove(folder: &Path, owned: &Owned, branch: Branch) -> Result<(), CliError> {
    if owned.repository.is_dir() {
        // It may never have been made, or be gone already: what counts is that nothing is left, which is looked at below.
        git(
            &owned.repository,
            &[OsStr::new("worktree"), OsStr::new("remove"), OsStr::new("--force"), OsStr::new("--"), folder.as_os_str()],
            b"",
        )?;
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(CliError::file("remove", folder, &error)),
        _ => {}
    }
    if owned.repository.is_dir() && branch == Branch::Remove {
        // Only as we left it: what somebody else committed there stays.
        git(&owned.repository, &["update-ref", "-d", &reference(&owned.branch), &owned.tip], b"")?;
    }
    Ok(())
}

fn reference(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

fn literal(name: &str) -> String {
    format!(":(top,literal){name}")
}

/// Runs git in `dir` with nothing of the repository's own, nor of the user's.
fn git(dir: &Path, args: &[impl AsRef<OsStr>], input: &[u8]) -> Result<Output, CliError> {
    let filters = filters_of(output(safe(dir).args(["config", "-z", "--name-only", "--get-regexp", r"^filter\."]), b"")?);
    let mut command = safe(dir);
    without_filters(&mut command, &filters, 0);
    output(command.args(args), input)
}

fn safe(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.args(["--no-pager", "--no-optional-locks"]).current_dir(dir);
    for setting in SAFELY {
        command.args(["-c", setting]);
    }
    command.env_clear().envs(ENVIRONMENT.iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value))));
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("GIT_ATTR_NOSYSTEM", "1").env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none");
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C").env("GIT_LITERAL_PATHSPECS", "0");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "rebut").env(format!("GIT_{who}_EMAIL"), "rebut@localhost");
    }
    command
}

fn output(command: &mut Command, input: &[u8]) -> Result<Output, CliError> {
    let failed = |error: std::io::Error| CliError::failed(format!("cannot run git: {error}")).hint("install git");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    // None of our commands writes before it has read all, so neither waits for the other.
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(input) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => return Err(failed(error)),
            _ => {}
        }
    }
    child.wait_with_output().map_err(failed)
}

fn succeeded(doing: &str, output: Output) -> Result<String, CliError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(CliError::failed(format!("git could not {doing}: {}", first_line(&output.stderr))))
}
