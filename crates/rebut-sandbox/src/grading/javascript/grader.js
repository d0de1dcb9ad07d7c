// The process of the tests: lists them, runs them against stand-ins for the code, and tells the host how each one went.

const Module = require("node:module");
const vm = require("node:vm");
const assert = require("node:assert");
const order = JSON.parse(receive().text);
const tell = (what, more) => send("H", JSON.stringify({ nonce: order.nonce, say: what, ...more }));
broken = (why) => {
  tell("broken", { why });
  receive();
  leave(1);
};

const seconds = { setTimeout, setInterval, setImmediate, clearTimeout };
// The code's timers and promises go on over there while the tests wait for something.
const pump = {
  busy: false,
  timers: 0,
  start() {
    if (!this.busy) {
      this.busy = true;
      seconds.setImmediate(() => this.step());
    }
  },
  step() {
    if (!waiting.size && this.timers <= 0) {
      this.busy = false;
      return;
    }
    const came = ask("run", 0, [[...waiting.keys()], given.settled.splice(0)]);
    if (!Array.isArray(came) || !came.every(Array.isArray)) broken("no list of promises");
    for (const [which, held, value] of came) {
      const one = waiting.get(which);
      waiting.delete(which);
      held ? one?.resolve(value) : one?.reject(handedOn(value));
    }
    seconds.setImmediate(() => this.step());
  },
};
const open = new Set();
globalThis.setTimeout = Object.assign((work, ms, ...args) => {
  pump.timers += 1;
  pump.start();
  const timer = seconds.setTimeout(() => {
    pump.timers -= 1;
    open.delete(timer);
    work(...args);
  }, ms);
  open.add(timer);
  return timer;
}, seconds.setTimeout);
globalThis.clearTimeout = (timer) => {
  if (timer && !timer._destroyed) pump.timers -= 1;
  open.delete(timer);
  seconds.clearTimeout(timer);
};
// The tests are over when nothing of theirs is left to happen, as a program is.
async function untilNothingIsLeft() {
  while ([...open].some((timer) => timer.hasRef())) await new Promise((done) => seconds.setTimeout(done, 1));
  await turn();
}
Object.defineProperty(globalThis.setTimeout, util.promisify.custom, { value: (ms, value) => new Promise((done) => globalThis.setTimeout(() => done(value), ms)) });

const output = [];
for (const how of ["log", "info", "warn", "error", "debug"]) console[how] = (...args) => void output.push(util.format(...args));

// A function of the code that is asked whether an error is the right one judges in place of the tests.
const judgesErrors = (expected) => standsFor.has(Object(expected)) && !(typeof expected === "function" && expected.prototype instanceof Error);
for (const held of [assert, assert.strict]) {
  for (const name of ["throws", "rejects", "doesNotThrow", "doesNotReject"]) {
    const real = held[name];
    held[name] = (...args) => {
      if (judgesErrors(args[1])) doubtObject(name);
      return real(...args);
    };
  }
}

// Promises of the tests that nobody waits for, and that failed.
const strays = [];
process.on("unhandledRejection", (error) => strays.push(error));
// Whoever failed unseen is seen after all that is due has happened.
const turn = () => new Promise((done) => seconds.setImmediate(done));

// An assertion that does not hold, what the code threw, and what the tests themselves throw is a failure; a test that breaks says nothing.
function judge(error) {
  if (standsFor.has(Object(error)) && !(error instanceof Error)) return "fail";
  const fromCode = error !== null && typeof error === "object" && (standsFor.has(error) || Object.hasOwn(error, "stackThere"));
  const own = BREAKING.some((kind) => error instanceof kind) || error?.code === "MODULE_NOT_FOUND";
  return fromCode || !own || error.unlike || isMeant(error) ? "fail" : "error";
}

const BREAKING = [ReferenceError, TypeError, SyntaxError, RangeError];
// Whether the tests say `throw` where it was made.
function isMeant(error) {
  const place = /tests\.js:(\d+)/.exec(String(error.stack).split("\n").find((line) => /^\s*at /.test(line)) ?? "");
  return place !== null && /\bthrow\b/.test(lines[place[1] - 1] ?? "");
}
let lines = [];

const wordsOf = (error) => {
  try {
    return shownOf(error);
  } catch {
    return "something was thrown that cannot be shown";
  }
};
const shownOf = (error) => {
  const own = `${error?.stack ?? util.inspect(error)}`.split("\n").filter((line) => !/grader\.js|node:internal/.test(line)).join("\n");
  return error?.stackThere ? `${own}\nin the code:\n${error.stackThere}` : own;
};

