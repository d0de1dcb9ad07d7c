//! The program people start: the release binary with a configuration that names the model server.

use super::case::{OPTIONS, QUESTION};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The built binary and the folder it is started in.
pub struct Binary {
    program: PathBuf,
    folder: PathBuf,
}

impl Binary {
    /// Builds it if it is not up to date, and writes its configuration.
    pub fn new(folder: &Path, endpoint: &str) -> Result<Self, String> {
        let program = built()?;
        let folder = folder.join("binary");
        let configuration = format!("[providers.perf]\nbase_url = \"{endpoint}\"\n");
        let written = fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join("rebut.toml"), configuration));
        written.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { program, folder })
    }

    /// One debate on the command line.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // Named by hand: the provider of a folder's own file would wait for trust.
        command.arg("--config").arg(self.folder.join("rebut.toml"));
        command.args([
            "decide",
            QUESTION,
            "-m",
            "perf:perf",
            "--json",
            "--quiet",
            "--no-input",
            "--data",
            "data",
        ]);
        command.args(OPTIONS.iter().flat_map(|option| ["-O", option]));
        // Nobody's own settings must take part.
        command
            .env("XDG_CONFIG_HOME", &self.folder)
            .env_remove("REBUT_CONFIG")
            .current_dir(&self.folder);
        command
    }
}

/// The release binary, built if it is not up to date.
pub fn built() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--release", "--package", "rebut"])
        .current_dir(crate::root())
        .stdout(Stdio::null());
    // What cargo told this program about itself: some build scripts run anew when they see it, and
    // half the program is built again.
    let own = |name: &std::ffi::OsStr| {
        OF_THIS_PROGRAM
            .iter()
            .any(|start| name.to_string_lossy().starts_with(start))
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| own(name)) {
        build.env_remove(name);
    }
    match build.status() {
        Ok(status) if status.success() => {
            Ok(crate::root().join("target").join("release").join("rebut"))
        }
        Ok(status) => Err(format!("building the binary: {status}")),
        Err(error) => Err(format!("building the binary: {error}")),
    }
}

/// How the variables begin in which cargo describes the program that it runs.
const OF_THIS_PROGRAM: [&str; 2] = ["CARGO_PKG_", "CARGO_MANIFEST_"];
