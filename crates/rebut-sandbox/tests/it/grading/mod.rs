//! Tests run against code: honest code passes, and no forgery does. Real cells, real toolchains.

mod compiled;
mod forgeries;
mod javascript;
mod native;
mod python;
mod rust;
mod shell;

use crate::inner;
use rebut_engine::sandbox::{Job, Ran, Sandbox, Style, TestVerdict, Tests, Work};
use rebut_sandbox::BubbleSandbox;

/// One run: a language, its code, its tests.
pub(crate) struct Run<'a> {
    language: &'a str,
    code: &'a str,
    tests: &'a str,
    style: Option<Style>,
    seconds: u32,
}

impl<'a> Run<'a> {
    pub(crate) fn of(language: &'a str, code: &'a str, tests: &'a str) -> Self {
        Self {
            language,
            code,
            tests,
            style: None,
            seconds: 30,
        }
    }

    pub(crate) fn seconds(self, seconds: u32) -> Self {
        Self { seconds, ..self }
    }

    pub(crate) async fn on(&self, sandbox: &BubbleSandbox) -> Ran {
        let tests = Tests {
            text: self.tests.to_owned(),
            style: self.style,
        };
        let job = Job {
            language: self.language.to_owned(),
            code: self.code.to_owned(),
            work: Work::Tests(tests),
            seconds: self.seconds,
        };
        sandbox
            .run(&job)
            .await
            .unwrap_or_else(|refused| panic!("{}: {refused}", self.language))
    }
}

/// One part of a file of cases: `=== title`, the code, and after `--- tests` its tests.
pub(crate) struct Case<'a> {
    pub(crate) title: &'a str,
    pub(crate) code: &'a str,
    pub(crate) tests: &'a str,
}

pub(crate) fn cases(text: &str) -> Vec<Case<'_>> {
    let parts = text
        .strip_prefix("=== ")
        .expect("a file of cases begins with a title")
        .split("\n=== ");
    let found = parts.map(|part| {
        let (title, body) = part.split_once('\n').expect("a title is a line");
        let (code, tests) = body.split_once("\n--- tests\n").unwrap_or((body, ""));
        Case { title, code, tests }
    });
    found.collect()
}

/// The style a title names; none where it is to be found out.
fn style(name: &str) -> Option<Style> {
    (name != "found out").then(|| serde_json::from_value(name.into()).expect("a style"))
}

pub(crate) fn sandbox() -> BubbleSandbox {
    BubbleSandbox::new(inner())
}

fn verdicts(ran: &Ran) -> Vec<TestVerdict> {
    ran.tests.iter().map(|test| test.verdict).collect()
}

#[test]
fn the_same_as_an_ordinary_user() {
    for test in [
        "python::honest_code_passes_in_each_style_and_wrong_code_in_none",
        "forgeries::no_python_break_passes",
    ] {
        crate::users::as_ordinary_user(&format!("grading::{test}"));
    }
}
