//! The languages code can be written in: a table of data, and finding their toolchains on this
//! machine.

use crate::{builds::Builds, limits::Limits};
use rebut_engine::{
    clean::on_one_line,
    sandbox::{LANGUAGES, Refused},
    suggest::suggest,
};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, LazyLock},
    time::Duration,
};

/// A toolchain that was found: what it needs to be used in a cell.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// What the table says of its language.
    pub language: &'static Language,
    /// The program itself, past all that only chooses a version of it.
    pub program: PathBuf,
    /// The folders of the machine it needs besides the system's.
    pub folders: Vec<PathBuf>,
    /// What it calls its version, in one line.
    pub version: String,
    /// What was built with it before.
    pub(crate) builds: Arc<Builds>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Language {
    programs: Vec<String>,
    #[serde(default)]
    root: Vec<String>,
    executable: String,
    #[serde(default)]
    needs: Vec<String>,
    version: Vec<String>,
    /// The name of the file with the code.
    pub file: String,
    #[serde(default)]
    build: Vec<String>,
    run: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    memory_mib: u64,
    install: String,
}

static TABLE: LazyLock<BTreeMap<String, Language>> = LazyLock::new(|| {
    toml::from_str(include_str!("languages.toml"))
        .expect("the table is part of the program, and a test reads it")
});

/// How long a toolchain may take to say where it is.
const ASKING: Duration = Duration::from_secs(20);
/// Building has its own limits: compilers need more than what they compile.
pub(crate) const BUILD_SECONDS: u64 = 120;

/// The row of a language; an unknown one is refused.
pub fn language(name: &str) -> Result<&'static Language, Refused> {
    TABLE.get(name).ok_or_else(|| {
        let meant = suggest(name, LANGUAGES.iter().copied())
            .map_or_else(String::new, |meant| format!("did you mean `{meant}`? "));
        Refused {
            reason: format!(
                "`{}` is no language this program can run",
                on_one_line(name)
            ),
            fix: format!("{meant}it can be one of {}", LANGUAGES.join(", ")),
        }
    })
}

/// Finds the toolchain of a language by asking what this machine has.
pub async fn find(name: &str) -> Result<Toolchain, Refused> {
    let language = language(name)?;
    let missing = |reason: String| Refused {
        reason,
        fix: language.install.clone(),
    };
    let found = language
        .programs
        .iter()
        .chain(&language.needs)
        .map(|program| (program, on_path(program)));
    let found: Vec<_> = found.collect();
    if let Some((needed, _)) = found[language.programs.len()..]
        .iter()
        .find(|(_, path)| path.is_none())
    {
        return Err(missing(format!(
            "{name} cannot be run: `{needed}` is not installed"
        )));
    }
    let program = found[..language.programs.len()]
        .iter()
        .find_map(|(_, path)| path.clone());
    let program = program.ok_or_else(|| {
        missing(format!(
            "{name} cannot be run: `{}` is not installed",
            language.programs[0]
        ))
    })?;
    let said = |error: String| missing(format!("{name} cannot be run: {error}"));
    let folder = if language.root.is_empty() {
        let real = program
            .canonicalize()
            .map_err(|error| said(error.to_string()))?;
        real.parent()
            .and_then(Path::parent)
            .map(Path::to_owned)
            .ok_or_else(|| said("it is at the root of the machine".to_owned()))?
    } else {
        let asked = format!("{} {}", program.display(), language.root.join(" "));
        let fix = format!(
            "make `{asked}` work (with rustup, pyenv or nvm: choose a default version), or {}",
            language.install
        );
        let unusable = |error: String| Refused {
            reason: format!("{name} cannot be run: {error}"),
            fix,
        };
        PathBuf::from(ask(&program, &language.root).await.map_err(unusable)?)
    };
    let folder = folder
        .canonicalize()
        .map_err(|error| said(format!("{}: {error}", folder.display())))?;
    check_folder(&folder).map_err(said)?;
    let executable = fill(&language.executable, &folder, &program, "");
    let version = ask(Path::new(&executable), &language.version)
        .await
        .unwrap_or_else(|_| "of unknown version".to_owned());
    Ok(Toolchain {
        language,
        program: PathBuf::from(executable),
        folders: vec![folder],
        version,
        builds: Arc::default(),
    })
}

impl Toolchain {
    /// What builds the file; empty when it is run as it is.
    pub fn build(&self) -> Vec<String> {
        self.words(&self.language.build)
    }

