//! Tests that call the code as a program: they run in one cell, and every call of the code in a
//! cell of its own.
//!
//! In the tests' cell a stand-in is where the code should be. What it is called with (arguments,
//! standard input, environment, the plain files of the working folder) comes to us; what the code
//! wrote, its exit code and the files it changed go back. The code itself is never there. A file
//! that the tests made and read themselves may hold what they expect: it goes to the code only with
//! a call that names it.

use super::{
    Prepared, Time,
    pair::{Lost, Side, TWO_PLACES, ended_words},
    shared::Plan,
    sources::shell_origins::{Meant, Read},
    test_log::{Book, Said},
};
use crate::{
    Given, Jail, Limits, Spec,
    call::{Answer, Call, FOLDER, SCRIPT, TEMPORARY},
    harvest::MORE,
    languages::Toolchain,
    wire::Status,
};
use rebut_engine::{
    record::Hash,
    sandbox::{End, Job, Ran, Refused, TestVerdict, Tests},
};
use std::collections::{BTreeMap, BTreeSet};
use tokio::{
    io::AsyncWriteExt,
    time::{Instant, timeout_at},
};

const NAME: &str = "the program";
/// Makes the folders that the tests have too, and becomes the code.
const BEGIN: &str =
    r#"n=$1; shift; while [ "$n" -gt 0 ]; do mkdir -p "$1"; shift; n=$((n - 1)); done; exec "$@""#;

/// What the shell of the tests does before their script: where one of the commands that judge fails
/// (not: says no), it ends the script by a signal. `if [ "$got" -ne 4 ]; then exit 1; fi` would
/// take a word of the code for a 4.
const GUARD: &str = include_str!("sources/guard.sh");
/// The signal (SIGUSR2) by which the guard ends a script.
const SIGNAL: i32 = 12;
/// Commands that the guard watches, and what makes `[` fail on words. A shell that cannot be
/// guarded does not judge with them.
const GUARDED: &[&str] = &[
    "diff", "cmp", "comm", "grep", "-eq", "-ne", "-lt", "-le", "-gt", "-ge",
];

/// Runs the script of the tests. Where it fails and the code may have needed a file that was kept
/// from it, or where a command that judges failed, nothing is said about the code: then it runs
/// beside the tests, as `otherwise` says, and is marked.
pub(super) async fn run(
    otherwise: fn(&Job, &Tests, &Toolchain) -> Result<Plan, String>,
    jail: &Jail,
    tools: &Toolchain,
    job: &Job,
    tests: &Tests,
) -> Result<Ran, Refused> {
    if !is_guarded(tools) && GUARDED.iter().any(|word| tests.text.contains(word)) {
        return super::shared::run(otherwise, jail, tools, job, tests).await;
    }
    let mut files = Files::of(job, tests);
    let mut book = Book::default();
    let mut time = Time::new(job.seconds);
    book.hear(Said::Collected {
        names: vec![NAME.to_owned()],
    });
    book.hear(Said::Begin { number: 0 });
    let (verdict, words) = judged(jail, tools, job, tests, (&mut time, &mut files)).await?;
    if verdict == TestVerdict::Fail && files.in_doubt || files.planted {
        return super::shared::run(otherwise, jail, tools, job, tests).await;
    }
    let output = if verdict == TestVerdict::Pass {
        String::new()
    } else {
        words.clone()
    };
    book.hear(Said::End {
        number: 0,
        verdict,
        output,
        doubted: false,
    });
    book.hear(Said::Done);
    let end = if verdict == TestVerdict::Timeout {
        End::TimedOut
    } else {
        End::Exited(0)
    };
    Ok(super::ran(
        jail,
        &time,
        Prepared {
            book,
            end,
            stderr: words,
            shared_process: false,
        },
    ))
}

