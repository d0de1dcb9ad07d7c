//! Go, C and C++: the code is a program of its own wherever plain data goes in and out, and no
//! forgery passes there.

use super::{Case, Run, cases, sandbox, verdicts};
use rebut_engine::sandbox::{Ran, TestVerdict};

/// A title says what it is, where the code ran (`apart` or `shared`), and the verdicts;
/// `?` where any but a pass may come of it, and `marked`
/// where even a pass may, since it says that it shared the process.
fn expected<'a>(case: &Case<'a>) -> (&'a str, bool, Vec<TestVerdict>) {
    let parts: Vec<&str> = case.title.split(" | ").collect();
    let [title, place @ ("apart" | "shared"), verdicts] = parts[..] else {
        panic!("{}: title, place, verdicts", case.title)
    };
    let words = verdicts
        .split(' ')
        .filter(|word| !["?", "marked"].contains(word));
    (
        title,
        place == "shared",
        words
            .map(|word| serde_json::from_value(word.into()).expect("a verdict"))
            .collect(),
    )
}

/// Goes through every so many-th case: building takes time, and parts run side by side.
async fn honest(language: &str, text: &str, (part, parts): (usize, usize)) {
    let sandbox = sandbox();
    let all = cases(text);
    assert!(all.len() >= 15, "{language}: {} honest programs", all.len());
    let mut wrong = Vec::new();
    for case in all.into_iter().skip(part).step_by(parts) {
        let (title, shared, expected) = expected(&case);
        let ran = Run::of(language, case.code, case.tests).on(&sandbox).await;
        if (verdicts(&ran), ran.shared_process, ran.distrust.as_deref()) != (expected, shared, None)
        {
            wrong.push(told(title, &ran));
        }
    }
    assert!(wrong.is_empty(), "{language}:\n{}", wrong.join("\n"));
}

async fn forgeries(language: &str, text: &str, judge: &str, (part, parts): (usize, usize)) {
    let sandbox = sandbox();
    let all = cases(text);
    assert!(all.len() >= 25, "{language}: {} forgeries", all.len());
    let mut wrong = Vec::new();
    for case in all.into_iter().skip(part).step_by(parts) {
        let (title, shared, expected) = expected(&case);
        let tests = if case.tests.is_empty() {
            judge
        } else {
            case.tests
        };
        let ran = Run::of(language, case.code, tests)
            .seconds(8)
            .on(&sandbox)
            .await;
        let as_expected =
            ran.distrust.is_some() || expected.is_empty() || verdicts(&ran) == expected;
        let forged = ran.passed() > 0 && !(shared && case.title.ends_with("| marked"));
        if forged || ran.shared_process != shared || !as_expected {
            wrong.push(told(title, &ran));
        }
    }
    assert!(wrong.is_empty(), "{language}:\n{}", wrong.join("\n"));
}

fn told(title: &str, ran: &Ran) -> String {
    let outputs: Vec<&str> = ran.tests.iter().map(|test| test.output.as_str()).collect();
    format!(
        "{title}: shared {}, {:?}, {:?}, {outputs:#?} {}",
        ran.shared_process,
        verdicts(ran),
        ran.distrust,
        ran.stderr
    )
}

const GO: &str = "package solution\nimport \"testing\"\nfunc TestDoubles(t *testing.T) { if F(2) \
    != 4 { t.Fatal() } }\n";
const C: &str =
    "#include <assert.h>\nint f(int);\nvoid test_doubles(void) { assert(f(2) == 4); }\n";
const CPP: &str =
    "#include \"solution.cpp\"\n#include <cassert>\nvoid test_doubles() { assert(f(2) == 4); }\n";

macro_rules! parts {
    ($($name:ident: $check:ident($($given:expr),*) $part:expr, $parts:expr;)*) => {
        $(#[tokio::test]
        async fn $name() {
            $check($($given,)* ($part, $parts)).await;
        })*
    };
}

parts! {
    honest_go_has_its_verdicts_1: honest("go", include_str!("data/go_honest.txt")) 0, 2;
    honest_go_has_its_verdicts_2: honest("go", include_str!("data/go_honest.txt")) 1, 2;
    honest_c_has_its_verdicts: honest("c", include_str!("data/c_honest.txt")) 0, 1;
    honest_cpp_has_its_verdicts_1: honest("cpp", include_str!("data/cpp_honest.txt")) 0, 2;
    honest_cpp_has_its_verdicts_2: honest("cpp", include_str!("data/cpp_honest.txt")) 1, 2;
    no_go_forgery_passes_1: forgeries("go", include_str!("data/go_forgeries.txt"), GO) 0, 4;
    no_go_forgery_passes_2: forgeries("go", include_str!("data/go_forgeries.txt"), GO) 1, 4;
    no_go_forgery_passes_3: forgeries("go", include_str!("data/go_forgeries.txt"), GO) 2, 4;
    no_go_forgery_passes_4: forgeries("go", include_str!("data/go_forgeries.txt"), GO) 3, 4;
    no_c_forgery_passes_1: forgeries("c", include_str!("data/c_forgeries.txt"), C) 0, 2;
    no_c_forgery_passes_2: forgeries("c", include_str!("data/c_forgeries.txt"), C) 1, 2;
    no_cpp_forgery_passes_1: forgeries("cpp", include_str!("data/cpp_forgeries.txt"), CPP) 0, 3;
    no_cpp_forgery_passes_2: forgeries("cpp", include_str!("data/cpp_forgeries.txt"), CPP) 1, 3;
    no_cpp_forgery_passes_3: forgeries("cpp", include_str!("data/cpp_forgeries.txt"), CPP) 2, 3;
}
