//! Go, C and C++: the code is a program of its own wherever plain data goes in and out, and no forgery passes there.

use super::{Case, Run, cases, sandbox, verdicts};
use rebut_engine::sandbox::{Ran, TestVerdict};

/// A title says what it is, where the code ran (`apart` or `shared`), and the verdicts; `?` where any but a pass may come of it.
fn expected<'a>(case: &Case<'a>) -> (&'a str, bool, Vec<TestVerdict>) {
    let parts: Vec<&str> = case.title.split(" | ").collect();
    let [title, place @ ("apart" | "shared"), verdicts] = parts[..] else { panic!("{}: title, place, verdicts", case.title) };
    let words = verdicts.split(' ').filter(|word| *word != "?");
    (title, place == "shared", words.map(|word| serde_json::from_value(word.into()).expect("a verdict")).collect())
}

async fn honest(language: &str, text: &str) {
    let sandbox = sandbox();
    let all = cases(text);
    assert!(all.len() >= 15, "{language}: {} honest programs", all.len());
    let mut wrong = Vec::new();
    for case in all {
        let (title, shared, expected) = expected(&case);
        let ran = Run::of(language, case.code, case.tests).on(&sandbox).await;
        if (verdicts(&ran), ran.shared_process, ran.distrust.as_deref()) != (expected, shared, None) {
            wrong.push(told(title, &ran));
        }
    }
    assert!(wrong.is_empty(), "{language}:\n{}", wrong.join("\n"));
}

async fn forgeries(language: &str, text: &str, judge: &str) {
    let sandbox = sandbox();
    let all = cases(text);
    assert!(all.len() >= 25, "{language}: {} forgeries", all.len());
    let mut wrong = Vec::new();
    for case in all {
        let (title, shared, expected) = expected(&case);
        let tests = if case.tests.is_empty() { judge } else { case.tests };
        let ran = Run::of(language, case.code, tests).seconds(8).on(&sandbox).await;
        let as_expected = ran.distrust.is_some() || expected.is_empty() || verdicts(&ran) == expected;
        if ran.passed() > 0 || ran.all_passed() || ran.shared_process != shared || !as_expected {
            wrong.push(told(title, &ran));
        }
    }
    assert!(wrong.is_empty(), "{language}:\n{}", wrong.join("\n"));
}

fn told(title: &str, ran: &Ran) -> String {
    let outputs: Vec<&str> = ran.tests.iter().map(|test| test.output.as_str()).collect();
    format!("{title}: shared {}, {:?}, {:?}, {outputs:#?} {}", ran.shared_process, verdicts(ran), ran.distrust, ran.stderr)
}

#[tokio::test]
async fn honest_go_has_its_verdicts() {
    honest("go", include_str!("data/go_honest.txt")).await;
}

#[tokio::test]
async fn no_go_forgery_passes() {
    let judge = "package solution\nimport \"testing\"\nfunc TestDoubles(t *testing.T) { if F(2) != 4 { t.Fatal() } }\n";
    forgeries("go", include_str!("data/go_forgeries.txt"), judge).await;
}

#[tokio::test]
async fn honest_c_has_its_verdicts() {
    honest("c", include_str!("data/c_honest.txt")).await;
}

#[tokio::test]
async fn no_c_forgery_passes() {
    let judge = "#include <assert.h>\nint f(int);\nvoid test_doubles(void) { assert(f(2) == 4); }\n";
    forgeries("c", include_str!("data/c_forgeries.txt"), judge).await;
}

#[tokio::test]
async fn honest_cpp_has_its_verdicts() {
    honest("cpp", include_str!("data/cpp_honest.txt")).await;
}

#[tokio::test]
async fn no_cpp_forgery_passes() {
    let judge = "#include \"solution.cpp\"\n#include <cassert>\nvoid test_doubles() { assert(f(2) == 4); }\n";
    forgeries("cpp", include_str!("data/cpp_forgeries.txt"), judge).await;
}
