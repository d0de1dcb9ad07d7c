//! Compiled code as a program of its own: the tests' program asks it through frames that we carry,
//! and never holds a line of it.

use super::{
    Time,
    pair::{Happened, Pair},
    shared::{Built, Plan, Step},
};
use crate::{Given, Jail, Limits, Spec, languages::Toolchain, limits::PROCESSOR_TIME};
use rebut_engine::sandbox::{End, Refused, TestVerdict};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The program that holds the code under test. The plan that has one builds its tests without the
/// code, against stubs that ask this program.
///
/// Both programs find the channel on descriptors 3 (to read) and 4 (to write); their standard
/// output is their standard error. A frame is a length (four bytes, the highest first), one byte of
/// kind and so many bytes. Kind `A` is carried to the other side unseen. To the tests' program
/// comes a first frame of kind `H`, the nonce; it says `NONCE pass`, `NONCE fail` or `NONCE skip`
/// in one frame of kind `H` after the test, and then ends itself with 0. Each test has a fresh pair
/// of both.
pub(super) struct Worker {
    /// Builds it, one step after the other; nothing of the tests may be in them.
    pub steps: Vec<Step>,
    /// What runs it. It is not told which test asks.
    pub run: Vec<String>,
    /// Files that are there then, besides what was built.
    pub files: Vec<Given>,
    /// What is done when either program cannot be built: usually the tests in the process of the
    /// code. Or why that cannot be believed either.
    pub otherwise: Result<Box<Plan>, String>,
}

/// Puts the channel on descriptors 3 and 4 and starts what follows: what a program prints is no
/// frame.
const ASIDE: &str = r#"exec 3<&0 4>&1 </dev/null 1>&2; exec "$0" "$@""#;

/// Runs one test in a fresh pair of cells.
pub(super) async fn one(
    (jail, tools): (&Jail, &Toolchain),
    (plan, worker): (&Plan, &Worker),
    built: &Built,
    name: &str,
    time: &mut Time,
    left: usize,
) -> Result<(TestVerdict, String), Refused> {
    let wall = time
        .for_test(left)
        .saturating_duration_since(Instant::now());
    let code = spec(
        tools,
        worker.run.clone(),
        worker.files.iter().chain(&built.code),
        wall,
    );
    let argv = plan
        .run
        .iter()
        .map(|word| word.replace("{test}", name))
        .collect();
    let tests = spec(tools, argv, plan.files.iter().chain(&built.tests), wall);
    let asked = Instant::now();
    let mut pair = Pair::start(jail, code, tests).await?;
    time.excuse(asked.elapsed());
    let deadline = Instant::now() + wall;
    let nonce = super::nonce();
    // A process that is gone already has no use for it, and its end says why.
    let _ = timeout_at(deadline, pair.tell(nonce.as_bytes())).await;
    let (verdict, why) = listen(&mut pair, &nonce, deadline).await;
    Ok((
        verdict,
        format!("{}\n{why}", pair.words()).trim().to_owned(),
    ))
}

fn spec<'a>(
    tools: &Toolchain,
    program: Vec<String>,
    files: impl Iterator<Item = &'a Given>,
    wall: Duration,
) -> Spec {
    let argv = ["/bin/sh", "-c", ASIDE]
        .map(str::to_owned)
        .into_iter()
        .chain(program)
        .collect();
    // What both say to each other is bounded where it is carried, and the deadline is ours: the
    // cell's own is only for what outlives it.
    let limits = Limits {
        output_bytes: 1 << 40,
        ..tools.run_limits(wall + Duration::from_secs(1))
    };
    Spec {
        argv,
        read_only: files.cloned().collect(),
        folders: tools.folders.clone(),
        env: tools.env(),
        limits,
        ..Spec::default()
    }
}

