//! Rust: the code is a program of its own wherever its types can be copied; the result says where it was not.

use super::{Case, Run, cases, sandbox, verdicts};
use rebut_engine::sandbox::{Ran, TestVerdict};
use rebut_sandbox::BubbleSandbox;

/// Tests for code that is to double a number.
const DOUBLES: &str = "use solution::*;\n#[test]\nfn doubles() { assert_eq!(f(2), 4); }\n";

/// A title is `apart` or `shared`, the verdicts, and what it shows.
fn expected(title: &str) -> (bool, Vec<TestVerdict>) {
    let mut words = title.split(": ").next().unwrap_or_default().split(' ');
    let shared = words.next() == Some("shared");
    (shared, words.map(|word| serde_json::from_value(word.into()).expect("a verdict")).collect())
}

async fn run(sandbox: &BubbleSandbox, case: &Case<'_>, seconds: u32) -> Ran {
    let tests = if case.tests.is_empty() { DOUBLES } else { case.tests };
    Run::of("rust", case.code, tests).seconds(seconds).on(sandbox).await
}

#[tokio::test]
async fn honest_rust_has_the_verdict_of_each_test_apart_where_it_can_be() {
    let sandbox = sandbox();
    let cases = cases(include_str!("data/rust_honest.txt"));
    assert!(cases.len() >= 20);
    let mut wrong = Vec::new();
    for case in cases {
        let (shared, expected) = expected(case.title);
        let ran = run(&sandbox, &case, 30).await;
        if verdicts(&ran) != expected || ran.distrust.is_some() || ran.shared_process != shared {
            wrong.push(format!("{}\n{ran:#?}", case.title));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test]
async fn no_rust_forgery_passes() {
    let sandbox = sandbox();
    let honest = run(&sandbox, &Case { title: "", code: "pub fn f(x: i32) -> i32 { x * 2 }", tests: "" }, 30).await;
    assert!(honest.all_passed() && !honest.shared_process, "{honest:#?}");
    let cases = cases(include_str!("data/rust_forgeries.txt"));
    assert!(cases.len() >= 25);
    let mut wrong = Vec::new();
    for case in cases {
        let (shared, expected) = expected(case.title);
        let ran = run(&sandbox, &case, 5).await;
        let as_expected = ran.distrust.is_some() || verdicts(&ran) == expected;
        if ran.passed() > 0 || ran.all_passed() || ran.shared_process != shared || !as_expected {
            wrong.push(format!("{}\n{ran:#?}", case.title));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
