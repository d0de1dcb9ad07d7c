// What travels between the process of the code and the process of the tests: values as data, and everything else as a stand-in.
//
// Both processes hold this text. An object that is no data stays where it was made; the other side has a stand-in whose operations run there. On the
// side of the tests (STRICT) such an object never decides a comparison that is given the expected value.

"use strict";
const fs = require("node:fs");
const util = require("node:util");
const MOST = 64 << 20;
const IN = 3;
const OUT = 4;
const JUDGING = new Set(["includes", "startsWith", "endsWith", "has", "equals", "isEqual", "every", "some", "localeCompare", "isSubsetOf", "isSupersetOf", "isDisjointFrom"]);
const SYMBOLS = { iterator: Symbol.iterator, asyncIterator: Symbol.asyncIterator, toPrimitive: Symbol.toPrimitive, toStringTag: Symbol.toStringTag, dispose: Symbol.dispose };
const NUMBERS = new Map([["NaN", NaN], ["Infinity", Infinity], ["-Infinity", -Infinity], ["-0", -0]]);
const ARRAYS = Object.fromEntries(
  [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array].map((kind) => [kind.name, kind]),
);
const ERRORS = { Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError };

function send(kind, text) {
  const body = Buffer.from(text);
  const frame = Buffer.alloc(5 + body.length);
  frame.writeUInt32BE(body.length, 0);
  frame[4] = kind.charCodeAt(0);
  body.copy(frame, 5);
  for (let at = 0; at < frame.length; ) at += fs.writeSync(OUT, frame, at);
}

function exactly(count) {
  const buffer = Buffer.alloc(count);
  for (let at = 0; at < count; ) {
    const got = fs.readSync(IN, buffer, at, count - at, null);
    if (got === 0) process.exit(0);
    at += got;
  }
  return buffer;
}

function receive() {
  const head = exactly(5);
  const length = head.readUInt32BE(0);
  if (length > MOST) return broken(`a frame of ${length} bytes`);
  return { kind: String.fromCharCode(head[4]), text: exactly(length).toString("utf8") };
}

let broken = (why) => {
  throw new Error(why);
};
let STRICT = false;
const notes = [];
const given = new Map();
const numbers = new Map();
const known = new Map();
const standsFor = new WeakMap();
const told = new Set();
const classes = new Map();
const trusted = new WeakSet();
const making = [];
const services = {};
const printed = [];
const gone = new FinalizationRegistry((number) => known.get(number)?.deref() === undefined && known.delete(number));

function numberOf(thing) {
  if (!numbers.has(thing)) {
    numbers.set(thing, numbers.size + 1);
    given.set(numbers.size, thing);
  }
  return numbers.get(thing);
}

// Asks the other side to do something with one of its objects; what it throws there is thrown here.
function ask(op, target, args = []) {
  const pack = packer();
  const body = args.map(pack);
  say({ q: [op, target, body] }, pack);
  for (;;) {
    const message = nextMessage();
    if (message.q) serve(message);
    else return take(message, pack);
  }
}

function say(message, pack) {
  send("A", JSON.stringify(message));
  for (const number of pack.telling) told.add(number);
}

function nextMessage() {
  const { kind, text } = receive();
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    return broken("garbage");
  }
  return kind === "A" && message !== null && typeof message === "object" ? message : broken("no message");
}

function take(message, pack) {
  let value;
  try {
    const unpack = unpacker(pack.filled);
    for (const [index, content] of message.w ?? []) refill(pack.filled[index], content, unpack);
    for (const [how, text] of message.o ?? []) if (["log", "info", "warn", "error", "debug"].includes(how)) console[how](String(text));
    value = unpack("x" in message ? message.x : message.r);
  } catch (error) {
    return broken(`an answer that cannot be read (${error.message})`);
  }
  if ("x" in message) throw value;
  return value;
}

function serve(message) {
  const [answer, pack] = outcome(message);
  say({ ...answer, o: printed.splice(0) }, pack);
}

function outcome(message) {
  let before = [];
  try {
    const unpack = unpacker([]);
    const [op, target, data] = message.q;
    const args = data.map(unpack);
    before = unpack.filled.map((held) => [held, snapshot(held)]);
    return answerWith("r", perform(op, target, args), before);
  } catch (error) {
    return answerWith("x", error, before);
  }
}

function answerWith(key, value, before) {
  const pack = packer();
  pack.filled.push(...before.map(([held]) => held));
  const back = before.flatMap(([held, was], index) => (changed(snapshot(held), was) ? [[index, pack.content(held)]] : []));
  return [{ w: back, [key]: pack(value) }, pack];
}

function perform(op, target, args) {
  if (services[op]) return services[op](...args);
  const thing = given.get(target);
  if (STRICT) guard(op, thing, args);
  switch (op) {
    case "call":
      return Reflect.apply(thing, args[0], args.slice(1));
    case "new":
      return Reflect.construct(thing, args);
    case "get":
      return shown(thing[symbol(args[0])]);
    case "set":
      return Reflect.set(Object(thing), symbol(args[0]), args[1]);
    case "delete":
      return Reflect.deleteProperty(thing, symbol(args[0]));
    case "has":
      return symbol(args[0]) in thing;
    case "keys":
      return Reflect.ownKeys(thing).filter((key) => typeof key === "string");
    case "own": {
      const found = Reflect.getOwnPropertyDescriptor(thing, symbol(args[0]));
      return found && [thing[symbol(args[0])], found.enumerable];
    }
  }
  throw new TypeError(`no operation ${op}`);
}

// What the code may do with an object the tests gave it: use it, not look behind it.
const BEHIND = new Set(["constructor", "prototype", "caller", "callee", "arguments", "mainModule", "binding"]);
function guard(op, thing, args) {
  if (!["get", "set", "delete", "has", "own"].includes(op)) return;
  const name = args[0];
  if (typeof name !== "string" || name.startsWith("__") || BEHIND.has(name)) throw new TypeError(`${String(name)} of an object of the tests is not for the code`);
  if ((op === "set" || op === "delete") && typeof thing === "function") throw new TypeError("a function of the tests cannot be changed by the code");
}
const INSIDES = new Set([globalThis, process, require, Function, eval, module, Reflect, Object, fs]);
function shown(value) {
  if (STRICT && INSIDES.has(value)) throw new TypeError("the insides of the tests are not for the code");
  return value;
}

const symbol = (name) => (typeof name === "string" && name.startsWith("@@") && SYMBOLS[name.slice(2)] ? SYMBOLS[name.slice(2)] : name);
const nameOf = (key) => {
  if (typeof key === "string") return key;
  const found = Object.entries(SYMBOLS).find(([, value]) => value !== undefined && value === key);
  return found && `@@${found[0]}`;
};

function snapshot(held) {
  if (held instanceof Map) return [...held].flat();
  if (held instanceof Set || Array.isArray(held)) return [...held];
  if (ArrayBuffer.isView(held)) return Array.from(held);
  return Object.entries(held).flat();
}

const changed = (now, was) => now.length !== was.length || now.some((value, index) => !Object.is(value, was[index]));
