//! The program in its own directory: run it, or start it and read its events as they come.

use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc::Receiver,
};
use tempfile::TempDir;

/// An installation: a data directory and a working directory of its own, and nothing of this
/// machine's environment.
pub struct Rebut {
    dir: TempDir,
    variables: Vec<(String, String)>,
}

/// What a run left behind.
#[derive(Debug)]
pub struct Output {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

/// A run under way, printing its events.
pub struct Started {
    child: Child,
    events: BufReader<ChildStdout>,
    stderr: Receiver<String>,
    said: String,
    /// Which debate.
    pub id: String,
}

impl Rebut {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["work", "bin", "tmp"] {
            fs::create_dir(dir.path().join(name)).expect("a directory");
        }
        Self {
            dir,
            variables: Vec::new(),
        }
    }

    /// Sets a variable for every later run.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Puts a shell script on the path, which has nothing else.
    pub fn program(&self, name: &str, script: &str) {
        let path = self.dir.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("a mode");
    }

    /// Writes the user's own configuration. Model servers that happen to run on this machine are
    /// out of reach.
    pub fn user_config(&self, text: &str) {
        let names = ["ollama", "lmstudio", "llamacpp", "vllm"];
        let nobody = names
            .map(|name| format!("[providers.{name}]\nbase_url = \"http://127.0.0.1:9/v1\"\n"))
            .concat();
        self.write("../.config/rebut/config.toml", &format!("{nobody}{text}"));
    }

    /// Writes the project's configuration, and trusts it as a user does who has read it.
    pub fn trusted_config(&self, text: &str) {
        self.write("rebut.toml", text);
        self.expect(0, &["trust", "--yes"]);
    }

    /// A path below the working directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Where notes of this machine are kept.
    pub fn state(&self) -> PathBuf {
        self.dir.path().join(".local/state/rebut")
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file below the working directory"))
            .expect("its directory");
        fs::write(path, text).expect("a file to write");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn command(&self, args: &[&str]) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_rebut"), args)
    }

    fn command_of(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        let below = |name: &str| self.dir.path().join(name);
        command
            .env_clear()
            .env("HOME", below(""))
            .env("PATH", below("bin"))
            .env("TMPDIR", below("tmp"));
        command.env("USER", "tester").env("REBUT_DATA", self.data());
        command
            .envs(self.variables.iter().cloned())
            .current_dir(self.path(""))
            .stdin(Stdio::null())
            .args(args);
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        Self::output_of(self.command(args))
    }

    /// Runs another program in its place, which is given these words.
    pub fn run_by(&self, program: &str, words: &[&str]) -> Output {
        Self::output_of(self.command_of(program, words))
    }

    /// Types a line into a shell that knows the program by its name.
    pub fn shell(&self, line: &str) -> Output {
        self.program(
            "rebut",
            &format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_rebut")),
        );
        Self::output_of(self.command_of("/bin/sh", &["-c", line]))
    }

    fn output_of(mut command: Command) -> Output {
        let output = command.output().expect("the program runs");
        let text = |bytes| String::from_utf8(bytes).expect("what is printed is UTF-8");
        let output = Output {
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            code: output.status.code().unwrap_or(-1),
        };
        assert!(
            !output.stderr.contains("panicked"),
            "{command:?}: {}",
            output.stderr
        );
        output
    }

    /// Runs and expects this exit code; gives standard output.
    pub fn expect(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(
            output.code, code,
            "{args:?}\n{}\n{}",
            output.stdout, output.stderr
        );
        output.stdout
    }

    pub fn json(&self, code: i32, args: &[&str]) -> Value {
        let text = self.expect(code, args);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error}\n{text}"))
    }

    /// The events of a debate.
    pub fn events(&self, id: &str) -> Vec<Value> {
        let text = self.expect(0, &["show", id, "--events"]);
        text.lines()
            .map(|line| serde_json::from_str(line).expect("an event a line"))
            .collect()
    }

    /// Starts a run with `--stream-json` and waits for its first event.
    pub fn start(&self, args: &[&str]) -> Started {
        self.begin(self.command(args), args)
    }

    /// The same by another program, which is given the command at the end of its own words.
    pub fn start_by(&self, program: &str, words: &[&str], args: &[&str]) -> Started {
        let words = [words, &[env!("CARGO_BIN_EXE_rebut")], args].concat();
        self.begin(self.command_of(program, &words), args)
    }

    fn begin(&self, mut command: Command, args: &[&str]) -> Started {
        let mut child = command
            .arg("--stream-json")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let events = BufReader::new(child.stdout.take().expect("piped"));
        let errors = BufReader::new(child.stderr.take().expect("piped"));
        let (lines, stderr) = std::sync::mpsc::channel();
        // Read beside the events, so that neither pipe can fill up; it ends with the process.
        std::thread::spawn(move || {
            errors
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| lines.send(line))
        });
        let mut started = Started {
            child,
            events,
            stderr,
            said: String::new(),
            id: String::new(),
        };
        let first = started
            .next()
            .unwrap_or_else(|| panic!("{args:?} printed no event"));
        started.id = first["debate_id"].as_str().expect("an id").to_owned();
        started
    }

    /// Whether any file of the installation holds these bytes.
    pub fn holds(&self, needle: &str) -> bool {
        !self.holding(needle).is_empty()
    }

    /// Every file of the installation that holds these bytes.
    pub fn holding(&self, needle: &str) -> Vec<PathBuf> {
        let mut files = files_below(self.dir.path());
        files.retain(|file| {
            fs::read(file)
                .expect("a readable file")
                .windows(needle.len())
                .any(|window| window == needle.as_bytes())
        });
        files
    }
}

