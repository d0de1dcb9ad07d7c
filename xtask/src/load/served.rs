//! The server under load: the release binary with a database on disk, a model server, and a key.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// So many calls are under way at once: a machine has only so many ports.
pub const CALLS_AT_ONCE: u64 = 3_000;

/// The release binary with its configuration and a key, in a folder.
pub struct Installed {
    program: PathBuf,
    folder: PathBuf,
    /// What lets in.
    pub token: String,
}

/// A running server; it ends with this value.
pub struct Served {
    child: Child,
    /// Where it listens.
    pub address: String,
}

impl Installed {
    /// Builds it if it is not up to date, and puts its things into that folder.
    pub fn new(folder: &Path, endpoint: &str) -> Result<Self, String> {
        let mut installed = Self {
            program: crate::perf::binary::built()?,
            folder: folder.to_owned(),
            token: String::new(),
        };
        let settings = format!(
            "[defaults]\ncalls_per_provider = {CALLS_AT_ONCE}\n\n[providers.perf]\nbase_url = \
             \"{endpoint}\"\n\n\
             [server]\nmodels = [\"perf:perf\"]\nrequests_per_minute = 10000000\nwatchers = \
             100000\n"
        );
        let config = folder.join(CONFIG);
        fs::write(&config, settings).map_err(|error| format!("{}: {error}", config.display()))?;
        let key = installed
            .command(&["keys", "add", "load", "--owner", OWNER, "--role", "admin"])
            .output();
        let key = key.map_err(|error| error.to_string())?;
        installed.token = String::from_utf8_lossy(&key.stdout).trim().to_owned();
        if installed.token.is_empty() {
            return Err(format!(
                "no key was made: {}",
                String::from_utf8_lossy(&key.stderr)
            ));
        }
        Ok(installed)
    }

    /// Starts a server over that database; without one, over a file of its own.
    pub fn serve(&self, database: Option<&str>) -> Result<Served, String> {
        let address = free_address()?;
        let mut command = self.command(&["serve", "--listen", &address]);
        if let Some(database) = database {
            command.env("REBUT_DATABASE", database);
        }
        let child = command
            .spawn()
            .map_err(|error| format!("the server does not start: {error}"))?;
        Ok(Served { child, address })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--config")
            .arg(self.folder.join(CONFIG))
            .arg("--data")
            .arg(self.folder.join("data"))
            .arg("--quiet")
            .args(arguments);
        // Nobody's own settings must take part.
        command
            .env("XDG_CONFIG_HOME", &self.folder)
            .env_remove("REBUT_CONFIG")
            .env_remove("REBUT_DATABASE");
        // Counts over all debates are for whoever runs the server.
        command
            .env("USER", OWNER)
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        command
    }
}

const CONFIG: &str = "server.toml";

/// Who runs the server, and whose the debates are.
const OWNER: &str = "load";

impl Served {
    /// The most memory it ever had, in MiB.
    pub fn peak_memory(&self) -> Result<f64, String> {
        crate::perf::measure::status_of(self.child.id(), "VmHWM:")
    }

    /// The memory it has now, in MiB.
    pub fn memory(&self) -> Result<f64, String> {
        crate::perf::measure::status_of(self.child.id(), "VmRSS:")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
fn free_address() -> Result<String, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    Ok(listener
        .local_addr()
        .map_err(|error| error.to_string())?
        .to_string())
}
