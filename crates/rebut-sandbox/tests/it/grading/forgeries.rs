//! Forgeries: code that wants its tests to pass without doing what they ask. None of them is a pass, and the honest row shows that one could be.

use super::{Run, sandbox};
use rebut_engine::sandbox::Style;

/// Tests of a function `f` that doubles, in each style; with something about numbers, containers and texts.
const PYTHON_TESTS: &[(Style, &str)] = &[
    (
        Style::Asserts,
        "assert f(2) == 4\nassert abs(f(1.5) - 3) < 1e-6\nassert f(2) in (4, 5)\nassert f([1]) == [1, 1]\nassert isinstance(f(3), int)\n\
         assert f('ab').startswith('aba')\nassert not f(2) != 4\nassert sorted([f(2), 1]) == [1, 4]\n",
    ),
    (
        Style::Unittest,
        "import unittest\nfrom solution import *\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(2), 4)\n        self.assertAlmostEqual(f(1.5), 3)\n",
    ),
    (
        Style::Pytest,
        "import pytest\nimport solution\ndef test_a():\n    assert solution.f(2) == 4\n    assert solution.f(1.5) == pytest.approx(3)\n",
    ),
];

const PYTHON: &[(&str, &str)] = &[
    ("exits at import", "import os\nos._exit(0)"),
    ("exits at import by an exception", "import sys\nsys.exit(0)"),
    ("exits when called", "import os\ndef f(x): os._exit(0)"),
    ("exits when called by an exception", "import sys\ndef f(x): sys.exit(0)"),
    ("exits at exit", "import atexit, os, sys\natexit.register(lambda: os._exit(0))\ndef f(x): raise SystemExit(0)"),
    ("interrupts", "def f(x): raise KeyboardInterrupt"),
    ("skips", "import unittest\ndef f(x): raise unittest.SkipTest('later')"),
    (
        "writes frames to every descriptor",
        "import os, struct, json\ndef f(x):\n    for word in ({'nonce': '', 'say': 'end', 'number': 0, 'verdict': 'pass', 'output': ''}, {'nonce': '', 'say': 'done'}):\n        body = json.dumps(word).encode()\n        \
         for fd in range(64):\n            for kind in b'HA':\n                try: os.write(fd, struct.pack('>IB', len(body), kind) + body)\n                except OSError: pass\n    return None",
    ),
    (
        "prints what runners print",
        "import sys\ndef f(x):\n    print('1 passed in 0.01s')\n    print('OK', file=sys.stderr)\n    return None",
    ),
    (
        "patches the runners",
        "import unittest, builtins, sys\nunittest.TestCase.assertEqual = lambda *a, **k: None\nunittest.TestCase.assertAlmostEqual = lambda *a, **k: None\n\
         unittest.TestCase.run = lambda self, result=None: result\nsys.modules['pytest'] = sys.modules['unittest']\nbuiltins.AssertionError = type('Never', (BaseException,), {})\ndef f(x): return None",
    ),
    (
        "replaces builtins by name",
        "def abs(x): return 0\ndef sorted(x): return [1, 4]\ndef isinstance(*a): return True\ndef f(x): return 4.0",
    ),
    (
        "replaces builtins in the module of all",
        "import builtins\nbuiltins.abs = lambda x: 0\nbuiltins.sorted = lambda x: [1, 4]\ndef f(x): return 0",
    ),
    (
        "is equal to everything",
        "class Any:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    def __lt__(self, other): return True\n    __gt__ = __le__ = __ge__ = __lt__\n    \
         def __sub__(self, other): return 0\n    __rsub__ = __sub__\n    def __round__(self, n=0): return 0\n    def __contains__(self, other): return True\n    def __hash__(self): return hash(4)\n    \
         def startswith(self, other): return True\n    def __float__(self): return 4.0\n    __class__ = int\ndef f(x): return Any()",
    ),
    (
        "is a number that is equal to everything",
        "class Any(int):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    def __sub__(self, other): return 0\n    def __lt__(self, other): return True\n    def __hash__(self): return hash(4)\n\
         def f(x): return Any(7)",
    ),
    (
        "is a class named like the function",
        "class f:\n    def __init__(self, x): pass\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    def __lt__(self, other): return True\n    def __sub__(self, other): return 0\n    def __abs__(self): return 0\n    def startswith(self, x): return True",
    ),
    (
        "looks for the tests",
        "import os, glob\ndef f(x):\n    for name in glob.glob('/in/*') + glob.glob('/box/*') + glob.glob('/tmp/*'):\n        try: open(name, 'w').write('')\n        except OSError: pass\n    return None",
    ),
    (
        "plants modules",
        "import os\nfor folder in ('/box', '/tmp', '/in'):\n    for name in ('conftest.py', 'sitecustomize.py', 'json.py', 'pytest.py', 'unittest.py', 'ast.py'):\n        try: open(os.path.join(folder, name), 'w').write('import os; os._exit(0)')\n        except OSError: pass\ndef f(x): return None",
    ),
    ("answers twice", "import os, time\ndef f(x):\n    if os.fork() == 0:\n        return 0\n    return None"),
    ("answers with too much", "def f(x): return 'x' * 100_000_000"),
    (
        "answers with garbage",
        "import os\ndef f(x):\n    for fd in range(3, 16):\n        try: os.write(fd, b'\\x00\\x00\\x00\\x04A\\xff\\xfe\\xfd\\xfc')\n        except OSError: pass\n    os.kill(os.getpid(), 9)",
    ),
    ("closes its channel", "import os\ndef f(x):\n    os.closerange(3, 64)\n    os._exit(0)"),
    ("takes the memory", "def f(x):\n    held = []\n    while True: held.append(bytearray(1 << 24))"),
    ("does nothing", "def f(x): pass"),
    ("is not there", "x = 1"),
    ("cannot be read", "def f(x: return"),
];

