//! Tools that run something: what they are asked becomes a job for the sandbox, and what came of it
//! becomes words.

use super::{Plan, Toolbox, arguments};
use crate::sandbox::{Command, End, Job, Ran, TestVerdict, Tests, Work};
use serde::Deserialize;
use serde_json::Value;

/// Providers with strict schemas send every field of every tool; what is null was not given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Code {
    code: String,
    #[serde(default)]
    stdin: Option<String>,
    #[serde(default)]
    tests: Option<String>,
}

fn code(given: &Value) -> Result<Code, String> {
    let code: Code = arguments(given)?;
    if code.code.trim().is_empty() {
        Err("\"code\" is empty".to_owned())
    } else {
        Ok(code)
    }
}

pub fn program(toolbox: &Toolbox, given: &Value) -> Result<Plan, String> {
    let given = code(given)?;
    let work = Work::Program {
        stdin: given.stdin.unwrap_or_default(),
        args: Vec::new(),
    };
    Ok(job(toolbox, given.code, work))
}

pub fn tests(toolbox: &Toolbox, given: &Value) -> Result<Plan, String> {
    let given = code(given)?;
    let own = given
        .tests
        .filter(|tests| !tests.trim().is_empty())
        .map(|text| Tests { text, style: None });
    let tests = own
        .or_else(|| toolbox.tests.clone())
        .ok_or("the task has no tests; give your own as \"tests\"")?;
    Ok(job(toolbox, given.code, Work::Tests(tests)))
}

pub fn command(toolbox: &Toolbox, tool: &str, given: &Value) -> Result<Plan, String> {
    let given = code(given)?;
    let argv = toolbox
        .commands
        .get(tool)
        .cloned()
        .ok_or_else(|| format!("nobody has set a command for `{tool}`"))?;
    Ok(job(
        toolbox,
        given.code,
        Work::Command(Command {
            argv,
            files: Vec::new(),
        }),
    ))
}

fn job(toolbox: &Toolbox, code: String, work: Work) -> Plan {
    Plan::Run(Job {
        language: toolbox.language.clone(),
        code,
        work,
        seconds: toolbox.seconds,
    })
}

/// What came of a run, to an agent. No test is no pass.
pub fn in_words(ran: &Ran, is_test: bool) -> String {
    let mut said = match &ran.end {
        End::Exited(code) => format!("it ended with exit code {code}"),
        End::Signalled(signal) => format!("it was ended by signal {signal}"),
        End::TimedOut => "its time was over".to_owned(),
        End::TooMuchOutput => "it wrote too much and was ended".to_owned(),
        End::Resource(which) => format!("it met a limit: {which}"),
        End::NotBuilt => "it could not be built".to_owned(),
    };
    if is_test {
        said.push_str(&format!(
            "\n{} of {} tests passed{}",
            ran.passed(),
            ran.tests.len(),
            ran.shared_note()
        ));
    }
    if let Some(why) = &ran.distrust {
        said.push_str(&format!("\nthe results cannot be believed: {why}"));
    }
    for test in &ran.tests {
        let verdict = match test.verdict {
            TestVerdict::Pass => "pass",
            TestVerdict::Fail => "FAIL",
            TestVerdict::Error => "ERROR",
            TestVerdict::Timeout => "TIMEOUT",
        };
        said.push_str(&format!("\n{verdict} {}", test.name));
        if test.verdict != TestVerdict::Pass && !test.output.trim().is_empty() {
            said.push_str(&format!(": {}", test.output.trim()));
        }
    }
    for (name, text) in [
        ("standard output", &ran.stdout),
        ("standard error", &ran.stderr),
    ] {
        if !text.trim().is_empty() {
            said.push_str(&format!("\n{name}:\n{}", text.trim_end()));
        }
    }
    said
}
