//! Forgeries in Python and JavaScript: code that wants its tests to pass without doing what they
//! ask, and honest code beside it that must.
//!
//! Most of them speak the protocol themselves: they say by hand what the code's own process would
//! never say.

use crate::{
    grading::{Case, Run, cases, sandbox},
    users,
};
use rebut_engine::sandbox::Ran;
use rebut_sandbox::BubbleSandbox;
use std::sync::Arc;
use tokio::task::JoinSet;

/// At least so many ideas are tried in each language, and so many honest programs.
const FORGERIES: usize = 25;
const HONEST: usize = 15;
/// Before the titles of cases where an object of the code has a say: that is a pass which says so.
const MARKED: &str = "marked: ";
/// Some of them hang, and the machine may be busy with others.
const SECONDS: u32 = 15;

/// One language: what forges, what is honest, and the tests of whoever brings none.
struct Language {
    name: &'static str,
    forgeries: &'static str,
    honest: &'static str,
    judge: &'static str,
    /// Before each forgery: how it speaks by hand.
    raw: &'static str,
    /// Code that does what the tests ask.
    right: &'static str,
}

static PYTHON: Language = Language {
    name: "python",
    forgeries: include_str!("data/python_forgeries.txt"),
    honest: include_str!("data/python_honest.txt"),
    judge: include_str!("data/python_judge.txt"),
    raw: "",
    right: "def f(x, **given): return 4 if x == 2 else 'nine of hearts'\ndef g(xs): xs.sort()\n",
};
static JAVASCRIPT: Language = Language {
    name: "javascript",
    forgeries: include_str!("data/javascript_forgeries.txt"),
    honest: include_str!("data/javascript_honest.txt"),
    judge: include_str!("data/javascript_judge.txt"),
    raw: include_str!("data/javascript_raw.txt"),
    right: "const f = (x) => (x === 2 ? 4 : 'nine of hearts');\nconst g = (xs) => { xs.sort() };\n",
};

impl Language {
    async fn run(&self, sandbox: &BubbleSandbox, code: &str, tests: &str) -> Ran {
        Run::of(self.name, code, tests)
            .seconds(SECONDS)
            .on(sandbox)
            .await
    }

    /// Runs all of these at once: some of them only wait. Tells what is wrong with each.
    async fn all(
        &'static self,
        cases: Vec<Case<'static>>,
        wrong: fn(&Case<'_>, &Ran) -> bool,
        prepared: fn(&Self, &Case<'_>) -> (String, String),
    ) -> String {
        let sandbox = Arc::new(sandbox());
        let mut running = JoinSet::new();
        for case in cases {
            let sandbox = sandbox.clone();
            running.spawn(async move {
                let (code, tests) = prepared(self, &case);
                let ran = self.run(&sandbox, &code, &tests).await;
                wrong(&case, &ran).then(|| format!("{}: {ran:#?}\n", case.title))
            });
        }
        running.join_all().await.into_iter().flatten().collect()
    }

    /// None of them is a pass that is not marked; what does as asked is one, or this shows nothing.
    async fn holds(&'static self) {
        let right = self
            .run(&sandbox(), self.right, cases(self.judge)[0].code)
            .await;
        assert!(right.all_passed() && !right.shared_process, "{right:#?}");
        let forgeries = cases(self.forgeries);
        assert!(
            forgeries.len() >= FORGERIES,
            "{} are too few",
            forgeries.len()
        );
        let passed = self.all(
            forgeries,
            |case, ran| {
                let is_forged = if case.title.starts_with(MARKED) {
                    !ran.shared_process
                } else {
                    ran.passed() > 0 || ran.all_passed()
                };
                is_forged || ran.tests.is_empty()
            },
            |language, case| {
                let tests = if case.tests.is_empty() {
                    cases(language.judge)[0].code
                } else {
                    case.tests
                };
                (format!("{}{}", language.raw, case.code), tests.to_owned())
            },
        );
        let passed = passed.await;
        assert!(passed.is_empty(), "{passed}");
    }

    async fn lets_honest_code_pass(&'static self) {
        let honest = cases(self.honest);
        assert!(honest.len() >= HONEST, "{} are too few", honest.len());
        let is_wrong = |case: &Case<'_>, ran: &Ran| {
            !ran.all_passed() || ran.shared_process != case.title.starts_with(MARKED)
        };
        let failed = self
            .all(honest, is_wrong, |_, case| {
                (case.code.to_owned(), case.tests.to_owned())
            })
            .await;
        assert!(failed.is_empty(), "{failed}");
    }
}

#[tokio::test]
async fn no_python_forgery_passes() {
    PYTHON.holds().await;
}

#[tokio::test]
async fn no_javascript_forgery_passes() {
    JAVASCRIPT.holds().await;
}

#[tokio::test]
async fn honest_python_passes() {
    PYTHON.lets_honest_code_pass().await;
}

#[tokio::test]
async fn honest_javascript_passes() {
    JAVASCRIPT.lets_honest_code_pass().await;
}

/// What the tests have made and the code hands back may say what is in it, since honest code is
/// written that way. Every pass then says that the code had a say in it.
#[tokio::test]
async fn what_an_object_decides_that_was_handed_back_is_marked() {
    let sandbox = sandbox();
    let mut wrong = Vec::new();
    for case in cases(include_str!("data/handed_back.txt")) {
        let (language, kind) = case.title.split_once(' ').expect("a language and a kind");
        let ran = Run::of(language, case.code, case.tests).on(&sandbox).await;
        if !ran.all_passed() || ran.shared_process == kind.starts_with("apart: ") {
            wrong.push(format!("{}: {ran:#?}", case.title));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn forgeries_of_an_ordinary_user_are_held() {
    for test in ["no_python_forgery_passes", "no_javascript_forgery_passes"] {
        users::as_ordinary_user(&format!("forgeries::{test}"));
    }
}
