//! The seam to untrusted code: what is to run, and what came of it. Nothing else in the program
//! runs what a model wrote.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Runs what a model wrote, where it can do no harm.
#[async_trait::async_trait]
pub trait Sandbox: Send + Sync + 'static {
    /// Runs one job to its end, within its limits, and leaves nothing behind. Dropping the future
    /// ends it too.
    async fn run(&self, job: &Job) -> Result<Ran, Refused>;
}

/// The languages code can be written in: their names wherever a person or a model names one.
pub const LANGUAGES: &[&str] = &["python", "javascript", "rust", "go", "c", "cpp", "shell"];

/// One thing to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The language of the code, one of [`LANGUAGES`].
    pub language: String,
    /// The code under test: one file.
    pub code: String,
    /// What is done with it.
    pub work: Work,
    /// The most wall-clock time it may take, in seconds.
    pub seconds: u32,
}

/// What is done with the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// The program is run as it is.
    Program {
        /// What it reads from its standard input.
        stdin: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// Tests are run against it.
    Tests(Tests),
    /// A command is run in a folder that holds the code: a linter, a scanner.
    Command(Command),
}

/// A file of tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    /// The text of the file. It finds the code as the module `solution` (or as the language has
    /// it).
    pub text: String,
    /// How it is written; found out from the text when not said.
    pub style: Option<Style>,
}

/// How tests are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Statements at the top level: each that judges (an assertion, a call, a block of them) is a
    /// test. The code's names are there without an import.
    Asserts,
    /// Python's pytest.
    Pytest,
    /// Python's unittest.
    Unittest,
    /// JavaScript's node:test.
    NodeTest,
    /// Rust's own tests.
    CargoTest,
    /// Go's own tests.
    GoTest,
    /// A program of its own whose exit code says it all: one test.
    Program,
    /// Python's examples after `>>>`, each with the output it expects.
    Doctest,
    /// No file but a command: its words are split at blanks, `{code}` is the file with the code,
    /// and its exit code is one test.
    Command,
}

/// A command and what it finds in its folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The program and its arguments; `{code}` is the name of the file with the code.
    pub argv: Vec<String>,
    /// More files, by name.
    pub files: Vec<(String, String)>,
}

/// What came of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ran {
    /// How strongly it was held: 1 is namespaces and more, 2 is Landlock and seccomp alone.
    pub tier: u8,
    /// What bounded its memory: `cgroup` for all its processes together, `rlimit` for each of them.
    pub memory_bound: String,
    /// How it ended.
    pub end: End,
    /// How long it took.
    pub ms: u64,
    /// The end of what it wrote to its standard output.
    pub stdout: String,
    /// The end of what it wrote to its standard error.
    pub stderr: String,
    /// One result for each test, in the order of the file; empty unless tests were run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<TestRun>,
    /// Why the results cannot be believed as a whole (none collected, fewer than there are, the
    /// runner ended early); never empty words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distrust: Option<String>,
    /// Whether the code under test ran in the process that judged it: then a hostile program could
    /// have forged the verdicts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_process: bool,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By itself, with that code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// Ended by us: its time was over.
    TimedOut,
    /// Ended by us: it wrote more than it may.
    TooMuchOutput,
    /// It met a limit on memory, processes or files.
    Resource(String),
    /// The code could not be built; the words are in `stderr`.
    NotBuilt,
}

/// One test's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestRun {
    /// Its name, unique in the file.
    pub name: String,
    /// How it went.
    pub verdict: TestVerdict,
    /// The end of what it said; empty for most that pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

impl TestRun {
    /// A test that said nothing.
    pub fn new(name: impl Into<String>, verdict: TestVerdict) -> Self {
        Self {
            name: name.into(),
            verdict,
            output: String::new(),
        }
    }
}

/// How a test went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestVerdict {
    /// It ran to its end and held.
    Pass,
    /// It ran and did not hold.
    Fail,
    /// It could not be run, or the test itself broke: it says nothing about the code.
    Error,
    /// It did not end in time.
    Timeout,
}

