// Stand-ins: what the process of the tests holds for an object, a function, a class or a promise of the code. Their operations run over there.
//
// None of them decides a comparison that is given the expected value, unless the tests made it themselves. What the code hands back they have not
// made, though it be the very object: it has another stand-in then.

const JUDGING = new Set(["includes", "startsWith", "endsWith", "has", "equals", "isEqual", "every", "some", "localeCompare", "isSubsetOf", "isSupersetOf", "isDisjointFrom"]);
const classes = new Map();
const trusted = new WeakSet();
const making = [];
// Stand-ins for objects that the tests made and the code handed back, by those that the tests have; and the other way round.
const handed = new WeakMap();
const madeOf = new WeakMap();
// Objects that were both made and handed back where the tests look at who is who (`===`): there they have one stand-in.
const either = new WeakSet();
const looked = { identity: false };
// What an object of the code has decided that perhaps should have been plain data. Once is enough for every test behind it.
const doubts = [];

function handedBack(found, number, type) {
  if (!trusted.has(found)) return found;
  if (looked.identity) {
    either.add(found);
    return found;
  }
  if (!handed.has(found)) {
    const other = handleFor(number, type);
    standsFor.set(other, number);
    handed.set(found, other);
    madeOf.set(other, found);
  }
  return handed.get(found);
}
// Whom a stand-in is, for who asks whether two are the same.
const itself = (held) => (held !== null && typeof held === "object" && madeOf.has(held) ? madeOf.get(held) : held);

const askAsMaker = (op, number, args) => {
  making.push(number);
  try {
    const made = ask(op, number, args);
    if (made !== null && typeof made === "object") trusted.add(made);
    return made;
  } finally {
    making.pop();
  }
};

const unlike = (words) => Object.assign(new TypeError(words), { unlike: true });

// As a text an object of the code may be what it likes; as a number, or compared with plain data, it decides nothing.
const primitive = (number, receiver) => (hint) => {
  if (hint !== "string") throw unlike("an object of the code was to be compared or counted as plain data");
  const own = ask("get", number, ["@@toPrimitive"]);
  return String(own ? Reflect.apply(own, receiver, ["string"]) : Reflect.apply(ask("get", number, ["toString"]), receiver, []));
};
const decides = (key, receiver) => {
  if (key !== Symbol.toPrimitive) return false;
  if (either.has(receiver)) doubts.push("toPrimitive");
  return !trusted.has(receiver);
};

// Whether something is in it may be asked of what is handed back for the next call; that it could be forged is told.
const judges = (name, receiver) => {
  if (!JUDGING.has(name)) return;
  if (madeOf.has(receiver) || either.has(receiver)) doubts.push(name);
  else if (!trusted.has(receiver)) throw unlike(`an object of the code was asked \`${name}\`, which only plain data may answer`);
};

const traps = (number, type) => ({
  get(target, key, receiver) {
    if (decides(key, receiver)) return primitive(number, receiver);
    if (key === "constructor" && type) return type;
    if (key === util.inspect.custom) return () => `[${type?.name ?? "object"} of the code]`;
    const name = nameOf(key);
    if (name === undefined) return undefined;
    if (Object.hasOwn(target, key) && typeof target === "function") return target[key];
    judges(name, receiver);
    return ask("get", number, [name]);
  },
  set: (target, key, value) => nameOf(key) === undefined || ask("set", number, [nameOf(key), value]) || true,
  deleteProperty: (target, key) => ask("delete", number, [nameOf(key)]),
  has: (target, key) => nameOf(key) !== undefined && ask("has", number, [nameOf(key)]),
});

function handleFor(number, type) {
  const target = Object.create(type?.prototype ?? Object.prototype);
  return new Proxy(target, {
    ...traps(number, type),
    ownKeys: (held) => {
      const keys = ask("keys", number).map(String);
      for (const key of keys) Object.hasOwn(held, key) || define(held, key, undefined);
      for (const key of Object.keys(held)) keys.includes(key) || delete held[key];
      return keys;
    },
    getOwnPropertyDescriptor: (held, key) => {
      const found = nameOf(key) === undefined ? undefined : ask("own", number, [nameOf(key)]);
      if (found === undefined) {
        delete held[key];
        return undefined;
      }
      const shape = { value: found[0], writable: true, enumerable: found[1], configurable: true };
      Object.defineProperty(held, key, shape);
      return shape;
    },
    defineProperty: (held, key, shape) => ask("set", number, [nameOf(key), shape.value]) || true,
  });
}

function functionFor(number, name, length, isAsyncThere) {
  const call = isAsyncThere
    ? async function (...args) {
        return await ask("call", number, [receiverOf(this), ...args]);
      }
    : function (...args) {
        return new.target ? askAsMaker("new", number, args) : ask("call", number, [receiverOf(this), ...args]);
      };
  Object.defineProperty(call, "name", { value: name, configurable: true });
  Object.defineProperty(call, "length", { value: length, configurable: true });
  return new Proxy(call, {
    ...traps(number, null),
    get(target, key, receiver) {
      if (decides(key, receiver)) return primitive(number, receiver);
      if (key in Function.prototype || key === "prototype") return Reflect.get(target, key, receiver);
      judges(nameOf(key), receiver);
      return nameOf(key) === undefined ? undefined : ask("get", number, [nameOf(key)]);
    },
  });
}

// The module of the code and the like are no receivers that mean anything over there.
const receiverOf = (held) => (held === undefined || held === null || standsFor.has(held) ? held : undefined);

function makeClass(number, name, parent, length) {
  const made = {
    [name]: class {
      constructor(...args) {
        if (new.target !== proxy && new.target !== undefined && !standsFor.has(new.target)) {
          throw new TypeError(`the tests run apart from the code: its class ${name} cannot be extended in them`);
        }
        return askAsMaker("new", number, args);
      }
    },
  }[name];
  Object.defineProperty(made, "length", { value: length, configurable: true });
  if (parent) {
    Object.setPrototypeOf(made.prototype, parent.prototype);
  }
  const proxy = new Proxy(made, {
    ...traps(number, null),
    get(target, key, receiver) {
      if (decides(key, receiver)) return primitive(number, receiver);
      if (key === "prototype" || key === "name" || key === "length" || key === Symbol.hasInstance) return Reflect.get(target, key);
      judges(nameOf(key), receiver);
      return nameOf(key) === undefined ? undefined : ask("get", number, [nameOf(key)]);
    },
    construct: (target, args) => askAsMaker("new", number, args),
    apply: (target, self, args) => ask("call", number, [undefined, ...args]),
    getOwnPropertyDescriptor: (target, key) => Reflect.getOwnPropertyDescriptor(target, key),
  });
  standsFor.set(proxy, number);
  made.prototype.constructor = proxy;
  return proxy;
}

