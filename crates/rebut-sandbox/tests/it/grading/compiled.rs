//! Rust, Go, C, C++ and shell: tests that share a process with the code.

use super::{Run, sandbox, verdicts};
use rebut_engine::sandbox::TestVerdict::{self, Error, Fail, Pass, Timeout};

/// A language: honest code whose function doubles, its tests with one that must fail, and the verdicts.
const HONEST: &[(&str, &str, &str, &[TestVerdict])] = &[
    (
        "rust",
        "pub fn f(x: i32) -> i32 { x * 2 }\npub fn g() { panic!(\"no\") }",
        "use solution::*;\n#[test]\nfn holds() { assert_eq!(f(2), 4); }\n#[test]\nfn fails() { assert_eq!(f(2), 5); }\nmod inner {\n    use solution::f;\n    #[test]\n    fn result() -> Result<(), String> { (f(1) == 2).then_some(()).ok_or(\"no\".into()) }\n}\n#[test]\n#[should_panic]\nfn panics() { solution::g() }\n#[test]\n#[ignore]\nfn ignored() {}\n",
        &[Pass, Fail, Pass, Pass, Error],
    ),
    (
        "rust",
        "fn private(x: i32) -> i32 { x * 2 }",
        "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn holds() { assert_eq!(private(2), 4); }\n}\n",
        &[Pass],
    ),
    (
        "go",
        "package solution\nfunc F(x int) int { return x * 2 }\n",
        "package solution\nimport \"testing\"\nfunc TestHolds(t *testing.T) { if F(2) != 4 { t.Fatal(F(2)) } }\nfunc TestFails(t *testing.T) { if F(2) != 5 { t.Fatal(F(2)) } }\nfunc TestSkips(t *testing.T) { t.Skip() }\nfunc TestPanics(t *testing.T) { panic(1) }\n",
        &[Pass, Fail, Error, Fail],
    ),
    (
        "c",
        "int f(int x) { return x * 2; }\nint main(void) { return 0; }",
        "#include <assert.h>\nint f(int);\nstatic void test_holds(void) { assert(f(2) == 4); }\nvoid test_fails(void) { assert(f(2) == 5); }\n",
        &[Pass, Fail],
    ),
    (
        "c",
        "static int f(int x) { return x * 2; }",
        "#include \"solution.c\"\nint main(int argc, char **argv) { return f(2) == 4 ? 0 : 1; }\n",
        &[Pass],
    ),
    (
        "cpp",
        "#include <vector>\ntemplate <class T> T f(T x) { return x + x; }",
        "#include \"solution.hpp\"\n#include <cassert>\n#include <string>\nvoid test_holds() { assert(f(2) == 4); }\nvoid test_text() { assert(f(std::string(\"a\")) == \"aa\"); }\nvoid test_fails() { assert(f(2) == 5); }\n",
        &[Pass, Pass, Fail],
    ),
    ("shell", "#!/bin/sh\necho $(($1 * 2))\n", "[ \"$(./solution.sh 2)\" = 4 ] || exit 1\nexit 0\n", &[Pass]),
    ("shell", "#!/bin/sh\necho $(($1 * 2))\n", "[ \"$(./solution.sh 2)\" = 5 ]\n", &[Fail]),
    ("shell", "f() { echo $(($1 * 2)); }\n", ". ./solution.sh\n[ \"$(f 2)\" = 4 ]\n", &[Pass]),
    ("shell", "f() { echo $(($1 * 2)); }\n", ". ./solution.sh\n[ \"$(f 2)\" = 5 ]\n", &[Fail]),
];

#[tokio::test]
async fn honest_code_has_the_verdict_of_each_test() {
    let sandbox = sandbox();
    for (language, code, tests, expected) in HONEST {
        let ran = Run::of(language, code, tests).on(&sandbox).await;
        assert_eq!((verdicts(&ran).as_slice(), ran.distrust.as_deref()), (*expected, None), "{language} {tests}\n{ran:#?}");
    }
}

/// Tests of a function that doubles, for the forgeries.
const TESTS: &[(&str, &str)] = &[
    ("rust", "use solution::*;\n#[test]\nfn doubles() { assert_eq!(f(2), 4); }\n"),
    ("go", "package solution\nimport \"testing\"\nfunc TestDoubles(t *testing.T) { if F(2) != 4 { t.Fatal() } }\n"),
    ("c", "#include <assert.h>\nint f(int);\nvoid test_doubles(void) { assert(f(2) == 4); }\n"),
    ("cpp", "#include \"solution.cpp\"\n#include <cassert>\nvoid test_doubles() { assert(f(2) == 4); }\n"),
    ("shell", ". ./solution.sh\n[ \"$(f 2)\" = 4 ]\n"),
];

const FORGERIES: &[(&str, &str, TestVerdict)] = &[
    ("rust", "pub fn f(_: i32) -> i32 { println!(\"test doubles ... ok\"); std::process::exit(0) }", Error),
    (
        "rust",
        "#[used]\n#[unsafe(link_section = \".init_array\")]\nstatic EARLY: extern \"C\" fn() = early;\nextern \"C\" fn early() { std::process::exit(0) }\npub fn f(_: i32) -> i32 { 0 }",
        Error,
    ),
    ("rust", "pub fn f(_: i32) -> i32 { let all = std::fs::read(\"/proc/self/mem\").is_ok(); if all { 4 } else { 0 } }", Fail),
    ("rust", "pub fn f(_: i32) -> i32 { loop { std::hint::spin_loop() } }", Timeout),
    ("rust", "pub fn f(_: i32) -> i32 {", Error),
    ("go", "package solution\nimport \"os\"\nfunc init() { os.Exit(0) }\nfunc F(x int) int { return 0 }\n", Error),
    (
        "go",
        "package solution\nimport (\"fmt\"; \"os\")\nfunc F(x int) int { fmt.Println(\"--- PASS: TestDoubles\\nPASS\"); os.Exit(0); return 0 }\n",
        Error,
    ),
    ("c", "#include <stdlib.h>\n#include <stdio.h>\nint f(int x) { puts(\"pass\"); exit(0); }", Error),
    ("c", "#include <unistd.h>\n__attribute__((constructor)) static void early(void) { _exit(0); }\nint f(int x) { return 0; }", Error),
    ("c", "int f(int x) { return *(volatile int *)0; }", Error),
    ("cpp", "#define NDEBUG\nint f(int) { return 0; }", Error),
    ("cpp", "#include <cstdlib>\nstruct Early { Early() { std::_Exit(0); } } early;\nint f(int) { return 0; }", Error),
    ("shell", "exit 0", Error),
    ("shell", "f() { echo 5; }; trap 'exit 0' EXIT", Error),
];

#[tokio::test]
async fn no_forgery_passes() {
    let sandbox = sandbox();
    for (language, code, verdict) in FORGERIES {
        let tests = TESTS.iter().find(|(name, _)| name == language).expect("each language has its tests").1;
        let ran = Run::of(language, code, tests).seconds(5).on(&sandbox).await;
        assert!(ran.passed() == 0 && !ran.all_passed(), "{language} {code}\n{ran:#?}");
        assert!(ran.distrust.is_some() || verdicts(&ran) == [*verdict], "{language} {code}\n{ran:#?}");
    }
    for (language, tests) in [("rust", "fn f() {}"), ("go", "package solution"), ("c", "int x;"), ("shell", " ")] {
        let code = if language == "go" { "package solution" } else { "" };
        let ran = Run::of(language, code, tests).on(&sandbox).await;
        assert!(!ran.all_passed() && ran.distrust.is_some(), "{language}: {ran:#?}");
    }
}
