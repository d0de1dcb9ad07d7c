//! Tests in a cell of their own: the code answers calls from another cell and never sees how it is
//! judged.

use super::{
    Prepared, Time,
    pair::{Happened, Pair},
    test_log::{Book, Next, Said},
};
use crate::{Given, Jail, Limits, Spec, languages::Toolchain};
use rebut_engine::{
    clean::on_one_line,
    sandbox::{End, Job, Ran, Refused, Style, TestVerdict, Tests, Work},
};
use serde::Deserialize;
use std::{path::PathBuf, time::Duration};
use tokio::time::Instant;

/// How a language's tests run apart: the programs of both sides and how they are started.
pub(super) struct Kit {
    pub worker: &'static str,
    pub grader: &'static str,
    /// Names the worker finds the code under.
    pub code_files: &'static [&'static str],
    /// The ending of both programs' names.
    pub ending: &'static str,
    /// The arguments before the program, after the interpreter.
    pub arguments: &'static [&'static str],
    /// Whether the program cannot put its streams aside itself.
    pub aside: bool,
    /// Interpreters that may have a package which the one that was found has not.
    pub others: &'static [&'static str],
    /// What to install when a package of that name is missing.
    pub install: fn(&str) -> String,
}

/// Puts the channel on descriptors 3 and 4 and starts what follows: what the code prints is no
/// frame.
const ASIDE: &str = r#"exec 3<&0 4>&1 </dev/null 1>&2; exec "$0" "$@""#;
/// What a refusal says when a package is missing.
const NOT_INSTALLED: &str = "which is not installed";
/// How often a pair may be started anew.
const SESSIONS: usize = 200;

/// Runs the tests of a job. Where a package is missing, another interpreter that has it is used
/// before anything is refused.
pub(super) async fn run(
    kit: &Kit,
    jail: &Jail,
    tools: &Toolchain,
    job: &Job,
    tests: &Tests,
) -> Result<Ran, Refused> {
    let first = run_with(kit, jail, tools, job, tests).await;
    if !matches!(&first, Err(refused) if refused.reason.contains(NOT_INSTALLED)) {
        return first;
    }
    for other in kit
        .others
        .iter()
        .map(PathBuf::from)
        .filter(|other| *other != tools.program && other.is_file())
    {
        let tools = Toolchain {
            program: other,
            folders: vec![PathBuf::from("/usr")],
            ..tools.clone()
        };
        if let Ok(ran) = run_with(kit, jail, &tools, job, tests).await {
            return Ok(ran);
        }
    }
    first
}

async fn run_with(
    kit: &Kit,
    jail: &Jail,
    tools: &Toolchain,
    job: &Job,
    tests: &Tests,
) -> Result<Ran, Refused> {
    let mut time = Time::new(job.seconds);
    let mut book = Book::default();
    let mut words = String::new();
    for _ in 0..SESSIONS {
        let before = book.settled();
        let again = session(
            kit, jail, tools, job, tests, &mut time, &mut book, &mut words,
        )
        .await?;
        if book.is_over() {
            break;
        }
        if book.len() > 0 && book.settled() == book.len() {
            // All is told but the end. Unless it was the last test that went wrong, something did
            // after it.
            if !again.within {
                book.give_up(again.verdict, &again.why);
            }
            book.finish();
            break;
        }
        if time.is_over() {
            book.give_up(TestVerdict::Timeout, "the time of the whole run was over");
            break;
        }
        if book.settled() == before {
            // Twice the same would come of it: it is not in a test that it goes wrong.
            book.give_up(again.verdict, &again.why);
            break;
        }
    }
    let end = if time.is_over() {
        End::TimedOut
    } else {
        End::Exited(0)
    };
    let shared_process = book.is_doubted();
    Ok(super::ran(
        jail,
        &time,
        Prepared {
            book,
            end,
            stderr: words,
            shared_process,
        },
    ))
}

