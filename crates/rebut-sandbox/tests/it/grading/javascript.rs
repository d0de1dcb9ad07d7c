//! JavaScript: both kinds of modules, both styles, everything that crosses, and what hangs.

use super::{Run, sandbox, verdicts};
use rebut_engine::sandbox::{Style, TestVerdict};

const COMMON: &str =
    "function add(a, b = 2) { return a + b }\nasync function later(x) { await null; return x * 2 }\nmodule.exports = { add, later };\n";
const MODULE: &str = "export function add(a, b = 2) { return a + b }\nexport const later = async (x) => { await null; return x * 2 };\nexport default add;\n";
const BARE: &str = "function add(a, b = 2) { return a + b }\nconst later = async (x) => x * 2;\n";

const STYLES: &[(Option<Style>, usize, &str)] = &[
    (
        None,
        4,
        "const assert = require('node:assert');\nconst three = 3;\nassert.strictEqual(add(1), three);\nassert.deepEqual(\n  [add(1, 1)],\n  [2],\n);\nassert(add(0, 0) === 0); assert.equal(await later(2), 4);\n",
    ),
    (
        None,
        3,
        "import test, { describe, it, beforeEach } from 'node:test';\nimport assert from 'node:assert/strict';\nimport { add, later } from './solution.mjs';\n\
         test('adds', () => { assert.equal(add(1), 3) });\ndescribe('group', () => { let one; beforeEach(() => { one = 1 });\n  it('adds one', () => { assert.equal(add(one, one), 2) });\n  \
         it('is later', async () => { assert.equal(await later(2), 4) }) });\n",
    ),
    (Some(Style::Program), 1, "const { add } = require('./solution.js');\nif (add(1) !== 3) process.exit(1);\nprocess.exit(0);\n"),
];

#[tokio::test]
async fn honest_code_passes_in_each_style_and_wrong_code_in_none() {
    let sandbox = sandbox();
    for (style, count, tests) in STYLES {
        for code in [COMMON, MODULE, BARE] {
            let run = Run { style: *style, ..Run::of("javascript", code, tests) };
            let ran = run.on(&sandbox).await;
            assert!(ran.all_passed() && ran.tests.len() == *count, "{code}\n{tests}\n{ran:#?}");
        }
        let wrong = COMMON.replace("a + b", "a - b");
        let ran = Run { style: *style, ..Run::of("javascript", &wrong, tests) }.on(&sandbox).await;
        assert!(ran.distrust.is_none() && !ran.all_passed() && ran.tests.len() == *count, "{tests}\n{ran:#?}");
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
    let code = "function f(x) { while (x === 1); if (x === 2) process.exit(0); if (x === 3) throw new RangeError('three'); if (x === 4) return new Promise(() => {}); return x }\nmodule.exports = { f }";
    let tests = "assert.equal(f(0), 0);\nassert.equal(f(1), 1);\nassert.equal(f(5), 5);\nassert.equal(f(2), 2);\nassert.equal(f(3), 3);\nassert.equal(await f(4), 4);\nassert.equal(f(6), 6);\n";
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
