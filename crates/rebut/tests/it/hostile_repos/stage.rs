//! A user's home with canaries in it, the clone among the user's projects, and what the attacker's
//! `make.sh` says of it.

use super::{foreign_host::ForeignHost, snapshot::Snapshot};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// Values that may be found nowhere but where they are.
pub const CANARIES: &[(&str, &str)] = &[
    ("the SSH key", "canary-ssh-5pQz81LmVt"),
    ("the AWS credentials", "canary-aws-9cXw27RbHy"),
    ("the shell's profile", "canary-bashrc-3jFk64NdUo"),
    ("the passwords of machines", "canary-netrc-8sGe15PaTi"),
    ("the settings of git", "canary-gitconfig-2hVb73KxQn"),
    ("the diary", "canary-diary-6wLr49CmZe"),
    (
        "the notes of another project",
        "canary-neighbour-1tYu58JfDs",
    ),
    ("a file that the user's deny names", DENIED),
    ("a private repository", REPOSITORY),
    ("the variable AWS_SECRET_ACCESS_KEY", AWS_VARIABLE),
    ("the variable GITHUB_TOKEN", "canary-githubtoken-0gTs94WnIa"),
    ("the key of openai", OPENAI_KEY),
    ("the key of the user's provider", OWN_KEY),
    ("the secret header of the user's provider", OWN_HEADER),
];
const DENIED: &str = "canary-denied-4vBn82SkWq";
const REPOSITORY: &str = "canary-repository-7eHc36XpLj";
const AWS_VARIABLE: &str = "canary-awsvariable-5mDz17GoRf";
/// What the user's own providers are sent, each its own.
pub const OPENAI_KEY: &str = "canary-openaikey-9aPk60VyBc";
pub const OWN_KEY: &str = "canary-ownkey-2nWi85TqEh";
pub const OWN_HEADER: &str = "canary-ownheader-8rCj31MuXd";

/// Everything around a clone.
pub struct Stage {
    dir: TempDir,
    case: PathBuf,
    row: Option<String>,
}

/// What make.sh says of its repository.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// More commands, as lines of a shell.
    pub also: Vec<String>,
    /// What those are asked to write, below the clone.
    pub may_write: Vec<String>,
    /// Commands and the codes of which they must end with one.
    pub must_end: Vec<(Vec<i32>, String)>,
    /// The usual commands that are run; empty for all.
    pub only: Vec<String>,
    /// Settings that must be told as ignored.
    pub ignored: Vec<String>,
    /// Words that are neither sent nor printed.
    pub never: Vec<String>,
    /// Whether commands may refuse to work at all.
    pub may_refuse: bool,
    /// Where the user stands.
    pub start: Option<PathBuf>,
    /// Why it cannot be made here.
    pub not_here: Option<String>,
}

impl Stage {
    /// Makes the home; the clone is empty as yet.
    pub fn new(case: &Path, row: Option<&str>, provider: &str) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("rebut-hostile-")
            .tempdir()
            .expect("a folder");
        let stage = Self {
            dir,
            case: case.to_owned(),
            row: row.map(str::to_owned),
        };
        for name in ["tmp", "bin", "notes", "shared"] {
            fs::create_dir(stage.dir.path().join(name)).expect("a folder");
        }
        fs::set_permissions(stage.shared(), fs::Permissions::from_mode(0o1777)).expect("a mode");
        for name in [
            ".local/share/rebut",
            ".local/state/rebut",
            "private",
            "projects/clone",
        ] {
            fs::create_dir_all(stage.home().join(name)).expect("a folder");
        }
        for (name, text) in home_files(provider) {
            stage.write(name, &text);
        }
        fs::set_permissions(
            stage.home().join(".ssh/id_ed25519"),
            fs::Permissions::from_mode(0o600),
        )
        .expect("a mode");
        let git = stage.dir.path().join("bin/git");
        fs::write(
            &git,
            format!("#!/bin/sh\nexec '{}' \"$@\"\n", program("git")),
        )
        .expect("a script");
        fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).expect("a mode");
        stage
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.home().join(name);
        fs::create_dir_all(path.parent().expect("a file below the home")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn clone_dir(&self) -> PathBuf {
        self.home().join("projects/clone")
    }

    fn shared(&self) -> PathBuf {
        self.dir.path().join("shared")
    }

    /// Where rebut itself keeps things, which is its own business.
    pub fn data(&self) -> PathBuf {
        self.home().join(".local/share/rebut")
    }

    /// Runs make.sh, and gives what it says, or why it failed.
    pub fn make(&self, host: &ForeignHost, provider: &str) -> Result<Notes, String> {
        let notes = self.dir.path().join("notes");
        let mut command = Command::new("sh");
        let script = r#". "$LIB"; . "$CASE/make.sh""#;
        command
            .args(["-c", script])
            .current_dir(self.clone_dir())
            .stdin(Stdio::null());
        command
            .env("LIB", self.case.with_file_name("lib.sh"))
            .env("CASE", &self.case)
            .env("NOTES", &notes);
        command
            .env("HOME", self.home())
            .env("CLONE", self.clone_dir())
            .env("SHARED", self.shared());
        command
            .env("EVIL", host.address())
            .env("EVIL_PORT", host.port().to_string())
            .env("USER_PROVIDER", provider);
        command.env(
            "USER_HOST",
            provider
                .trim_start_matches("http://")
                .trim_end_matches("/v1"),
        );
        command
            .env("REBUT", super::binary())
            .env("EXAMPLES", super::examples())
            .env("ROW", self.row.as_deref().unwrap_or_default());
        command
            .env("CANARY_DENIED", DENIED)
            .env("CANARY_REPOSITORY", REPOSITORY)
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let made = command.output().expect("a shell");
        if !made.status.success() {
            return Err(format!(
                "make.sh fails: {}",
                String::from_utf8_lossy(&made.stderr).trim_end()
            ));
        }
        Ok(Notes::read(&notes))
    }

    /// Everything of the user's but rebut's own data.
    pub fn snapshot(&self) -> (Snapshot, Snapshot) {
        (
            Snapshot::of(
                &self.home(),
                &[self.data(), self.home().join(".local/state/rebut")],
            ),
            Snapshot::of(&self.shared(), &[]),
        )
    }

    /// A path for people.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.dir.path())
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// The program with the user's environment, where the user stands.
    pub fn command(&self, program: &Path, notes: &Notes) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", self.dir.path().join("bin"))
            .env("TMPDIR", self.dir.path().join("tmp"));
        command
            .env("USER", "tester")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("REBUT", super::binary())
            .env("EXAMPLES", super::examples());
        command
            .env("OPENAI_API_KEY", OPENAI_KEY)
            .env("MY_KEY", OWN_KEY)
            .env("AWS_SECRET_ACCESS_KEY", AWS_VARIABLE);
        command.env("GITHUB_TOKEN", "canary-githubtoken-0gTs94WnIa");
        command.current_dir(notes.start.clone().unwrap_or_else(|| self.clone_dir()));
        command
    }
}

