// What comes from the code, read by the process of the tests: data, and stand-ins for what is no data.
//
// The code sends numbers of its own objects, and numbers of what the tests gave it. Nothing it sends is looked up anywhere but in our own tables.

const handedOn = (error) => {
  for (const kept of [swallowed, broke]) if (kept.includes(error)) kept.splice(kept.indexOf(error), 1);
  return error;
};

const grantOf = (which) => {
  const found = granted.get(number(which));
  if (found === undefined) throw new TypeError("a number that was not given");
  return found;
};

// Attributes that the code changed in objects the tests gave it.
function readRecords(rows, unpack) {
  for (const [which, pairs, removed] of list(rows)) {
    const grant = grantOf(which);
    if (grant.was === null) throw new TypeError("an object without attributes");
    const values = list(pairs).map(([name, value, isSame]) => [text(name), unpack(value), isSame === true]);
    for (const [name, value, isSame] of values) setAttribute(grant, name, value, isSame);
    for (const name of list(removed)) if (Object.hasOwn(grant.thing, text(name)) && grant.names.has(name)) Reflect.deleteProperty(grant.thing, name);
    grant.was = attributesOf(grant.thing);
  }
}

// An attribute that we showed, or a new one that means nothing to the class of the object; and never what can be called.
function setAttribute(grant, name, value, isSame) {
  const held = Reflect.getOwnPropertyDescriptor(grant.thing, name);
  const inherited = held === undefined && name in grant.thing;
  const isCalled = typeof held?.value === "function" || (typeof value === "function" && ASKED.has(name));
  if (inherited || isCalled || ASKED.has(name) || (held !== undefined && !("value" in held && grant.names.has(name)))) throw new TypeError("an attribute that was not given");
  // What is as before with another content stays what it is.
  if (isSame && Array.isArray(held?.value) && Array.isArray(value) && grant.names.has(name)) return void Array.prototype.splice.apply(held.value, [0, held.value.length, ...value]);
  Reflect.defineProperty(grant.thing, name, { value, writable: true, enumerable: true, configurable: true });
}

// A class of the code, or one that both sides have; of the tests' own only what an error is of.
function classFor(data) {
  if (data === null || data === undefined) return null;
  if (typeof data === "string") return ERRORS.get(data) ?? null;
  const [first, name, parent, length] = list(data);
  if (first === "m") {
    const { thing } = grantOf(name);
    return typeof thing === "function" && thing.prototype instanceof Error ? thing : null;
  }
  if (!classes.has(number(first))) classes.set(first, makeClass(first, text(name), classFor(parent), number(length)));
  return classes.get(first);
}

const waiting = new Map();
function promised(which) {
  return standIn(which, () => {
    const made = new Promise((resolve, reject) => waiting.set(which, { resolve, reject }));
    pump.start();
    return made;
  });
}

function errorFor(unpack, kind, name, message, stack, extra, cause, which) {
  const type = classFor(kind);
  const values = list(extra).map(([key, value]) => [text(key), unpack(value)]);
  const causes = list(cause).map(unpack);
  for (const [key, value] of values) if (standsFor.has(Object(value))) doubtObject(key);
  return standIn(which, () => {
    const made = new Error(text(message));
    const prototype = type?.prototype ?? Error.prototype;
    if (prototype instanceof Error || prototype === Error.prototype) Object.setPrototypeOf(made, prototype);
    if (made.name !== name) Object.defineProperty(made, "name", { value: text(name), configurable: true, writable: true });
    // What an error is as plain data is not for the code to say.
    for (const [key, value] of values) if (!ASKED.has(key) && key !== "stack" && key !== "stackThere" && key !== "unlike") define(made, key, value);
    if (causes.length) Object.defineProperty(made, "cause", { value: causes[0], configurable: true, writable: true });
    Object.defineProperty(made, "stackThere", { value: text(stack) });
    return made;
  });
}

read
  .set("m", (unpack, which) => {
    const { thing } = grantOf(which);
    if (typeof thing === "function" && thing.prototype instanceof Error) doubt("the code offers an error class of the tests");
    return thing;
  })
  .set("p", (unpack, which) => promised(which))
  .set("k", (unpack, data) => {
    const made = classFor(data);
    if (!standsFor.has(Object(made))) doubt("the code offers a class that is not its own");
    return made;
  })
  .set("fn", (unpack, which, name, length, isAsyncThere) => standIn(which, () => functionFor(which, text(name), number(length), isAsyncThere === true)))
  .set("h", (unpack, which, kind, how, content) => {
    const type = classFor(kind);
    const value = how === "filled" ? unpack(content) : undefined;
    // An object that extends an array or the like: plain where the tests were given it, live where they made it.
    if (how === "filled" && !making.length) return value;
    const found = standIn(which, () => handleFor(which, type));
    // What it says from now on may be meant as what the code returned.
    if (!making.length && trusted.has(found)) doubt("an object of the code was handed back: what it says could be forged");
    return found;
  })
  .set("e", errorFor);
