//! Rust, Go, C, C++ and shell: tests that share a process with the code.

use super::{Run, cases, sandbox, verdicts};
use rebut_engine::sandbox::{Style, TestVerdict, Tests};

/// A title is a language and the verdicts.
fn expected(title: &str) -> (&str, Vec<TestVerdict>) {
    let (language, verdicts) = title.split_once(": ").expect("a language and verdicts");
    (
        language,
        verdicts
            .split(' ')
            .map(|word| serde_json::from_value(word.into()).expect("a verdict"))
            .collect(),
    )
}

#[tokio::test]
async fn honest_code_has_the_verdict_of_each_test() {
    let sandbox = sandbox();
    for case in cases(include_str!("data/compiled_honest.txt")) {
        let (language, expected) = expected(case.title);
        let ran = Run::of(language, case.code, case.tests).on(&sandbox).await;
        assert_eq!(
            (verdicts(&ran), ran.distrust.as_deref()),
            (expected, None),
            "{language} {}\n{ran:#?}",
            case.tests
        );
    }
}

#[tokio::test]
async fn no_forgery_passes() {
    let sandbox = sandbox();
    let judges = cases(include_str!("data/compiled_judges.txt"));
    for case in cases(include_str!("data/compiled_forgeries.txt")) {
        let (language, expected) = expected(case.title);
        let judge = judges
            .iter()
            .find(|judge| judge.title == language)
            .expect("each language has its tests");
        let ran = Run::of(language, case.code, judge.code)
            .seconds(5)
            .on(&sandbox)
            .await;
        assert!(
            ran.passed() == 0 && !ran.all_passed(),
            "{language} {}\n{ran:#?}",
            case.code
        );
        assert!(
            ran.distrust.is_some() || verdicts(&ran) == expected,
            "{language} {}\n{ran:#?}",
            case.code
        );
    }
    for (language, code, tests) in [
        ("rust", "", "fn f() {}"),
        ("go", "package solution", "package solution"),
        ("c", "", "int x;"),
        ("shell", "", " "),
    ] {
        let ran = Run::of(language, code, tests).on(&sandbox).await;
        assert!(
            !ran.all_passed() && ran.distrust.is_some(),
            "{language}: {ran:#?}"
        );
    }
}

#[tokio::test]
async fn what_does_not_hold_says_why() {
    use TestVerdict::{Error, Fail};
    let go = "package solution\nfunc F(x int) int { return x * 2 }\n";
    let logs = "package solution\nimport \"testing\"\nfunc TestB(t *testing.T) { t.Log(\"first\"); \
        if F(2) != 5 { t.Fatal(\"bad sum\") } }\n";
    let around = "package solution\nimport (\"os\"; \"testing\")\nfunc TestMain(m *testing.M) { \
        m.Run(); os.Exit(3) }\nfunc TestA(t *testing.T) {}\n";
    // The language, the code, the tests, the verdict, the words.
    let rows = [
        ("go", go, logs, Fail, "bad sum"),
        ("go", go, around, Error, "exit code 3"),
        (
            "shell",
            "exit 7",
            "./solution.sh\n",
            Fail,
            "it ended with exit code 7",
        ),
        (
            "shell",
            "exit 0",
            ". ./solution.sh\ntrue\n",
            Error,
            "before its last line",
        ),
        (
            "shell",
            "f() { return 5; }",
            ". ./solution.sh\nf\n",
            Fail,
            "it ended with exit code 5",
        ),
        (
            "c",
            "int f(int x) { return x; }",
            "int f(int);\nint main(void) { return f(3); }\n",
            Fail,
            "",
        ),
    ];
    let sandbox = sandbox();
    for (language, code, tests, verdict, words) in rows {
        let ran = Run::of(language, code, tests).on(&sandbox).await;
        assert_eq!(verdicts(&ran), [verdict], "{tests}: {ran:#?}");
        assert!(
            ran.tests[0].output.contains(words) && !ran.tests[0].output.contains("=== RUN"),
            "{tests}: {ran:#?}"
        );
    }
}

/// The language, the tests, their style, what comes of it.
type Listing<'a> = (&'a str, &'a str, Option<Style>, Result<usize, &'a str>);

#[tokio::test]
async fn tests_are_listed_without_any_code() {
    let sandbox = sandbox();
    let rows: &[Listing<'_>] = &[
        (
            "python",
            "assert f(1)\nx = 1\nfor i in x: f(i)\n",
            None,
            Ok(2),
        ),
        ("python", "x = 1", None, Err("no test was found")),
        (
            "python",
            "assert f(",
            None,
            Err("cannot be read: SyntaxError"),
        ),
        (
            "python",
            "def f(): pass",
            Some(Style::Pytest),
            Err("no test was found"),
        ),
        (
            "python",
            "def make():\n    globals()['test_a'] = print\nmake()",
            Some(Style::Pytest),
            Ok(1),
        ),
        (
            "python",
            "assert f(1)",
            Some(Style::GoTest),
            Err("use one of: asserts"),
        ),
        ("python", "mypy {code}", Some(Style::Command), Ok(1)),
        ("javascript", "assert.equal(f(1), 2); f(2);", None, Ok(2)),
        (
            "javascript",
            "assert.equal(f(1), ",
            None,
            Err("cannot be read"),
        ),
        (
            "javascript",
            "for (const i of [1]) test(`${i}`, () => {})",
            Some(Style::NodeTest),
            Ok(1),
        ),
        ("rust", "fn f() {}", None, Err("no test was found")),
        ("go", "def test(): pass", None, Err("package clause")),
        ("c", "int x;", Some(Style::Program), Err("`main`")),
        ("shell", "true", None, Ok(1)),
        ("shell", "if true", None, Err("cannot be read")),
    ];
    for (language, text, style, expected) in rows {
        let tests = Tests {
            text: (*text).to_owned(),
            style: *style,
        };
        let listed = sandbox
            .list_tests(language, &tests)
            .await
            .unwrap_or_else(|refused| panic!("{language}: {refused}"));
        match (&listed, expected) {
            (Ok(names), Ok(count)) => assert_eq!(names.len(), *count, "{text}: {names:?}"),
            (Err(why), Err(words)) => assert!(why.contains(words), "{text}: {why}"),
            _ => panic!("{language} {text}: {listed:?}"),
        }
    }
}