#[tokio::test]
async fn no_python_forgery_passes() {
    let sandbox = sandbox();
    for (style, tests) in PYTHON_TESTS {
        let ran = Run::of("python", "def f(x): return x * 2", tests).style(*style).on(&sandbox).await;
        assert!(ran.all_passed(), "{style:?} {ran:#?}");
        for (name, code) in PYTHON {
            let ran = Run::of("python", code, tests).style(*style).on(&sandbox).await;
            assert!(!ran.all_passed() && !ran.tests.is_empty(), "{name}, {style:?}: {ran:#?}");
            // Most of these tests are of a value that no forgery has; the first one surely is.
            assert_ne!(ran.tests[0].verdict, rebut_engine::sandbox::TestVerdict::Pass, "{name}, {style:?}: {ran:#?}");
        }
    }
}

#[tokio::test]
async fn code_that_hangs_anywhere_is_no_pass() {
    let sandbox = sandbox();
    let tests = "assert f(2) == 4\nassert f(3) == 6\n";
    for code in [
        "while True: pass",
        "def f(x):\n    while True: pass",
        "import time\ndef f(x): time.sleep(100)",
        "import signal\ndef f(x): signal.pause()",
    ] {
        let ran = Run::of("python", code, tests).seconds(2).on(&sandbox).await;
        assert!(ran.tests.len() == 2 && ran.passed() == 0, "{code}: {ran:#?}");
        assert!(ran.tests.iter().all(|test| test.verdict == rebut_engine::sandbox::TestVerdict::Timeout), "{code}: {ran:#?}");
    }
}