impl Started {
    /// The next event, or `None` when the program closed its output.
    pub fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.events.read_line(&mut line).expect("readable output");
        (read > 0)
            .then(|| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Reads events until one fits.
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.next().expect("the awaited event comes before the end");
            if fits(&event) {
                return event;
            }
        }
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once, as a power cut of the process would.
    pub fn kill(mut self) {
        self.child.kill().expect("a process to kill");
        self.child.wait().expect("a killed process");
    }

    /// Sends `INT` or `TERM`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -{name} {}", self.child.id())])
            .status();
        assert!(sent.expect("a shell").success());
    }

    /// Waits until standard error says this.
    pub fn await_stderr(&mut self, text: &str) {
        loop {
            let line = self
                .stderr
                .recv()
                .unwrap_or_else(|_| panic!("{text:?} was never said:\n{}", self.said));
            self.said.push_str(&format!("{line}\n"));
            if line.contains(text) {
                return;
            }
        }
    }

    /// Waits for its end; gives exit code and standard error.
    pub fn finish(mut self) -> (i32, String) {
        while self.next().is_some() {}
        let code = self.child.wait().expect("a process").code().unwrap_or(-1);
        let rest: Vec<String> = self.stderr.iter().collect();
        (code, format!("{}{}\n", self.said, rest.join("\n")))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // A test that failed must not leave a process behind; one that has ended cannot be killed,
        // which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that speaks like claude: tells its version, else prints these lines as its result.
pub fn claude_like(before: &str, result: &Value) -> String {
    let result = result.to_string().replace('\'', "'\\''");
    format!(
        "if [ \"$1\" = --version ]; then echo '2.1.9 (Claude Code)'; exit; fi\n{before}\nprintf \
         '%s\\n' '{result}'"
    )
}

/// The event with which claude ends, holding this answer.
pub fn claude_result(answer: &str) -> Value {
    let answer: Value = serde_json::from_str(answer).expect("an answer in JSON");
    serde_json::json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "", "structured_output": answer, "total_cost_usd": 0.01,
        "usage": {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 5},
        "modelUsage": {"claude-haiku-test": {}},
    })
}

/// A script: headings with what is said there; lines that start with `!` are commands to the
/// script.
pub fn script(replies: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (heading, reply) in replies {
        text.push_str(&format!("## {heading}\n"));
        let (commands, said): (Vec<&str>, Vec<&str>) =
            reply.lines().partition(|line| line.starts_with('!'));
        commands
            .iter()
            .for_each(|command| text.push_str(&format!("{command}\n")));
        if !said.is_empty() {
            text.push_str(&format!("~~~~~\n{}\n~~~~~\n", said.join("\n")));
        }
    }
    text
}

/// A blind recommendation.
pub fn recommends(option: &str) -> String {
    format!(
        r#"{{"option":"{option}","confidence":0.8,"summary":"{option} is best","claims":["{option} one","{option} two"]}}"#
    )
}

/// An answer in round 2 of a panel of three. `convinced_by` are claims such as `J3#1`.
pub fn responds(option: &str, convinced_by: &[&str]) -> String {
    let challenges: Vec<String> = (1..=3)
        .map(|judge| format!(r#"{{"claim":"J{judge}#1","verdict":"attack","text":"not enough"}}"#))
        .collect();
    let reason = if convinced_by.is_empty() {
        ""
    } else {
        "that is new to me"
    };
    format!(
        r#"{{"option":"{option}","confidence":0.7,"summary":"{option} it is","claims":["{option} three"],
            "challenges":[{}],"convinced_by":{convinced_by:?},"change_reason":"{reason}"}}"#,
        challenges.join(",")
    )
}

/// A three-way split after which `risk` is convinced by `effort`: C by 2 of 3 after six calls.
pub fn split_then_c() -> Vec<(&'static str, String)> {
    vec![
        ("recommend/risk", recommends("A")),
        ("recommend/value", recommends("B")),
        ("recommend/effort", recommends("C")),
        ("challenge 2/risk", responds("C", &["J3#1"])),
        ("challenge 2/value", responds("B", &[])),
        ("challenge 2/effort", responds("C", &[])),
    ]
}

/// [`script`] for owned replies.
pub fn script_of(replies: &[(&str, String)]) -> String {
    script(
        &replies
            .iter()
            .map(|(heading, reply)| (*heading, reply.as_str()))
            .collect::<Vec<_>>(),
    )
}

/// The same case for every test: three options, a fixed seed, the script `debate.md`.
pub const CASE: &[&str] = &[
    "decide",
    "Offline support?",
    "-O",
    "A=Online only",
    "-O",
    "B=Full offline",
    "-O",
    "C=Limited offline",
    "--seed",
    "7",
    "-m",
    "script:debate.md",
];

/// [`CASE`] with more flags.
pub fn case<'a>(more: &[&'a str]) -> Vec<&'a str> {
    CASE.iter().copied().chain(more.iter().copied()).collect()
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(files_below(&path))
        } else {
            files.push(path)
        }
    }
    files
}
