//! Python: every style, everything that crosses between the two processes, and what happens when something hangs or dies.

use super::{Run, sandbox, verdicts};
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

/// The same tests in each style. The one with a fixture needs pytest.
const STYLES: &[(Option<Style>, usize, &str)] = &[
    (
        None,
        4,
        "import math\nassert add(1) == 3\nresult = divide(1, 4)\nassert math.isclose(result, 0.25)\ndef check(candidate):\n    assert candidate(2, 3) == 5\ncheck(add)\nprint('no test')\nassert add(0, 0) == 0\n",
    ),
    (Some(Style::Asserts), 1, "from solution import add as plus\nassert plus(1, 1) == 2"),
    (
        None,
        2,
        "from solution import add, divide\ndef test_add():\n    assert add(1) == 3\ndef test_divide():\n    assert divide(1, 4) == 0.25\n",
    ),
    (
        None,
        4,
        "import pytest\nfrom solution import add, divide\n@pytest.fixture\ndef four():\n    return 4\n\
         @pytest.mark.parametrize('a,b', [(1, 3), (2, 4)])\ndef test_add(a, b, capsys):\n    assert add(a) == b\n    assert capsys.readouterr().out == 'adding\\n'\n\
         class TestDivide:\n    def test_it(self, four):\n        assert divide(1, four) == pytest.approx(0.25)\n\
         def test_raises():\n    with pytest.raises(ValueError, match='nothing'):\n        divide(1, 0)\n",
    ),
    (
        None,
        2,
        "import unittest, solution\nclass TestAll(unittest.TestCase):\n    def setUp(self):\n        self.four = 4\n    def test_divide(self):\n        self.assertEqual(solution.divide(1, self.four), 0.25)\n\
         \x20       with self.assertRaises(ValueError):\n            solution.divide(1, 0)\n    def test_add(self):\n        self.assertEqual(solution.add(1), 3)\n",
    ),
    (Some(Style::Program), 1, "import sys\nfrom solution import add\nsys.exit(0 if add(1) == 3 else 1)\n"),
];

#[tokio::test]
async fn honest_code_passes_in_each_style_and_wrong_code_in_none() {
    let sandbox = sandbox();
    let wrong = CODE.replace("a + b", "a - b").replace("a / b", "a");
    for (style, count, tests) in STYLES {
        let run = Run { style: *style, ..Run::of("python", CODE, tests) };
        let ran = run.on(&sandbox).await;
        assert!(ran.all_passed() && ran.tests.len() == *count, "{tests}\n{ran:#?}");
        let ran = Run { code: &wrong, ..run }.on(&sandbox).await;
        assert!(ran.distrust.is_none() && !ran.all_passed() && ran.tests.len() == *count, "{tests}\n{ran:#?}");
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
    let code = "import os, ctypes\ndef f(x):\n    if x == 1:\n        while True: pass\n    if x == 2: os._exit(0)\n    if x == 3: ctypes.string_at(0)\n    if x == 4: raise KeyError(x)\n    return x\n";
    let tests =
        "assert f(0) == 0\nassert f(1) == 1\nassert f(5) == 5\nassert f(2) == 2\nassert f(3) == 3\nassert f(4) == 4\nassert f(6) == 6\n";
    let ran = Run::of("python", code, tests).seconds(8).on(&sandbox()).await;
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
