//! Python: every style, everything that crosses between the two processes, and what happens when
//! something hangs or dies.

use super::{Run, cases, sandbox, style, verdicts};
use rebut_engine::sandbox::{Job, Sandbox, Style, TestVerdict, Tests, Work};
use rebut_sandbox::BubbleSandbox;

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
        let run = |code| Run {
            style: style(name),
            ..Run::of("python", code, case.code)
        };
        for code in [CODE] {
            let ran = run(code).on(&sandbox).await;
            assert!(
                ran.all_passed() && ran.tests.len().to_string() == count,
                "{code}\n{}\n{ran:#?}",
                case.code
            );
        }
        let ran = run(&wrong).on(&sandbox).await;
        assert!(
            ran.distrust.is_none() && !ran.all_passed() && ran.tests.len().to_string() == count,
            "{}\n{ran:#?}",
            case.code
        );
    }
}

#[tokio::test]
async fn values_objects_callbacks_and_exceptions_cross() {
    let ran = Run::of(
        "python",
        include_str!("data/values_solution.py"),
        include_str!("data/values_tests.py"),
    )
    .on(&sandbox())
    .await;
    assert!(ran.all_passed() && ran.tests.len() > 40, "{ran:#?}");
}

#[tokio::test]
async fn one_that_hangs_or_dies_leaves_the_others() {
    use TestVerdict::{Error, Fail, Pass, Timeout};
    let case = &cases(include_str!("data/python_hangs.txt"))[0];
    let ran = Run::of("python", case.code, case.tests)
        .seconds(8)
        .on(&sandbox())
        .await;
    assert_eq!(
        verdicts(&ran),
        [Pass, Timeout, Pass, Error, Error, Fail, Pass],
        "{ran:#?}"
    );
    assert!(
        ran.tests[3].output.contains("exit code 0") && ran.tests[4].output.contains("signal 11"),
        "{ran:#?}"
    );
    assert!(
        ran.tests[5].output.contains("KeyError: 4") && ran.tests[5].output.contains("solution.py"),
        "{ran:#?}"
    );
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
        (
            "import unittest\nclass T(unittest.TestCase):\n    pass\n",
            true,
            0,
        ),
        (
            "import os\nassert add(1) == 3\nos._exit(0)\nassert add(1) == 3\n",
            false,
            3,
        ),
        (
            "import sys\nassert add(1) == 3\nsys.exit(0)\nassert add(1) == 3\n",
            false,
            3,
        ),
        ("from solution import nothing\nassert add(1) == 3", false, 1),
        (
            "import unittest\nclass T(unittest.TestCase):\n    @unittest.skip('later')\n    def \
             test_a(self): pass\n",
            false,
            1,
        ),
        (
            "def test_a():\n    assert True\nfor name in list(globals()):\n    if \
             name.startswith('test_'): del globals()[name]\n",
            false,
            1,
        ),
    ];
    for (tests, doubted, count) in rows {
        let ran = Run::of("python", CODE, tests).on(&sandbox).await;
        assert!(!ran.all_passed(), "{tests}\n{ran:#?}");
        assert_eq!(
            (ran.distrust.is_some(), ran.tests.len()),
            (*doubted, *count),
            "{tests}\n{ran:#?}"
        );
    }
    what_fails_at_the_top_level_is_no_pass(&sandbox).await;
    let tests = Tests {
        text: "assert add(1) == 3".to_owned(),
        style: Some(Style::GoTest),
    };
    let job = Job {
        language: "python".to_owned(),
        code: CODE.to_owned(),
        work: Work::Tests(tests),
        seconds: 5,
    };
    let refused = sandbox.run(&job).await.expect_err("Python has no Go tests");
    assert!(
        refused.fix.contains("asserts, pytest, unittest, program"),
        "{refused}"
    );
}

