// What the tests give to the code: data, and numbers that can be called.
//
// Nothing of the tests itself crosses. A function, an iterator, an object or a class that the tests hand over becomes a grant: a number, and a short
// row of functions made here when it was handed over. The code can name a number and a place in its row, and nothing else: what it names is
// looked up in these rows only. What JavaScript or Node have themselves travels as a name that is looked up in the code's own process.

const granted = new Map();
const grantNumbers = new Map();
const toldRecords = new Set();
const toldClasses = new Set();
// Functions and objects that are not the tests' own, by the name the code's process finds its own under; null where it shall find none.
const builtins = new Map();
const mocks = new WeakSet();
// More objects than these are not looked at for changes any more.
const MOST_RECORDS = 2000;

function noteBuiltin(thing, name, depth = 0) {
  if (thing === null || (typeof thing !== "object" && typeof thing !== "function") || builtins.has(thing) || depth > 2) return;
  builtins.set(thing, name);
  for (const key of Object.getOwnPropertyNames(thing)) {
    const held = Reflect.getOwnPropertyDescriptor(thing, key);
    if (key !== "caller" && key !== "arguments" && held !== undefined && "value" in held) noteBuiltin(held.value, name === null ? null : `${name}.${key}`, depth + 1);
  }
}
for (const name of Object.getOwnPropertyNames(globalThis)) {
  const held = Reflect.getOwnPropertyDescriptor(globalThis, name);
  if (name !== "globalThis" && name !== "global" && "value" in held) noteBuiltin(held.value, name === "process" ? null : name);
}
builtins.set(globalThis, null);

class Ungiven extends TypeError {}
const ungiven = (what) => {
  throw new Ungiven(`the tests run apart from the code: ${what} cannot be handed to it`);
};

function grant(thing, ways) {
  if (!grantNumbers.has(thing)) {
    grantNumbers.set(thing, grantNumbers.size + 1);
    granted.set(grantNumbers.size, { thing, ways, names: new Set(), was: null });
  }
  const held = granted.get(grantNumbers.get(thing));
  if (!held.ways.length) held.ways = ways;
  return grantNumbers.get(thing);
}

const isNative = (value) => /\{\s*\[native code\]\s*\}\s*$/.test(Function.prototype.toString.call(value));
// A function that the text of the tests made, or that JavaScript made for it: bound to something, or to settle a promise.
const isMade = (value) => mocks.has(value) || /^bound /.test(value.name) || (value.name === "" && value.length <= 1);
const isOfTests = (value) => typeof value === "function" && !builtins.has(value) && !standsFor.has(value) && (!isNative(value) || isMade(value));
const isClass = (value) => typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));

// Classes of the tests above an object, the nearest first; nothing where one of them is neither theirs nor known to do no harm.
const chainOf = (value) => chainFrom(Object.getPrototypeOf(value));
function chainFrom(start) {
  const found = [];
  for (let proto = start; proto !== null && proto !== Object.prototype; proto = Object.getPrototypeOf(proto)) {
    const isKnown = builtins.get(proto.constructor) === "events:" || builtins.get(proto.constructor) === "events:.EventEmitter";
    if (!isKnown && !isOfTests(proto.constructor)) return null;
    found.push([proto, isKnown]);
  }
  return found;
}

const EMITTING = new Set(["on", "once", "off", "emit", "addListener", "removeListener", "listenerCount"]);
// What an object of a class of the tests can do, as rows of name, kind and a way to it.
function waysOf(chain) {
  const rows = new Map();
  for (const [proto, isKnown] of [...chain].reverse()) {
    for (const key of Reflect.ownKeys(proto)) {
      const name = nameOf(key);
      const held = Reflect.getOwnPropertyDescriptor(proto, key);
      if (name === undefined || name === "constructor" || name === "__proto__" || (isKnown && !EMITTING.has(name))) continue;
      if (isKnown || isOfTests(held.value)) rows.set(name, [[name, "call", (o) => (...args) => Reflect.apply(held.value, o, args)]]);
      else if (isOfTests(held.get) || isOfTests(held.set)) {
        rows.set(name, [[name, "get", (o) => () => held.get && Reflect.apply(held.get, o, [])], [name, "set", (o) => (value) => held.set && Reflect.apply(held.set, o, [value])]]);
      }
    }
  }
  return [...rows.values()].flat();
}

