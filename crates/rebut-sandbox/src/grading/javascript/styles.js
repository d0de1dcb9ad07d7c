// How tests can be written, one row each: which there are without running anything, and how they are run.

const parses = (text) => {
  try {
    new vm.Script(text);
    return true;
  } catch {
    return false;
  }
};
const parsesLater = (text) => parses(`(async () => {${text}\n})`);

// The statements of the top level: lines are taken together until they make sense and the next line does not go on.
function statements(text) {
  const lines = text.split("\n");
  const found = [];
  for (let at = 0; at < lines.length; ) {
    if (!lines[at].trim() || /^\s*\/\//.test(lines[at])) {
      at += 1;
      continue;
    }
    let end = at + 1;
    while (end < lines.length && !parsesLater(lines.slice(at, end).join("\n"))) end += 1;
    const part = lines.slice(at, end).join("\n");
    if (!parsesLater(part)) throw new SyntaxError(`the statement in line ${at + 1} cannot be read`);
    while (/^\s*(?:\.|else\b|catch\b|finally\b)/.test(lines[end] ?? "")) {
      end += 1;
      while (end < lines.length && !parsesLater(lines.slice(at, end).join("\n"))) end += 1;
    }
    for (const piece of onOneLine(lines.slice(at, end).join("\n"))) found.push({ line: at + 1, text: piece });
    at = end;
  }
  return found;
}

