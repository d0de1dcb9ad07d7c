// What the tests gave to the code: stand-ins in the code's own process for objects, functions and iterators of the tests.
//
// They hold copies of the attributes, and the numbers of what may be called. All this is the code's to look at: there is nothing behind it.

const held = new Map();
const classesGiven = new Map();
const pending = new Map();

const attributesShown = (thing) => new Map(Object.keys(thing).map((key) => [key, [thing[key], isContainer(thing[key]) ? snapshot(thing[key]) : null]]));
const isContainer = (value) => value !== null && typeof value === "object" && !standsFor.has(value) && plainKind(value);

function changedRecords(pack) {
  const rows = [];
  for (const [which, record] of held) {
    const now = attributesShown(record.thing);
    const isNew = ([key, [value, content]]) => !record.was.has(key) || !Object.is(record.was.get(key)[0], value) || (content !== null && changed(content, record.was.get(key)[1] ?? []));
    const pairs = [...now].filter(isNew).map(([key, [value]]) => [key, pack(value), record.was.has(key) && record.was.get(key)[0] === value]);
    const removed = [...record.was.keys()].filter((key) => !now.has(key));
    if (pairs.length || removed.length) rows.push([which, pairs, removed]);
    record.was = now;
  }
  return rows;
}

function readRecords(rows, unpack) {
  for (const [which, pairs] of rows) {
    const values = pairs.map(([name, value]) => [name, unpack(value)]);
    const thing = known.get(which)?.deref();
    if (thing === undefined) continue;
    for (const key of Object.keys(thing)) delete thing[key];
    for (const [name, value] of values) define(thing, name, value);
    // Held for good: the tests say only what changed.
    held.set(which, { thing, was: attributesShown(thing) });
  }
}

const callOf = (which, place, args) => ask("call", [which, place], args);

function classGiven(data) {
  if (data === null) return null;
  if (typeof data === "string") return ERRORS.get(data);
  if (data[0] === "m") return given.get(data[1]);
  const [which, name, parent, rows, mayBeCalled] = data;
  if (!classesGiven.has(which)) classesGiven.set(which, { mayBeCalled: false, made: makeGiven(which, name, classGiven(parent), rows) });
  const found = classesGiven.get(which);
  found.mayBeCalled ||= mayBeCalled === true;
  return found.made;
}

function makeGiven(which, name, parent, rows) {
  const isError = parent === Error || parent?.prototype instanceof Error;
  const made = isError
    ? { [name]: class extends parent {} }[name]
    : {
        [name]: class {
          constructor(...args) {
            if (new.target !== made) throw new TypeError(`the tests run apart from the code: their class ${name} cannot be extended in it`);
            if (!classesGiven.get(which).mayBeCalled) throw new TypeError(`the tests run apart from the code: their class ${name} is not for the code to call`);
            return callOf(which, 0, args);
          }
        },
      }[name];
  if (parent && !isError) Object.setPrototypeOf(made.prototype, parent.prototype);
  rows.forEach(([method, how], place) => {
    const key = symbol(method);
    const before = Reflect.getOwnPropertyDescriptor(made.prototype, key) ?? {};
    const call = function (...args) {
      if (!standsFor.has(this)) throw new TypeError("a copy of an object of the tests has its attributes, not its methods");
      return callOf(standsFor.get(this), place, args);
    };
    const shape = how === "call" ? { value: call, writable: true } : { get: before.get, set: before.set, [how]: call };
    Object.defineProperty(made.prototype, key, { ...shape, configurable: true });
  });
  standsFor.set(made, which);
  return made;
}

function functionGiven(which, name, length, isAsyncThere) {
  const made = isAsyncThere
    ? async function (...args) {
        return await callOf(which, 0, [receiverOf(this), ...args]);
      }
    : function (...args) {
        return callOf(which, 0, [receiverOf(this), ...args]);
      };
  Object.defineProperty(made, "name", { value: name, configurable: true });
  Object.defineProperty(made, "length", { value: length, configurable: true });
  return made;
}
// The module of the code and the like are no receivers that mean anything over there.
const receiverOf = (self) => (self === undefined || self === null || self === globalThis ? undefined : self);

function iteratorGiven(which, isLater) {
  const steps = ["next", "return", "throw"].map((name, place) => [name, (...args) => callOf(which, place, args)]);
  const made = Object.fromEntries(steps);
  const self = isLater ? Symbol.asyncIterator : Symbol.iterator;
  return Object.defineProperty(made, self, { value: () => made });
}

function errorGiven(unpack, kind, name, message, which) {
  return standIn(which, () => {
    const type = classGiven(kind) ?? Error;
    const made = Object.setPrototypeOf(new Error(message), type.prototype);
    if (made.name !== name) Object.defineProperty(made, "name", { value: name, configurable: true, writable: true });
    return made;
  });
}

// What JavaScript or Node have themselves, by its name: that of this process.
function builtin(name) {
  const [module, path] = name.includes(":") ? name.split(":") : [null, name];
  const start = module === null ? globalThis : require(`node:${module}`);
  return path.split(".").filter(Boolean).reduce((thing, key) => thing[key], start);
}

read
  .set("m", (unpack, which) => given.get(which))
  .set("r", (unpack, which, kind, isBare) => {
    const type = classGiven(kind);
    return standIn(which, () => Object.create(isBare ? null : (type?.prototype ?? Object.prototype)));
  })
  .set("k", (unpack, data) => classGiven(data))
  .set("fn", (unpack, which, ...rest) => standIn(which, () => functionGiven(which, ...rest)))
  .set("it", (unpack, which, isLater) => standIn(which, () => iteratorGiven(which, isLater)))
  .set("p", (unpack, which) => standIn(which, () => new Promise((resolve, reject) => pending.set(which, { resolve, reject }))))
  .set("U", (unpack, href) => new URL(href))
  .set("bn", (unpack, name) => builtin(name))
  .set("e", errorGiven);
