// Stand-ins: what the process of the tests holds for an object, a function, a class or a promise of the code. Their operations run over there.
//
// What such an object answers the code chooses anew each time, so it may contradict itself where plain data cannot. Held apart is therefore only what
// is like calling a function: a call, and methods and attributes of what the tests made themselves with `new`. Whatever else an object of the code
// answers is told, and marks the passes.

const classes = new Map();
// Objects that the tests made, and classes that the module offers by name.
const trusted = new WeakSet();
const making = [];
// What the code has decided in place of the tests. Once is enough for every test behind it.
const doubts = [];
const doubt = (what) => void (doubts.length || doubts.push(what));
const doubtObject = (name) => doubt(`an object of the code decided \`${name}\`: this could be forged`);
// A method among plain data makes an object of it.
const noteMethod = (name) => doubtObject(name);

const askAsMaker = (op, number, args) => {
  making.push(number);
  try {
    const made = ask(op, number, args);
    if (made !== null && typeof made === "object" && standsFor.has(made)) trusted.add(made);
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
  doubtObject("toPrimitive");
  return !trusted.has(receiver);
};

// A promise asks everything that it is given for `then`.
const asked = (number, name, receiver) => {
  const found = ask("get", number, [name]);
  const isCall = trusted.has(receiver) && !name.startsWith("@@");
  if (!isCall && !(name === "then" && found === undefined)) doubtObject(name);
  return found;
};
const decided = (name, value) => {
  doubtObject(name);
  return value;
};

const traps = (number, type) => ({
  get(target, key, receiver) {
    if (decides(key, receiver)) return primitive(number, receiver);
    if (key === "constructor" && type) return type;
    if (key === util.inspect.custom) return () => `[${type?.name ?? "object"} of the code]`;
    const name = nameOf(key);
    if (name === undefined) return undefined;
    if (Object.hasOwn(target, key) && typeof target === "function") return target[key];
    return asked(number, name, receiver);
  },
  set: (target, key, value) => nameOf(key) === undefined || ask("set", number, [nameOf(key), value]) || true,
  deleteProperty: (target, key) => ask("delete", number, [nameOf(key)]),
  has: (target, key) => nameOf(key) !== undefined && decided("in", ask("has", number, [nameOf(key)])),
});

function handleFor(number, type) {
  const target = Object.create(type?.prototype ?? Object.prototype);
  return new Proxy(target, {
    ...traps(number, type),
    ownKeys: (held) => {
      const keys = decided("keys", ask("keys", number).map(String));
      for (const key of keys) Object.hasOwn(held, key) || define(held, key, undefined);
      for (const key of Object.keys(held)) keys.includes(key) || delete held[key];
      return keys;
    },
    getOwnPropertyDescriptor: (held, key) => {
      const found = nameOf(key) === undefined ? undefined : decided(nameOf(key), ask("own", number, [nameOf(key)]));
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
      return nameOf(key) === undefined ? undefined : asked(number, nameOf(key), receiver);
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
    if (parent === Error || parent.prototype instanceof Error) Object.setPrototypeOf(made, parent);
  }
  const proxy = new Proxy(made, {
    ...traps(number, null),
    get(target, key, receiver) {
      if (decides(key, receiver)) return primitive(number, receiver);
      if (key === "prototype" || key === "name" || key === "length" || key === Symbol.hasInstance) return Reflect.get(target, key);
      return nameOf(key) === undefined ? undefined : asked(number, nameOf(key), receiver);
    },
    construct: (target, args) => askAsMaker("new", number, args),
    // As JavaScript has it, so that no class of the code is a function that judges.
    apply: () => {
      throw new TypeError(`Class constructor ${name} cannot be invoked without 'new'`);
    },
    getOwnPropertyDescriptor: (target, key) => Reflect.getOwnPropertyDescriptor(target, key),
  });
  standsFor.set(proxy, number);
  made.prototype.constructor = proxy;
  return proxy;
}