/// Why a session came to its end before the tests did.
struct Again {
    verdict: TestVerdict,
    why: String,
    /// Whether it was a test that came to this end. What stands behind it has not been run then.
    within: bool,
}

#[derive(Deserialize)]
struct Word {
    nonce: String,
    #[serde(flatten)]
    said: Said,
}

/// One pair of cells, from its start until it is of no more use.
#[allow(
    clippy::too_many_arguments,
    reason = "they are one thing: what a session works with"
)]
async fn session(
    kit: &Kit,
    jail: &Jail,
    tools: &Toolchain,
    job: &Job,
    tests: &Tests,
    time: &mut Time,
    book: &mut Book,
    words: &mut String,
) -> Result<Again, Refused> {
    let (code_side, tests_side) = (
        code_spec(kit, tools, job, time),
        tests_spec(kit, tools, time),
    );
    let asked = Instant::now();
    let mut pair = Pair::start(jail, code_side, tests_side).await?;
    time.excuse(asked.elapsed());
    let nonce = super::nonce();
    let order = order(&nonce, tests, book.settled());
    let told = pair.tell(order.to_string().as_bytes()).await;
    let again = match told {
        Ok(()) => listen(kit, &mut pair, &nonce, time, book).await?,
        Err(error) => {
            let why = format!("the process of the tests cannot be reached: {error}");
            Again {
                verdict: TestVerdict::Error,
                why,
                within: false,
            }
        }
    };
    *words = pair.words();
    Ok(again)
}

fn order(nonce: &str, tests: &Tests, skip: usize) -> serde_json::Value {
    serde_json::json!({ "nonce": nonce, "style": tests.style, "skip": skip, "text": tests.text })
}

/// Listens until the pair is of no more use.
async fn listen(
    kit: &Kit,
    pair: &mut Pair,
    nonce: &str,
    time: &Time,
    book: &mut Book,
) -> Result<Again, Refused> {
    let mut deadline = time.for_loading();
    loop {
        let lost = |verdict, why: String, book: &mut Book| {
            let within = book.lose(verdict, &why);
            Ok(Again {
                verdict,
                why,
                within,
            })
        };
        let said = match pair.next(deadline).await {
            Happened::Said(said) => said,
            Happened::CodeLost(why) => {
                return lost(
                    TestVerdict::Error,
                    format!("the process of the code was lost: {why}"),
                    book,
                );
            }
            Happened::TestsLost(why) if book.is_testing() => {
                return lost(
                    TestVerdict::Error,
                    format!("the process of the tests was lost: {why}"),
                    book,
                );
            }
            Happened::TestsLost(why) => {
                book.doubt(&format!("the process of the tests ended early: {why}"));
                return lost(TestVerdict::Error, why, book);
            }
            Happened::Late => {
                return lost(
                    TestVerdict::Timeout,
                    "it did not end in time".to_owned(),
                    book,
                );
            }
        };
        let word: Word = match serde_json::from_slice(&said) {
            Ok(word) => word,
            Err(error) => {
                book.doubt(&format!(
                    "the runner said something that cannot be read: {error}"
                ));
                return lost(TestVerdict::Error, String::new(), book);
            }
        };
        if word.nonce != nonce {
            book.doubt("a result came without the run's nonce");
            return lost(TestVerdict::Error, String::new(), book);
        }
        let within = book.is_testing();
        match book.hear(word.said) {
            Next::On => {}
            Next::Begun => deadline = time.for_test(book.len() - book.settled()),
            Next::Moved => deadline = time.for_loading(),
            Next::Over | Next::Anew => {
                let why = "the code does not speak as agreed".to_owned();
                return Ok(Again {
                    verdict: TestVerdict::Error,
                    why,
                    within,
                });
            }
            Next::Missing(what) => {
                return Err(Refused {
                    reason: format!("these tests need {what}, {NOT_INSTALLED}"),
                    fix: (kit.install)(&what),
                });
            }
        }
    }
}

/// How long the tests may take to say what they are.
const LISTING: u32 = 20;

