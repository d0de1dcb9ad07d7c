//! What can be typed about a task to solve.

use super::{RunArgs, asking::topologies};
use clap::{Args, ValueEnum, builder::PossibleValuesParser};
use rebut_engine::{
    formats::solve::Phase,
    sandbox::{LANGUAGES, Style},
};
use std::path::PathBuf;

/// Arguments of `solve`.
#[derive(Args, Debug, Clone, Default, PartialEq)]
pub struct SolveArgs {
    /// The task, in your own words; `-` reads it from standard input
    #[arg(value_name = "TASK", required_unless_present = "problem")]
    pub task: Option<String>,
    /// The language of the code
    #[arg(long, value_name = "LANGUAGE", value_parser = languages())]
    pub lang: Option<String>,
    /// Tests that everybody sees: a file
    #[arg(long, value_name = "FILE")]
    pub tests: Option<PathBuf>,
    /// A command in place of tests: one test that holds when it ends with 0. Split at blanks;
    /// `{code}` is the file with the code
    #[arg(long, value_name = "COMMAND", conflicts_with = "tests")]
    pub test_command: Option<String>,
    /// Tests that score the result at the end and that nobody is shown: a file
    #[arg(long, value_name = "FILE")]
    pub hidden_tests: Option<PathBuf>,
    /// How the tests are written; found out from their text when not said
    #[arg(long, value_name = "STYLE")]
    pub style: Option<TestStyle>,
    /// The name that tests call
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// A problem of a HumanEval or MBPP file, JSONL or .gz: task, entry point and hidden tests
    #[arg(long, value_name = "FILE#ID", conflicts_with_all = ["task", "tests", "test_command", "hidden_tests", "style", "entry"])]
    pub problem: Option<String>,
    /// What the agents should know: a file, a directory or `-`; repeat for more
    #[arg(short, long, value_name = "PATH")]
    pub context: Vec<PathBuf>,
    /// An answer to a question that might come up, `ABOUT=ANSWER`; repeat for more
    #[arg(long, value_name = "ABOUT=ANSWER")]
    pub answer: Vec<String>,
    /// Hold only these phases
    #[arg(long, value_name = "PHASE,…", value_delimiter = ',', value_parser = phases(), conflicts_with = "without")]
    pub phases: Vec<String>,
    /// Leave these phases out
    #[arg(long, value_name = "PHASE,…", value_delimiter = ',', value_parser = phases())]
    pub without: Vec<String>,
    /// Who sees whose code
    #[arg(long, value_name = "KIND", value_parser = topologies())]
    pub topology: Option<String>,
    /// Who plans before the first code
    #[arg(long, value_name = "STYLE", value_parser = ["off", "adaptive", "cpde", "dpde"])]
    pub planning: Option<String>,
    /// Wait after this phase until a person approves; repeat for more
    #[arg(long, value_name = "PHASE", value_parser = phases())]
    pub gate: Vec<String>,
    /// Run a command in the sandbox on each candidate, `post-proposal="ruff check {code}"`; repeat
    /// for more
    #[arg(long, value_name = "POINT=COMMAND")]
    pub hook: Vec<String>,
    /// Also write the code that won to FILE. A file that is there stays
    #[arg(long, value_name = "FILE")]
    pub code: Option<PathBuf>,
    /// Overwrite that file whatever it holds
    #[arg(long, requires = "code")]
    pub force: bool,
    /// Commit every version as it comes to the branch debate/<id> of the repository here; your
    /// checkout is not touched
    #[arg(long)]
    pub git: bool,
    /// Where the code that won is on that branch, from the top of the repository; else solution.py,
    /// or as the language has it
    #[arg(long, value_name = "NAME", requires = "git")]
    pub git_file: Option<String>,
    /// How it is run
    #[command(flatten)]
    pub run: RunArgs,
}

/// How tests are written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestStyle {
    /// Statements at the top level
    Asserts,
    /// Python's pytest
    Pytest,
    /// Python's unittest
    Unittest,
    /// JavaScript's node:test
    NodeTest,
    /// Rust's own tests
    CargoTest,
    /// Go's own tests
    GoTest,
    /// A program whose exit code says it all
    Program,
    /// Python's examples after `>>>`
    Doctest,
}

impl From<TestStyle> for Style {
    fn from(style: TestStyle) -> Self {
        match style {
            TestStyle::Asserts => Self::Asserts,
            TestStyle::Pytest => Self::Pytest,
            TestStyle::Unittest => Self::Unittest,
            TestStyle::NodeTest => Self::NodeTest,
            TestStyle::CargoTest => Self::CargoTest,
            TestStyle::GoTest => Self::GoTest,
            TestStyle::Program => Self::Program,
            TestStyle::Doctest => Self::Doctest,
        }
    }
}

fn phases() -> PossibleValuesParser {
    Phase::ALL
        .iter()
        .map(|phase| phase.name())
        .collect::<Vec<_>>()
        .into()
}

fn languages() -> PossibleValuesParser {
    LANGUAGES.to_vec().into()
}