impl Ran {
    /// A run of one millisecond that said nothing, held as an ordinary user's runs are: what a
    /// sandbox for tests begins with.
    pub fn plain(end: End, tests: impl IntoIterator<Item = TestRun>) -> Self {
        Self {
            tier: 1,
            memory_bound: "rlimit".to_owned(),
            end,
            ms: 1,
            stdout: String::new(),
            stderr: String::new(),
            tests: tests.into_iter().collect(),
            distrust: None,
            shared_process: false,
        }
    }

    /// Whether tests were run and every one of them held. No test is no pass.
    pub fn all_passed(&self) -> bool {
        self.distrust.is_none() && !self.tests.is_empty() && self.passed() == self.tests.len()
    }

    /// How many tests held; none of a run that cannot be believed.
    pub fn passed(&self) -> usize {
        if self.distrust.is_some() {
            return 0;
        }
        self.tests
            .iter()
            .filter(|test| test.verdict == TestVerdict::Pass)
            .count()
    }

    /// What has to be said beside its passes; see [`shared_note`].
    pub fn shared_note(&self) -> &'static str {
        shared_note(self.passed(), self.shared_process)
    }

    /// The share of tests that held; `None` when there was none.
    #[allow(clippy::cast_precision_loss, reason = "nobody writes 2^52 tests")]
    pub fn pass_rate(&self) -> Option<f64> {
        (!self.tests.is_empty()).then(|| self.passed() as f64 / self.tests.len() as f64)
    }
}

/// What follows a number of passes that the code under test could have forged, since it ran in the
/// process that judged it. Nothing follows passes that were held apart from the code, and nothing
/// is to be said where no test passed.
pub fn shared_note(passed: usize, shared_process: bool) -> &'static str {
    if shared_process && passed > 0 {
        " (same process: could be forged)"
    } else {
        ""
    }
}

/// Why nothing was run. The code never runs anywhere else instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{reason}; {fix}")]
pub struct Refused {
    /// What is missing or wrong.
    pub reason: String,
    /// What a person can do about it.
    pub fix: String,
}

/// The sandbox of a program that has none: refuses everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSandbox;

#[async_trait::async_trait]
impl Sandbox for NoSandbox {
    async fn run(&self, _: &Job) -> Result<Ran, Refused> {
        Err(Refused {
            reason: "this program was built without a sandbox".to_owned(),
            fix: "give the desk one".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_no_pass() {
        use TestVerdict::{Error, Fail, Pass, Timeout};
        let ran = |verdicts: &[TestVerdict], distrust: Option<&str>| {
            let tests = verdicts
                .iter()
                .enumerate()
                .map(|(number, verdict)| TestRun::new(number.to_string(), *verdict));
            Ran {
                distrust: distrust.map(str::to_owned),
                ..Ran::plain(End::Exited(0), tests)
            }
        };
        let check = |verdicts: &[TestVerdict], distrust, all, rate| {
            let ran = ran(verdicts, distrust);
            assert_eq!(
                (ran.all_passed(), ran.pass_rate()),
                (all, rate),
                "{verdicts:?} {distrust:?}"
            );
        };
        check(&[], None, false, None);
        check(&[Pass], None, true, Some(1.0));
        check(&[Pass, Fail], None, false, Some(0.5));
        check(&[Error, Timeout], None, false, Some(0.0));
        check(
            &[Pass, Pass],
            Some("one of three is missing"),
            false,
            Some(0.0),
        );
        let shared = |verdicts: &[TestVerdict]| {
            Ran {
                shared_process: true,
                ..ran(verdicts, None)
            }
            .shared_note()
        };
        assert_eq!(shared(&[Pass, Fail]), " (same process: could be forged)");
        assert_eq!(
            (shared(&[Fail]), ran(&[Pass], None).shared_note()),
            ("", ""),
            "no pass, and a pass that was held apart"
        );
    }
}