/// Behind a test that holds stands a statement that fails: each is a result of its own, whatever
/// kind of statement it is.
async fn what_fails_at_the_top_level_is_no_pass(sandbox: &BubbleSandbox) {
    use TestVerdict::{Error, Fail, Pass, Timeout};
    let rows: &[(&str, TestVerdict)] = &[
        ("for i in range(5):\n    assert add(i, 1) == i", Fail),
        (
            "i = 0\nwhile i < 3:\n    i += 1\n    assert add(i, 1) == 2",
            Fail,
        ),
        ("if add(1) == 3:\n    assert add(2) == 5", Fail),
        ("if __name__ == '__main__':\n    assert add(2) == 5", Fail),
        (
            "import contextlib\nwith contextlib.suppress(KeyError):\n    assert add(2) == 5",
            Fail,
        ),
        (
            "try:\n    divide(1, 1)\nexcept ValueError:\n    pass\nelse:\n    raise \
             AssertionError('no error')",
            Fail,
        ),
        ("raise AssertionError('always')", Fail),
        ("raise ValueError('always')", Fail),
        ("[divide(1, 0)]", Fail),
        ("x = divide(1, 0)", Fail),
        ("x = 1 / 0", Error),
        ("x = [][1]\ny = 2", Error),
        ("from solution import nothing", Error),
        ("import sys\nx = sys.exit(0)", Error),
        ("x = hang()", Timeout),
        ("x = die()", Error),
        ("undefined_name(1)", Error),
    ];
    let code = format!(
        "{CODE}\ndef die():\n    __import__('os')._exit(0)\ndef hang():\n    while True: pass\n"
    );
    for (statement, verdict) in rows {
        let tests = format!("assert add(1) == 3\n{statement}\n");
        let ran = Run::of("python", &code, &tests)
            .seconds(6)
            .on(sandbox)
            .await;
        assert_eq!(
            (verdicts(&ran), ran.distrust.as_deref()),
            (vec![Pass, *verdict], None),
            "{statement}\n{ran:#?}"
        );
    }
    // The same where it cannot be told apart from a runner that ends too early, and outside of
    // every test of other styles.
    let rows = [
        ("assert add(1) == 3\nx = __import__('os')._exit(0)\n", None),
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    \
             @classmethod\n    def tearDownClass(cls): 1 / 0\n",
            None,
        ),
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\ndef \
             tearDownModule(): 1 / 0\n",
            None,
        ),
        ("def test_a(): pass\n1 / 0\n", None),
        ("import pytest\ndef test_a(): pass\n1 / 0\n", None),
        (
            "import pytest\n@pytest.fixture(scope='session', autouse=True)\ndef around():\n    \
             yield\n    1 / 0\ndef test_a(): pass\n",
            None,
        ),
        (
            "from solution import add\nassert add(1) == 3\n1 / 0\n",
            Some(Style::Program),
        ),
    ];
    for (tests, style) in rows {
        let ran = Run {
            style,
            ..Run::of("python", CODE, tests)
        }
        .on(sandbox)
        .await;
        assert!(!ran.all_passed(), "{tests}\n{ran:#?}");
    }
}

#[tokio::test]
async fn what_the_tests_do_wrong_is_an_error_and_what_the_code_does_wrong_a_failure() {
    use TestVerdict::{Error, Fail};
    let code = "def f(x):\n    return {1: 2}[x]\ndef g():\n    return undefined\ndef h(): return \
        None\ndef stop(x): raise StopIteration\n";
    let rows = [
        ("f(2)", Fail),
        ("g()", Fail),
        ("assert all(map(stop, [1, 2]))", Fail),
        ("assert h()", Fail),
        ("raise ValueError", Fail),
        ("undefined_name", Error),
        ("int('x')", Error),
    ];
    let sandbox = sandbox();
    for (body, verdict) in rows {
        let pytest = format!("import pytest\nfrom solution import *\ndef test_a():\n    {body}\n");
        let plain = format!("from solution import *\ndef test_a():\n    {body}\n");
        let case = format!(
            "import unittest\nfrom solution import *\nclass T(unittest.TestCase):\n    def \
             test_a(self):\n        {body}\n"
        );
        let alone = format!("def check():\n    {body}\ncheck()\n");
        for tests in [pytest, plain, case, alone] {
            let ran = Run::of("python", code, &tests).on(&sandbox).await;
            assert_eq!(verdicts(&ran), [verdict], "{tests}\n{ran:#?}");
        }
    }
}