// `a(1); b(2);` in one line is two statements.
function onOneLine(text) {
  if (text.includes("\n")) return [text];
  const pieces = [];
  let rest = text;
  for (let at = rest.indexOf(";"); at >= 0 && at < rest.length - 1; at = rest.indexOf(";", at + 1)) {
    const head = rest.slice(0, at + 1);
    if (parsesLater(head) && parsesLater(rest.slice(at + 1)) && !/^\s*(?:for|if|while)\b/.test(head)) {
      pieces.push(head);
      rest = rest.slice(at + 1);
      at = -1;
    }
  }
  return [...pieces, rest].filter((piece) => piece.trim() && !/^\s*\/\//.test(piece));
}

// What only declares, sets or prints is no test; everything else is one that calls something or throws.
const prepares = /^\s*(?:(?:const|let|var|class|import|export|(?:async\s+)?function)\b|require\s*\(|console\s*\.|[\w$.[\]"']+\s*(?:(?:[-+*/%&|^]|\*\*|<<|>>>?|&&|\|\||\?\?)?=(?!=|>)|\+\+|--))/;
const quoted = /\/\/.*|\/\*[^]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g;
const calls = /\bthrow\b|(?:^|[^\w$.])(?!(?:if|for|while|switch|catch|with|function|return|await)\b)(?!console\b)[A-Za-z_$][\w$.?[\]]*\s*\(|[)\]}]\s*(?:\??\.[\w$]+)*\s*\(|`/;
function isTest(text) {
  const plain = text.replace(quoted, (found) => (found[0] === "/" ? " " : '""'));
  return !prepares.test(plain) && calls.test(plain);
}
// Whether a result may be taken for a program or a path: it could replace what judges, or name the file of the tests.
const LOADING = /["'](?:node:)?(?:vm|child_process|module|worker_threads|inspector|repl)["']/;
const FILES = /["'](?:node:)?fs(?:\/promises)?["']/;
const written = String.raw`\s*\(\s*""\s*[,)]`;
const PROGRAMS = new RegExp(String.raw`(?:(?<![\w$.])|globalThis\.)(?:eval|Function)\b(?=\s*[(;,)])(?!${written})|(?<![\w$.])(?:require|import)\s*\((?!\s*""\s*\))`);
const READS = new RegExp(String.raw`\b(?:read|open|exists|stat|lstat|access|copy|cp|createReadStream|opendir)\w*\b(?=\s*\()(?!${written})`);
function takesText(text) {
  const plain = text.replace(quoted, (found) => (found[0] === "/" ? " " : '""'));
  return LOADING.test(text) || PROGRAMS.test(plain) || (FILES.test(text) && READS.test(plain));
}
const called = ({ line, text }) => {
  const words = text.trim().replace(/\s+/g, " ").replace(/;$/, "");
  return `line ${line}: ${words.length <= 80 ? words : `${words.slice(0, 79)}…`}`;
};

const asserts = {
  plan(text) {
    const parts = statements(text);
    const tests = parts.filter((part) => isTest(part.text));
    return { parts, names: unique(tests.map(called)) };
  },
  async run(plan) {
    tell("collected", { names: plan.names });
    Object.assign(globalThis, { require: requireFor, __default: defaultOf, assert });
    // A name that JavaScript, a runner or the tests have themselves stays so, or the code could replace what the tests judge with.
    const offered = typeof solution === "function" ? { [solution.name]: solution, ...solution } : solution;
    const taken = new Set([...RUNNERS, ...plan.parts.flatMap(declaredIn)]);
    for (const name of Object.keys(offered)) if (!(name in globalThis) && !taken.has(name)) globalThis[name] = offered[name];
    globalThis.solution ??= solution;
    // Functions are there before the first statement runs, as in one file.
    const later = plan.parts.filter((part) => !isFunction(part.text));
    for (const part of plan.parts) if (isFunction(part.text)) await prepare(part);
    let number = 0;
    let unprepared = null;
    let untold = null;
    for (const part of later) {
      if (isTest(part.text)) {
        untold = null;
        // What was not prepared is not tested: nothing after a set-up that failed can be a pass.
        if (number >= order.skip) await one(number, async () => unprepared ?? void (await prepare(part)));
        number += 1;
      } else if (!unprepared) {
        try {
          await prepare(part);
        } catch (error) {
          unprepared = ["error", `the statement in line ${part.line} failed before it: ${wordsOf(error)}`];
          untold = { name: called(part), verdict: judge(error), output: wordsOf(error) };
        }
      }
    }
    // No test stands behind it that could say so.
    if (untold) tell("outside", untold);
  },
};

// Names of runners that are not there: what the code offers is none of them.
const RUNNERS = ["expect", "test", "it", "describe", "jest", "vi", "chai", "should", "sinon", "beforeEach", "afterEach", "beforeAll", "afterAll"];
// The names that a statement declares.
function declaredIn({ text }) {
  const [, named] = /^\s*(?:async\s+)?(?:function\s*\*?|class)\s+([\w$]+)/.exec(text) ?? [];
  const [, left] = /^\s*(?:const|let|var)\s+([^=]+)/.exec(text) ?? [];
  return named ? [named] : (left?.match(/[\w$]+/g) ?? []);
}
const isFunction = (text) => /^\s*(?:async\s+)?function\b/.test(text) && parses(`(${text.trim().replace(/;$/, "")}\n)`);

// Names declared at the top level stay, as in one file; a declaration that waits becomes an assignment.
function prepare({ text, line }) {
  const place = { filename: "tests.js", lineOffset: line - 1 };
  const plain = text.replace(/^(\s*)(?:const|let)\s+(assert|solution|[\w$]+|\{[^=]*\}|\[[^=]*\])(\s*=)/, (_, space, name, is) => `${space}var ${name}${is}`);
  if (parses(plain)) return vm.runInThisContext(plain, place);
  const names = /^\s*var\s+(\{[^=]*\}|\[[^=]*\]|[\w$]+)\s*=/.exec(plain);
  return vm.runInThisContext(names ? `(async () => { (${plain.replace(/^\s*var\s+/, "").replace(/;\s*$/, "")}); })()` : `(async () => {${plain}\n})()`, place);
}

const suite = { tests: [], path: [], hooks: [{ before: [], after: [], beforeEach: [], afterEach: [] }] };
const optionsOf = (args) => {
  const name = typeof args[0] === "string" ? args.shift() : undefined;
  const options = args[0] !== null && typeof args[0] === "object" ? args.shift() : {};
  return { name: name ?? (args[0]?.name || "without a name"), options, body: args[0] };
};

function test(...args) {
  const { name, options, body } = optionsOf(args);
  suite.tests.push({ name: [...suite.path, name].join(" > "), options, body, hooks: [...suite.hooks] });
  return Promise.resolve();
}
function describe(...args) {
  const { name, options, body } = optionsOf(args);
  if (options.skip || !body) return void test(name, { skip: true }, () => undefined);
  suite.path.push(name);
  suite.hooks.push({ before: [], after: [], beforeEach: [], afterEach: [] });
  try {
    body();
  } finally {
    suite.path.pop();
    suite.hooks.pop();
  }
}
for (const kind of [test, describe]) {
  kind.skip = (...args) => {
    const { name } = optionsOf(args);
    test(name, { skip: true }, () => undefined);
  };
  kind.todo = kind.skip;
  kind.only = kind;
}
const nodeTest = Object.assign((...args) => test(...args), test, { test, it: test, describe, suite: describe, default: test, mock: require("node:test").mock });
for (const when of ["before", "after", "beforeEach", "afterEach"]) nodeTest[when] = (work) => void suite.hooks.at(-1)[when].push(work);

class Context {
  constructor(name) {
    this.name = name;
    this.mock = new nodeTest.mock.constructor();
    this.assert = assert;
    this.skipped = null;
    this.afters = [];
    this.inner = [];
  }
  // A test in a test is waited for, whether or not the outer one does so.
  test(...args) {
    const { name, options, body } = optionsOf(args);
    if (options.skip || options.todo) return Promise.resolve();
    const run = async () => {
      const found = await whole({ name: `${this.name} > ${name}`, options, body, hooks: [] });
      if (found) throw new Error(`${name}: ${found[1]}`);
    };
    const running = run();
    this.inner.push(running);
    return running;
  }
  skip(why) {
    this.skipped = `skipped ${why ?? ""}`;
  }
  todo(why) {
    this.skipped = `to do ${why ?? ""}`;
  }
  diagnostic(text) {
    output.push(String(text));
  }
  after(work) {
    this.afters.push(work);
  }
}

async function whole(one) {
  if (one.options.skip || one.options.todo || typeof one.body !== "function") return ["error", "skipped: it was not run"];
  const context = new Context(one.name);
  for (const level of one.hooks) {
    for (const work of level.before.splice(0)) await work();
    for (const work of level.beforeEach) await work(context);
  }
  try {
    if (one.body.length > 1) await new Promise((resolve, reject) => one.body(context, (error) => (error ? reject(error) : resolve())));
    else await one.body(context);
    await Promise.all(context.inner);
  } finally {
    for (const work of [...context.afters, ...[...one.hooks].reverse().flatMap((level) => level.afterEach)]) await work(context);
    context.mock.restoreAll();
  }
  return context.skipped ? ["error", context.skipped] : null;
}

const nodeTestStyle = {
  plan(text) {
    if (!parsesLater(text)) new vm.Script(`(async () => {${text}\n})`, { filename: "tests.js" });
    const names = [];
    for (const found of text.matchAll(/(?<![.\w$])(?:test|it)\s*\(\s*(["'])((?:\\.|(?!\1).)*)\1/g)) names.push(found[2].replace(/\\(.)/g, "$1"));
    return { names };
  },
  async run(plan, text) {
    const space = { require: requireFor, __default: defaultOf };
    const globals = Object.fromEntries(["test", "it", "describe", "before", "after", "beforeEach", "afterEach"].map((name) => [name, nodeTest[name]]));
    for (const [name, value] of Object.entries(globals)) globalThis[name] ??= value;
    const body = vm.runInThisContext(`(async (require, __default, module, exports) => {${text}\n})`, { filename: "tests.js" });
    await body(space.require, space.__default, { exports: {} }, {});
    tell("collected", { names: unique(suite.tests.map((held) => held.name)) });
    for (let number = order.skip; number < suite.tests.length; number += 1) await one(number, () => whole(suite.tests[number]));
    for (const level of new Set(suite.tests.flatMap((held) => held.hooks))) for (const work of level.after) await work();
  },
};

class Ended extends Error {}
const program = {
  plan(text) {
    if (!parsesLater(text)) new vm.Script(`(async () => {${text}\n})`, { filename: "tests.js" });
    return { names: ["the program"] };
  },
  async run(plan, text) {
    tell("collected", plan);
    let code = 0;
    process.exit = (given) => {
      code = given ?? process.exitCode ?? 0;
      throw new Ended("the program ended itself");
    };
    const body = vm.runInThisContext(`(async (require, __default, module, exports) => {${text}\n})`, { filename: "tests.js" });
    await one(0, async () => {
      try {
        await body(requireFor, defaultOf, { exports: {} }, {});
        await untilNothingIsLeft();
      } catch (error) {
        if (!(error instanceof Ended)) throw error;
      }
      return Number(code) || Number(process.exitCode) ? ["fail", `it ended with ${code || process.exitCode}`] : null;
    });
  },
};

// What is the runner's own is nothing the tests can give away; where JavaScript has the same, the code finds that.
for (const own of [requireFor, defaultOf, nodeTest, test, describe, Context]) noteBuiltin(own, null);
for (const name of ["setTimeout", "clearTimeout"]) builtins.set(globalThis[name], name);
for (const how of ["log", "info", "warn", "error", "debug"]) builtins.set(console[how], `console.${how}`);
const tracker = nodeTest.mock.constructor.prototype;
for (const name of ["fn", "method", "getter", "setter"]) {
  const real = tracker[name];
  tracker[name] = function (...args) {
    const made = Reflect.apply(real, this, args);
    mocks.add(made);
    return made;
  };
}

const styles = { asserts, "node-test": nodeTestStyle, program };

main().then(() => undefined, (error) => tell("unreadable", { why: String(error?.stack ?? error) }));
