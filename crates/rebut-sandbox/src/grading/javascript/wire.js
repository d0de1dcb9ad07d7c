// What travels between the process of the code and the process of the tests: data, and numbers.
//
// Both processes hold this text and know how to make data of values. What a number means differs. The tests may do anything with the objects of the
// code: it is done over there. The code may do one thing with what the tests gave it: call what was granted to be called, by its number.

"use strict";
const fs = require("node:fs");
const util = require("node:util");
const MOST = 64 << 20;
const IN = 3;
const OUT = 4;
const SYMBOLS = new Map([["iterator", Symbol.iterator], ["asyncIterator", Symbol.asyncIterator], ["toPrimitive", Symbol.toPrimitive], ["toStringTag", Symbol.toStringTag], ["dispose", Symbol.dispose]]);
const NUMBERS = new Map([["NaN", NaN], ["Infinity", Infinity], ["-Infinity", -Infinity], ["-0", -0]]);
const ARRAYS = new Map(
  [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array].map((kind) => [kind.name, kind]),
);
const ERRORS = new Map([Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError].map((kind) => [kind.name, kind]));

function send(kind, words) {
  const body = Buffer.from(words);
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
    if (got === 0) leave(0);
    at += got;
  }
  return buffer;
}
const leave = process.exit.bind(process);

function receive() {
  const head = exactly(5);
  const length = head.readUInt32BE(0);
  if (length > MOST) return broken(`a frame of ${length} bytes`);
  return { kind: String.fromCharCode(head[4]), text: exactly(length).toString("utf8") };
}

let broken = (why) => {
  throw new Error(why);
};
const known = new Map();
const standsFor = new WeakMap();
const gone = new FinalizationRegistry((number) => known.get(number)?.deref() === undefined && known.delete(number));

// Has something done on the other side; what it throws there is thrown here.
function ask(op, target, args = []) {
  const pack = packer();
  say({ q: [op, target, args.map(pack)] }, pack);
  for (;;) {
    const message = nextMessage();
    if (Object.hasOwn(message, "q")) serve(message);
    else return take(message, pack);
  }
}

function say(message, pack) {
  message.n = pack.records();
  send("A", JSON.stringify(message));
}

function nextMessage() {
  const { kind, text: words } = receive();
  let message;
  try {
    message = JSON.parse(words);
  } catch {
    return broken("garbage");
  }
  return kind === "A" && message !== null && typeof message === "object" && !Array.isArray(message) ? message : broken("no message");
}

function take(message, pack) {
  let value;
  const failed = Object.hasOwn(message, "x");
  try {
    const unpack = unpacker(pack.filled);
    for (const [index, content] of message.w ?? []) refill(pack.filled[number(index)], content, unpack);
    value = unpack(failed ? message.x : message.r ?? null);
    readRecords(message.n ?? [], unpack);
    for (const [how, words] of message.o ?? []) if (["log", "info", "warn", "error", "debug"].includes(how)) console[how](text(words));
  } catch (error) {
    return broken(`an answer that cannot be read (${error.message})`);
  }
  if (failed) throw handedOn(value);
  return value;
}

function answerWith(key, value, before) {
  const pack = packer();
  pack.filled.push(...before.map(([held]) => held));
  const back = before.flatMap(([held, was], index) => (changed(snapshot(held), was) ? [[index, pack.content(held)]] : []));
  return [{ w: back, [key]: pack(value) }, pack];
}

// A number that came over the wire, and nothing that only looks like one.
function number(value) {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw new TypeError("no number");
  return value;
}
function text(value) {
  if (typeof value !== "string") throw new TypeError("no text");
  return value;
}
function list(value) {
  if (!Array.isArray(value)) throw new TypeError("no list");
  return value;
}

const symbol = (name) => (typeof name === "string" && name.startsWith("@@") && SYMBOLS.get(name.slice(2))) || name;
const nameOf = (key) => {
  if (typeof key === "string") return key;
  const found = [...SYMBOLS].find(([, value]) => value !== undefined && value === key);
  return found && `@@${found[0]}`;
};

function snapshot(held) {
  if (held instanceof Map) return [...held].flat();
  if (held instanceof Set || Array.isArray(held)) return [...held];
  if (ArrayBuffer.isView(held)) return Array.from(held);
  return Object.entries(held).flat();
}

const changed = (now, was) => now.length !== was.length || now.some((value, index) => !Object.is(value, was[index]));

// The same thing over there is the same stand-in here, as long as somebody holds it.
function standIn(which, make) {
  const held = known.get(number(which))?.deref();
  if (held !== undefined) return held;
  const made = make();
  standsFor.set(made, which);
  known.set(which, new WeakRef(made));
  gone.register(made, which);
  return made;
}
