// The process of the code under test: loads it and does with it what the process of the tests asks.

const path = require("node:path");
const Module = require("node:module");
const url = require("node:url");

const isModule = (text) => /^\s*(?:import\s*[\w{*"']|export\s+[\w{*])/m.test(text);

// Without exports the names at the top level are what the code offers.
function exportsOf(text) {
  const names = new Set();
  for (const found of text.matchAll(/^(?:async\s+)?(?:function\s*\*?|class|const|let|var)\s+([A-Za-z_$][\w$]*)/gm)) names.add(found[1]);
  const parts = [...names].map((name) => `...(typeof ${name} !== "undefined" && { ${name} })`);
  return `\n;if (typeof module.exports === "object" && Object.keys(module.exports).length === 0) module.exports = { ${parts.join(", ")} };`;
}

async function load() {
  const file = "/in/solution.cjs";
  const text = fs.readFileSync(file, "utf8");
  let offered;
  if (isModule(text)) {
    const made = await import(url.pathToFileURL("/in/solution.mjs"));
    offered = { ...made };
  } else {
    const made = new Module(file);
    made.filename = file;
    made.paths = [];
    made._compile(text + exportsOf(text), file);
    offered = made.exports;
  }
  const names = offered !== null && (typeof offered === "object" || typeof offered === "function") ? Object.keys(offered) : [];
  return [names.map((name) => [name, offered[name]]), typeof offered === "function" ? [offered] : []];
}

const settled = [];
const watched = new Set();
let wake = null;
function watch(number) {
  if (watched.has(number)) return;
  watched.add(number);
  const note = (held, value) => {
    settled.push([number, held, value]);
    wake?.();
  };
  given.get(number).then((value) => note(true, value), (error) => note(false, error));
}

// Lets the code's own events happen until a promise settles, or for a few milliseconds. Before that the promises of the tests come out as they did.
function run([numbersWaited, came]) {
  for (const [which, isKept, value] of came) {
    const one = pending.get(which);
    pending.delete(which);
    isKept ? one?.resolve(value) : one?.reject(value);
  }
  numbersWaited.forEach(watch);
  return new Promise((resolve) => {
    const finish = () => {
      wake = null;
      clearTimeout(timer);
      setImmediate(() => resolve(settled.splice(0)));
    };
    const timer = setTimeout(finish, 5);
    wake = finish;
    if (settled.length) finish();
  });
}

async function later(work) {
  let done;
  try {
    done = answerWith("r", await work(), []);
  } catch (error) {
    done = answerWith("x", error, []);
  }
  say({ ...done[0], o: printed.splice(0) }, done[1]);
}

function argumentsOf(message) {
  const unpack = unpacker([]);
  const args = message.q[2].map(unpack);
  readRecords(message.n ?? [], unpack);
  return args;
}

function loop() {
  for (;;) {
    const message = nextMessage();
    const op = message.q?.[0];
    if (op === "load") return void later(load).then(loop);
    if (op === "run") return void later(() => run(argumentsOf(message))).then(loop);
    serve(message);
  }
}

for (const how of ["log", "info", "warn", "error", "debug"]) {
  console[how] = (...args) => void (printed.length < 2000 && printed.push([how, util.format(...args).slice(0, 10000)]));
}
process.stdout.write = (text) => printed.length < 2000 && printed.push(["log", String(text).replace(/\n$/, "").slice(0, 10000)]) > 0;
process.on("unhandledRejection", () => undefined);
broken = () => process.exit(1);
loop();