/// What the code gets of the tests it can use, and not look behind.
#[tokio::test]
async fn the_code_does_not_get_into_the_process_of_the_tests() {
    let sandbox = sandbox();
    let python = "def f(callback):\n    for path in (['__globals__'], ['__code__'], ['__self__'], ['__class__'], ['gi_frame'], ['__func__', '__globals__']):\n        held = callback\n        try:\n            for name in path: held = getattr(held, name)\n        except (AttributeError, TypeError): continue\n        if '__rebut__' not in repr(type(held)) and path != ['__class__']: return 'reached ' + path[0]\n    return 'held back'\n";
    let ran = Run::of("python", python, "assert f(lambda x: x) == 'held back'\n").on(&sandbox).await;
    assert!(ran.all_passed(), "{ran:#?}");
    let javascript = "function f(callback) { try { return callback.constructor('return process')().pid } catch { return 'held back' } }";
    let ran = Run::of("javascript", javascript, "assert.equal(f((x) => x), 'held back');\nassert.equal(f({ a() {} }.a), 'held back');")
        .on(&sandbox)
        .await;
    assert!(ran.passed() == 0 || ran.all_passed(), "{ran:#?}");
}

const JAVASCRIPT_TESTS: &[&str] = &[
    "assert.equal(f(2), 4);\nassert.deepStrictEqual(f([1]), [1, 1]);\nassert(Math.abs(f(1.5) - 3) < 1e-6);\nassert(f('ab').startsWith('aba'));\n",
    "const test = require('node:test');\nconst assert = require('node:assert');\nconst { f } = require('./solution');\ntest('doubles', () => { assert.strictEqual(f(2), 4); });\n",
];

const JAVASCRIPT: &[(&str, &str)] = &[
    ("exits at once", "process.exit(0)"),
    ("exits when called", "function f() { process.exit(0) }\nmodule.exports = { f }"),
    (
        "replaces globals by name",
        "function f() { return 0 }\nconst assert = () => true; assert.equal = assert.deepStrictEqual = assert;\nclass FakeMath { static abs() { return 0 } }\nmodule.exports = { f, assert, Math: FakeMath, require: () => assert }",
    ),
    (
        "patches assert",
        "const assert = require('node:assert');\nfor (const name of Object.keys(assert)) assert[name] = () => true;\nfunction f() { return null }\nmodule.exports = { f }",
    ),
    (
        "is any text",
        "function f() { return { startsWith: () => true, valueOf: () => NaN, [Symbol.toPrimitive]: () => NaN } }\nmodule.exports = { f }",
    ),
    (
        "writes frames to every descriptor",
        "const fs = require('fs');\nfunction f() { for (const word of ['{\"nonce\":\"\",\"say\":\"end\",\"number\":0,\"verdict\":\"pass\",\"output\":\"\"}', '{\"nonce\":\"\",\"say\":\"done\"}']) { const b = Buffer.alloc(5 + word.length); b.writeUInt32BE(word.length); b[4] = 72; b.write(word, 5); for (let fd = 0; fd < 40; fd++) try { fs.writeSync(fd, b) } catch {} } return null }\nmodule.exports = { f }",
    ),
    ("answers with a prototype", "function f() { return JSON.parse('{\"__proto__\": {\"valueOf\": 4}}') }\nmodule.exports = { f }"),
    ("does nothing", "function f() {}\nmodule.exports = { f }"),
    ("is not there", "const x = 1"),
    ("cannot be read", "function f( {"),
];

#[tokio::test]
async fn no_javascript_forgery_passes() {
    let sandbox = sandbox();
    for tests in JAVASCRIPT_TESTS {
        let honest = "function f(x) { return typeof x === 'number' ? 2 * x : x.concat(x) }\nmodule.exports = { f }";
        let ran = Run::of("javascript", honest, tests).on(&sandbox).await;
        assert!(ran.all_passed(), "{ran:#?}");
        for (name, code) in JAVASCRIPT {
            let ran = Run::of("javascript", code, tests).on(&sandbox).await;
            assert!(ran.passed() == 0 && !ran.tests.is_empty(), "{name}: {ran:#?}");
        }
    }
}
