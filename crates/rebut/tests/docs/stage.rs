//! Running a block: a copy of the examples, an empty database and home, and `rebut` first on the
//! path.

use crate::{
    blocks::{Block, Step, is_shown},
    root,
};
use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

/// Commands that are shown but not run here: they build or check the repository itself.
const NOT_RUN: &[&str] = &["./check", "cargo install --path crates/rebut"];

/// How the documents run the program from a clone; here it is built already.
const FROM_A_CLONE: &str = "cargo run --release -p rebut -- ";

/// Runs a block; the error says where it stands and what is wrong.
pub fn play(block: &Block) -> Result<(), String> {
    let stage = tempfile::tempdir().expect("a folder");
    set(stage.path());
    let ports = PORTS.map(|_| free_port());
    let mut beside = Vec::new();
    for (number, step) in block.steps.iter().enumerate() {
        if NOT_RUN.contains(&step.command.as_str()) {
            continue;
        }
        let last = number + 1 == block.steps.len();
        let step = on_ports(step, &ports);
        let played = match step.command.strip_suffix(" &") {
            Some(command) => Beside::start(command, &step.shown, stage.path())
                .map(|started| beside.push(started)),
            None => check(&step, if last { block.exit } else { 0 }, stage.path()),
        };
        played.map_err(|wrong| format!("{}: {wrong}", block.place))?;
    }
    beside
        .into_iter()
        .try_for_each(Beside::stop)
        .map_err(|wrong| format!("{}: {wrong}", block.place))
}

/// The ports in the documents. Here they are others, since somebody may use those.
const PORTS: [&str; 2] = ["7878", "7979"];

fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener
        .local_addr()
        .expect("an address")
        .port()
        .to_string()
}

fn on_ports(step: &Step, ports: &[String; 2]) -> Step {
    // Through something that is no number: a free port may look like one of the others.
    let marked = |text: &str| {
        PORTS
            .iter()
            .enumerate()
            .fold(text.to_owned(), |text, (at, port)| {
                text.replace(port, &format!("<port {at}>"))
            })
    };
    let real = |text: &str| {
        ports
            .iter()
            .enumerate()
            .fold(marked(text), |text, (at, port)| {
                text.replace(&format!("<port {at}>"), port)
            })
    };
    Step {
        command: real(&step.command),
        shown: step.shown.iter().map(|line| real(line)).collect(),
    }
}

/// A command that ends with `&`: it runs beside the others, and ends well when it is told to.
struct Beside {
    command: String,
    child: Child,
}

impl Beside {
    /// Starts it and waits until it has said, on standard error, what is shown of it.
    fn start(command: &str, shown: &[String], stage: &Path) -> Result<Self, String> {
        let mut bash = bash(&format!("exec {command}"), stage);
        let mut child = bash
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("bash");
        let mut errors = BufReader::new(child.stderr.take().expect("piped"));
        let started = Self {
            command: command.to_owned(),
            child,
        };
        let mut said = String::new();
        while shown.iter().any(|line| !is_shown(line, &said)) {
            if errors.read_line(&mut said).expect("text") == 0 {
                return Err(format!(
                    "`{command} &` does not print\n  {}\nbut\n{said}",
                    shown.join("\n  ")
                ));
            }
        }
        // Read on, so that the pipe cannot fill up; it ends with the process.
        std::thread::spawn(move || errors.lines().map_while(Result::ok).for_each(drop));
        Ok(started)
    }

    fn stop(mut self) -> Result<(), String> {
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -TERM {}", self.child.id())])
            .status();
        assert!(
            sent.expect("a shell").success(),
            "`{}` has ended by itself",
            self.command
        );
        let status = self.child.wait().expect("a process");
        if status.success() {
            Ok(())
        } else {
            Err(format!(
                "`{} &` ended with {status} when it was told to stop",
                self.command
            ))
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // A test that failed must not leave a process behind; one that has ended cannot be killed,
        // which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn set(stage: &Path) {
    for folder in ["home/.config/rebut", "project"] {
        fs::create_dir_all(stage.join(folder)).expect("a folder");
    }
    copy(&root().join("examples"), &stage.join("project/examples"));
    // A model server that happens to run on this machine must not answer.
    let nobody = ["ollama", "lmstudio", "llamacpp", "vllm"]
        .map(|name| format!("[providers.{name}]\nbase_url = \"http://127.0.0.1:9/v1\"\n"));
    fs::write(
        stage.join("home/.config/rebut/config.toml"),
        nobody.concat(),
    )
    .expect("a file");
}

/// Copies a folder; scripts lose their pauses, which are for people.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            let text = fs::read_to_string(entry.path()).expect("a text");
            let quick: String = text
                .lines()
                .filter(|line| !line.starts_with("!delay"))
                .map(|line| format!("{line}\n"))
                .collect();
            fs::write(target, quick).expect("a file");
        }
    }
}

fn check(step: &Step, exit: i32, stage: &Path) -> Result<(), String> {
    let command = step.command.replacen(FROM_A_CLONE, "rebut ", 1);
    if command.starts_with("cargo ") {
        return Err(format!(
            "`{command}` is not in the list of commands that are not run"
        ));
    }
    let output = run(&with_id(&command, stage), stage);
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if output.status.code() != Some(exit) {
        return Err(format!(
            "`{command}` ended with {}, not {exit}:\n{said}",
            output.status
        ));
    }
    let missing: Vec<&str> = step
        .shown
        .iter()
        .map(String::as_str)
        .filter(|line| !is_shown(line, &said))
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "`{command}` does not print\n  {}\nbut\n{said}",
            missing.join("\n  ")
        ))
    }
}

/// In the documents, the word `ID` stands for the newest debate.
fn with_id(command: &str, stage: &Path) -> String {
    if !command.split(' ').any(|word| word == "ID") {
        return command.to_owned();
    }
    let newest = run("rebut ls -n 1", stage);
    let id = String::from_utf8_lossy(&newest.stdout)
        .split(' ')
        .next()
        .unwrap_or_default()
        .to_owned();
    assert!(!id.is_empty(), "`{command}`: there is no debate yet");
    command
        .split(' ')
        .map(|word| if word == "ID" { id.as_str() } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

fn run(command: &str, stage: &Path) -> Output {
    bash(command, stage).output().expect("bash")
}

fn bash(command: &str, stage: &Path) -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_rebut"))
        .parent()
        .expect("a folder");
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        std::iter::once(built.to_owned()).chain(std::env::split_paths(&others)),
    )
    .expect("a path");
    let mut bash = Command::new("bash");
    bash.args(["-c", command])
        .current_dir(stage.join("project"))
        .stdin(Stdio::null());
    bash.env_clear()
        .env("PATH", path)
        .env("HOME", stage.join("home"))
        .env("REBUT_DATA", stage.join("data"))
        .env("USER", "you");
    bash
}
