// Values made data and data made values, for both processes.

function packer() {
  const filled = [];
  const telling = new Set();
  const pack = (value) => {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "undefined":
        return ["u"];
      case "bigint":
        return ["n", value.toString()];
      case "number":
        if (Object.is(value, -0)) return ["f", "-0"];
        return Number.isFinite(value) ? value : ["f", String(value)];
      case "symbol":
        return nameOf(value) ? ["y", nameOf(value)] : ["h", numberOf(value), null, "symbol"];
    }
    if (value === null) return null;
    if (standsFor.has(value)) return ["m", standsFor.get(value)];
    if (typeof value === "function") return callable(value);
    return plainKind(value) ? container(value) : object(value);
  };
  const container = (value) => {
    const seen = filled.indexOf(value);
    if (seen >= 0) return ["&", seen];
    filled.push(value);
    return content(value);
  };
  const content = (value) => {
    if (Array.isArray(value)) return ["l", Array.from(value, pack)];
    if (value instanceof Map) return ["M", [...value].map(([k, v]) => [pack(k), pack(v)])];
    if (value instanceof Set) return ["S", [...value].map(pack)];
    if (value instanceof Date) return ["D", pack(value.getTime())];
    if (value instanceof RegExp) return ["R", value.source, value.flags, value.lastIndex];
    if (ArrayBuffer.isView(value)) {
      const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
      return ["T", Buffer.isBuffer(value) ? "Buffer" : value.constructor.name, bytes];
    }
    const pairs = Object.keys(value).map((key) => [key, pack(value[key])]);
    return ["o", pairs, Object.getPrototypeOf(value) === null];
  };
  const object = (value) => {
    if (value instanceof Error) return failure(value);
    if (value instanceof Promise) return ["p", numberOf(value)];
    if (value instanceof Number || value instanceof String || value instanceof Boolean) return pack(value.valueOf());
    const base = [Array, Map, Set].find((kind) => value instanceof kind);
    return ["h", numberOf(value), classOf(value.constructor), base ? "filled" : "object", base ? container(value) : null];
  };
  const callable = (value) => {
    const isClass = /^class\b/.test(Function.prototype.toString.call(value));
    if (isClass) return ["k", classOf(value)];
    return ["fn", numberOf(value), String(value.name ?? ""), Number(value.length) || 0, isAsync(value)];
  };
  const classOf = (kind) => {
    if (typeof kind !== "function" || kind === Object || kind === Function) return null;
    if (ERRORS[kind.name] === kind) return kind.name;
    if (standsFor.has(kind)) return ["m", standsFor.get(kind)];
    const number = numberOf(kind);
    if (told.has(number) || telling.has(number)) return [number];
    telling.add(number);
    const parent = Object.getPrototypeOf(kind);
    return [number, String(kind.name), typeof parent === "function" && parent !== Function.prototype ? classOf(parent) : null, Number(kind.length) || 0];
  };
  const failure = (value) => {
    const extra = Object.keys(value).filter((key) => key !== "stack").map((key) => [key, pack(value[key])]);
    const cause = "cause" in value ? [pack(value.cause)] : [];
    return ["e", classOf(value.constructor), String(value.name), String(value.message), String(value.stack ?? "").slice(0, 1500), extra, cause, numberOf(value)];
  };
  return Object.assign(pack, { filled, telling, content });
}

const isAsync = (value) => value.constructor?.name === "AsyncFunction";

// What is data: of a plain class, not of one derived from it.
function plainKind(value) {
  const proto = Object.getPrototypeOf(value);
  if (proto === null || proto === Object.prototype) return !(Symbol.iterator in value) && !Object.values(value).some((held) => typeof held === "function");
  const plain = [Array, Map, Set, Date, RegExp].some((kind) => proto === kind.prototype);
  return plain || (ArrayBuffer.isView(value) && (Buffer.isBuffer(value) || ARRAYS[value.constructor?.name]?.prototype === proto));
}

