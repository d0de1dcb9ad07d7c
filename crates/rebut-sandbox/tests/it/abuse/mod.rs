//! What hostile code tries, and that a cell holds: a table of cases by number, run as whoever runs
//! the tests and as an ordinary user.
//!
//! Case 38, a forged verdict, is held by the grader and tested beside it; 39 and 42 in `names.rs`,
//! 41 in `many.rs`.

mod around;
mod host;
mod kernel;
mod resources;

use crate::{inner, users};
use host::Host;
use rebut_engine::sandbox::End;
use rebut_sandbox::{Ended, Given, Jail, Limits, Spec};
use std::time::Duration;

/// One case: a program, how it ends in a cell and what it says there.
pub struct Case {
    pub number: u8,
    pub name: &'static str,
    pub program: Program,
    pub limits: fn(&mut Limits),
    pub ends: Ends,
    /// All it says on standard output. `{bound}` is what bounds memory.
    pub says: &'static str,
    /// What the same program says without a cell, where that can be tried; it shows that the case
    /// can fail.
    pub outside: Option<&'static str>,
}

/// How a program is written. Its arguments are those of [`Host::arguments`].
#[derive(Clone, Copy)]
pub enum Program {
    Python(&'static str),
    C(&'static str),
    Shell(&'static str),
}

/// How a case ends.
pub enum Ends {
    With(End),
    /// By itself with 1 after it met the limit, which a control group can tell.
    Met(&'static str),
    /// It met that limit, which ended it.
    Limit(&'static str),
}

pub const USUAL: fn(&mut Limits) = |_| {};

/// Names and shortcuts all Python programs have.
const PYTHON: &str = r#"
import ctypes, errno, os, socket, sys, time
port, abstract, path, secret, pid = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
libc = ctypes.CDLL(None, use_errno=True)
def name(number): return errno.errorcode.get(number, str(number))
def tried(what, *args):
    try: what(*args)
    except OSError as error: return name(error.errno)
    return "done"
def called(result): return "done" if result != -1 else name(ctypes.get_errno())
"#;
/// The same for C: `TRY(call)` says how the call went.
const C: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#define TRY(call) do { errno = 0; long r = (long)(call); printf("%s\n", r != -1 ? "done" : strerrorname_np(errno)); fflush(stdout); } while (0)
"#;

impl Program {
    fn files(self) -> Vec<Given> {
        match self {
            Self::Python(code) => vec![Given::text("case.py", format!("{PYTHON}\n{code}"))],
            Self::C(code) => vec![Given::text(
                "case.c",
                format!("{C}\nint main(int argc, char **argv) {{\n{code}\nreturn 0; }}\n"),
            )],
            Self::Shell(code) => vec![Given::text("case.sh", code)],
        }
    }

    fn argv(self) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Python(_) => &["/usr/bin/python3", "case.py"],
            Self::C(_) => &[
                "sh",
                "-c",
                "cc -w -o case case.c && exec ./case \"$@\"",
                "sh",
            ],
            Self::Shell(_) => &["sh", "case.sh"],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }
}

fn all() -> impl Iterator<Item = &'static Case> {
    [resources::CASES, host::CASES, kernel::CASES, around::CASES]
        .into_iter()
        .flatten()
}

#[test]
fn every_case_is_somewhere() {
    let elsewhere = [38, 39, 41, 42];
    let mut numbers: Vec<u8> = all().map(|case| case.number).chain(elsewhere).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers, (1..=42).collect::<Vec<u8>>());
}

#[tokio::test]
async fn hostile_code_is_held() {
    let host = Host::new();
    let jail = Jail::prove(inner())
        .await
        .expect("this machine holds cells");
    let mut wrong = Vec::new();
    for case in all() {
        let ended = run(&jail, case, &host).await;
        wrong.extend(
            check(&jail, case, &ended)
                .map(|what| format!("{} {}: {what}\n{}", case.number, case.name, shown(&ended))),
        );
        wrong.extend(
            around::check(case, &ended)
                .map(|what| format!("{} {}: {what}\n{}", case.number, case.name, shown(&ended))),
        );
        wrong.extend(
            outside(case, &host)
                .map(|what| format!("{} {} outside of a cell: {what}", case.number, case.name)),
        );
        assert!(host.is_unharmed(), "{} {}", case.number, case.name);
    }
    assert!(
        wrong.is_empty(),
        "{} wrong, held by {}:\n{}",
        wrong.len(),
        jail.memory_bound(),
        wrong.join("\n")
    );
}

#[test]
fn hostile_code_of_an_ordinary_user_is_held() {
    users::as_ordinary_user("abuse::hostile_code_is_held");
}

async fn run(jail: &Jail, case: &Case, host: &Host) -> Ended {
    let mut limits = Limits {
        wall: Duration::from_secs(60),
        ..Limits::default()
    };
    (case.limits)(&mut limits);
    let argv = case
        .program
        .argv()
        .into_iter()
        .chain(host.arguments())
        .collect();
    let collect = around::WANTED
        .iter()
        .map(|path| (*path).to_owned())
        .collect();
    let writable = case
        .program
        .files()
        .into_iter()
        .chain(around::planted())
        .collect();
    let spec = Spec {
        argv,
        writable,
        limits,
        collect,
        ..Spec::default()
    };
    jail.spawn(spec)
        .await
        .unwrap_or_else(|refused| panic!("{} {}: {refused}", case.number, case.name))
        .end()
        .await
}

/// What is wrong with how a case ended or what it said.
fn check(jail: &Jail, case: &Case, ended: &Ended) -> Option<String> {
    let is_group = jail.memory_bound() == "cgroup";
    let expected = match &case.ends {
        Ends::With(end) => end.clone(),
        Ends::Met(what) if is_group => End::Resource((*what).to_owned()),
        Ends::Met(_) => End::Exited(1),
        Ends::Limit(what) => End::Resource((*what).to_owned()),
    };
    if ended.end != expected {
        return Some(format!("ended as {:?}, not as {expected:?}", ended.end));
    }
    if case.says == around::ESCAPES {
        return None;
    }
    let expected = case.says.replace("{bound}", jail.memory_bound());
    (ended.end != End::TooMuchOutput && ended.stdout != expected.as_bytes())
        .then(|| format!("said other words than {expected:?}"))
}

/// What is wrong with the same program outside.
fn outside(case: &Case, host: &Host) -> Option<String> {
    let expected = case.outside?;
    let folder = tempfile::tempdir().expect("a folder");
    for file in case.program.files() {
        std::fs::write(folder.path().join(&file.path), &file.bytes).expect("a file");
    }
    let argv = case.program.argv();
    let mut command = std::process::Command::new(&argv[0]);
    command
        .args(&argv[1..])
        .args(host.arguments())
        .current_dir(folder.path())
        .env("REBUT_CANARY", "seen");
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("install {}: {error}", argv[0]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (!said.contains(expected))
        .then(|| format!("said {said:?} without {expected:?}, so the case cannot fail"))
}

fn shown(ended: &Ended) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned();
    format!(
        "  end {:?} after {} ms\n  out {:?}\n  err {}",
        ended.end,
        ended.ms,
        text(&ended.stdout),
        text(&ended.stderr)
    )
}