/// The tests that their text shows, or why it cannot be read. The process beside them has no code
/// and is asked nothing.
pub(super) async fn list(
    kit: &Kit,
    jail: &Jail,
    tools: &Toolchain,
    tests: &Tests,
) -> Result<Result<Vec<String>, String>, Refused> {
    let time = Time::new(LISTING);
    let nothing = Job {
        language: String::new(),
        code: String::new(),
        work: Work::Tests(tests.clone()),
        seconds: LISTING,
    };
    let mut pair = Pair::start(
        jail,
        code_spec(kit, tools, &nothing, &time),
        tests_spec(kit, tools, &time),
    )
    .await?;
    let order = order("", tests, 0);
    let failed = |why: &str| Refused {
        reason: format!("the tests could not be looked at: {}", on_one_line(why)),
        fix: "`rebut sandbox test` shows what happens with some code".to_owned(),
    };
    pair.tell(order.to_string().as_bytes())
        .await
        .map_err(|error| failed(&error.to_string()))?;
    let said = match pair.next(time.end).await {
        Happened::Said(said) => said,
        Happened::CodeLost(why) | Happened::TestsLost(why) => return Err(failed(&why)),
        Happened::Late => return Err(failed("it took too long")),
    };
    match serde_json::from_slice::<Word>(&said)
        .map_err(|error| failed(&error.to_string()))?
        .said
    {
        // Which tests there are shows only when they run: that there is none cannot be said
        // beforehand.
        Said::Listed { names, style } if names.is_empty() && may_make_tests(style, &tests.text) => {
            Ok(Ok(vec!["made when they run".to_owned()]))
        }
        Said::Listed { names, .. } => Ok(Ok(names)),
        Said::Unreadable { why } => Ok(Err(format!("the tests cannot be read: {why}"))),
        _ => Err(failed("it said something else")),
    }
}

/// Whether tests may come about only when the file is run.
fn may_make_tests(style: Option<Style>, text: &str) -> bool {
    let signs: &[&str] = match style {
        Some(Style::Pytest | Style::Unittest) => &[
            "setattr",
            "globals(",
            "load_tests",
            "type(",
            "vars(",
            "parametrize",
        ],
        Some(Style::NodeTest) => &["test(", "it(", "describe("],
        _ => &[],
    };
    signs.iter().any(|sign| text.contains(sign))
}

fn code_spec(kit: &Kit, tools: &Toolchain, job: &Job, time: &Time) -> Spec {
    let mut files = vec![Given::text(format!("worker{}", kit.ending), kit.worker)];
    files.extend(
        kit.code_files
            .iter()
            .map(|name| Given::text(*name, job.code.as_str())),
    );
    spec(kit, tools, "worker", files, time)
}

/// The text of the tests comes with the order, so that no path leads to it.
fn tests_spec(kit: &Kit, tools: &Toolchain, time: &Time) -> Spec {
    let files = vec![Given::text(format!("grader{}", kit.ending), kit.grader)];
    Spec {
        judges: true,
        ..spec(kit, tools, "grader", files, time)
    }
}

fn spec(kit: &Kit, tools: &Toolchain, program: &str, read_only: Vec<Given>, time: &Time) -> Spec {
    let aside = ["/bin/sh", "-c", ASIDE].map(str::to_owned);
    let mut argv: Vec<String> = if kit.aside {
        aside.to_vec()
    } else {
        Vec::new()
    };
    argv.push(tools.program.display().to_string());
    argv.extend(kit.arguments.iter().map(|word| (*word).to_owned()));
    argv.push(format!("/in/{program}{}", kit.ending));
    let wall = time.left() + Duration::from_secs(1);
    // What both say to each other is bounded where it is carried.
    let limits = Limits {
        output_bytes: 1 << 40,
        ..tools.run_limits(wall)
    };
    Spec {
        argv,
        read_only,
        folders: tools.folders.clone(),
        env: tools.env(),
        limits,
        ..Spec::default()
    }
}
