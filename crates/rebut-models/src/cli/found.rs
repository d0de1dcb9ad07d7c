//! Which CLIs are on this machine, in which version, and whether somebody is signed in.

use super::{
    Cli, Clis,
    data::OutputData,
    reading::Reader,
    running::{self, Limits},
};
use rebut_engine::{clean, model::Fault};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{process::Command, task::JoinSet};

/// A CLI that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliInfo {
    /// Its name, as in `cli:NAME`.
    pub name: String,
    /// Where the program is.
    pub program: PathBuf,
    /// Its version, where it was asked and told.
    pub version: Option<String>,
    /// Whether somebody is signed in; `None` when that cannot be seen.
    pub signed_in: Option<bool>,
    /// What to do; empty when nothing is.
    pub hint: String,
}

const VERSION_LIMIT: Duration = Duration::from_secs(5);

impl Clis {
    /// The CLIs that are installed. Only looks at files.
    pub fn found(&self) -> Vec<CliInfo> {
        self.clis.values().filter_map(|cli| cli.info()).collect()
    }

    /// The same, each asked for its version, all at once.
    pub async fn with_versions(&self) -> Vec<CliInfo> {
        let mut infos = self.found();
        let mut asking = JoinSet::new();
        for info in &infos {
            if let Some(cli) = self.clis.get(&info.name).cloned() {
                asking.spawn(async move { (cli.name.clone(), cli.version().await) });
            }
        }
        for (name, version) in asking.join_all().await {
            if let Some(info) = infos.iter_mut().find(|info| info.name == name) {
                info.version = version;
            }
        }
        infos
    }
}

impl Cli {
    /// The program's file.
    pub(super) fn program(&self) -> Result<PathBuf, Fault> {
        let found = if self.command.contains(std::path::MAIN_SEPARATOR) {
            Some(PathBuf::from(&self.command)).filter(|path| is_executable(path))
        } else {
            let path = self
                .passed
                .get("PATH")
                .map(String::as_str)
                .unwrap_or_default();
            // A relative entry would lead into the agent's own directory.
            let mut places = std::env::split_paths(path)
                .filter(|place| place.is_absolute())
                .map(|place| place.join(&self.command));
            places.find(|path| is_executable(path))
        };
        found.ok_or_else(|| {
            let message = format!(
                "the program `{}` was not found; install it or set `command` under [clis.{}]",
                self.command, self.name
            );
            self.fault(rebut_engine::model::FaultKind::Unavailable, &message)
        })
    }

    fn info(&self) -> Option<CliInfo> {
        let signed_in = self.is_signed_in();
        let hint = if signed_in == Some(true) {
            None
        } else {
            self.data.login.clone()
        };
        Some(CliInfo {
            name: self.name.clone(),
            program: self.program().ok()?,
            version: None,
            signed_in,
            hint: hint.unwrap_or_default(),
        })
    }

    /// By a variable or a file. On a Mac the login may be in the keychain, which is not looked
    /// into.
    pub(super) fn is_signed_in(&self) -> Option<bool> {
        let home = self.user_home.as_deref().map(Path::new);
        let has_file = || {
            self.data
                .login_files
                .iter()
                .flatten()
                .any(|file| home.is_some_and(|home| home.join(file).exists()))
        };
        if self.has_key() || has_file() {
            return Some(true);
        }
        let is_told = self.data.key_vars.is_some() || self.data.login_files.is_some();
        (is_told && !cfg!(target_os = "macos")).then_some(false)
    }

    /// Its version, asked once.
    pub(super) async fn version(&self) -> Option<String> {
        self.version
            .get_or_init(|| self.ask_version())
            .await
            .clone()
    }

    /// A program that does not tell its version is used without.
    async fn ask_version(&self) -> Option<String> {
        let args = self.data.version_args.as_deref()?;
        let place = self.place(&[]).ok()?;
        let paths = place.paths();
        let mut command = Command::new(self.program().ok()?);
        command.args(args).current_dir(place.dir()).env_clear();
        command.envs(
            self.passed
                .iter()
                .filter(|(name, _)| ["PATH", "LANG"].contains(&name.as_str())),
        );
        command
            .envs([("HOME", &paths.home), ("TMPDIR", &paths.tmp)])
            .env("TERM", "dumb")
            .env("NO_COLOR", "1");
        let limits = Limits {
            total: VERSION_LIMIT,
            idle: VERSION_LIMIT,
            grace: Duration::ZERO,
        };
        let text = OutputData::default();
        let finished = running::run(command, paths.mark(), None, limits, Reader::new(&text))
            .await
            .ok()?;
        version_in(&finished.reader.text())
    }
}

/// The first word that looks like a version.
fn version_in(text: &str) -> Option<String> {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_start_matches('v').trim_matches([',', '(', ')']));
    let looks_so =
        |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    words
        .take(50)
        .find(looks_so)
        .map(|word| clean::shortened(word, 30).into_owned())
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn versions_are_told_in_many_ways() {
        let rows = [
            ("2.1.325 (Claude Code)", Some("2.1.325")),
            ("codex-cli 0.166.0", Some("0.166.0")),
            ("v1.18.33\n", Some("1.18.33")),
            ("hello", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(version_in(text).as_deref(), expected, "{text}");
        }
    }
}
