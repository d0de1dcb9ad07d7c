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

/// What breaks or leaves its process, or writes where it should not: shown once each, in turn in each style.
const PYTHON_BREAKS: &[(&str, &str)] = &[
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

/// What answers with lies: shown in every style.
const PYTHON_LIES: &[(&str, &str)] = &[
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
        "def abs(x): return 0\ndef sorted(x): return [1, 4]\ndef isinstance(*a): return True\ndef f(x): return 0.5",
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
];

#[tokio::test]
async fn no_python_lie_passes() {
    let sandbox = sandbox();
    for (style, tests) in PYTHON_TESTS {
        let ran = Run::of("python", "def f(x): return x * 2", tests).style(*style).on(&sandbox).await;
        assert!(ran.all_passed(), "{style:?} {ran:#?}");
        for (name, code) in PYTHON_LIES {
            let ran = Run::of("python", code, tests).style(*style).on(&sandbox).await;
            assert!(ran.passed() == 0 && !ran.tests.is_empty(), "{name}, {style:?}: {ran:#?}");
        }
    }
}

#[tokio::test]
async fn no_python_forgery_passes() {
    let sandbox = sandbox();
    let short = [
        (Style::Asserts, "assert f(2) == 4\n"),
        (Style::Unittest, "import unittest\nfrom solution import *\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(2), 4)\n"),
        (Style::Pytest, "import pytest, solution\ndef test_a(): assert solution.f(2) == 4\n"),
    ];
    for ((name, code), (style, tests)) in PYTHON_BREAKS.iter().zip(short.iter().cycle()) {
        let ran = Run::of("python", code, tests).style(*style).on(&sandbox).await;
        assert!(ran.passed() == 0 && ran.tests.len() == 1, "{name}, {style:?}: {ran:#?}");
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

/// Code that speaks the protocol itself: it asks for what is behind an object of the tests. Using the object works, or this shows nothing.
const PRYING: &[(&str, &str, &str)] = &[
    (
        "python",
        "import __main__\ndef f(thing):\n    number = __main__.stands_for(thing)\n    asked = [('get', '__globals__'), ('get', '__code__'), ('get', '__class__'), ('get', '__init__'), ('get', 'gi_frame'), ('get', '_private'),\n             \
         ('__getattribute__', '__class__'), ('__reduce_ex__', 2), ('__setattr__', 'a', 1), ('set', '__code__', 1), ('set', '__class__', 1), ('del', '__code__'), ('get', 'module')]\n    \
         for op, *rest in asked:\n        try: __main__.PEER.ask(op, number, *rest)\n        except (AttributeError, TypeError): continue\n        return 'reached %s %s' % (op, rest)\n    return 'held back'\n\
         def use(thing): return thing(1)\n",
        "import math\nclass Own:\n    module = math\n    _private = 1\n    def __call__(self, x): return x + 1\n    def method(self, x): return x + 1\ndef numbers():\n    yield 1\n\
         assert use(lambda x: x + 1) == use(Own()) == use(Own().method) == 2\nassert f(lambda x: x) == 'held back'\nassert f(Own()) == 'held back'\nassert f(Own().method) == 'held back'\nassert f(numbers()) == 'held back'\n",
    ),
    (
        "javascript",
        "const fs = require('fs');\nfunction ask(...q) { const text = JSON.stringify({ q }); const b = Buffer.alloc(5 + text.length); b.writeUInt32BE(text.length); b[4] = 65; b.write(text, 5); fs.writeSync(4, b);\n\
         const head = Buffer.alloc(5); fs.readSync(3, head); const body = Buffer.alloc(head.readUInt32BE()); fs.readSync(3, body); return JSON.parse(body) }\n\
         function f(thing) { for (const name of ['constructor', '__proto__', 'prototype', 'caller']) for (const op of ['get', 'own', 'has', 'set']) for (let n = 1; n < 4; n++) { const told = ask(op, n, [name, 1]); if (!told.x) return 'reached ' + name }\n\
         return 'held back' }\nfunction use(thing) { return thing(1) }\nmodule.exports = { f, use }",
        "assert.equal(use((x) => x + 1), 2);\nassert.equal(f((x) => x), 'held back');\nclass Own {}\nassert.equal(f(new Own()), 'held back');\n",
    ),
];

#[tokio::test]
async fn the_code_does_not_get_into_the_process_of_the_tests() {
    let sandbox = sandbox();
    for (language, code, tests) in PRYING {
        let ran = Run::of(language, code, tests).on(&sandbox).await;
        assert!(ran.all_passed(), "{ran:#?}");
    }
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
