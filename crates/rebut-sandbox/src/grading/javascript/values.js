// Values made data and data made values, for both processes. What is no data each side has its own way for: `other`.

function packer() {
  const filled = [];
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
        return nameOf(value) ? ["y", nameOf(value)] : own.symbol(value);
    }
    if (value === null) return null;
    if (standsFor.has(value)) return ["m", standsFor.get(value)];
    if (typeof value === "function") return own.callable(value);
    return plainKind(value) ? container(value) : own.object(value);
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
  const made = Object.assign(pack, { filled, container, content, fresh: new Map(), telling: new Set() });
  const own = other(made);
  made.records = own.records;
  return made;
}

const isAsync = (value) => value.constructor?.name === "AsyncFunction";

// What is data: of a plain class, not of one derived from it.
function plainKind(value) {
  const proto = Object.getPrototypeOf(value);
  if (proto === null || proto === Object.prototype) return !(Symbol.iterator in value) && !Object.values(value).some((held) => typeof held === "function");
  const plain = [Array, Map, Set, Date, RegExp].some((kind) => proto === kind.prototype);
  return plain || (ArrayBuffer.isView(value) && (Buffer.isBuffer(value) || ARRAYS.get(value.constructor?.name)?.prototype === proto));
}

const kindOf = (held) => (Array.isArray(held) ? "l" : held instanceof Map ? "M" : held instanceof Set ? "S" : ArrayBuffer.isView(held) ? "T" : "o");
// Names by which JavaScript itself asks an object what it is as plain data. No function of the other side stands there.
const ASKED = new Set([...Object.getOwnPropertyNames(Object.prototype), "then", "toJSON"]);

function refill(held, content, unpack) {
  const [tag, data, bytes] = list(content);
  if (tag !== kindOf(held)) throw new TypeError("another kind of content");
  if (tag === "l") {
    const items = data.map(unpack);
    held.length = 0;
    for (const item of items) Array.prototype.push.call(held, item);
  } else if (tag === "T") Object.getPrototypeOf(Uint8Array).prototype.set.call(held, bytesOf(data, bytes));
  else if (tag === "M") {
    const items = data.map(([key, value]) => [unpack(key), unpack(value)]);
    Map.prototype.clear.call(held);
    for (const [key, value] of items) Map.prototype.set.call(held, key, value);
  } else if (tag === "S") {
    const items = data.map(unpack);
    Set.prototype.clear.call(held);
    for (const item of items) Set.prototype.add.call(held, item);
  } else {
    const pairs = data.map(([key, value]) => [text(key), unpack(value)]);
    if (pairs.some(([key, value]) => typeof value === "function" && ASKED.has(key))) throw new TypeError("a function in place of data");
    for (const key of Object.keys(held)) delete held[key];
    for (const [key, value] of pairs) {
      if (typeof value === "function" && standsFor.has(value)) noteMethod(key);
      define(held, key, value);
    }
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
    const how = read.get(tag);
    if (how === undefined) throw new TypeError(`no such kind of value: ${tag}`);
    return how(unpack, ...rest);
  };
  const fill = (empty, content) => {
    filled.push(empty);
    return refill(empty, content, unpack);
  };
  return Object.assign(unpack, { filled, fill });
}

function bytesOf(name, bytes) {
  const raw = Buffer.from(text(bytes), "base64");
  const kind = ARRAYS.get(name);
  return kind ? new kind(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length)) : raw;
}

const noted = (unpack, made) => {
  unpack.filled.push(made);
  return made;
};

const read = new Map([
  ["u", () => undefined],
  ["n", (unpack, words) => BigInt(text(words))],
  ["f", (unpack, words) => NUMBERS.get(words)],
  ["y", (unpack, name) => symbol(text(name))],
  ["&", (unpack, index) => unpack.filled[number(index)]],
  ["l", (unpack, items) => unpack.fill([], ["l", list(items)])],
  ["M", (unpack, items) => unpack.fill(new Map(), ["M", list(items)])],
  ["S", (unpack, items) => unpack.fill(new Set(), ["S", list(items)])],
  ["o", (unpack, pairs, bare) => unpack.fill(bare === true ? Object.create(null) : {}, ["o", list(pairs)])],
  ["D", (unpack, time) => noted(unpack, new Date(Number(unpack(time))))],
  ["R", (unpack, source, flags, last) => noted(unpack, Object.assign(new RegExp(text(source), text(flags)), { lastIndex: number(last) }))],
  ["T", (unpack, name, bytes) => noted(unpack, bytesOf(name, bytes))],
]);
