//! `rebut solve`: from a task to code that really ran, from a benchmark's record, without a
//! sandbox, and at a gate.

use crate::rebut::{Rebut, script_of};
use serde_json::{Value, json};

/// Where the sandbox's own programs are.
const SYSTEM: &str = "/usr/bin:/bin";
const GOOD: &str = "def add(a, b):\n    return a + b\n";
const BAD: &str = "def add(a, b):\n    return a - b\n";

fn code(text: &str) -> String {
    json!({"approach": "Plain.", "code": text, "confidence": 0.9}).to_string()
}

fn reflexion() -> String {
    let reflection = json!({"root_cause": "I \
        subtracted.", "what_went_wrong": "1 - 2 is \
            -1.", "what_to_change": "Add.", "confidence": 0.9});
    let lesson = json!({"lesson": "Read the verb.", "applies_to": "arithmetic"});
    let rated = json!({"candidate": "C1", "correctness": 1, "maintainability": 1, "performance": 1, "security": 1, "test_coverage": 0.5, "reason": "Plain."});
    let rubric = json!({"scores": [rated]});
    let draft = json!({"approach": "Plain.", "code": BAD, "tests": "assert add(1, 2) == \
        3\n", "confidence": 0.9});
    script_of(&[
        ("self-evolvement 1/generator", draft.to_string()),
        ("proposal 1/generator", code(BAD)),
        ("reflection 1/generator", reflection.to_string()),
        ("proposal 2/generator", code(GOOD)),
        ("lesson/generator", lesson.to_string()),
        ("rubric/judge", rubric.to_string()),
    ])
}

fn solve<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let usual = [
        "--judges",
        "generator,judge",
        "-m",
        "script:script.md",
        "--phases",
        "proposal,convergence",
        "-q",
    ];
    ["solve"]
        .iter()
        .chain(more)
        .chain(&usual)
        .copied()
        .collect()
}

#[test]
fn code_really_runs_is_reflected_on_and_is_scored_by_tests_nobody_saw() {
    let mut rebut = Rebut::new();
    rebut.set("PATH", SYSTEM);
    rebut.write("script.md", &reflexion());
    rebut.write("t.py", "assert add(1, 2) == 3\n");
    rebut.write(
        "h.py",
        "assert add(2, 2) == 4\nassert add('a', 'b') == 'canary'\n",
    );
    let flags = [
        "Add two numbers.",
        "--tests",
        "t.py",
        "--hidden-tests",
        "h.py",
        "--entry",
        "add",
        "--code",
        "out.py",
    ];
    let ran = rebut.run(&solve(&flags));
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    for expected in [
        "def add(a, b):\n    return a + b\n",
        "▸ C1 generator",
        "1 of 1 hold",
        "hidden tests: 1 of 2 hold",
        "learned: Read the verb.",
        "TESTS FAIL  C1 (generator), the only candidate, ",
    ] {
        assert!(
            ran.stdout.contains(expected),
            "{expected:?} is not in\n{}",
            ran.stdout
        );
    }
    assert_eq!(rebut.read("out.py"), GOOD);
    let shown = rebut.json(3, &solve(&[&flags[..7], &["--json"]].concat()));
    assert_eq!(
        (&shown["outcome"], &shown["shortfall"]),
        (&json!("completed"), &json!("tests_fail"))
    );
    let result = &shown["result"];
    assert_eq!(
        (
            &result["tests"]["passed"],
            &result["hidden"]["passed"],
            &result["hidden"]["total"]
        ),
        (&json!(1), &json!(1), &json!(2))
    );
    assert_eq!(result["candidates"][0]["attempts"], 2);
    assert_eq!(result["without_evidence"], Value::Null);
}

