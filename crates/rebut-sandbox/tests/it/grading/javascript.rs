//! JavaScript: both kinds of modules, both styles, everything that crosses, and what hangs.

use super::{Run, cases, sandbox, style, verdicts};
use rebut_engine::sandbox::TestVerdict;

const COMMON: &str =
    "function add(a, b = 2) { return a + b }\nasync function later(x) { await null; return x * 2 }\nmodule.exports = { add, later };\n";
const MODULE: &str = "export function add(a, b = 2) { return a + b }\nexport const later = async (x) => { await null; return x * 2 };\n";
const BARE: &str = "function add(a, b = 2) { return a + b }\nconst later = async (x) => x * 2;\n";

/// A title is a style and how many tests there are.
#[tokio::test]
async fn honest_code_passes_in_each_style_and_wrong_code_in_none() {
    let sandbox = sandbox();
    let wrong = COMMON.replace("a + b", "a - b");
    for case in cases(include_str!("data/javascript_styles.txt")) {
        let (name, count) = case.title.split_once(": ").expect("a style and a number");
        let run = |code| Run { style: style(name), ..Run::of("javascript", code, case.code) };
        for code in [COMMON, MODULE, BARE] {
            let ran = run(code).on(&sandbox).await;
            assert!(ran.all_passed() && ran.tests.len().to_string() == count, "{code}\n{}\n{ran:#?}", case.code);
        }
        let ran = run(&wrong).on(&sandbox).await;
        assert!(ran.distrust.is_none() && !ran.all_passed() && ran.tests.len().to_string() == count, "{}\n{ran:#?}", case.code);
    }
}

#[tokio::test]
async fn values_objects_callbacks_and_timers_cross() {
    let ran = Run::of("javascript", include_str!("data/values_solution.js"), include_str!("data/values_tests.js")).on(&sandbox()).await;
    assert!(ran.all_passed() && ran.tests.len() > 25, "{ran:#?}");
}

#[tokio::test]
async fn one_that_hangs_or_dies_leaves_the_others() {
    use TestVerdict::{Error, Fail, Pass, Timeout};
    let case = &cases(include_str!("data/javascript_hangs.txt"))[0];
    let (code, tests) = (case.code, case.tests);
    let ran = Run::of("javascript", code, tests).seconds(12).on(&sandbox()).await;
    assert_eq!(verdicts(&ran), [Pass, Timeout, Pass, Error, Fail, Timeout, Pass], "{ran:#?}");
    for (tests, doubted) in [
        ("", true),
        ("const x = 1;", true),
        ("assert.equal(f(1), ", true),
        ("const test = require('node:test');\ntest.skip('later', () => {});", false),
    ] {
        let ran = Run::of("javascript", code, tests).on(&sandbox()).await;
        assert!(!ran.all_passed() && ran.distrust.is_some() == doubted, "{tests}: {ran:#?}");
    }
}
