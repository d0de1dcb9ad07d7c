//! Running the program as a user, a coding agent or a client of its server would, with an eye on
//! whether it ends.

use super::stage::{Notes, Stage};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::json;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    time::Duration,
};

/// Who needs longer than this waits for something that does not come. Only what hangs ever takes so
/// long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command as it was run.
pub struct Ran {
    pub name: String,
    /// Both streams.
    pub printed: String,
    pub ending: Ending,
}

/// How a process ended.
#[derive(Debug, PartialEq)]
pub enum Ending {
    Code(i32),
    Signal(i32),
    /// It did not.
    Hangs,
}

/// Commands that every repository is met with: a name, the arguments, and what is said on standard
/// input.
pub const USUAL: &[(&str, &[&str], Said)] = &[
    ("ls", &["ls"], Said::Nothing),
    ("config", &["config", "show"], Said::Nothing),
    ("roles", &["roles"], Said::Nothing),
    ("doctor", &["doctor"], Said::Nothing),
    // As the project would have it.
    (
        "question",
        &["Redis or Memcached for sessions?"],
        Said::Nothing,
    ),
    // With the user's own model: this must work.
    (
        "own-question",
        &[
            "decide",
            "Offline?",
            "-O",
            "A=Yes",
            "-O",
            "B=No",
            "-m",
            "mine:small",
            "--judges",
            "risk,value,effort",
        ],
        Said::Nothing,
    ),
    (
        "review",
        &["review", "--diff", "HEAD", "-m", "mine:small", "--no-edit"],
        Said::Nothing,
    ),
    (
        "stopped",
        &[
            "decide",
            "Offline?",
            "-O",
            "A=Yes",
            "-O",
            "B=No",
            "-m",
            "mine:small",
            "--max-calls",
            "1",
        ],
        Said::Nothing,
    ),
    (
        "resume",
        &["resume", "last", "--max-calls", "50"],
        Said::Nothing,
    ),
    (
        "hook-prompt",
        &["hook", "claude", "user-prompt-submit"],
        Said::ByAHost("UserPromptSubmit"),
    ),
    (
        "hook-stop",
        &["hook", "claude", "stop"],
        Said::ByAHost("Stop"),
    ),
];

/// What stands on standard input.
#[derive(Clone, Copy)]
pub enum Said {
    Nothing,
    /// A coding agent tells where it is and what was typed.
    ByAHost(&'static str),
}

/// Runs one of the usual commands.
pub fn usual(stage: &Stage, notes: &Notes, (name, args, said): (&str, &[&str], Said)) -> Ran {
    let mut command = stage.command(super::binary(), notes);
    command.args(args);
    let said = match said {
        Said::Nothing => String::new(),
        Said::ByAHost(event) => {
            let here = notes.start.clone().unwrap_or_else(|| stage.clone_dir());
            json!({"session_id": "s1", "cwd": here, "hook_event_name": event, "prompt": "Deploy \
                the app."})
            .to_string()
        }
    };
    run(name, command, &said)
}

/// Runs a line of a shell, in which the program is known by its name.
pub fn typed(stage: &Stage, notes: &Notes, line: &str) -> Ran {
    let mut command = stage.command(Path::new("/bin/sh"), notes);
    command.args(["-c", &format!("rebut() {{ \"$REBUT\" \"$@\"; }}; {line}")]);
    run(line, command, "")
}

fn run(name: &str, mut command: Command, said: &str) -> Ran {
    let stdin = if said.is_empty() {
        Stdio::null()
    } else {
        Stdio::piped()
    };
    // A group of its own, so that what it started ends with it.
    let spawned = command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        // The folder that the user stands in may be gone by now: that was told where it went.
        Err(error) => {
            return Ran {
                name: name.to_owned(),
                printed: error.to_string(),
                ending: Ending::Code(1),
            };
        }
    };
    let group = pid(&child);
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that ends without reading is none of the host's business.
        let _ = stdin.write_all(said.as_bytes());
    }
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait_with_output()));
    match end.recv_timeout(PATIENCE) {
        Ok(output) => {
            let output = output.expect("a process that was started ends");
            let printed =
                String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            Ran {
                name: name.to_owned(),
                printed,
                ending: ending(output.status),
            }
        }
        Err(_) => {
            // All of it may have ended at this very moment.
            let _ = kill_process_group(group, Signal::KILL);
            Ran {
                name: name.to_owned(),
                printed: String::new(),
                ending: Ending::Hangs,
            }
        }
    }
}

/// Starts a server there, asks it for a debate if it listens, and ends it.
pub fn served(stage: &Stage, notes: &Notes) -> Ran {
    let mut command = stage.command(super::binary(), notes);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--log", "json"])
        .stdin(Stdio::null());
    let Ok(mut child) = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
    else {
        return Ran {
            name: "serve".to_owned(),
            printed: String::new(),
            ending: Ending::Code(1),
        };
    };
    let (id, errors) = (pid(&child), child.stderr.take().expect("piped"));
    let (lines, log) = mpsc::channel();
    std::thread::spawn(move || {
        BufReader::new(errors)
            .lines()
            .map_while(Result::ok)
            .try_for_each(|line| lines.send(line))
    });
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait()));
    let mut printed = String::new();
    let mut take = |line: String| {
        printed.push_str(&format!("{line}\n"));
        let told: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        told["url"]
            .as_str()
            .filter(|_| told["event"] == "listening")
            .map(|url| url.trim_start_matches("http://").to_owned())
    };
    let mut address = None;
    while address.is_none() {
        let Ok(line) = log.recv_timeout(PATIENCE) else {
            break;
        };
        address = take(line);
    }
    let answered = address
        .map(|address| post(&address, &stage.data()))
        .unwrap_or_default();
    let _ = kill_process(id, Signal::TERM);
    let ending = match end.recv_timeout(PATIENCE) {
        Ok(status) => ending(status.expect("a process that was started ends")),
        Err(_) => Ending::Hangs,
    };
    // One that refused to start is gone already, and one that hangs must go.
    let _ = kill_process_group(id, Signal::KILL);
    log.iter().for_each(|line| drop(take(line)));
    Ran {
        name: "serve".to_owned(),
        printed: printed + &answered,
        ending,
    }
}

/// Asks a server for a debate and waits for its end.
fn post(address: &str, data: &Path) -> String {
    let token = std::fs::read_to_string(data.join("server.token")).unwrap_or_default();
    let option = |id: &str| json!({"id": id, "label": format!("Option {id}")});
    let judges =
        ["risk", "value", "effort"].map(|role| json!({"role": role, "model": "mine:small"}));
    let body = json!({"format": "decide", "input": {"question": "Offline?", "options": [option("A"), option("B")]}, "agents": judges});
    let body = body.to_string();
    let head = format!(
        "POST /v1/debates HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: \
         application/json\r\nPrefer: wait=30\r\n\
         Authorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
        token.trim(),
        body.len()
    );
    let mut answer = String::new();
    let asked = TcpStream::connect(address).and_then(|mut stream| {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(format!("{head}{body}").as_bytes())?;
        stream.read_to_string(&mut answer)
    });
    match asked {
        // The ends of its lines are HTTP's own.
        Ok(_) => answer.replace("\r\n", "\n"),
        Err(error) => format!("the server did not answer: {error}"),
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Code(code),
        (None, signal) => Ending::Signal(signal.unwrap_or_default()),
    }
}
