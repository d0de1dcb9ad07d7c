"""What comes from the code, read by the process of the tests: data, and stand-ins for what is no data.

The code sends numbers of its own objects, and numbers of what the tests gave it. Nothing it sends is looked up anywhere but in our own tables.
"""


class Reader(Unpacker):
    """Makes values of what the code sent."""

    def given_back(self, which):
        thing = self.peer.granted[number(which)].thing
        if isinstance(thing, type) and issubclass(thing, BaseException):
            doubt("the code offers an exception class of the tests: %s" % thing.__name__)
        return thing

    def offered_class(self, data):
        """A class in place of a value. One that everybody has may be what the tests raise, or what everything is an object of."""
        kind = self.class_of(data)
        if not isinstance(kind, Meta):
            doubt("the code offers a class that is not its own: %s" % kind.__name__)
        return kind

    def said(self, data):
        return self.class_of(data[1]) if type(data) is list and data[:1] == ["k"] else self(data)

    def records(self, rows):
        """Attributes that the code changed in objects the tests gave it."""
        for which, attributes, removed in rows:
            grant = self.peer.granted[number(which)]
            for name, value, is_same in attributes:
                grant.set(text(name), self(value), is_same is True)
            for name in removed:
                grant.remove(text(name))
            grant.has_changed(grant.attributes())

    def class_of(self, data):
        if type(data) is str:
            return known_class(data)
        if data[0] == "m":
            given = self.peer.granted[number(data[1])].thing
            # Only what it is: the code makes no class of one of ours, and no object but an exception.
            return given if isinstance(given, type) and issubclass(given, BaseException) else Handle
        which = number(data[0])
        if which not in self.peer.classes:
            _, name, bases, specials, doc, parameters = data
            made = make_class(which, text(name), [self.class_of(b) for b in bases], self.many(specials), doc if type(doc) is str else None)
            self.peer.classes[which] = made
            if parameters is not None:
                type.__setattr__(made, "__signature__", signature(self, parameters))
        return self.peer.classes[which]

    def exception(self, kind, args, words, trace, which, cause, held):
        kind, args, words = self.class_of(kind), self.many(args), text(words)
        if not issubclass(kind, BaseException):
            raise ValueError("an exception that is none")
        if not issubclass(kind, (Exception, SystemExit)):
            # The others mean something to the runner of the tests, and the code has no say there.
            kind, args, which = RuntimeError, ["%s: %s" % (kind.__name__, words)], None
        own = None if which is None or not isinstance(kind, Meta) else number(which)

        def make():
            made = raised_like(kind, args, words)
            local(made).update((text(name), self(value)) for name, value in held if name[:1] != "_")
            if own is not None:
                local(made).update(__rebut__=own, __rebut_words__=words)
            return made

        made = self.peer.stand_in(own, make) if own is not None else make()
        local(made)["__rebut_trace__"] = text(trace)
        if cause is not None:
            made.__cause__ = self(cause)
        return made

    def function(self, which, about, is_async):
        number(which)

        def make():
            if is_async:
                async def stand_in(*args, **kwargs):
                    made = PEER.ask("call", which, *args, **kwargs)
                    return (await made) if inspect.isawaitable(made) else made
            else:
                def stand_in(*args, **kwargs):
                    return PEER.ask("call", which, *args, **kwargs)
            stand_in.__rebut__ = which
            return named(self, stand_in, about)

        return self.peer.stand_in(which, make)

    def value(self, which, kind, base, content):
        kind, base, content = self.class_of(kind), TYPES[base], self(content)
        if base not in PLAIN or not isinstance(kind, Meta) or not issubclass(kind, base) or type(content) is not base:
            raise ValueError("a value that is not of its class")
        made = base.__new__(kind, content)
        local(made)["__rebut__"] = number(which)
        return made

    def handle(self, which, kind, filled, about, content):
        number(which)
        kind = self.class_of(kind)
        if filled is not None:
            # An object that extends a list or the like: plain where the tests were given it, live where they made it.
            value = self(content)
            if not is_made_now(kind):
                return value

        def make():
            made = object.__new__(kind if issubclass(kind, Handle) else Handle)
            local(made).update(__rebut__=which, __rebut_filled__=bool(filled))
            return named(self, made, about)

        known = self.peer.stand_in(which, make)
        if is_made(known) and not is_made_now(kind):
            # What it says from now on may be meant as what the code returned.
            doubt("an object of the code (%s) was handed back: what it says could be forged" % type(known).__name__)
        return known

    def generator(self, which):
        doubt("a generator of the code decided what comes next: this could be forged")
        return self.peer.stand_in(number(which), lambda: note_number(generated(which), which))


def raised_like(kind, args, words):
    """An exception of that class. No function of the tests runs for it, and none of the code."""
    base = next(base for base in kind.__mro__ if not isinstance(base, Meta) and not is_of_tests(base))
    try:
        made = base.__new__(kind, *args)
    except TypeError:
        return RuntimeError("%s: %s" % (kind.__name__, words))
    with contextlib.suppress(TypeError, AttributeError, ValueError):
        base.__init__(made, *args)
    made.args = tuple(args)
    return made


def named(unpack, thing, about):
    """Gives a stand-in the name, words and parameters of what it stands for."""
    if about is not None:
        name, doc, rows = about
        doc = doc if type(doc) is str else None
        if isinstance(thing, types.FunctionType):
            thing.__name__ = thing.__qualname__ = str(name)
            thing.__doc__, thing.__module__ = doc, "solution"
        else:
            local(thing).update(__name__=name if type(name) is str else None, __doc__=doc)
        if rows is not None:
            local(thing)["__signature__"] = signature(unpack, rows)
    return thing


async def awaited(which):
    return PEER.ask("await", which)


def generated(which):
    """A real generator that stands for one of the code."""
    send, throw = lambda value: PEER.ask("send", which, value), lambda error: PEER.ask("throw", which, error)
    return relayed(send, throw, lambda: PEER.ask("close", which))


Reader.read = {
    **READ,
    "m": lambda u, n: u.given_back(n),
    "e": lambda u, *x: u.exception(*x),
    "k": lambda u, x: u.offered_class(x),
    "fn": lambda u, *x: u.function(*x),
    "v": lambda u, *x: u.value(*x),
    "h": lambda u, *x: u.handle(*x),
    "gen": lambda u, n: u.generator(n),
    "aw": lambda u, n: note_number(awaited(number(n)), n),
}
