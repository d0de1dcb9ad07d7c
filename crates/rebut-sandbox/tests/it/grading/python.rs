//! Python: every style, everything that crosses between the two processes, and what happens when something hangs or dies.

use super::{Run, cases, sandbox, style, verdicts};
use rebut_engine::sandbox::{Job, Sandbox, Style, TestVerdict, Tests, Work};

const CODE: &str = "
def add(a, b=2):
    print('adding')
    return a + b

def divide(a, b):
    if b == 0:
        raise ValueError('nothing to divide by')
    return a / b
";

/// A title is a style and how many tests there are.
#[tokio::test]
async fn honest_code_passes_in_each_style_and_wrong_code_in_none() {
    let sandbox = sandbox();
    let wrong = CODE.replace("a + b", "a - b").replace("a / b", "a");
    for case in cases(include_str!("data/python_styles.txt")) {
        let (name, count) = case.title.split_once(": ").expect("a style and a number");
        let run = |code| Run { style: style(name), ..Run::of("python", code, case.code) };
        for code in [CODE] {
            let ran = run(code).on(&sandbox).await;
            assert!(ran.all_passed() && ran.tests.len().to_string() == count, "{code}\n{}\n{ran:#?}", case.code);
        }
        let ran = run(&wrong).on(&sandbox).await;
        assert!(ran.distrust.is_none() && !ran.all_passed() && ran.tests.len().to_string() == count, "{}\n{ran:#?}", case.code);
    }
}

#[tokio::test]
async fn values_objects_callbacks_and_exceptions_cross() {
    let ran = Run::of("python", include_str!("data/values_solution.py"), include_str!("data/values_tests.py")).on(&sandbox()).await;
    assert!(ran.all_passed() && ran.tests.len() > 40, "{ran:#?}");
}

#[tokio::test]
async fn one_that_hangs_or_dies_leaves_the_others() {
    use TestVerdict::{Error, Fail, Pass, Timeout};
    let case = &cases(include_str!("data/python_hangs.txt"))[0];
    let ran = Run::of("python", case.code, case.tests).seconds(8).on(&sandbox()).await;
    assert_eq!(verdicts(&ran), [Pass, Timeout, Pass, Error, Error, Fail, Pass], "{ran:#?}");
    assert!(ran.tests[3].output.contains("exit code 0") && ran.tests[4].output.contains("signal 11"), "{ran:#?}");
    assert!(ran.tests[5].output.contains("KeyError: 4") && ran.tests[5].output.contains("solution.py"), "{ran:#?}");
    assert!(!ran.all_passed() && ran.distrust.is_none());
}

#[tokio::test]
async fn what_is_no_test_is_no_pass() {
    let sandbox = sandbox();
    // The tests, whether all of it is doubted, how many results there are.
    let rows: &[(&str, bool, usize)] = &[
        ("", true, 0),
        ("x = add(1)", true, 0),
        ("print(add(1))", true, 0),
        ("assert add(1) == ", true, 0),
        ("import unittest\nclass T(unittest.TestCase):\n    pass\n", true, 0),
        ("import os\nassert add(1) == 3\nos._exit(0)\nassert add(1) == 3\n", false, 3),
        ("import sys\nassert add(1) == 3\nsys.exit(0)\nassert add(1) == 3\n", false, 3),
        ("from solution import nothing\nassert add(1) == 3", false, 1),
        ("import unittest\nclass T(unittest.TestCase):\n    @unittest.skip('later')\n    def test_a(self): pass\n", false, 1),
        ("def test_a():\n    assert True\nfor name in list(globals()):\n    if name.startswith('test_'): del globals()[name]\n", false, 1),
    ];
    for (tests, doubted, count) in rows {
        let ran = Run::of("python", CODE, tests).on(&sandbox).await;
        assert!(!ran.all_passed(), "{tests}\n{ran:#?}");
        assert_eq!((ran.distrust.is_some(), ran.tests.len()), (*doubted, *count), "{tests}\n{ran:#?}");
    }
    let tests = Tests { text: "assert add(1) == 3".to_owned(), style: Some(Style::GoTest) };
    let job = Job { language: "python".to_owned(), code: CODE.to_owned(), work: Work::Tests(tests), seconds: 5 };
    let refused = sandbox.run(&job).await.expect_err("Python has no Go tests");
    assert!(refused.fix.contains("asserts, pytest, unittest, program"), "{refused}");
}
