//! Scoring a program by a problem's hidden tests, in the sandbox. Nothing is a pass that did not
//! run to its end.

use crate::problems::Problem;
use rebut_engine::{
    clean::{on_one_line, shortened},
    sandbox::{End, Job, Ran, TestVerdict, Tests, Work},
};
use serde::{Deserialize, Serialize};

/// What came of one problem in one arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Passed,
    /// A test ran and did not hold.
    Failed,
    /// The program or a test broke, or the results cannot be believed.
    Error,
    /// It was not ready in time.
    Timeout,
    /// The arm ended without a program.
    NoProgram,
}

impl Verdict {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::NoProgram => "no program",
        }
    }
}

/// The job that scores a program.
pub fn job(problem: &Problem, code: String, seconds: u32) -> Job {
    let tests = Tests {
        text: problem.hidden_tests.clone(),
        style: problem.style,
    };
    Job {
        language: problem.language.clone(),
        code,
        work: Work::Tests(tests),
        seconds,
    }
}

/// What a run says of the program, and why, in one line.
pub fn verdict(ran: &Ran) -> (Verdict, String) {
    if ran.all_passed() {
        return (Verdict::Passed, String::new());
    }
    let first = |wanted: TestVerdict| ran.tests.iter().find(|test| test.verdict == wanted);
    let said = |test: &rebut_engine::sandbox::TestRun| last_line(&test.output, &test.name);
    if let Some(test) = first(TestVerdict::Fail).filter(|_| ran.distrust.is_none()) {
        return (Verdict::Failed, said(test));
    }
    if ran.end == End::TimedOut || first(TestVerdict::Timeout).is_some() {
        return (Verdict::Timeout, "it was not ready in time".to_owned());
    }
    let why = match (&ran.distrust, first(TestVerdict::Error)) {
        (Some(why), _) => last_line(why, ""),
        (None, Some(test)) => said(test),
        (None, None) => last_line(&ran.stderr, "no test was run"),
    };
    (Verdict::Error, why)
}

/// The last line of a text that says something, else the other text.
fn last_line(text: &str, other: &str) -> String {
    let line = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or(other);
    shortened(&on_one_line(line), 160).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rebut_engine::sandbox::TestRun;

    #[test]
    fn only_what_ran_to_its_end_and_held_is_passed() {
        use TestVerdict::{Error, Fail, Pass, Timeout};
        let rows: [(&[TestVerdict], End, Option<&str>, Verdict); 9] = [
            (&[Pass, Pass], End::Exited(0), None, Verdict::Passed),
            (&[Pass, Fail], End::Exited(1), None, Verdict::Failed),
            (&[Fail, Timeout], End::TimedOut, None, Verdict::Failed),
            (&[Pass, Timeout], End::TimedOut, None, Verdict::Timeout),
            (&[Pass, Error], End::Exited(1), None, Verdict::Error),
            (&[], End::Exited(0), None, Verdict::Error),
            (&[], End::TimedOut, None, Verdict::Timeout),
            (
                &[Pass, Pass],
                End::Exited(0),
                Some("one is missing"),
                Verdict::Error,
            ),
            (&[], End::NotBuilt, None, Verdict::Error),
        ];
        for (verdicts, end, distrust, expected) in rows {
            let tests = verdicts.iter().map(|verdict| TestRun::new("t", *verdict));
            let ran = Ran {
                distrust: distrust.map(str::to_owned),
                ..Ran::plain(end.clone(), tests)
            };
            assert_eq!(
                verdict(&ran).0,
                expected,
                "{verdicts:?} {end:?} {distrust:?}"
            );
        }
    }
}
