"""What the tests gave to the code: stand-ins in the code's own process for objects, functions and iterators of the tests.

They hold copies of the attributes, and the numbers of what may be called. All this is the code's to look at: there is nothing behind it.
"""

import pickle

# The numbers of stand-ins, by their identity: an object of the tests says itself what it is equal to.
GIVEN = {}


def given_number(thing):
    """The number of what the tests gave; None for everything of the code."""
    found = GIVEN.get(id(thing))
    return None if found is None or found[1]() is not thing else found[0]


def note(thing, which):
    try:
        GIVEN[id(thing)] = which, weakref.ref(thing)
        weakref.finalize(thing, GIVEN.pop, id(thing), None)
    except TypeError:
        GIVEN[id(thing)] = which, lambda: thing
    return thing


def shown(known):
    """The attributes of an object of the tests as both sides know them."""
    return {n: (v, snapshot(v) if type(v) in FILLED else None) for n, v in vars(known).items()}


def has_grown(value, was):
    return was is not None and type(value) in FILLED and changed(value, was)


class GivenClass(type):
    """The class of stand-ins for classes of the tests."""

    def __call__(cls, *args, **kwargs):
        which = given_number(cls)
        if which is None or not vars(cls).get("_may_be_called"):
            raise TypeError("the tests run apart from the code: their class %s is not for the code to call" % cls.__name__)
        return PEER.ask("call", [which, 0], *args, **kwargs)


class Given(metaclass=GivenClass):
    """A stand-in for an object of the tests."""


def calling(place):
    def call(self, *args, **kwargs):
        which = given_number(self)
        if which is None:
            raise TypeError("a copy of an object of the tests has its attributes, not its methods")
        return PEER.ask("call", [which, place], *args, **kwargs)

    return call


class Taker(Unpacker):
    """Makes values of what the tests sent."""

    def __init__(self, peer, filled):
        super().__init__(peer, filled)
        self.values = {}

    def records(self, rows):
        """The attributes of objects that were named before them."""
        for which, attributes in rows:
            values = {name: self(value) for name, value in attributes}
            known = self.values.get(which, self.peer.stand_ins.get(which))
            if known is not None:
                vars(known).clear()
                vars(known).update(values)
            if known is not None and which not in self.values:
                self.peer.held[which] = weakref.ref(known), shown(known)

    def object(self, which, kind, base, content):
        kind = self.class_of(kind)
        if base is not None:
            self.values[which] = note(TYPES[base].__new__(kind, self(content)), which)
            return self.values[which]
        return self.peer.stand_in(which, lambda: self.made_again(note(object.__new__(kind), which), which))

    def made_again(self, made, which):
        """Nobody held it for a moment, which the tests have not heard of yet: its attributes are what they were."""
        if which in self.peer.held:
            was = self.peer.held[which][1]
            vars(made).update((name, value) for name, (value, _) in was.items())
            self.peer.held[which] = weakref.ref(made), was
        return made

    def class_of(self, data):
        if type(data) is str:
            return known_class(data)
        if data[0] == "m":
            return self.peer.given[data[1]]
        if data[0] == "pk":
            return self(data)
        which = data[0]
        if len(data) > 1 and (which not in self.peer.classes or data[4]):
            _, name, bases, rows, may_be_called, members, plain = data
            if which not in self.peer.classes:
                self.peer.classes[which] = note(self.make_class(name, [self.class_of(base) for base in bases], rows, plain), which)
            made = self.peer.classes[which]
            if may_be_called and not issubclass(made, BaseException):
                made._may_be_called = True
            for name, member in members:
                setattr(made, name, self(member))
        return self.peer.classes[which]

    def make_class(self, name, bases, rows, plain):
        held, kinds = {"__module__": "tests"}, {}
        for place, (method, how) in enumerate(rows):
            kinds.setdefault(method, {})[how] = calling(place)
        for method, found in kinds.items():
            held[method] = found["call"] if "call" in found else property(found.get("get"), found.get("set"))
        if any(issubclass(base, BaseException) for base in bases):
            return type(name, tuple(bases), {"__module__": "tests"})
        above = [base for base in bases if isinstance(base, GivenClass)] or [Given]
        if plain is not None and not any(issubclass(base, TYPES[plain]) for base in above):
            above.append(TYPES[plain])
        try:
            return GivenClass(name, tuple(above), held)
        except TypeError:
            return GivenClass(name, (Given, *above[1:]) if plain else (Given,), held)

    def exception(self, kind, args, words, which):
        kind, args = self.class_of(kind), [self(a) for a in args]
        try:
            made = kind(*args)
        except Exception:
            made = RuntimeError(words)
        made.__dict__["__rebut_words__"] = words
        return note(made, which)

    def function(self, which, about, is_async):
        def make():
            if is_async:
                async def stand_in(*args, **kwargs):
                    made = PEER.ask("call", [which, 0], *args, **kwargs)
                    return (await made) if inspect.isawaitable(made) else made
            else:
                def stand_in(*args, **kwargs):
                    return PEER.ask("call", [which, 0], *args, **kwargs)
            name, _, rows = about
            stand_in.__name__ = stand_in.__qualname__ = str(name)
            stand_in.__module__ = "tests"
            if rows is not None:
                stand_in.__signature__ = signature(self, rows)
            return note(stand_in, which)

        return self.peer.stand_in(which, make)

    def iterator(self, which, is_generator):
        return self.peer.stand_in(which, lambda: note(generated(which) if is_generator else Iterating(which), which))

    def copy(self, stored, inner):
        inner = [self(one) for one in inner]
        reader = Stored(io.BytesIO(base64.b64decode(stored)))
        reader.inner = inner
        return reader.load()

    def file(self, name, data):
        if data[0] == "&":
            return self(data)
        return self.fill({"StringIO": io.StringIO, "BytesIO": io.BytesIO}[name](), data)

    def factory(self, factory):
        return None if factory is None else self(factory)


class Stored(pickle.Unpickler):
    def persistent_load(self, place):
        return self.inner[place]


class Iterating:
    """An iterator of the tests."""

    def __init__(self, which):
        self.which = which

    def __iter__(self):
        return self

    def __next__(self):
        return PEER.ask("call", [self.which, 0])


class IteratingLater:
    """The same where each step is awaited."""

    def __init__(self, which):
        self.which = which

    def __aiter__(self):
        return self

    async def __anext__(self):
        return PEER.ask("call", [self.which, 0])


def generated(which):
    """A real generator that stands for one of the tests."""
    send, throw = lambda value: PEER.ask("call", [which, 0], value), lambda error: PEER.ask("call", [which, 1], error)
    return relayed(send, throw, lambda: PEER.ask("call", [which, 2]))


async def awaited(which):
    return PEER.ask("call", [which, 0])


Taker.read = {
    **READ,
    "m": lambda u, n: u.peer.given[n],
    "o": lambda u, *x: u.object(*x),
    "e": lambda u, *x: u.exception(*x),
    "k": lambda u, x: u.class_of(x),
    "fn": lambda u, *x: u.function(*x),
    "it": lambda u, *x: u.iterator(*x),
    "ait": lambda u, n: u.peer.stand_in(n, lambda: note(IteratingLater(n), n)),
    "aw": lambda u, n: note(awaited(n), n),
    "pk": lambda u, *x: u.copy(*x),
    "file": lambda u, *x: u.file(*x),
}
Code.unpacker = Taker
