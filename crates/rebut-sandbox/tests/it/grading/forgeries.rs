//! Forgeries: code that wants its tests to pass without doing what they ask. None of them is a
//! pass, and the honest row shows that one could be.

use super::{Run, cases, sandbox, style};
use rebut_engine::sandbox::{Ran, TestVerdict};

/// No pass, or where an object of the code has a say (`marked: `) one that says so.
fn is_held(title: &str, ran: &Ran) -> bool {
    ran.passed() == 0 || title.starts_with("marked: ") && ran.shared_process
}

#[tokio::test]
async fn no_python_lie_passes_in_any_style() {
    let sandbox = sandbox();
    for judge in cases(include_str!("data/python_judges.txt")) {
        let run = Run {
            style: style(judge.title),
            ..Run::of("python", "def f(x): return x * 2", judge.code)
        };
        let ran = run.on(&sandbox).await;
        assert!(ran.all_passed(), "{} {ran:#?}", judge.title);
        for lie in cases(include_str!("data/python_lies.txt")) {
            let ran = Run {
                code: lie.code,
                ..run
            }
            .on(&sandbox)
            .await;
            assert!(
                is_held(lie.title, &ran) && !ran.tests.is_empty(),
                "{}, {}: {ran:#?}",
                lie.title,
                judge.title
            );
        }
    }
}

/// What breaks or leaves its process, or writes where it should not: once each, in turn in each
/// style.
#[tokio::test]
async fn no_python_break_passes() {
    let sandbox = sandbox();
    let short = [
        ("asserts", "assert f(2) == 4\n"),
        (
            "unittest",
            "import unittest\nfrom solution import *\nclass T(unittest.TestCase):\n    def \
             test_a(self): self.assertEqual(f(2), 4)\n",
        ),
        (
            "pytest",
            "import pytest, solution\ndef test_a(): assert solution.f(2) == 4\n",
        ),
    ];
    for (forgery, (name, tests)) in cases(include_str!("data/python_breaks.txt"))
        .iter()
        .zip(short.iter().cycle())
    {
        let ran = Run {
            style: style(name),
            ..Run::of("python", forgery.code, tests)
        }
        .on(&sandbox)
        .await;
        assert!(
            ran.passed() == 0 && ran.tests.len() == 1,
            "{}, {name}: {ran:#?}",
            forgery.title
        );
    }
}

#[tokio::test]
async fn code_that_hangs_anywhere_is_no_pass() {
    let sandbox = sandbox();
    let tests = "assert f(2) == 4\nassert f(3) == 6\n";
    for code in [
        "while True: pass",
        "def f(x):\n    while True: pass",
        "import time\ndef f(x): time.sleep(100)",
        "import signal\ndef f(x): signal.pause()",
    ] {
        let ran = Run::of("python", code, tests).seconds(6).on(&sandbox).await;
        assert!(
            ran.tests.len() == 2 && ran.passed() == 0,
            "{code}: {ran:#?}"
        );
        assert!(
            ran.tests
                .iter()
                .all(|test| test.verdict == TestVerdict::Timeout),
            "{code}: {ran:#?}"
        );
    }
}

#[tokio::test]
async fn no_javascript_forgery_passes() {
    let sandbox = sandbox();
    for judge in cases(include_str!("data/javascript_judges.txt")) {
        let honest = "function f(x) { return typeof x === 'number' ? 2 * x : x.concat(x) \
            }\nmodule.exports = { f }";
        let run = Run {
            style: style(judge.title),
            ..Run::of("javascript", honest, judge.code)
        };
        let ran = run.on(&sandbox).await;
        assert!(ran.all_passed(), "{ran:#?}");
        for forgery in cases(include_str!("data/javascript_forgeries.txt")) {
            let ran = Run {
                code: forgery.code,
                ..run
            }
            .on(&sandbox)
            .await;
            assert!(
                is_held(forgery.title, &ran) && !ran.tests.is_empty(),
                "{}: {ran:#?}",
                forgery.title
            );
        }
    }
}
