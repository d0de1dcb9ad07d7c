//! A sandbox for tests that runs nothing: tests are lines that say which words a code must hold, so
//! that a script decides what passes.
//!
//! Each line of a test file is one test: `NAME: has WORDS` holds when the code holds these words,
//! `NAME: lacks WORDS` when it does not; `NAME: breaks` and `NAME: hangs` never do. Blank lines and
//! lines that begin with `#` are no tests. A file without a test, or with a line that is none of
//! these, cannot be believed. A command `find WORDS` ends with 1 and says so when the code holds
//! the words, otherwise with 0; `lint WORDS` does so for each line that holds them, as linters
//! write it. Other commands are not installed here. Code or tests with the word `REFUSE` are
//! refused; tests of code with the word `SHARED`, or that hold it themselves, say that they shared
//! its process.

use rebut_engine::{
    record::Hash,
    sandbox::{End, Job, Ran, Refused, Sandbox, TestRun, TestVerdict, Work},
};
use std::sync::{Mutex, PoisonError};

#[derive(Debug, Default)]
pub struct ToySandbox {
    pub refuses: bool,
    runs: Mutex<Vec<Hash>>,
}

impl ToySandbox {
    /// A sandbox that refuses everything, as on a machine that has none.
    pub fn refusing() -> Self {
        Self {
            refuses: true,
            ..Self::default()
        }
    }

    /// The hash of every job that was run, sorted: the same as in the journal.
    pub fn runs(&self) -> Vec<Hash> {
        let mut runs = self
            .runs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        runs.sort_by_key(|hash| hash.0);
        runs
    }
}

#[async_trait::async_trait]
impl Sandbox for ToySandbox {
    async fn run(&self, job: &Job) -> Result<Ran, Refused> {
        let hash = Hash::of(&serde_json::to_vec(job).expect("a job is JSON"));
        self.runs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(hash);
        let text = match &job.work {
            Work::Tests(tests) => tests.text.as_str(),
            _ => "",
        };
        if self.refuses || job.code.contains("REFUSE") || text.contains("REFUSE") {
            return Err(Refused {
                reason: "this machine has no sandbox".to_owned(),
                fix: "install one".to_owned(),
            });
        }
        Ok(match &job.work {
            Work::Tests(_) => {
                let shared_process = job.code.contains("SHARED") || text.contains("SHARED");
                Ran {
                    shared_process,
                    ..tested(&job.code, text)
                }
            }
            Work::Command(command) => commanded(&job.code, &command.argv)?,
            Work::Program { .. } => ran(End::Exited(0), job.code.clone(), Vec::new(), None),
        })
    }
}

fn tested(code: &str, text: &str) -> Ran {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut tests = Vec::new();
    for line in lines {
        let Some(test) = test(code, line) else {
            return ran(
                End::Exited(1),
                String::new(),
                Vec::new(),
                Some(format!("`{line}` is no test")),
            );
        };
        tests.push(test);
    }
    let distrust = tests.is_empty().then(|| "no test was collected".to_owned());
    let all = tests.iter().all(|test| test.verdict == TestVerdict::Pass);
    ran(End::Exited(i32::from(!all)), String::new(), tests, distrust)
}

fn test(code: &str, line: &str) -> Option<TestRun> {
    let (name, rule) = line.split_once(':')?;
    let (word, wanted) = rule.trim().split_once(' ').unwrap_or((rule.trim(), ""));
    let holds = !wanted.is_empty() && code.contains(wanted.trim());
    let verdict = match word {
        "has" if holds => TestVerdict::Pass,
        "lacks" if !holds => TestVerdict::Pass,
        "has" | "lacks" => TestVerdict::Fail,
        "breaks" => TestVerdict::Error,
        "hangs" => TestVerdict::Timeout,
        _ => return None,
    };
    let output = if verdict == TestVerdict::Fail {
        format!(
            "the code {} `{}`",
            if word == "has" { "lacks" } else { "has" },
            wanted.trim()
        )
    } else {
        String::new()
    };
    Some(TestRun {
        name: name.trim().to_owned(),
        verdict,
        output,
    })
}

fn commanded(code: &str, argv: &[String]) -> Result<Ran, Refused> {
    let (program, wanted) = argv
        .split_first()
        .map(|(program, words)| (program.as_str(), words.join(" ")))
        .unwrap_or_default();
    let said = match program {
        "find" if code.contains(&wanted) => format!("found {wanted}"),
        "find" => String::new(),
        "lint" => {
            let lines = code
                .lines()
                .zip(1..)
                .filter(|(line, _)| line.contains(&wanted));
            lines
                .map(|(_, number)| format!("solution:{number}: has {wanted}\n"))
                .collect()
        }
        _ => {
            return Err(Refused {
                reason: format!("`{program}` is not installed"),
                fix: "install it".to_owned(),
            });
        }
    };
    Ok(ran(
        End::Exited(i32::from(!said.is_empty())),
        said,
        Vec::new(),
        None,
    ))
}

fn ran(end: End, stdout: String, tests: Vec<TestRun>, distrust: Option<String>) -> Ran {
    Ran {
        memory_bound: "none".to_owned(),
        stdout,
        distrust,
        ..Ran::plain(end, tests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_decide_and_nothing_is_no_pass() {
        use TestVerdict::{Error, Fail, Pass, Timeout};
        let verdicts = |text: &str| {
            tested("a = sum(b)", text)
                .tests
                .iter()
                .map(|test| test.verdict)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            verdicts("one: has sum(b)\ntwo: lacks sum\n# no\n\nthree: breaks\nfour: hangs"),
            [Pass, Fail, Error, Timeout]
        );
        assert!(tested("a", "").distrust.is_some() && tested("a", "nonsense").distrust.is_some());
        assert!(
            !tested("a", "one: lacks a").all_passed() && tested("a", "one: has a").all_passed()
        );
    }
}
