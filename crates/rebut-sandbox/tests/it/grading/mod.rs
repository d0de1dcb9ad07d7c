//! Tests run against code: honest code passes, and no forgery does. Real cells, real toolchains.

mod compiled;
mod forgeries;
mod javascript;
mod python;

use crate::inner;
use rebut_engine::sandbox::{Job, Ran, Sandbox, Style, TestVerdict, Tests, Work};
use rebut_sandbox::BubbleSandbox;

/// One run: a language, its code, its tests.
struct Run<'a> {
    language: &'a str,
    code: &'a str,
    tests: &'a str,
    style: Option<Style>,
    seconds: u32,
}

impl<'a> Run<'a> {
    fn of(language: &'a str, code: &'a str, tests: &'a str) -> Self {
        Self { language, code, tests, style: None, seconds: 30 }
    }

    fn style(self, style: Style) -> Self {
        Self { style: Some(style), ..self }
    }

    fn seconds(self, seconds: u32) -> Self {
        Self { seconds, ..self }
    }

    async fn on(&self, sandbox: &BubbleSandbox) -> Ran {
        let tests = Tests { text: self.tests.to_owned(), style: self.style };
        let job = Job { language: self.language.to_owned(), code: self.code.to_owned(), work: Work::Tests(tests), seconds: self.seconds };
        sandbox.run(&job).await.unwrap_or_else(|refused| panic!("{}: {refused}", self.language))
    }
}

fn sandbox() -> BubbleSandbox {
    BubbleSandbox::new(inner())
}

fn verdicts(ran: &Ran) -> Vec<TestVerdict> {
    ran.tests.iter().map(|test| test.verdict).collect()
}