    pub fn run(&self) -> Vec<String> {
        self.words(&self.language.run)
    }

    fn words(&self, words: &[String]) -> Vec<String> {
        words
            .iter()
            .map(|word| fill(word, self.folder(), &self.program, &self.language.file))
            .collect()
    }

    fn folder(&self) -> &Path {
        self.folders
            .first()
            .map_or(Path::new("/usr"), PathBuf::as_path)
    }

    /// What it must find in its environment.
    pub fn env(&self) -> Vec<(String, String)> {
        let own = self
            .language
            .env
            .iter()
            .map(|(name, value)| (name.clone(), fill(value, self.folder(), &self.program, "")));
        let bin = self
            .program
            .parent()
            .map_or_else(String::new, |folder| format!("{}:", folder.display()));
        own.chain([(
            "PATH".to_owned(),
            format!("{bin}/usr/local/bin:/usr/bin:/bin"),
        )])
        .collect()
    }

    /// The limits for running what is written in it.
    pub fn run_limits(&self, wall: Duration) -> Limits {
        Limits {
            wall,
            cpu: wall,
            memory: self.language.memory_mib << 20,
            ..Limits::default()
        }
    }

    pub fn build_limits(&self) -> Limits {
        let time = Duration::from_secs(BUILD_SECONDS);
        Limits {
            wall: time,
            cpu: time,
            memory: 2 << 30,
            processes: 256,
            file_bytes: 256 << 20,
            scratch_bytes: 512 << 20,
            scratch_files: 65_536,
            ..Limits::default()
        }
    }
}

fn fill(word: &str, folder: &Path, program: &Path, code: &str) -> String {
    word.replace("{folder}", &folder.display().to_string())
        .replace("{program}", &program.display().to_string())
        .replace("{code}", code)
}

/// Where a program is, along the search path; only absolute places count.
fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// The first line a program of this machine says. It is asked outside of any project, whose files
/// could choose another version.
async fn ask(program: &Path, arguments: &[String]) -> Result<String, String> {
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let said = tokio::time::timeout(ASKING, command.output())
        .await
        .map_err(|_| format!("{} does not answer", program.display()))?;
    let said = said.map_err(|error| format!("{}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let line = text
        .lines()
        .next()
        .map(on_one_line)
        .filter(|line| said.status.success() && !line.is_empty());
    let words: Vec<String> = String::from_utf8_lossy(&said.stderr)
        .lines()
        .map(on_one_line)
        .filter(|line| !line.is_empty())
        .collect();
    let words = if words.is_empty() {
        "nothing".to_owned()
    } else {
        words.join("; ").chars().take(300).collect()
    };
    line.ok_or_else(|| {
        format!(
            "{} {} says: {words}",
            program.display(),
            arguments.join(" ")
        )
    })
}

/// A toolchain's folder is shown to the cell. One that holds the user's home or the project is more
/// than a toolchain.
fn check_folder(folder: &Path) -> Result<(), String> {
    let own = [
        std::env::var_os("HOME").map(PathBuf::from),
        std::env::current_dir().ok(),
    ];
    let holds = own
        .into_iter()
        .flatten()
        .filter_map(|path| path.canonicalize().ok())
        .any(|path| path.starts_with(folder) && path != Path::new("/"));
    if holds || folder.parent().is_none() {
        return Err(format!(
            "it lives in {}, which holds more than it; install it in a folder of its own",
            folder.display()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_for_every_language_and_no_other() {
        let mut names: Vec<&str> = LANGUAGES.to_vec();
        names.sort_unstable();
        assert_eq!(TABLE.keys().map(String::as_str).collect::<Vec<_>>(), names);
        assert!(
            language("pyhton")
                .is_err_and(|refused| refused.fix.starts_with("did you mean `python`?"))
        );
    }

    #[test]
    fn a_folder_that_holds_more_than_a_toolchain_is_not_shown() {
        let here = std::env::current_dir()
            .expect("tests have a directory")
            .canonicalize()
            .expect("it exists");
        for folder in [
            Path::new("/"),
            &here,
            here.parent().expect("a crate is not the root"),
        ] {
            assert!(check_folder(folder).is_err(), "{}", folder.display());
        }
        assert_eq!(check_folder(Path::new("/usr")), Ok(()));
        assert_eq!(check_folder(&here.join("src")), Ok(()));
    }
}
