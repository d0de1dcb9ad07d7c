//! What can be typed about running untrusted code.

use super::JsonArg;
use clap::{Args, Subcommand, builder::PossibleValuesParser};
use rebut_engine::sandbox::{LANGUAGES, Style};
use std::path::PathBuf;

/// What can be done with the sandbox.
#[derive(Subcommand, Debug)]
pub enum SandboxCommand {
    /// Show whether this machine can hold untrusted code, and which languages it has
    Check(JsonArg),
    /// Run a file of code where it can do no harm
    Run(SandboxRunArgs),
    /// Run tests against a file of code, held apart from them where that is possible
    Test(SandboxTestArgs),
}

/// How tests can be written, by name.
pub const TEST_STYLES: &[(&str, Style)] = &[
    ("asserts", Style::Asserts),
    ("pytest", Style::Pytest),
    ("unittest", Style::Unittest),
    ("node-test", Style::NodeTest),
    ("cargo-test", Style::CargoTest),
    ("go-test", Style::GoTest),
    ("program", Style::Program),
    ("doctest", Style::Doctest),
];

/// Arguments of `sandbox test`.
#[derive(Args, Debug)]
pub struct SandboxTestArgs {
    /// The language of the code
    #[arg(long, value_name = "LANGUAGE", value_parser = PossibleValuesParser::new(LANGUAGES))]
    pub lang: String,
    /// The file with the tests; `-` reads them from standard input
    #[arg(long, value_name = "FILE", required_unless_present = "test_command")]
    pub tests: Option<PathBuf>,
    /// A command in place of tests: one test that holds when it ends with 0. Split at blanks;
    /// `{code}` is the file with the code
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["tests", "style"])]
    pub test_command: Option<String>,
    /// The file with the code; `-` reads it from standard input
    pub file: PathBuf,
    /// How the tests are written; by default it is found out from their text
    #[arg(long, value_name = "STYLE", value_parser = PossibleValuesParser::new(TEST_STYLES.iter().map(|(name, _)| *name)))]
    pub style: Option<String>,
    /// The most seconds all tests together may run; building has limits of its own
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub seconds: u32,
    /// Print what came of it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `sandbox run`.
#[derive(Args, Debug)]
pub struct SandboxRunArgs {
    /// The language of the code
    #[arg(long, value_name = "LANGUAGE", value_parser = PossibleValuesParser::new(LANGUAGES))]
    pub lang: String,
    /// The file with the code; `-` reads it from standard input
    pub file: PathBuf,
    /// What the program reads from its standard input: a file, or `-` for ours; by default nothing
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// The most seconds it may run; building has limits of its own
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub seconds: u32,
    /// Print what came of it as JSON
    #[arg(long)]
    pub json: bool,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}
