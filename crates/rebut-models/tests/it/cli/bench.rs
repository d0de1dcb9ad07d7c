//! A machine of its own for a test: programs, a home, a temporary directory; and a look at what is
//! left afterwards.

use crate::asking::Asking;
use rebut_engine::model::{Answer, Fault, Model, Request};
use rebut_models::cli::{CliData, Clis};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;

pub struct Bench {
    root: TempDir,
    pub variables: BTreeMap<String, String>,
}

impl Bench {
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        let below = |name: &str| root.path().join(name).display().to_string();
        for name in ["bin", "tmp", "home", "seen"] {
            fs::create_dir(below(name)).expect("a directory");
        }
        let path = format!(
            "{}:{}",
            below("bin"),
            std::env::var("PATH").expect("a PATH")
        );
        let variables = [
            ("PATH", path),
            ("HOME", below("home")),
            ("TMPDIR", below("tmp")),
        ];
        Self {
            variables: variables
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            root,
        }
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Puts a shell script into `PATH`.
    pub fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// A program that writes down how it was called, then prints this.
    pub fn recorder(&self, name: &str, version: &str, prints: &str) {
        let seen = self.path("seen").display().to_string();
        fs::write(self.path("prints"), prints).expect("a file");
        let script = format!(
            "if [ \"$1\" = --version ]; then echo '{version}'; exit; fi\nfor arg; do printf \
             '%s\\0' \"$arg\"; done > {seen}/argv\n\
             env -0 > {seen}/env\ncat > {seen}/stdin\ncp -r . {seen}/work\ncp -r \"$HOME\" \
             {seen}/home\nls -ld . > {seen}/mode\npwd > {seen}/pwd\n\
             cat {}\n",
            self.path("prints").display()
        );
        self.program(name, &script);
    }

    /// What a recorder wrote down.
    pub fn seen(&self, name: &str) -> String {
        fs::read_to_string(self.path("seen").join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn seen_list(&self, name: &str) -> Vec<String> {
        self.seen(name)
            .split_terminator('\0')
            .map(str::to_owned)
            .collect()
    }

    pub fn clis(&self, config: &str) -> Result<Clis, Fault> {
        let config: BTreeMap<String, CliData> = toml::from_str(config).expect("valid TOML");
        Clis::new(&config, &|name| self.variables.get(name).cloned())
    }

    pub fn open(&self, config: &str, name: &str) -> Arc<dyn Model> {
        self.clis(config)
            .and_then(|clis| clis.open(name))
            .unwrap_or_else(|fault| panic!("{name}: {fault}"))
    }

    /// Fails when a process or a directory of a call is still there.
    pub fn is_clean(&self, what: &str) {
        let left: Vec<String> = processes_with(self.root.path());
        assert!(left.is_empty(), "{what}: still running: {left:?}");
        let left: Vec<_> = fs::read_dir(self.path("tmp"))
            .expect("the directory")
            .flatten()
            .map(|entry| entry.path())
            .collect();
        assert!(left.is_empty(), "{what}: still there: {left:?}");
    }
}

pub async fn ask(model: &dyn Model, asking: &Asking, time_left: Duration) -> Result<Answer, Fault> {
    model
        .ask(Request {
            time_left,
            ..asking.request("recommend/risk", 1)
        })
        .await
}

/// Living processes that have a path in their environment or command line.
fn processes_with(path: &Path) -> Vec<String> {
    let needle = path.as_os_str().as_encoded_bytes();
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let number = entry.file_name().to_string_lossy().into_owned();
        if number == own || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let (line, environment) = (read("cmdline"), read("environ"));
        if [&line, &environment]
            .into_iter()
            .any(|bytes| bytes.windows(needle.len()).any(|window| window == needle))
        {
            found.push(format!("{number} {}", String::from_utf8_lossy(&line)));
        }
    }
    found
}
