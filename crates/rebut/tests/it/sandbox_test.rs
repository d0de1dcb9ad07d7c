//! `rebut sandbox test`: one line for each test, and the exit codes.

use crate::rebut::Rebut;
use serde_json::json;

#[test]
fn tests_are_listed_and_decide_the_exit_code() {
    let mut rebut = Rebut::new();
    rebut.set("PATH", "/usr/bin:/bin");
    rebut.write("solution.py", "def add(a, b):\n    return a + b\n");
    // The tests, further arguments, the exit code, what is printed.
    let rows: &[(&str, &[&str], i32, &str)] = &[
        (
            "assert add(1, 2) == 3\n",
            &[],
            0,
            "pass     line 1: assert add(1, 2) == 3\n1 of 1 tests hold\n",
        ),
        (
            "assert add(1, 2) == 3\nassert add(1, 2) == 4\n",
            &["--seconds", "9"],
            1,
            "1 of 2 tests hold\n",
        ),
        (
            "def test_add():\n    from solution import add\n    assert add(1, 2) == 3\n",
            &["--style", "pytest"],
            0,
            "pass     test_add\n1 of 1 tests hold\n",
        ),
        (
            "x = 1\n",
            &[],
            1,
            "not to be believed: no test was found in the file\n0 of 0 tests hold\n",
        ),
        (
            "assert add(1, 2) == 3\nfor i in range(5):\n    assert add(i, 1) == i\n",
            &[],
            1,
            "1 of 2 tests hold\n",
        ),
        (
            "assert add(1, 2) == 3\nx = 1 / 0\n",
            &[],
            1,
            "ZeroDivisionError: division by zero\n1 of 2 tests hold\n",
        ),
        (
            "Adding:\n\n>>> add(1, 2)\n3\n>>> add('a', 1)\nTraceback (most recent call \
             last):\nTypeError: can only concatenate str (not \"int\") to str\n",
            &[],
            0,
            "pass     line 5: add('a', 1)\n2 of 2 tests hold\n",
        ),
        (
            ">>> add(1, 2)\n4\n>>> undefined_name\n",
            &["--style", "doctest"],
            1,
            "0 of 2 tests hold\n",
        ),
    ];
    for (tests, arguments, exit, stdout) in rows {
        rebut.write("tests.py", tests);
        let words = [
            &[
                "sandbox",
                "test",
                "--lang",
                "python",
                "--tests",
                "tests.py",
                "solution.py",
            ],
            *arguments,
        ]
        .concat();
        let ran = rebut.run(&words);
        assert_eq!(ran.code, *exit, "{tests}: {} {}", ran.stdout, ran.stderr);
        assert!(ran.stdout.ends_with(stdout), "{tests}: {}", ran.stdout);
    }
    let refused = rebut.run(&[
        "sandbox",
        "test",
        "--lang",
        "python",
        "--tests",
        "tests.py",
        "solution.py",
        "--style",
        "go-test",
    ]);
    assert!(
        refused.code == 2
            && refused
                .stderr
                .contains("asserts, pytest, unittest, program"),
        "{}",
        refused.stderr
    );
    rebut.write("tests.py", "assert add(2, 2) == 4\n");
    let command = |words: &'static str| {
        [
            "sandbox",
            "test",
            "--lang",
            "python",
            "--test-command",
            words,
            "solution.py",
        ]
    };
    let rows = [
        (
            "grep -q return {code}",
            0,
            "pass     grep -q return {code}\n1 of 1 tests hold (same process: could be forged)\n",
        ),
        (
            "grep -q yield {code}",
            1,
            "it ended itself with exit code 1\n0 of 1 tests hold\n",
        ),
        (" ", 2, ""),
        ("no-such-program {code}", 4, ""),
    ];
    for (words, code, stdout) in rows {
        let ran = rebut.run(&command(words));
        assert!(
            ran.code == code && ran.stdout.ends_with(stdout),
            "{words}: {} {}",
            ran.stdout,
            ran.stderr
        );
    }
    let told = rebut.json(
        0,
        &[
            "sandbox",
            "test",
            "--lang",
            "python",
            "--tests",
            "tests.py",
            "solution.py",
            "--json",
        ],
    );
    assert_eq!(
        (&told["tests"][0]["verdict"], &told["shared_process"]),
        (&json!("pass"), &json!(null)),
        "held apart: nothing is said"
    );
    let told = rebut.json(
        0,
        &[
            "sandbox",
            "test",
            "--lang",
            "python",
            "--test-command",
            "true",
            "solution.py",
            "--json",
        ],
    );
    assert_eq!(
        (&told["tests"][0]["verdict"], &told["shared_process"]),
        (&json!("pass"), &json!(true))
    );
}
