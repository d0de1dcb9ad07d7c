//! The server under load: the release binary with a database on disk, a model server, and a key.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
};

/// A running server; it ends with this value.
pub struct Served {
    child: Child,
    /// Where it listens.
    pub address: String,
    /// What lets in.
    pub token: String,
}

impl Served {
    /// Builds it if it is not up to date, and starts it in that folder.
    pub fn start(folder: &Path, endpoint: &str) -> Result<Self, String> {
        let program = crate::perf::binary::built()?;
        let config = folder.join("server.toml");
        let settings = format!(
            "[defaults]\ncalls_per_provider = 3000\n\n[providers.perf]\nbase_url = \"{endpoint}\"\n\n\
             [server]\nmodels = [\"perf:perf\"]\nrequests_per_minute = 10000000\nwatchers = 100000\n"
        );
        fs::write(&config, settings).map_err(|error| format!("{}: {error}", config.display()))?;
        let command = |arguments: &[&str]| {
            let mut command = Command::new(&program);
            command.arg("--config").arg(&config).arg("--data").arg(folder.join("data")).arg("--quiet").args(arguments);
            // Nobody's own settings must take part.
            command.env("XDG_CONFIG_HOME", folder).env_remove("REBUT_CONFIG").current_dir(folder).stdin(Stdio::null());
            command
        };
        let key = command(&["keys", "add", "load", "--owner", "load", "--role", "admin"]).output().map_err(|error| error.to_string())?;
        let token = String::from_utf8_lossy(&key.stdout).trim().to_owned();
        if token.is_empty() {
            return Err(format!("no key was made: {}", String::from_utf8_lossy(&key.stderr)));
        }
        let address = free_address()?;
        let child = command(&["serve", "--listen", &address]).spawn().map_err(|error| format!("the server does not start: {error}"))?;
        Ok(Self { child, address, token })
    }

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
    Ok(listener.local_addr().map_err(|error| error.to_string())?.to_string())
}