// The attributes of an object as they are now: its own, that can be seen and are no accessors.
function attributesOf(thing) {
  const found = new Map();
  for (const key of Object.keys(thing)) {
    const held = Reflect.getOwnPropertyDescriptor(thing, key);
    if (held !== undefined && "value" in held && !key.startsWith("_")) found.set(key, [held.value, isContainer(held.value) ? snapshot(held.value) : null]);
  }
  return found;
}
const isContainer = (value) => value !== null && typeof value === "object" && !standsFor.has(value) && plainKind(value);
function hasChanged(was, now) {
  if (was === null || was.size !== now.size) return true;
  return [...now].some(([key, [value, content]]) => !was.has(key) || !Object.is(was.get(key)[0], value) || (content !== null && changed(content, was.get(key)[1] ?? [])));
}

function other(pack) {
  const record = (value, chain) => {
    const rows = waysOf(chain);
    // What an object without a class can do is among its attributes.
    const which = grant(value, rows.map(([, , way]) => way(value)));
    if (!toldRecords.has(which)) pack.fresh.set(which, true);
    return ["r", which, chain.length ? classOf(chain[0][0].constructor, false) : null, Object.getPrototypeOf(value) === null];
  };
  const classOf = (kind, toCall) => {
    if (ERRORS.get(kind.name) === kind) return kind.name;
    if (standsFor.has(kind)) return ["m", standsFor.get(kind)];
    const isError = kind.prototype instanceof Error;
    const which = grant(kind, toCall && !isError ? [(...args) => Reflect.construct(kind, args)] : []);
    const mark = `${which} ${toCall}`;
    if (toldClasses.has(mark) || pack.telling.has(mark)) return [which];
    pack.telling.add(mark);
    const parent = Object.getPrototypeOf(kind);
    const isParent = typeof parent === "function" && parent !== Function.prototype && (isOfTests(parent) || ERRORS.get(parent.name) === parent);
    const rows = isError ? [] : waysOf(chainFrom(kind.prototype) ?? []);
    return [which, String(kind.name), isParent ? classOf(parent, false) : isError ? "Error" : null, rows.map(([name, how]) => [name, how]), toCall];
  };
  const callable = (value) => {
    const name = builtins.get(value);
    if (name) return ["bn", name];
    if (!isOfTests(value)) ungiven(value.name || "a function that is not the tests' own");
    if (isClass(value)) return value.prototype instanceof Error || chainFrom(value.prototype) !== null ? ["k", classOf(value, true)] : ungiven(value.name);
    return ["fn", grant(value, [(self, ...args) => Reflect.apply(value, self, args)]), String(value.name ?? ""), Number(value.length) || 0, isAsync(value)];
  };
  const object = (value) => {
    if (builtins.get(value)) return ["bn", builtins.get(value)];
    if (builtins.has(value)) ungiven("what is not the tests' own");
    if (value instanceof Error) return failure(value);
    if (value instanceof Promise) return ["p", given.promise(value)];
    if (value instanceof Number || value instanceof String || value instanceof Boolean) return pack(value.valueOf());
    if (value instanceof URL) return ["U", value.href];
    const base = [Array, Map, Set].find((kind) => value instanceof kind);
    if (base) return pack.container(value);
    if (/Iterator$|Generator$/.test(value[Symbol.toStringTag] ?? "") && typeof value.next === "function" && chainOf(value) === null) {
      const ways = ["next", "return", "throw"].map((name) => (...args) => (typeof value[name] === "function" ? value[name](...args) : undefined));
      return ["it", grant(value, ways), value[Symbol.asyncIterator] !== undefined];
    }
    const chain = chainOf(value);
    return chain === null ? ungiven(`an object of ${value.constructor?.name ?? "an unknown class"}`) : record(value, chain);
  };
  // An error of the tests on its way through the code. What an assertion says is not for the code to read.
  const failure = (value) => {
    let kind = value.constructor;
    while (typeof kind === "function" && ERRORS.get(kind.name) !== kind && !isOfTests(kind)) kind = Object.getPrototypeOf(kind);
    const isSecret = value instanceof assert.AssertionError;
    return ["e", typeof kind === "function" && kind !== Function.prototype ? classOf(kind, false) : "Error", String(value.name), isSecret ? "" : String(value.message), grant(value, [])];
  };
  const oneRecord = (which, rows) => {
    const held = granted.get(which);
    const now = attributesOf(held.thing);
    if (!pack.fresh.has(which) && !hasChanged(held.was, now)) return;
    held.was = now;
    const pairs = [];
    for (const [key, [value]] of now) {
      held.names.add(key);
      try {
        pairs.push([key, pack(value)]);
      } catch (error) {
        // An attribute that cannot be given is simply not there.
        if (!(error instanceof Ungiven)) throw error;
      }
    }
    rows.push([which, pairs]);
  };
  // The attributes of each object that the code has a number for, where they are new or have changed. Objects may hold objects.
  const records = () => {
    const rows = [];
    for (const which of toldRecords) oneRecord(which, rows);
    // A Map goes on with what is added while it is gone through.
    for (const which of pack.fresh.keys()) oneRecord(which, rows);
    for (const which of pack.fresh.keys()) toldRecords.add(which);
    for (const which of toldRecords) if (toldRecords.size > MOST_RECORDS) toldRecords.delete(which);
    for (const mark of pack.telling) toldClasses.add(mark);
    return rows;
  };
  return { callable, object, records, symbol: () => ungiven("a symbol") };
}

