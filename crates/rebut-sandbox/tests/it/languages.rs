//! Every language: a program that reads, computes, writes and fails as it should; and what is said
//! of those that cannot be run.

use crate::{inner, users};
use rebut_engine::sandbox::{Command, End, Job, LANGUAGES, Sandbox, Work};
use rebut_sandbox::BubbleSandbox;

/// For each language a program that prints its input in upper case and its first argument, and
/// exits with 3.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "python",
        "import sys\nprint(sys.stdin.read().upper() + sys.argv[1])\nsys.exit(3)",
    ),
    (
        "javascript",
        "const text = require('fs').readFileSync(0, 'utf8');\nconsole.log(text.toUpperCase() + \
         process.argv[2]);\nprocess.exit(3);",
    ),
    (
        "rust",
        "use std::io::Read;\nfn main() { let mut t = String::new(); \
         std::io::stdin().read_to_string(&mut t).unwrap();\n\
         println!(\"{}{}\", t.to_uppercase(), std::env::args().nth(1).unwrap()); \
         std::process::exit(3) }",
    ),
    (
        "go",
        "package main\nimport (\"fmt\"; \"io\"; \"os\"; \"strings\")\nfunc main() { t, _ := \
         io.ReadAll(os.Stdin)\n\
         fmt.Println(strings.ToUpper(string(t)) + os.Args[1]); os.Exit(3) }",
    ),
    (
        "c",
        "#include <stdio.h>\n#include <ctype.h>\nint main(int n, char **a) { int c; while ((c = \
         getchar()) != EOF) putchar(toupper(c));\n\
         printf(\"%s\\n\", a[1]); return 3; }",
    ),
    (
        "cpp",
        "#include <iostream>\n#include <string>\nint main(int, char **a) { std::string l; \
         std::getline(std::cin, l);\n\
         for (char &c : l) c = std::toupper(c); std::cout << l << a[1] << std::endl; return 3; }",
    ),
    ("shell", "tr a-z A-Z\nprintf '%s\\n' \"$1\"\nexit 3"),
];

fn job(language: &str, code: &str, work: Work) -> Job {
    Job {
        language: language.to_owned(),
        code: code.to_owned(),
        work,
        seconds: 20,
    }
}

#[tokio::test]
async fn every_language_reads_writes_and_exits() {
    assert_eq!(
        PROGRAMS.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        LANGUAGES
    );
    let sandbox = BubbleSandbox::new(inner());
    for (language, code) in PROGRAMS {
        let work = Work::Program {
            stdin: "hello ".to_owned(),
            args: vec!["-you & me".to_owned()],
        };
        let ran = sandbox
            .run(&job(language, code, work))
            .await
            .unwrap_or_else(|refused| panic!("{language}: {refused}"));
        assert_eq!(
            (&ran.end, ran.stdout.as_str()),
            (&End::Exited(3), "HELLO -you & me\n"),
            "{language}: {ran:?}"
        );
    }
}

#[tokio::test]
async fn every_language_runs_a_command_beside_the_code() {
    let sandbox = BubbleSandbox::new(inner());
    for (language, _) in PROGRAMS {
        let argv = ["grep", "-c", "needle", "{code}", "more/notes.txt"]
            .map(str::to_owned)
            .to_vec();
        let command = Command {
            argv,
            files: vec![("more/notes.txt".to_owned(), "a needle".to_owned())],
        };
        let ran = sandbox
            .run(&job(
                language,
                "a needle\na needle\n",
                Work::Command(command),
            ))
            .await;
        let ran = ran.unwrap_or_else(|refused| panic!("{language}: {refused}"));
        let file = &rebut_sandbox::language(language)
            .expect("it has a row")
            .file;
        assert_eq!(
            (&ran.end, ran.stdout),
            (&End::Exited(0), format!("{file}:2\nmore/notes.txt:1\n")),
            "{language}: {}",
            ran.stderr
        );
    }
}

#[tokio::test]
async fn what_cannot_be_built_says_so_and_is_not_run() {
    let sandbox = BubbleSandbox::new(inner());
    for language in ["rust", "go", "c", "cpp"] {
        let work = Work::Program {
            stdin: String::new(),
            args: Vec::new(),
        };
        let ran = sandbox
            .run(&job(language, "this is no code", work))
            .await
            .unwrap_or_else(|refused| panic!("{language}: {refused}"));
        assert_eq!(ran.end, End::NotBuilt, "{language}: {ran:?}");
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains("solution"),
            "{language}: {ran:?}"
        );
    }
}

#[test]
fn every_language_reads_writes_and_exits_for_an_ordinary_user() {
    users::as_ordinary_user("languages::every_language_reads_writes_and_exits");
}

#[test]
fn every_language_runs_a_command_beside_the_code_for_an_ordinary_user() {
    users::as_ordinary_user("languages::every_language_runs_a_command_beside_the_code");
}

#[test]
fn what_cannot_be_built_says_so_to_an_ordinary_user() {
    users::as_ordinary_user("languages::what_cannot_be_built_says_so_and_is_not_run");
}

#[tokio::test]
async fn unknown_languages_programs_and_times_are_refused() {
    let sandbox = BubbleSandbox::new(inner());
    let program = || Work::Program {
        stdin: String::new(),
        args: Vec::new(),
    };
    let missing = || {
        Work::Command(Command {
            argv: vec!["no-such-linter".to_owned()],
            files: Vec::new(),
        })
    };
    let outside = || {
        Work::Command(Command {
            argv: vec!["true".to_owned()],
            files: vec![("../x".to_owned(), String::new())],
        })
    };
    let rows = [
        (
            job("cobol", "", program()),
            "`cobol` is no language",
            "python, javascript",
        ),
        (
            job("pyton", "", program()),
            "`pyton` is no language",
            "did you mean `python`?",
        ),
        (
            job("python", "", missing()),
            "cannot start `no-such-linter`",
            "install it",
        ),
        (
            job("python", "", outside()),
            "\"../x\" leaves its folder",
            "plain relative name",
        ),
        (
            Job {
                seconds: 0,
                ..job("shell", "", program())
            },
            "0 seconds is no time",
            "1 to 3600",
        ),
    ];
    for (job, reason, fix) in rows {
        let refused = sandbox.run(&job).await.expect_err(reason);
        assert!(
            refused.reason.contains(reason) && refused.fix.contains(fix),
            "{refused:?}"
        );
    }
}