/// Listens until the test is judged. A pass is said once, with the nonce, by a tests' program that
/// then ends well beside code that still runs.
async fn listen(pair: &mut Pair, nonce: &str, deadline: Instant) -> (TestVerdict, String) {
    let mut said: Option<TestVerdict> = None;
    loop {
        match pair.next(deadline).await {
            Happened::Said(words) => match (read(&words, nonce), said) {
                (Some(TestVerdict::Error), None) => {
                    return (TestVerdict::Error, "it was skipped".to_owned());
                }
                (Some(verdict), None) => said = Some(verdict),
                _ => {
                    return (
                        TestVerdict::Error,
                        "the process of the tests said something else than one verdict".to_owned(),
                    );
                }
            },
            Happened::Late => return (TestVerdict::Timeout, "it did not end in time".to_owned()),
            Happened::CodeLost(why) => {
                return lost(
                    pair.code_end(),
                    &format!("the process of the code was lost: {}", first_line(&why)),
                );
            }
            Happened::TestsLost(why) => {
                let until = if said.is_some() {
                    deadline
                } else {
                    Instant::now()
                };
                return match (said, pair.tests_end(until).await) {
                    (Some(verdict), Some(End::Exited(0))) => (verdict, String::new()),
                    (_, end) => lost(
                        end,
                        &format!(
                            "it did not come to the end of the test: {}",
                            first_line(&why)
                        ),
                    ),
                };
            }
        }
    }
}

/// The verdict in a frame of the tests' program; being skipped says nothing about the code.
fn read(words: &[u8], nonce: &str) -> Option<TestVerdict> {
    match std::str::from_utf8(words)
        .ok()?
        .strip_prefix(nonce)?
        .strip_prefix(' ')?
    {
        "pass" => Some(TestVerdict::Pass),
        "fail" => Some(TestVerdict::Fail),
        "skip" => Some(TestVerdict::Error),
        _ => None,
    }
}

/// What a process that is gone before the end means.
fn lost(end: Option<&End>, why: &str) -> (TestVerdict, String) {
    match end {
        // What `assert` and `abort` do.
        Some(End::Signalled(6)) => (TestVerdict::Fail, "it aborted".to_owned()),
        Some(End::TimedOut) => (TestVerdict::Timeout, "it did not end in time".to_owned()),
        Some(End::Resource(what)) if what == PROCESSOR_TIME => (
            TestVerdict::Timeout,
            "it used up its processor time".to_owned(),
        ),
        _ => (TestVerdict::Error, why.to_owned()),
    }
}

/// The rest is what the process wrote to its standard error, which is told anyway.
fn first_line(why: &str) -> &str {
    why.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_nonce_and_one_word_is_a_verdict() {
        use TestVerdict::{Error, Fail, Pass};
        let rows: &[(&[u8], Option<TestVerdict>)] = &[
            (b"n pass", Some(Pass)),
            (b"n fail", Some(Fail)),
            (b"n skip", Some(Error)),
            (b"n pass\n", None),
            (b"n  pass", None),
            (b"pass", None),
            (b"m pass", None),
            (b"npass", None),
            (b"n pass\xff", None),
            (b"", None),
        ];
        for (words, verdict) in rows {
            assert_eq!(
                read(words, "n"),
                *verdict,
                "{}",
                String::from_utf8_lossy(words)
            );
        }
    }

    #[test]
    fn a_process_that_is_gone_is_never_a_pass() {
        use TestVerdict::{Error, Fail, Timeout};
        let rows = [
            (Some(End::Exited(0)), Error),
            (Some(End::Exited(1)), Error),
            (Some(End::Signalled(6)), Fail),
            (Some(End::Signalled(11)), Error),
            (Some(End::TimedOut), Timeout),
            (Some(End::Resource(PROCESSOR_TIME.to_owned())), Timeout),
            (Some(End::TooMuchOutput), Error),
            (None, Error),
        ];
        for (end, verdict) in rows {
            assert_eq!(lost(end.as_ref(), "").0, verdict, "{end:?}");
        }
    }
}