// Promises of the tests that the code waits for: how they came out is told with the next step.
const given = {
  settled: [],
  promise(value) {
    const isNew = !grantNumbers.has(value);
    const which = grant(value, []);
    const failed = (error) => {
      noteVerdict(error);
      this.settled.push([which, false, error]);
    };
    if (isNew) value.then((held) => this.settled.push([which, true, held]), failed);
    return which;
  },
};

// Assertions that did not hold in what the code called, and what else went wrong there, as long as the code has not handed it on.
const swallowed = [];
const broke = [];
const noteVerdict = (error) => {
  if (!(error instanceof Error)) return;
  if (error instanceof assert.AssertionError || error.unlike === true) swallowed.push(error);
  else if (Object.hasOwn(error, "stackThere") || (BREAKING.some((kind) => error instanceof kind) && !isMeant(error))) broke.push(error);
};

// Does what the code asks and answers. It can ask for one thing: a call of what was granted. Anything else ends the conversation.
function serve(message) {
  let what, args, before;
  // What the code hands over here was not asked for by the maker of anything.
  const maker = making.splice(0);
  try {
    const unpack = unpacker([]);
    const [op, target, data] = list(message.q);
    if (op !== "call" || list(target).length !== 2) throw new TypeError("no such request");
    const { ways } = grantOf(target[0]);
    if (number(target[1]) >= ways.length) throw new TypeError("no such way");
    what = ways[target[1]];
    args = list(data).map(unpack);
    readRecords(message.n ?? [], unpack);
    before = unpack.filled.map((held) => [held, snapshot(held)]);
  } catch (error) {
    return broken(`a request that cannot be granted (${error.message})`);
  }
  let answer;
  try {
    answer = answerWith("r", what(...args), before);
  } catch (error) {
    noteVerdict(error);
    answer = answerWith("x", error, before);
  } finally {
    making.push(...maker);
  }
  say(...answer);
}