/// Starts the tests' cell and answers its calls until the script has ended.
async fn judged(
    jail: &Jail,
    tools: &Toolchain,
    job: &Job,
    tests: &Tests,
    (time, files): (&mut Time, &mut Files<'_>),
) -> Result<(TestVerdict, String), Refused> {
    let asked = Instant::now();
    let one_at_a_time = TWO_PLACES.lock().await;
    let (jail, _held) = jail.two_places().await?;
    drop(one_at_a_time);
    time.excuse(asked.elapsed());
    let mut side = Side::of(jail.spawn(tests_spec(&jail, tools, tests, time)).await?)?;
    loop {
        let lost = match timeout_at(time.end, side.next()).await {
            Err(_) => {
                return Ok((
                    TestVerdict::Timeout,
                    with(&side.last_words().await, "it did not end in time"),
                ));
            }
            Ok(Ok((b'A', words))) => {
                let Some(answer) = answer(&jail, tools, job, (time, files), &words).await? else {
                    return Ok((
                        TestVerdict::Timeout,
                        "a call of the code did not end in time".to_owned(),
                    ));
                };
                if side.send(b'A', &answer).await.is_ok() {
                    continue;
                }
                // Its end says more than that nobody reads any more.
                Lost::Closed
            }
            Ok(Ok((b'H', words))) => {
                let status: Option<Status> = serde_json::from_slice(&words).ok();
                files.in_doubt |= matches!(status, Some(Status::Signalled(SIGNAL)));
                return Ok(ended(status, &side.last_words().await));
            }
            Ok(Ok(_)) => {
                return Ok((
                    TestVerdict::Error,
                    "the process of the tests wrote something that is no frame".to_owned(),
                ));
            }
            Ok(Err(lost)) => lost,
        };
        let why = side.why(lost).await;
        return Ok((
            TestVerdict::Error,
            format!("the script of the tests did not come to its end: {why}"),
        ));
    }
}

/// What the end of the script says.
fn ended(status: Option<Status>, words: &str) -> (TestVerdict, String) {
    match status {
        Some(Status::Exited(0)) => (TestVerdict::Pass, words.to_owned()),
        Some(Status::Exited(code)) => (
            TestVerdict::Fail,
            with(words, &format!("it ended with exit code {code}")),
        ),
        Some(Status::Signalled(signal)) => (
            TestVerdict::Fail,
            with(words, &ended_words(&End::Signalled(signal))),
        ),
        None => (
            TestVerdict::Error,
            with(words, "it did not say how it ended"),
        ),
    }
}

fn with(words: &str, why: &str) -> String {
    format!("{words}\n{why}").trim().to_owned()
}

fn tests_spec(jail: &Jail, tools: &Toolchain, tests: &Tests, time: &Time) -> Spec {
    let inner = jail.inner_in_cell();
    let words: Vec<String> = inner
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
        .collect();
    let stand_in = Given {
        executable: true,
        ..Given::text(
            SCRIPT,
            format!("#!/bin/sh\nexec {} call \"$@\"\n", words.join(" ")),
        )
    };
    let script = [
        "tests".to_owned(),
        tools.program.display().to_string(),
        "/in/tests.sh".to_owned(),
    ];
    Spec {
        argv: inner.into_iter().chain(script).collect(),
        read_only: vec![
            stand_in.clone(),
            Given::text("tests.sh", tests.text.as_str()),
            Given::text("guard.sh", GUARD),
        ],
        pinned: vec![stand_in],
        folders: tools.folders.clone(),
        env: env(tools)
            .into_iter()
            .chain([("BASH_ENV".to_owned(), "/in/guard.sh".to_owned())])
            .collect(),
        limits: limits(tools, time),
        ..Spec::default()
    }
}

/// Whether the shell runs our lines before a script.
fn is_guarded(tools: &Toolchain) -> bool {
    tools.program.file_name().is_some_and(|name| name == "bash")
}

fn limits(tools: &Toolchain, time: &Time) -> Limits {
    tools.run_limits(time.left())
}

fn env(tools: &Toolchain) -> Vec<(String, String)> {
    tools
        .env()
        .into_iter()
        .chain([("TMPDIR".to_owned(), format!("{FOLDER}/{TEMPORARY}"))])
        .collect()
}

/// Runs the code once, as it was called; nothing when the time is over.
async fn answer(
    jail: &Jail,
    tools: &Toolchain,
    job: &Job,
    (time, files): (&Time, &mut Files<'_>),
    words: &[u8],
) -> Result<Option<Vec<u8>>, Refused> {
    let unreadable = |error: std::io::Error| Refused {
        reason: format!("a call of the code cannot be read: {error}"),
        fix: "report this as an error of rebut".to_owned(),
    };
    let mut call = Call::from_bytes(words).map_err(unreadable)?;
    let kept = files.keep_back(&mut call);
    let mut cell = jail.spawn(call_spec(tools, job, time, &call)).await?;
    let (input, stdin) = (cell.stdin.take(), std::mem::take(&mut call.stdin));
    let feeding = async move {
        if let Some(mut input) = input {
            // Code that does not read its input to the end is not wrong.
            let _ = input.write_all(&stdin).await;
        }
    };
    let ended = tokio::join!(feeding, cell.end()).1;
    let mut answer = Answer {
        stdout: ended.stdout,
        stderr: ended.stderr,
        ..Answer::default()
    };
    match &ended.end {
        End::Exited(code) => answer.exit = u8::try_from(code & 0xff).unwrap_or(u8::MAX),
        End::Signalled(signal) => answer.exit = u8::try_from(128 + signal).unwrap_or(u8::MAX),
        End::TimedOut => return Ok(None),
        other => {
            return Answer::none(&ended_words(other))
                .to_bytes()
                .map(Some)
                .map_err(unreadable);
        }
    }
    if ended.files.iter().any(|file| file.path == MORE) {
        return Answer::none("it left more files behind than are taken")
            .to_bytes()
            .map(Some)
            .map_err(unreadable);
    }
    answer.compare(&call, ended.files);
    answer.files.retain(|file| !kept.contains(&file.path));
    files.take_folders(&mut answer);
    files.came(&answer);
    answer.to_bytes().map(Some).map_err(unreadable)
}

/// Whose the files of the working folder are.
struct Files<'a> {
    code: &'a str,
    read: Read,
    /// What the code made, as it left it.
    made: BTreeMap<String, Hash>,
    /// What the code said: it knows that already.
    said: BTreeSet<[u8; 32]>,
    /// Whether the code may have needed a file that was kept from it, or what judges failed.
    in_doubt: bool,
    /// Whether the code made a folder that may stand where the tests want to write a file.
    planted: bool,
}

impl<'a> Files<'a> {
    fn of(job: &'a Job, tests: &Tests) -> Self {
        let said = BTreeSet::from([Hash::of(b"").0]);
        Self {
            code: &job.code,
            read: Read::of(&tests.text),
            made: BTreeMap::new(),
            said,
            in_doubt: false,
            planted: false,
        }
    }

    /// Takes those files out of a call that are not for the code, and says which.
    fn keep_back(&mut self, call: &mut Call) -> BTreeSet<String> {
        let named = call.named();
        let is_named = |path: &str| {
            let within = |name: &String| {
                path.strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            named.iter().any(|name| !name.is_empty() && within(name))
        };
        let goes = |file: &Given| {
            self.made.get(&file.path) == Some(&Hash::of(&file.bytes))
                || is_named(&file.path)
                || !self.read.has(&file.path)
        };
        let (go, mut stay): (Vec<Given>, Vec<Given>) =
            std::mem::take(&mut call.files).into_iter().partition(goes);
        // A copy of what stays stays too.
        let held: BTreeSet<[u8; 32]> = stay
            .iter()
            .map(|file| Hash::of(&file.bytes).0)
            .filter(|hash| !self.said.contains(hash))
            .collect();
        let is_copy = |file: &Given| {
            let hash = Hash::of(&file.bytes);
            held.contains(&hash.0)
                && !is_named(&file.path)
                && self.made.get(&file.path) != Some(&hash)
        };
        let (copies, go): (Vec<Given>, Vec<Given>) = go.into_iter().partition(is_copy);
        stay.extend(copies);
        call.files = go;
        // Code that says the name of the file, or takes whatever there is.
        let takes_all = self.code.contains('*') || named.contains("");
        let may_need = |file: &Given| {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            self.code.contains(name) || takes_all && !self.said.contains(&Hash::of(&file.bytes).0)
        };
        self.in_doubt |= stay.iter().any(may_need);
        stay.into_iter().map(|file| file.path).collect()
    }

    /// Leaves those new folders out of an answer that would stand where the tests have a file.
    fn take_folders(&mut self, answer: &mut Answer) {
        for folder in answer.folders.clone() {
            match self.read.meant(&folder) {
                Meant::Folder => {}
                Meant::File => answer.leave_out(&folder),
                Meant::Unknown => self.planted = true,
            }
        }
    }

    /// Remembers what came of a call.
    fn came(&mut self, answer: &Answer) {
        self.said
            .extend([&answer.stdout, &answer.stderr].map(|words| Hash::of(words).0));
        self.made.extend(
            answer
                .files
                .iter()
                .map(|file| (file.path.clone(), Hash::of(&file.bytes))),
        );
    }
}

fn call_spec(tools: &Toolchain, job: &Job, time: &Time, call: &Call) -> Spec {
    let begin = [
        "/bin/sh",
        "-c",
        BEGIN,
        "sh",
        &call.folders.len().to_string(),
    ]
    .map(str::to_owned);
    // A script that does not say who runs it is run by the shell that called it, under the name it
    // was called by.
    let shell = (!job.code.starts_with("#!")).then(|| tools.program.display().to_string());
    let program = shell.into_iter().chain(["./solution.sh".to_owned()]);
    let code = Given {
        executable: true,
        ..Given::text(SCRIPT, job.code.as_str())
    };
    let own = env(tools);
    let theirs = call
        .env
        .iter()
        .filter(|(name, _)| !own.iter().any(|(known, _)| known == name))
        .cloned();
    Spec {
        argv: begin
            .into_iter()
            .chain(call.folders.clone())
            .chain(program)
            .chain(call.args.clone())
            .collect(),
        writable: call.files.iter().cloned().chain([code]).collect(),
        folders: tools.folders.clone(),
        env: own.iter().cloned().chain(theirs).collect(),
        limits: limits(tools, time),
        collect_all: true,
        ..Spec::default()
    }
}