function refill(held, content, unpack) {
  const [tag, data, bytes] = content;
  if (tag === "l") held.splice(0, held.length, ...data.map(unpack));
  else if (tag === "T") held.set(read.T(unpack, data, bytes, true));
  else if (tag === "M" || tag === "S") {
    held.clear();
    for (const item of data) tag === "M" ? held.set(unpack(item[0]), unpack(item[1])) : held.add(unpack(item));
  } else if (tag === "o") {
    for (const key of Object.keys(held)) delete held[key];
    for (const [key, value] of data) define(held, key, unpack(value));
  }
  return held;
}

const define = (held, key, value) => Object.defineProperty(held, key, { value, writable: true, enumerable: true, configurable: true });

function unpacker(before) {
  const filled = [...before];
  const unpack = (data) => {
    if (!Array.isArray(data)) {
      if (data !== null && typeof data === "object") throw new TypeError("a bare object");
      return data;
    }
    const [tag, ...rest] = data;
    if (!Object.hasOwn(read, tag)) throw new TypeError(`no such kind of value: ${tag}`);
    return read[tag](unpack, ...rest);
  };
  const fill = (empty, content) => {
    filled.push(empty);
    return refill(empty, content, unpack);
  };
  return Object.assign(unpack, { filled, fill });
}

const read = {
  u: () => undefined,
  n: (unpack, text) => BigInt(text),
  f: (unpack, text) => NUMBERS.get(text),
  y: (unpack, name) => symbol(name),
  "&": (unpack, index) => unpack.filled[index],
  m: (unpack, number) => given.get(number),
  l: (unpack, items) => unpack.fill([], ["l", items]),
  M: (unpack, items) => unpack.fill(new Map(), ["M", items]),
  S: (unpack, items) => unpack.fill(new Set(), ["S", items]),
  o: (unpack, pairs, bare) => unpack.fill(bare ? Object.create(null) : {}, ["o", pairs]),
  D: (unpack, time) => {
    const made = new Date(unpack(time));
    unpack.filled.push(made);
    return made;
  },
  R: (unpack, source, flags, last) => {
    const made = Object.assign(new RegExp(source, flags), { lastIndex: last });
    unpack.filled.push(made);
    return made;
  },
  T: (unpack, name, bytes, apart) => {
    const raw = Buffer.from(bytes, "base64");
    const kind = ARRAYS[name];
    const made = kind ? new kind(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length)) : raw;
    if (!apart) unpack.filled.push(made);
    return made;
  },
  p: (unpack, number) => promised(number),
  k: (unpack, data) => classFor(data),
  fn: (unpack, number, name, length, isAsyncThere) => standIn(number, () => functionFor(number, name, length, isAsyncThere)),
  h: (unpack, number, kind, how, content) => {
    const type = classFor(kind);
    const value = how === "filled" ? unpack(content) : undefined;
    // An object that extends an array or the like: plain where the tests were given it, live where they made it.
    if (how === "filled" && !making.length) return value;
    return standIn(number, () => handleFor(number, type));
  },
  e: (unpack, kind, name, message, stack, extra, cause, number) =>
    standIn(number, () => {
      const type = classFor(kind);
      const made = new Error(String(message));
      const prototype = type?.prototype ?? Error.prototype;
      if (prototype instanceof Error || prototype === Error.prototype) Object.setPrototypeOf(made, prototype);
      if (made.name !== name) Object.defineProperty(made, "name", { value: String(name), configurable: true, writable: true });
      // What an error is as plain data is not for the code to say.
      for (const [key, value] of extra) if (!STRICT || !["valueOf", "toString"].includes(key)) define(made, String(key), unpack(value));
      if (cause.length) Object.defineProperty(made, "cause", { value: unpack(cause[0]), configurable: true, writable: true });
      Object.defineProperty(made, "stackThere", { value: String(stack) });
      return made;
    }),
};
