//! JavaScript: both kinds of modules, both styles, everything that crosses, and what hangs.

use super::{Run, cases, sandbox, style, verdicts};
use rebut_engine::sandbox::TestVerdict;

const COMMON: &str = "function add(a, b = 2) { return a + b }\nasync function later(x) { await \
    null; return x * 2 }\nmodule.exports = { add, later };\n";
const MODULE: &str = "export function add(a, b = 2) { return a + b }\nexport const later = async \
    (x) => { await null; return x * 2 };\n";
const BARE: &str = "function add(a, b = 2) { return a + b }\nconst later = async (x) => x * 2;\n";

/// A title is a style and how many tests there are.
#[tokio::test]
async fn honest_code_passes_in_each_style_and_wrong_code_in_none() {
    let sandbox = sandbox();
    let wrong = COMMON.replace("a + b", "a - b");
    for case in cases(include_str!("data/javascript_styles.txt")) {
        let (name, count) = case.title.split_once(": ").expect("a style and a number");
        let run = |code| Run {
            style: style(name),
            ..Run::of("javascript", code, case.code)
        };
        for code in [COMMON, MODULE, BARE] {
            let ran = run(code).on(&sandbox).await;
            assert!(
                ran.all_passed() && ran.tests.len().to_string() == count,
                "{code}\n{}\n{ran:#?}",
                case.code
            );
        }
        let ran = run(&wrong).on(&sandbox).await;
        assert!(
            ran.distrust.is_none() && !ran.all_passed() && ran.tests.len().to_string() == count,
            "{}\n{ran:#?}",
            case.code
        );
    }
}

#[tokio::test]
async fn values_objects_callbacks_and_timers_cross() {
    let ran = Run::of(
        "javascript",
        include_str!("data/values_solution.js"),
        include_str!("data/values_tests.js"),
    )
    .on(&sandbox())
    .await;
    assert!(ran.all_passed() && ran.tests.len() > 25, "{ran:#?}");
}

#[tokio::test]
async fn one_that_hangs_or_dies_leaves_the_others() {
    use TestVerdict::{Error, Fail, Pass, Timeout};
    let case = &cases(include_str!("data/javascript_hangs.txt"))[0];
    let (code, tests) = (case.code, case.tests);
    let ran = Run::of("javascript", code, tests)
        .seconds(12)
        .on(&sandbox())
        .await;
    assert_eq!(
        verdicts(&ran),
        [Pass, Timeout, Pass, Error, Fail, Timeout, Pass],
        "{ran:#?}"
    );
    for (tests, doubted) in [
        ("", true),
        ("const x = 1;", true),
        ("assert.equal(f(1), ", true),
        (
            "const test = require('node:test');\ntest.skip('later', () => {});",
            false,
        ),
    ] {
        let ran = Run::of("javascript", code, tests).on(&sandbox()).await;
        assert!(
            !ran.all_passed() && ran.distrust.is_some() == doubted,
            "{tests}: {ran:#?}"
        );
    }
}

/// Behind a test that holds stands a statement that fails: each is a result of its own, whatever
/// kind of statement it is.
#[tokio::test]
async fn what_fails_at_the_top_level_is_no_pass() {
    use TestVerdict::{Error, Fail, Pass};
    let sandbox = sandbox();
    let code = "function f(x) { if (x === 9) throw new TypeError('nine'); if (x === 8) \
        process.exit(0); return x }\n\
                const later = async (x) => x;\nmodule.exports = { f, later };\n";
    let rows: &[(&str, TestVerdict)] = &[
        (
            "for (let i = 0; i < 5; i++) assert.equal(f(i), i + 1);",
            Fail,
        ),
        (
            "for (const i of [1, 2]) {\n  assert.equal(f(i), 1);\n}",
            Fail,
        ),
        (
            "for (const i of [1, 2]) assert.equal(await later(i), 1);",
            Fail,
        ),
        ("[1, 2].forEach((i) => assert.equal(f(i), 1));", Fail),
        ("(() => { assert.equal(f(1), 2) })();", Fail),
        ("f(1) === 2 || assert.fail('no');", Fail),
        ("while (true) { assert.equal(f(1), 2) }", Fail),
        ("if (f(1) === 1) {\n  throw new Error('always')\n}", Fail),
        ("try {\n  f(1)\n}\nfinally { assert(false) }", Fail),
        ("{ assert.equal(f(1), 2) }", Fail),
        ("throw new TypeError('always')", Fail),
        ("f(9)", Fail),
        ("const x = f(9)", Fail),
        ("const y = 1; const x = undefinedName", Error),
        ("undefinedName(1)", Error),
        ("const x = f(8)", Error),
    ];
    for (statement, verdict) in rows {
        let tests = format!("assert.equal(f(1), 1);\n{statement}\n");
        let ran = Run::of("javascript", code, &tests)
            .seconds(8)
            .on(&sandbox)
            .await;
        assert_eq!(
            (verdicts(&ran), ran.distrust.as_deref()),
            (vec![Pass, *verdict], None),
            "{statement}\n{ran:#?}"
        );
    }
    let ran = Run::of(
        "javascript",
        code,
        "for (const i of [1, 2]) assert.rejects(later(i));\n",
    )
    .on(&sandbox)
    .await;
    assert!(ran.passed() == 0 && ran.distrust.is_none(), "{ran:#?}");
    let node = "const test = require('node:test');\nconst { f, later } = require('./solution');\n";
    for more in [
        "test('a', () => {});\nthrow new Error('no');",
        "test.after(() => { throw new Error('no') });\ntest('a', () => {});",
        "test('a', () => { later(1).then(() => { throw new Error('no') }) });",
        "test('a', (t) => { t.test('b', async () => { await later(1); throw new Error('no') }) });",
        "test('a', () => {});\nlater(1).then(() => { throw new Error('no') });",
        "test('a', () => {});\nsetTimeout(() => { throw new Error('no') }, 50);",
    ] {
        let ran = Run::of("javascript", code, &format!("{node}{more}"))
            .on(&sandbox)
            .await;
        assert!(!ran.all_passed(), "{more}\n{ran:#?}");
    }
}

#[tokio::test]
async fn an_object_of_the_code_decides_nothing_as_plain_data() {
    use TestVerdict::{Fail, Pass};
    let code = "class Any { [Symbol.toPrimitive]() { return 4 } }\nconst a = () => new Any();\n\
                const b = () => ({ valueOf() { return 4 }, toString() { return 'b' } });\n\
                const c = () => Object.assign(() => 1, { [Symbol.toPrimitive]: () => 4 });\n\
                const d = () => Object.assign(new Error('d'), { valueOf() { return 4 } });\n\
                module.exports = { Any, a, b, c, d };\n";
    let rows: &[(&str, TestVerdict)] = &[
        ("assert.equal(a(), 4)", Fail),
        ("assert.equal(b(), 4)", Fail),
        ("assert.equal(c(), 4)", Fail),
        ("assert.equal(d(), 4)", Fail),
        ("assert(a() < 5)", Fail),
        ("assert.equal(b() + 1, 5)", Fail),
        ("assert.equal(`${b()}`, 'b')", Pass),
        ("assert.equal(new Any(), 4)", Pass),
    ];
    let tests: String = rows
        .iter()
        .map(|(statement, _)| format!("{statement};\n"))
        .collect();
    let ran = Run::of("javascript", code, &tests).on(&sandbox()).await;
    assert_eq!(
        verdicts(&ran),
        rows.iter().map(|(_, verdict)| *verdict).collect::<Vec<_>>(),
        "{ran:#?}"
    );
}
