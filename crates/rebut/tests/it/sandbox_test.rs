//! `rebut sandbox test`: one line for each test, and the exit codes.

use crate::rebut::Rebut;

#[test]
fn tests_are_listed_and_decide_the_exit_code() {
    let mut rebut = Rebut::new();
    rebut.set("PATH", "/usr/bin:/bin");
    rebut.write("solution.py", "def add(a, b):\n    return a + b\n");
    // The tests, further arguments, the exit code, what is printed.
    let rows: &[(&str, &[&str], i32, &str)] = &[
        ("assert add(1, 2) == 3\n", &[], 0, "pass     line 1: assert add(1, 2) == 3\n1 of 1 tests hold\n"),
        ("assert add(1, 2) == 3\nassert add(1, 2) == 4\n", &["--seconds", "9"], 1, "1 of 2 tests hold\n"),
        (
            "def test_add():\n    from solution import add\n    assert add(1, 2) == 3\n",
            &["--style", "pytest"],
            0,
            "pass     test_add\n1 of 1 tests hold\n",
        ),
        ("x = 1\n", &[], 1, "not to be believed: no test was found in the file\n0 of 0 tests hold\n"),
    ];
    for (tests, arguments, exit, stdout) in rows {
        rebut.write("tests.py", tests);
        let words = [&["sandbox", "test", "--lang", "python", "--tests", "tests.py", "solution.py"], *arguments].concat();
        let ran = rebut.run(&words);
        assert_eq!(ran.code, *exit, "{tests}: {} {}", ran.stdout, ran.stderr);
        assert!(ran.stdout.ends_with(stdout), "{tests}: {}", ran.stdout);
    }
    let refused = rebut.run(&["sandbox", "test", "--lang", "python", "--tests", "tests.py", "solution.py", "--style", "go-test"]);
    assert!(refused.code == 4 && refused.stderr.contains("asserts, pytest, unittest, program"), "{}", refused.stderr);
    rebut.write("tests.py", "assert add(2, 2) == 4\n");
    let told = rebut.json(0, &["sandbox", "test", "--lang", "python", "--tests", "tests.py", "solution.py", "--json"]);
    assert_eq!(told["tests"][0]["verdict"], "pass");
}
