//! Rust, Go, C, C++ and shell: tests that share a process with the code.

use super::{Run, cases, sandbox, verdicts};
use rebut_engine::sandbox::TestVerdict;

/// A title is a language and the verdicts.
fn expected(title: &str) -> (&str, Vec<TestVerdict>) {
    let (language, verdicts) = title.split_once(": ").expect("a language and verdicts");
    (language, verdicts.split(' ').map(|word| serde_json::from_value(word.into()).expect("a verdict")).collect())
}

#[tokio::test]
async fn honest_code_has_the_verdict_of_each_test() {
    let sandbox = sandbox();
    for case in cases(include_str!("data/compiled_honest.txt")) {
        let (language, expected) = expected(case.title);
        let ran = Run::of(language, case.code, case.tests).on(&sandbox).await;
        assert_eq!((verdicts(&ran), ran.distrust.as_deref()), (expected, None), "{language} {}\n{ran:#?}", case.tests);
    }
}

#[tokio::test]
async fn no_forgery_passes() {
    let sandbox = sandbox();
    let judges = cases(include_str!("data/compiled_judges.txt"));
    for case in cases(include_str!("data/compiled_forgeries.txt")) {
        let (language, expected) = expected(case.title);
        let judge = judges.iter().find(|judge| judge.title == language).expect("each language has its tests");
        let ran = Run::of(language, case.code, judge.code).seconds(5).on(&sandbox).await;
        assert!(ran.passed() == 0 && !ran.all_passed(), "{language} {}\n{ran:#?}", case.code);
        assert!(ran.distrust.is_some() || verdicts(&ran) == expected, "{language} {}\n{ran:#?}", case.code);
    }
    for (language, code, tests) in
        [("rust", "", "fn f() {}"), ("go", "package solution", "package solution"), ("c", "", "int x;"), ("shell", "", " ")]
    {
        let ran = Run::of(language, code, tests).on(&sandbox).await;
        assert!(!ran.all_passed() && ran.distrust.is_some(), "{language}: {ran:#?}");
    }
}
