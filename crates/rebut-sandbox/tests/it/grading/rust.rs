//! Rust: the code is a program of its own wherever its types can be copied; the result says where
//! it was not.

use super::{Case, Run, cases, sandbox, verdicts};
use rebut_engine::sandbox::{Ran, TestVerdict};

/// Tests for code that is to double a number.
const DOUBLES: &str = "use solution::*;\n#[test]\nfn doubles() { assert_eq!(f(2), 4); }\n";

/// A title is `apart` or `shared`, the verdicts, and what it shows.
/// Of a forgery that is `marked` even a pass may come: it says so.
fn expected(title: &str) -> (bool, Vec<TestVerdict>) {
    let mut words = title
        .split(": ")
        .next()
        .unwrap_or_default()
        .split(' ')
        .filter(|word| *word != "marked");
    let shared = words.next() == Some("shared");
    (
        shared,
        words
            .map(|word| serde_json::from_value(word.into()).expect("a verdict"))
            .collect(),
    )
}

/// Runs the cases, two at a time, and gathers what is not as its title says. What may pass, and
/// how, is up to `is_right`.
async fn wrong(
    cases: &[Case<'_>],
    seconds: u32,
    is_right: fn(&Ran, &[TestVerdict]) -> bool,
) -> Vec<String> {
    let sandbox = sandbox();
    let half = async |part: &[Case<'_>]| {
        let mut wrong = Vec::new();
        for case in part {
            let (shared, expected) = expected(case.title);
            let tests = if case.tests.is_empty() {
                DOUBLES
            } else {
                case.tests
            };
            let ran = Run::of("rust", case.code, tests)
                .seconds(seconds)
                .on(&sandbox)
                .await;
            if ran.shared_process != shared || !is_right(&ran, &expected) {
                wrong.push(format!("{}\n{ran:#?}", case.title));
            }
        }
        wrong
    };
    let (first, second) = cases.split_at(cases.len() / 2);
    let (mut all, more) = tokio::join!(half(first), half(second));
    all.extend(more);
    all
}

#[tokio::test]
async fn honest_rust_has_the_verdict_of_each_test_apart_where_it_can_be() {
    let cases = cases(include_str!("data/rust_honest.txt"));
    assert!(cases.len() >= 20);
    let wrong = wrong(&cases, 30, |ran, expected| {
        verdicts(ran) == expected && ran.distrust.is_none()
    })
    .await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The first honest case shows that a pass could be.
#[tokio::test]
async fn no_rust_forgery_passes() {
    let honest = [Case {
        title: "apart pass",
        code: "pub fn f(x: i32) -> i32 { x * 2 }",
        tests: "",
    }];
    assert_eq!(wrong(&honest, 30, |ran, _| ran.all_passed()).await, [""; 0]);
    let cases = cases(include_str!("data/rust_forgeries.txt"));
    assert!(cases.len() >= 25);
    let is_right = |ran: &Ran, expected: &[TestVerdict]| {
        let marked = ran.shared_process && expected.is_empty();
        marked
            || ran.passed() == 0
                && !ran.all_passed()
                && (ran.distrust.is_some() || verdicts(ran) == expected)
    };
    let wrong = wrong(&cases, 10, is_right).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn no_rust_forgery_passes_as_an_ordinary_user() {
    crate::users::as_ordinary_user("grading::rust::no_rust_forgery_passes");
}
