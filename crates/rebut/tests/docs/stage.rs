//! Running a block: a copy of the examples, an empty database and home, and `rebut` first on the path.

use crate::{
    blocks::{Block, Step, is_shown},
    root,
};
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

/// Commands that are shown but not run here: they build or check the repository itself.
const NOT_RUN: &[&str] = &["./check", "cargo install --path crates/rebut"];

/// How the documents run the program from a clone; here it is built already.
const FROM_A_CLONE: &str = "cargo run --release -p rebut -- ";

/// Runs a block; the error says where it stands and what is wrong.
pub fn play(block: &Block) -> Result<(), String> {
    let stage = tempfile::tempdir().expect("a folder");
    set(stage.path());
    for (number, step) in block.steps.iter().enumerate() {
        if NOT_RUN.contains(&step.command.as_str()) {
            continue;
        }
        let last = number + 1 == block.steps.len();
        check(step, if last { block.exit } else { 0 }, stage.path()).map_err(|wrong| format!("{}: {wrong}", block.place))?;
    }
    Ok(())
}

fn set(stage: &Path) {
    for folder in ["home/.config/rebut", "project"] {
        fs::create_dir_all(stage.join(folder)).expect("a folder");
    }
    copy(&root().join("examples"), &stage.join("project/examples"));
    // A model server that happens to run on this machine must not answer.
    let nobody =
        ["ollama", "lmstudio", "llamacpp", "vllm"].map(|name| format!("[providers.{name}]\nbase_url = \"http://127.0.0.1:9/v1\"\n"));
    fs::write(stage.join("home/.config/rebut/config.toml"), nobody.concat()).expect("a file");
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
            let quick: String = text.lines().filter(|line| !line.starts_with("!delay")).map(|line| format!("{line}\n")).collect();
            fs::write(target, quick).expect("a file");
        }
    }
}

fn check(step: &Step, exit: i32, stage: &Path) -> Result<(), String> {
    let command = step.command.replacen(FROM_A_CLONE, "rebut ", 1);
    if command.starts_with("cargo ") {
        return Err(format!("`{command}` is not in the list of commands that are not run"));
    }
    let output = run(&with_id(&command, stage), stage);
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() != Some(exit) {
        return Err(format!("`{command}` ended with {}, not {exit}:\n{said}", output.status));
    }
    let missing: Vec<&str> = step.shown.iter().map(String::as_str).filter(|line| !is_shown(line, &said)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("`{command}` does not print\n  {}\nbut\n{said}", missing.join("\n  "))) }
}

/// In the documents, the word `ID` stands for the newest debate.
fn with_id(command: &str, stage: &Path) -> String {
    if !command.split(' ').any(|word| word == "ID") {
        return command.to_owned();
    }
    let newest = run("rebut ls -n 1", stage);
    let id = String::from_utf8_lossy(&newest.stdout).split(' ').next().unwrap_or_default().to_owned();
    assert!(!id.is_empty(), "`{command}`: there is no debate yet");
    command.split(' ').map(|word| if word == "ID" { id.as_str() } else { word }).collect::<Vec<_>>().join(" ")
}

fn run(command: &str, stage: &Path) -> Output {
    let built = Path::new(env!("CARGO_BIN_EXE_rebut")).parent().expect("a folder");
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(built.to_owned()).chain(std::env::split_paths(&others))).expect("a path");
    let mut bash = Command::new("bash");
    bash.args(["-c", command]).current_dir(stage.join("project")).stdin(std::process::Stdio::null());
    bash.env_clear().env("PATH", path).env("HOME", stage.join("home")).env("REBUT_DATA", stage.join("data")).env("USER", "you");
    bash.output().expect("bash")
}
