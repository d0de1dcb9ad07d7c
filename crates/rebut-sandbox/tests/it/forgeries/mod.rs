//! Forgeries in Python and JavaScript: code that wants its tests to pass without doing what they ask, and honest code beside it that must.
//!
//! Most of them speak the protocol themselves: they say by hand what the code's own process would never say.

use crate::{
    grading::{Case, Run, cases, sandbox},
    users,
};
use rebut_engine::sandbox::Ran;
use rebut_sandbox::BubbleSandbox;

/// At least so many ideas are tried in each language, and so many honest programs.
const FORGERIES: usize = 25;
const HONEST: usize = 15;
/// Some of them hang.
const SECONDS: u32 = 8;

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

const PYTHON: Language = Language {
    name: "python",
    forgeries: include_str!("data/python_forgeries.txt"),
    honest: include_str!("data/python_honest.txt"),
    judge: include_str!("data/python_judge.txt"),
    raw: "",
    right: "def f(x, **given): return 4 if x == 2 else 'nine of hearts'\ndef g(xs): xs.sort()\n",
};
const JAVASCRIPT: Language = Language {
    name: "javascript",
    forgeries: include_str!("data/javascript_forgeries.txt"),
    honest: include_str!("data/javascript_honest.txt"),
    judge: include_str!("data/javascript_judge.txt"),
    raw: include_str!("data/javascript_raw.txt"),
    right: "const f = (x) => (x === 2 ? 4 : 'nine of hearts');\nconst g = (xs) => { xs.sort() };\n",
};

impl Language {
    async fn run(&self, sandbox: &BubbleSandbox, code: &str, tests: &str) -> Ran {
        Run::of(self.name, code, tests).seconds(SECONDS).on(sandbox).await
    }

    /// None of them is a pass; what does as asked is one, or this shows nothing.
    async fn holds(&self) {
        let sandbox = sandbox();
        let judge = cases(self.judge)[0].code;
        let right = self.run(&sandbox, self.right, judge).await;
        assert!(right.all_passed() && !right.shared_process, "{right:#?}");
        let forgeries = cases(self.forgeries);
        assert!(forgeries.len() >= FORGERIES, "{} are too few", forgeries.len());
        let mut passed = Vec::new();
        for Case { title, code, tests } in forgeries {
            let tests = if tests.is_empty() { judge } else { tests };
            let ran = self.run(&sandbox, &format!("{}{code}", self.raw), tests).await;
            if ran.passed() > 0 || ran.all_passed() || ran.tests.is_empty() {
                passed.push(format!("{title}: {ran:#?}"));
            }
        }
        assert!(passed.is_empty(), "{} forgeries:\n{}", passed.len(), passed.join("\n"));
    }

    async fn lets_honest_code_pass(&self) {
        let sandbox = sandbox();
        let honest = cases(self.honest);
        assert!(honest.len() >= HONEST, "{} are too few", honest.len());
        let mut failed = Vec::new();
        for Case { title, code, tests } in honest {
            let ran = Run::of(self.name, code, tests).on(&sandbox).await;
            if !ran.all_passed() {
                failed.push(format!("{title}: {ran:#?}"));
            }
        }
        assert!(failed.is_empty(), "{}", failed.join("\n"));
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

#[test]
fn forgeries_of_an_ordinary_user_are_held() {
    for test in ["no_python_forgery_passes", "no_javascript_forgery_passes"] {
        users::as_ordinary_user(&format!("forgeries::{test}"));
    }
}
