// The code's own objects, as the process of the tests is told of them: they stay here, and the tests have stand-ins.

const given = new Map();
const numbers = new Map();
const told = new Set();
const printed = [];
const handedOn = (error) => error;
const noteMethod = () => undefined;

function numberOf(thing) {
  if (!numbers.has(thing)) {
    numbers.set(thing, numbers.size + 1);
    given.set(numbers.size, thing);
  }
  return numbers.get(thing);
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
    readRecords(message.n ?? [], unpack);
    before = unpack.filled.map((held) => [held, snapshot(held)]);
    return answerWith("r", perform(op, given.get(target), args), before);
  } catch (error) {
    return answerWith("x", error, before);
  }
}

function perform(op, thing, args) {
  switch (op) {
    case "call":
      return Reflect.apply(thing, args[0], args.slice(1));
    case "new":
      return Reflect.construct(thing, args);
    case "get":
      return thing[symbol(args[0])];
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

function other(pack) {
  const callable = (value) => {
    if (/^class\b/.test(Function.prototype.toString.call(value))) return ["k", classOf(value)];
    return ["fn", numberOf(value), String(value.name ?? ""), Number(value.length) || 0, isAsync(value)];
  };
  const object = (value) => {
    if (value instanceof Error) return failure(value);
    if (value instanceof Promise) return ["p", numberOf(value)];
    if (value instanceof Number || value instanceof String || value instanceof Boolean) return pack(value.valueOf());
    const base = [Array, Map, Set].find((kind) => value instanceof kind);
    return ["h", numberOf(value), classOf(value.constructor), base ? "filled" : "object", base ? pack.container(value) : null];
  };
  const classOf = (kind) => {
    if (typeof kind !== "function" || kind === Object || kind === Function) return null;
    if (ERRORS.get(kind.name) === kind) return kind.name;
    if (standsFor.has(kind)) return ["m", standsFor.get(kind)];
    const which = numberOf(kind);
    if (told.has(which) || pack.telling.has(which)) return [which];
    pack.telling.add(which);
    const parent = Object.getPrototypeOf(kind);
    return [which, String(kind.name), typeof parent === "function" && parent !== Function.prototype ? classOf(parent) : null, Number(kind.length) || 0];
  };
  const failure = (value) => {
    const extra = Object.keys(value).filter((key) => key !== "stack").map((key) => [key, pack(value[key])]);
    const cause = "cause" in value ? [pack(value.cause)] : [];
    return ["e", classOf(value.constructor), String(value.name), String(value.message), String(value.stack ?? "").slice(0, 1500), extra, cause, numberOf(value)];
  };
  // The attributes of objects of the tests that the code has changed.
  const records = () => {
    const rows = changedRecords(pack);
    for (const which of pack.telling) told.add(which);
    return rows;
  };
  return { callable, object, records, symbol: (value) => ["h", numberOf(value), null, "symbol", null] };
}