#[test]
fn tests_that_cannot_be_used_are_refused_before_anybody_is_asked() {
    let mut rebut = Rebut::new();
    rebut.set("PATH", SYSTEM);
    rebut.write("script.md", &reflexion());
    rebut.write("good.py", "assert add(1, 2) == 3\n");
    rebut.write("unreadable.py", "assert add(1, 2) ==\n");
    rebut.write("none.py", "x = 1\n");
    rebut.write("empty.py", " \n");
    rebut.write("unreadable.sh", "if true; then\n");
    let record = json!({"task_id": "a", "prompt": "def add(a, \
        b):\n", "entry_point": "add", "test": "def check(c):\n    assert c(1, 2) == 3\n"});
    rebut.write("he.jsonl", &record.to_string());
    let rows: &[(&[&str], &str)] = &[
        (
            &["Add.", "--tests", "unreadable.py"],
            "the tests cannot be used: the tests cannot be read: SyntaxError",
        ),
        (
            &["Add.", "--tests", "none.py"],
            "the tests cannot be used: no test was found in the file",
        ),
        (&["Add.", "--tests", "empty.py"], "empty.py is empty"),
        (
            &["Add.", "--tests", "/dev/zero"],
            "/dev/zero holds more than 16 MiB",
        ),
        (
            &[
                "Add.",
                "--tests",
                "good.py",
                "--hidden-tests",
                "unreadable.py",
            ],
            "the hidden tests cannot be used",
        ),
        (
            &["Add.", "--tests", "good.py", "--style", "go-test"],
            "use one of: asserts, pytest",
        ),
        (
            &["Add.", "--tests", "unreadable.sh", "--lang", "shell"],
            "the tests cannot be used",
        ),
        (&["Add.", "--test-command", " "], "the command is empty"),
        (
            &["--problem", "he.jsonl#a", "--lang", "go"],
            "the tests of this problem are for python",
        ),
    ];
    for (words, message) in rows {
        let ran = rebut.run(&solve(words));
        assert!(
            ran.code == 2 && ran.stderr.contains(message),
            "{words:?}: {} {}",
            ran.code,
            ran.stderr
        );
    }
    assert_eq!(
        rebut.json(0, &["ls", "--json"]).as_array().map(Vec::len),
        Some(0),
        "no debate was begun"
    );
    let told = rebut.json(
        0,
        &solve(&["Add.", "--test-command", "grep -q + {code}", "--json"]),
    );
    assert_eq!(
        (
            &told["result"]["tests"]["passed"],
            &told["result"]["tests"]["total"]
        ),
        (&json!(1), &json!(1)),
        "{told}"
    );
}

#[test]
fn without_a_sandbox_nothing_is_called_passed_and_the_outcome_says_why() {
    let rebut = Rebut::new();
    rebut.write("script.md", &reflexion());
    rebut.write("t.py", "assert add(1, 2) == 3\n");
    let told = rebut.json(
        3,
        &solve(&["Add two numbers.", "--tests", "t.py", "--json"]),
    );
    assert_eq!(
        (
            &told["outcome"],
            &told["shortfall"],
            &told["result"]["winner"]
        ),
        (
            &json!("completed"),
            &json!("not_shown"),
            &json!("generator")
        )
    );
    assert_eq!(told["result"]["tests"], Value::Null);
    assert!(
        told["result"]["without_evidence"]
            .as_str()
            .is_some_and(|why| !why.is_empty()),
        "{told}"
    );
    assert!(
        told["summary"]
            .as_str()
            .is_some_and(|summary| summary.contains("without test evidence")),
        "{told}"
    );
}