impl Notes {
    fn read(dir: &Path) -> Self {
        let text = |name: &str| fs::read_to_string(dir.join(name)).ok();
        let lines = |name: &str| {
            text(name)
                .unwrap_or_default()
                .lines()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let ends = |line: String| {
            let (codes, command) = line.split_once(' ').expect("codes and a command");
            (
                codes
                    .split(',')
                    .map(|code| code.parse().expect("a code"))
                    .collect(),
                command.to_owned(),
            )
        };
        Self {
            also: lines("also"),
            may_write: lines("may_write"),
            must_end: lines("must_end").into_iter().map(ends).collect(),
            only: lines("only"),
            ignored: lines("ignored"),
            never: lines("never"),
            may_refuse: dir.join("may_refuse").exists(),
            start: text("start").map(|path| PathBuf::from(path.trim_end())),
            not_here: text("not_here"),
        }
    }
}

/// The files of the home.
fn home_files(provider: &str) -> Vec<(&'static str, String)> {
    let of = |what: &str| {
        CANARIES
            .iter()
            .find(|(name, _)| *name == what)
            .map(|(_, value)| *value)
            .expect("a canary of that name")
    };
    let key = format!(
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
        of("the SSH key")
    );
    let diary = of("the diary");
    let problem = format!(
        r#"{{"id":"1","task":"{diary}","language":"python","entry":"f","tests":"assert f() == 1"}}"#
    );
    vec![
        (".ssh/id_ed25519", key),
        (
            ".aws/credentials",
            format!(
                "[default]\naws_secret_access_key = {}\n",
                of("the AWS credentials")
            ),
        ),
        (
            ".bashrc",
            format!("export TOKEN={}\n", of("the shell's profile")),
        ),
        (
            ".netrc",
            format!(
                "machine example.org login me password {}\n",
                of("the passwords of machines")
            ),
        ),
        (
            ".gitconfig",
            format!(
                "[user]\n\tname = tester\n\temail = tester@example.org\n[init]\n\tdefaultBranch = \
                 main\n[commit]\n\tgpgSign = false\n\
                 [github]\n\ttoken = {}\n",
                of("the settings of git")
            ),
        ),
        (".config/rebut/config.toml", user_config(provider)),
        ("private/diary.md", format!("Dear diary, {diary}\n")),
        ("private/wishes.yaml", format!("- {diary}\n")),
        ("private/problems.jsonl", format!("{problem}\n")),
        (
            "private/question.md",
            format!("# {diary}\n\n- A: one\n- B: two\n"),
        ),
        ("roles/wishes.md", format!("I wish {diary}\n")),
        (
            "projects/neighbour/notes.md",
            format!("{}\n", of("the notes of another project")),
        ),
    ]
}

/// The user's own settings: a provider with a key and a secret header, a gateway to another, a
/// usual panel, hooks that are on.
fn user_config(provider: &str) -> String {
    let gateway = provider.replace("/v1", "/gateway/v1");
    let nobody = ["ollama", "lmstudio", "llamacpp", "vllm"]
        .map(|name| format!("[providers.{name}]\nbase_url = \"http://127.0.0.1:9/v1\"\n"));
    let members = ["risk", "value", "effort"].map(|role| {
        format!("[[panels.usual.members]]\nrole = \"{role}\"\nmodel = \"mine:small\"\n")
    });
    format!(
        "[defaults]\npanel = \"usual\"\n[providers.mine]\nbase_url = \"{provider}\"\nkey_env = \
         \"MY_KEY\"\n\
         headers = {{ x-team-token = \"{OWN_HEADER}\" }}\n[providers.mine.prices]\nsmall = {{ \
         input = 0.1, output = 0.1 }}\n\
         dear = {{ input = 1000000.0, output = 1000000.0 }}\n[providers.openai]\nbase_url = \
         \"{gateway}\"\n\
         [context]\ndeny = [\"customer*\"]\n\
         [hook]\nenabled = true\nmodel = \"mine:small\"\n[server]\nmodels = [\"mine:small\"]\n{}{}",
        nobody.concat(),
        members.concat()
    )
}

/// Where a program of this machine is.
fn program(name: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", "command -v \"$0\"", name])
        .output()
        .expect("a shell");
    String::from_utf8(output.stdout)
        .expect("a path")
        .trim_end()
        .to_owned()
}
