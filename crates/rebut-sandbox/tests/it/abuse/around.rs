//! Cases about what a program leaves behind or plants: processes, files, output, modules.

use super::{Case, Ends, Program, USUAL};
use rebut_engine::{clean::on_one_line, sandbox::End};
use rebut_sandbox::{Ended, Given};

/// What is asked for after every case; only case 31 makes any of it.
pub const WANTED: &[&str] = &[
    "good.txt",
    "link",
    "hard",
    "pipe",
    "folder",
    "folder/up",
    "socket",
    "device",
    "secret",
];

/// Files of every case that only case 40 uses.
pub fn planted() -> Vec<Given> {
    let code = "import socket\nprint('planted', socket.gethostname())\n";
    vec![
        Given::text("plants/json.py", code),
        Given::text("plants/sitecustomize.py", code),
        Given::text("plants/conftest.py", code),
    ]
}

const fn left(number: u8, name: &'static str, program: Program, says: &'static str) -> Case {
    Case {
        number,
        name,
        program,
        limits: USUAL,
        ends: Ends::With(End::Exited(0)),
        says,
        outside: None,
    }
}

pub const CASES: &[Case] = &[
    left(
        21,
        "a daemon that holds standard output",
        Program::Python(
            "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n    \
             os._exit(0)\n\
             os.wait(); print('main is done', flush=True); os._exit(0)",
        ),
        "main is done\n",
    ),
    left(
        31,
        "links and pipes among the results",
        Program::Shell(
            "echo good > good.txt; ln -s /etc/passwd link; echo a > a; ln a hard; mkfifo pipe; \
             mkdir folder; ln -s ../.. folder/up\n\
             python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('socket')\"; ln -s \
             /dev/zero device; ln -s /in secret; echo made",
        ),
        "made\n",
    ),
    left(
        37,
        "escapes in the output",
        Program::Shell(r"printf '\033]0;title\007\000\377\033[2Jx\r'"),
        ESCAPES,
    ),
    left(
        40,
        "planted modules",
        Program::Shell("cd plants && PYTHONPATH=. python3 -c 'import json, conftest'"),
        "planted cell\nplanted cell\nplanted cell\n",
    ),
];

/// Compared by [`check`]: it is no text.
pub const ESCAPES: &str = "(bytes)";

/// What the table cannot say of these.
pub fn check(case: &Case, ended: &Ended) -> Option<String> {
    let files: Vec<(&str, &[u8])> = ended
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.bytes.as_slice()))
        .collect();
    let expected: &[(&str, &[u8])] = if case.number == 31 {
        &[("good.txt", b"good\n")]
    } else {
        &[]
    };
    if case.number != 5 && case.number != 7 && files != expected {
        return Some(format!(
            "left {:?}",
            ended
                .files
                .iter()
                .map(|file| &file.path)
                .collect::<Vec<_>>()
        ));
    }
    match case.number {
        36 if ended.stdout.len() + ended.stderr.len() != 100_000 => {
            Some("was not cut at the limit".to_owned())
        }
        37 if ended.stdout != b"\x1b]0;title\x07\0\xff\x1b[2Jx\r" => {
            Some("was not kept as it is".to_owned())
        }
        37 if on_one_line(&String::from_utf8_lossy(&ended.stdout)).contains(char::is_control) => {
            Some("is shown with its escapes".to_owned())
        }
        _ => None,
    }
}