#[test]
fn the_exit_code_and_the_heading_say_what_tests_show() {
    let mut rebut = Rebut::new();
    rebut.set("PATH", SYSTEM);
    rebut.write("script.md", &reflexion());
    for (name, tests) in [
        ("good.py", "assert add(1, 2) == 3\n"),
        ("bad.py", "assert add(1, 2) == 4\n"),
        ("none.py", "x = 1\n"),
    ] {
        rebut.write(name, tests);
    }
    let rows: &[(&[&str], i32, &str)] = &[
        (&["--tests", "good.py"], 0, "COMPLETED  "),
        (
            &["--tests", "good.py", "--hidden-tests", "good.py"],
            0,
            "COMPLETED  ",
        ),
        (&["--tests", "bad.py"], 3, "TESTS FAIL  "),
        (&["--tests", "none.py"], 2, ""),
        (
            &["--tests", "good.py", "--hidden-tests", "bad.py"],
            3,
            "TESTS FAIL  ",
        ),
        (&["--tests", "bad.py", "--exit-zero"], 0, "TESTS FAIL  "),
        (&[], 0, "no tests: nothing shows that it works\nCOMPLETED  "),
        // Four calls are kept for a vote, and one is the generator's. Its code comes; whether it
        // may mend it is a matter of the limit.
        (
            &["--tests", "good.py", "--max-calls", "5"],
            5,
            "given tests: 0 of 1 hold",
        ),
        (
            &[
                "--tests",
                "good.py",
                "--hidden-tests",
                "good.py",
                "--phases",
                "self-evolvement",
                "--max-calls",
                "5",
            ],
            5,
            "given tests: not run; hidden tests: not run",
        ),
    ];
    for (flags, code, says) in rows {
        let ran = rebut.run(&solve(&[&["Add two numbers."][..], flags].concat()));
        assert_eq!(ran.code, *code, "{flags:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(says), "{flags:?}: {}", ran.stdout);
    }
    assert!(
        rebut
            .expect(0, &["ls", "-n", "0"])
            .contains("  tests_fail   solve")
    );
    let refused = rebut.run(&solve(&["Add two numbers.", "--max-calls", "4"]));
    assert!(
        refused.code == 2
            && refused.stderr.contains("need at least 5")
            && refused.stdout.is_empty(),
        "{refused:?}"
    );
}

#[test]
fn what_hooks_said_is_in_the_result_and_the_task_is_not_repeated_whole() {
    let mut rebut = Rebut::new();
    rebut.set("PATH", SYSTEM);
    rebut.write("script.md", &reflexion());
    let task = format!("Add two numbers. {}", "Really. ".repeat(2_000));
    let hooks = [
        "--hook",
        "post-proposal=false",
        "--hook",
        "post-convergence=echo fine",
        "--set",
        "solve.clarify_from_words=9999",
    ];
    let ran = rebut.run(&solve(&[&[task.as_str()][..], &hooks].concat()));
    for expected in [
        "hook after proposal on generator: failed: exit code 1\n",
        "hook after convergence on generator: passed: exit code 0: fine\n",
    ] {
        assert!(ran.stdout.contains(expected), "{expected}: {}", ran.stdout);
    }
    assert!(
        ran.stdout
            .lines()
            .next()
            .is_some_and(|first| first.len() < 400),
        "{}",
        ran.stdout
    );
}

#[test]
fn code_is_never_written_over_something_and_what_cannot_be_written_is_told_before_anybody_is_asked()
{
    let rebut = Rebut::new();
    rebut.write("script.md", &reflexion());
    rebut.write("mine.py", "mine\n");
    std::os::unix::fs::symlink(rebut.path("mine.py"), rebut.path("link.py")).expect("a link");
    let rows: &[(&[&str], i32, &str)] = &[
        (
            &["--code", "mine.py"],
            2,
            "is there already; it stays as it is",
        ),
        (
            &["--code", "link.py"],
            2,
            "is there already; it stays as it is",
        ),
        (&["--code", "."], 2, "is a folder"),
        (&["--code", "mine.py/new.py"], 1, "mine.py"),
        (&["--force"], 2, "--code"),
    ];
    for (flags, code, says) in rows {
        let refused = rebut.run(&solve(&[&["Add."][..], flags].concat()));
        assert!(
            refused.code == *code && refused.stderr.contains(says) && refused.stdout.is_empty(),
            "{flags:?}: {refused:?}"
        );
    }
    assert_eq!(
        (
            rebut.read("mine.py").as_str(),
            rebut.expect(0, &["ls", "--json"]).trim()
        ),
        ("mine\n", "[]"),
        "nobody was asked"
    );
    rebut.expect(0, &solve(&["Add.", "--code", "deep/er/new.py"]));
    rebut.expect(0, &solve(&["Add.", "--code", "link.py", "--force"]));
    assert_eq!(
        [
            rebut.read("deep/er/new.py"),
            rebut.read("link.py"),
            rebut.read("mine.py")
        ],
        [BAD, BAD, "mine\n"],
        "a link is replaced"
    );
    // The candidate has two names.
    for name in ["generator", "C1", "c1"] {
        assert_eq!(
            rebut.expect(0, &["code", "last", "--candidate", name]),
            BAD,
            "{name}"
        );
    }
    assert!(
        rebut
            .run(&["code", "last", "--candidate", "C2"])
            .stderr
            .contains("no candidate `C2`")
    );
    // What cannot be seen is told.
    rebut.write(
        "script.md",
        &script_of(&[("proposal 1/generator", code("x = 1  # \u{202e}\n"))]),
    );
    let ran = rebut.run(&solve(&["Add.", "--code", "hidden.py"]));
    assert!(
        ran.stderr.contains("characters that cannot be seen"),
        "{ran:?}"
    );
}

#[test]
fn a_problem_of_a_benchmark_keeps_its_tests_hidden() {
    let rebut = Rebut::new();
    let record = json!({"task_id": "HumanEval/0", "prompt": "def add(a, b):\n    \
        \"\"\"Add.\"\"\"\n", "entry_point": "add",
        "canonical_solution": "    return a + \
            b\n", "test": "def check(candidate):\n    assert candidate(1, 2) == 3  # canary\n"});
    rebut.write("he.jsonl", &record.to_string());
    let shown = rebut.expect(
        0,
        &[
            "solve",
            "--problem",
            "he.jsonl#HumanEval/0",
            "--judges",
            "generator",
            "-m",
            "rehearsal",
            "--dry-run",
        ],
    );
    assert!(
        shown.contains("Complete this Python function") && shown.contains("Tests call `add`"),
        "{shown}"
    );
    assert!(
        !shown.contains("canary") && !shown.contains("candidate(1, 2)"),
        "{shown}"
    );
    let rows: &[(&[&str], &str)] = &[
        (
            &["solve", "--problem", "he.jsonl#HumanEval/1"],
            "no problem `HumanEval/1`",
        ),
        (&["solve", "--problem", "he.jsonl"], "should look like"),
        (
            &["solve", "--problem", "he.jsonl#HumanEval/0", "more"],
            "cannot be used with",
        ),
        (&["solve"], "TASK"),
        (&["solve", " "], "the task is empty"),
        (&["solve", "x", "--lang", "cobol"], "cobol"),
        (&["solve", "x", "--phases", "lunch"], "lunch"),
        (
            &["solve", "x", "--hook", "post-lunch=true"],
            "post-proposal",
        ),
        (
            &["solve", "x", "--hook", "post-proposal="],
            "should look like",
        ),
        (&["solve", "x", "--answer", "yes"], "should look like"),
        (&["solve", "x", "--tests", "nothing.py"], "nothing.py"),
        (
            &["solve", "x", "--set", "solve.max_attempts=0"],
            "max_attempts",
        ),
    ];
    for (words, message) in rows {
        let ran = rebut.run(words);
        assert_eq!(ran.code, 2, "{words:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(message), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn a_bare_task_is_solved_and_the_rehearsal_hides_nothing() {
    let rebut = Rebut::new();
    rebut.user_config("");
    let ran = rebut.run(&["Write a function that adds two numbers.", "-m", "rehearsal"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr
            .contains("solve: it begins with “write a function”"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stdout.contains("REHEARSAL") && ran.stdout.contains("raise NotImplementedError"),
        "{}",
        ran.stdout
    );
    assert!(
        !ran.stdout.contains(" hold"),
        "a rehearsal claims no pass: {}",
        ran.stdout
    );
}

#[test]
fn a_gate_is_decided_from_another_process() {
    let rebut = Rebut::new();
    rebut.write("script.md", &reflexion());
    for (word, code) in [("approve", 0), ("reject", 7)] {
        let mut started = rebut.start(&[
            "solve",
            "Add.",
            "--judges",
            "generator",
            "-m",
            "script:script.md",
            "--phases",
            "proposal",
            "--gate",
            "proposal",
            "-q",
        ]);
        started.until(|event| event["type"] == "gate.opened");
        let id = started.id.clone();
        let short = rebut
            .expect(0, &["ls"])
            .split_whitespace()
            .next()
            .expect("an id")
            .to_owned();
        let (shown, listed) = (
            rebut.expect(0, &["show", &id]),
            rebut.expect(0, &["ls", "--status", "waiting"]),
        );
        assert!(listed.contains(&short), "{listed}");
        rebut.expect(0, &[word, &id, "--reason", "seen"]);
        let (ended, stderr) = started.finish();
        assert_eq!(ended, code, "{word}: {stderr}");
        let says = [
            "for a person at the gate `after proposal`, until 2".to_owned(),
            format!("rebut approve {short}"),
            format!("rebut reject {short}"),
        ];
        for said in says {
            assert!(
                shown.contains(&said) && stderr.contains(&said),
                "{said}: {shown}\n{stderr}"
            );
        }
        assert!(
            shown.contains("WAITING") && !shown.contains("resume"),
            "{shown}"
        );
        let again = rebut.run(&["approve", &id]);
        assert!(
            again.code == 2 && again.stderr.contains("waits at no gate"),
            "{}",
            again.stderr
        );
    }
}