async function one(number, body) {
  tell("begin", { number });
  output.length = 0;
  let verdict = "pass";
  let words = "";
  try {
    const found = await body();
    await turn();
    if (found) [verdict, words] = found;
    else if (strays.length) throw strays[0];
    else if (swallowed.length) throw swallowed[0];
    else if (broke.length) doubt(`the code caught an error of the tests and went on: ${broke[0].name}`);
  } catch (error) {
    [verdict, words] = [judge(error), wordsOf(error)];
    await turn();
  }
  strays.length = 0;
  swallowed.length = 0;
  broke.length = 0;
  const text = [output.join("\n").slice(-1000), words].filter(Boolean).join("\n");
  tell("end", { number, verdict, output: verdict === "pass" ? (doubts[0] ?? "") : text.slice(-2000), doubted: doubts.length > 0 });
}

function unique(names) {
  const seen = new Map();
  return names.map((name) => {
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return seen.get(name) === 1 ? name : `${name} #${seen.get(name)}`;
  });
}

let solution;
function requireFor(name) {
  if (/^(\.{0,2}\/)*solution(\.[cm]?js)?$/.test(name)) return solution;
  if (name === "node:test" || name === "test") return nodeTest;
  if (name === "@jest/globals" || name === "vitest" || name === "mocha" || name === "chai") throw new Error(`${name} is not there: write the tests with node:test and node:assert`);
  const made = require(name);
  noteBuiltin(made, `${name.replace(/^node:/, "")}:`);
  return made;
}

// Imports become requires, so that one kind of text is run.
function withoutImports(text) {
  const named = (list) => list.replace(/\s+as\s+/g, ": ");
  return text
    .replace(/^[ \t]*import\s+([\w$]+)\s*,\s*(\{[^}]*\})\s*from\s*(["'][^"']+["']);?/gm, (_, a, list, from) => `var ${a} = __default(require(${from})); var ${named(list)} = require(${from});`)
    .replace(/^[ \t]*import\s*(\{[^}]*\})\s*from\s*(["'][^"']+["']);?/gm, (_, list, from) => `var ${named(list)} = require(${from});`)
    .replace(/^[ \t]*import\s*\*\s*as\s+([\w$]+)\s+from\s*(["'][^"']+["']);?/gm, (_, a, from) => `var ${a} = require(${from});`)
    .replace(/^[ \t]*import\s+([\w$]+)\s+from\s*(["'][^"']+["']);?/gm, (_, a, from) => `var ${a} = __default(require(${from}));`)
    .replace(/^[ \t]*import\s*(["'][^"']+["']);?/gm, (_, from) => `require(${from});`);
}

const defaultOf = (made) => (made !== null && typeof made === "object" && Object.hasOwn(made, "default") ? made.default : made);

async function main() {
  const raw = fs.readFileSync("/in/tests.js", "utf8");
  const text = withoutImports(raw);
  lines = text.split("\n");
  if (takesText(text)) doubt("the tests take texts for programs or paths: what the code says could be forged");
  const style = order.style ?? (/["'](?:node:)?test["']/.test(raw) || /^\s*(?:test|it|describe)\s*\(/m.test(raw) ? "node-test" : "asserts");
  const runner = styles[style];
  if (!runner) return tell("unreadable", { why: `no JavaScript tests are written as ${style}` });
  let plan;
  try {
    plan = runner.plan(text);
  } catch (error) {
    return tell("unreadable", { why: `${error.name}: ${error.message}` });
  }
  tell("listed", { names: plan.names, style });
  try {
    const [pairs, whole] = await loaded();
    solution = whole.length ? whole[0] : Object.fromEntries(pairs);
    // A class that the tests name themselves may be asked what it has.
    for (const [, offered] of pairs) if (typeof offered === "function" && standsFor.has(offered) && classes.get(standsFor.get(offered)) === offered) trusted.add(offered);
  } catch (error) {
    return tell("unloaded", { why: `${error?.stackThere ?? error}` });
  }
  try {
    await runner.run(plan, text);
  } catch (error) {
    return tell("unloaded", { why: `${error?.stack ?? error}`.slice(0, 1500) });
  }
  await untilNothingIsLeft();
  for (const error of strays) tell("outside", { name: "a promise nobody waits for", verdict: judge(error), output: wordsOf(error) });
  tell("done", {});
}

const loaded = async () => ask("load", 0, []);
