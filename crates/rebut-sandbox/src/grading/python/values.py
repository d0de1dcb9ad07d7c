"""Values made data and data made values, for both processes."""

def snapshot(held):
    return list(held.items()) if isinstance(held, dict) else list(held)


def changed(held, was):
    now = snapshot(held)
    if isinstance(held, (set, bytearray)):
        return now != was
    if isinstance(held, dict):
        return len(now) != len(was) or any(a[0] is not b[0] or a[1] is not b[1] for a, b in zip(now, was))
    return len(now) != len(was) or any(a is not b for a, b in zip(now, was))


class Packer:
    """Makes data of values. Containers that can change have numbers, so that they can be sent back and named twice."""

    def __init__(self, peer):
        self.peer, self.filled, self.known, self.telling = peer, [], {}, set()

    def know(self, filled):
        self.filled = list(filled)
        self.known = {id(held): index for index, held in enumerate(filled)}

    def __call__(self, value):
        kind = type(value)
        if value is None or kind is bool or kind is str or kind is float:
            return value
        if kind is int:
            return value if -(1 << 53) < value < 1 << 53 else ["i", hex(value)]
        if kind in FIXED:
            return FIXED[kind](self, value)
        number = stands_for(value)
        if number is not None:
            return ["m", number]
        if kind is Content:
            return self.plain(value.value)
        if kind in FILLED or kind in DICTS.values():
            return self.container(value)
        return self.other(value, kind)

    def container(self, value):
        if id(value) in self.known:
            return ["&", self.known[id(value)]]
        self.known[id(value)] = len(self.filled)
        self.filled.append(value)
        return self.content(value)

    def content(self, value):
        """The content of a container, without looking whether it was named before."""
        if isinstance(value, dict):
            name = type(value).__name__ if type(value).__name__ in DICTS else "dict"
            factory = getattr(value, "default_factory", None) if name == "defaultdict" else None
            pairs = [[self(k), self(v)] for k, v in dict.items(value)]
            return ["d", pairs, name, getattr(factory, "__name__", None)]
        if isinstance(value, list):
            return ["l", [self(v) for v in list.__iter__(value)]]
        if isinstance(value, set):
            return ["s", [self(v) for v in set.__iter__(value)]]
        if isinstance(value, bytearray):
            return ["ba", base64.b64encode(bytes(value)).decode()]
        return ["q", [self(v) for v in value], value.maxlen]

    def plain(self, value):
        """A value of a class derived from a plain one, as the plain one."""
        for base in (*FILLED, *FIXED):
            if isinstance(value, base) and base is not type:
                return self.content(value) if base in FILLED else FIXED[base](self, base.__new__(base, value))
        if isinstance(value, int):
            return self(int(value))
        return self(str.__str__(value) if isinstance(value, str) else float.__float__(value))

    def other(self, value, kind):
        """What is no data: it stays here, and the other side is told what it needs for a stand-in."""
        if isinstance(value, BaseException):
            return self.exception(value)
        if isinstance(value, type):
            return ["k", self.class_of(value)]
        number = self.peer.number(value)
        if inspect.isgenerator(value):
            return ["gen", number]
        if inspect.isawaitable(value) and not isinstance(value, asyncio.Future):
            return ["aw", number]
        if kind is types.FunctionType and not value.__dict__:
            return ["fn", number, self.about(value), inspect.iscoroutinefunction(value)]
        for base in PLAIN:
            if isinstance(value, base):
                return ["v", number, self.class_of(kind), base.__name__, self.plain(value)]
        filled = next((base.__name__ for base in FILLED if isinstance(value, base)), None)
        about = self.about(value) if callable(value) else None
        return ["h", number, self.class_of(kind), filled, about, self.container(value) if filled else None]

    def about(self, value):
        """Name, words and parameters of something that can be called."""
        try:
            parameters = list(inspect.signature(value).parameters.values())
        except (ValueError, TypeError):
            parameters = None
        name, doc = getattr(value, "__name__", None), getattr(value, "__doc__", None)
        rows = None
        if parameters is not None:
            rows = [[p.name, int(p.kind), self.said(p.default), self.said(p.annotation)] for p in parameters]
        return [name if type(name) is str else None, doc if type(doc) is str else None, rows]

    def said(self, value):
        if value is inspect.Parameter.empty:
            return None
        if isinstance(value, type):
            return [self(value) if TYPES.get(value.__name__) is value else value.__name__]
        return [self(value)] if value is None or type(value) in (bool, *PLAIN) else [repr(value)]

    def class_of(self, kind):
        """A class: by its name when both sides have it, else by a number, with what a stand-in needs the first time."""
        if TYPES.get(kind.__name__) is kind:
            return kind.__name__
        if issubclass(kind, BaseException) and kind.__module__ in KNOWN_MODULES and "." not in kind.__qualname__:
            return "%s:%s" % (kind.__module__, kind.__qualname__)
        mine = stands_for(kind)
        if mine is not None:
            return ["m", mine]
        number = self.peer.number(kind)
        if number in self.peer.told or number in self.telling:
            return [number]
        self.telling.add(number)
        basis = next((base for base in PLAIN if issubclass(kind, base)), object)
        specials = [n for n in SPECIALS if getattr(kind, n, None) is not None and getattr(kind, n) is not getattr(basis, n, None)]
        bases = [self.class_of(base) for base in kind.__bases__]
        doc = kind.__doc__ if type(kind.__doc__) is str else None
        return [number, kind.__name__, bases, specials, doc, self.about(kind)[2]]

    def exception(self, value):
        words, trace = "", ""
        try:
            words = str(value)
            trace = "".join(traceback.format_exception(type(value), value, own_part(value.__traceback__)))[-2000:]
        except Exception:
            pass
        cause = value.__cause__
        kind = self.class_of(type(value))
        own = None if isinstance(kind, str) else self.peer.number(value)
        held = [[k, v] for k, v in getattr(value, "__dict__", {}).items() if own is None and (v is None or type(v) in (str, int, float, bool))]
        cause = None if cause is None else self.exception(cause)
        return ["e", kind, [self(a) for a in value.args], words, trace, own, cause, [[k, self(v)] for k, v in held if not k.startswith("__")]]


def own_part(trace):
    """The traceback from where it leaves this text."""
    while trace and trace.tb_next and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


FIXED = {
    tuple: lambda p, v: ["t", [p(x) for x in v]],
    frozenset: lambda p, v: ["fs", [p(x) for x in v]],
    bytes: lambda p, v: ["b", base64.b64encode(v).decode()],
    complex: lambda p, v: ["c", v.real, v.imag],
    range: lambda p, v: ["r", [p(v.start), p(v.stop), p(v.step)]],
    slice: lambda p, v: ["sl", [p(v.start), p(v.stop), p(v.step)]],
    decimal.Decimal: lambda p, v: ["D", str(v)],
    fractions.Fraction: lambda p, v: ["F", p(v.numerator), p(v.denominator)],
    datetime.datetime: lambda p, v: ["dt", v.isoformat(), v.fold] if v.tzinfo is None or type(v.tzinfo) is datetime.timezone else p.other(v, type(v)),
    datetime.date: lambda p, v: ["da", v.isoformat()],
    datetime.time: lambda p, v: ["ti", v.isoformat()],
    datetime.timedelta: lambda p, v: ["td", v.days, v.seconds, v.microseconds],
    type(...): lambda p, v: ["..."],
    type(NotImplemented): lambda p, v: ["no"],
    types.MappingProxyType: lambda p, v: p.container(dict(v)),
    type({}.keys()): lambda p, v: ["keys", [p(x) for x in v]],
    type({}.values()): lambda p, v: ["l", [p(x) for x in p.loose(v)]],
    type({}.items()): lambda p, v: ["items", [p(x) for x in v]],
}
# A list that nobody else holds: it takes a number too, so that both sides count alike.
Packer.loose = lambda self, values: self.filled.append(None) or list(values)


class Unpacker:
    """Makes values of data. Everything it makes is of this side's own classes."""

    def __init__(self, peer, filled):
        self.peer, self.filled = peer, list(filled)

    def __call__(self, data):
        if type(data) is not list:
            if type(data) is dict:
                raise ValueError("a bare object")
            return data
        return READ[data[0]](self, *data[1:])

    def many(self, data):
        return [self(x) for x in data]

    def fill(self, empty, data):
        """A container takes its number before its content is read: the content may name it."""
        self.filled.append(empty)
        return self.refill(empty, data)

    def refill(self, held, data):
        content = data[1]
        if isinstance(held, bytearray):
            held[:] = base64.b64decode(content)
        elif isinstance(held, dict):
            pairs = [(self(k), self(v)) for k, v in content]
            held.clear()
            for key, value in pairs:
                dict.__setitem__(held, key, value)
        else:
            values = self.many(content)
            held.clear()
            held.update(values) if isinstance(held, set) else held.extend(values)
        return held

    def dictionary(self, pairs, name="dict", factory=None):
        made = DICTS[name]()
        if name == "defaultdict" and factory in ("list", "int", "set", "dict", "str", "float", "tuple", "bool"):
            made.default_factory = TYPES[factory]
        return self.fill(made, ["d", pairs])

    def stand_in(self, number, make):
        known = self.peer.stand_ins.get(number)
        if known is None:
            known = make()
            self.peer.stand_ins[number] = known
            weakref.finalize(known, self.peer.dropped.append, number)
        return known

    def class_of(self, data):
        if type(data) is str:
            return self.known_class(data)
        if data[0] == "m":
            return self.peer.given[data[1]]
        number = int(data[0])
        if number not in self.peer.classes:
            _, name, bases, specials, doc, parameters = data
            made = make_class(number, str(name), [self.class_of(b) for b in bases], specials, doc)
            self.peer.classes[number] = made
            if parameters is not None:
                type.__setattr__(made, "__signature__", signature(self, parameters))
        return self.peer.classes[number]

    def known_class(self, name):
        if name in TYPES:
            return TYPES[name]
        module, _, rest = name.partition(":")
        found = getattr(importlib.import_module(module), rest, None) if module in KNOWN_MODULES else None
        if not (isinstance(found, type) and issubclass(found, BaseException)):
            raise ValueError("a class nobody knows: %r" % name)
        return found

    def exception(self, kind, args, words, trace, number, cause, held):
        kind, args = self.class_of(kind), self.many(args)
        if not issubclass(kind, BaseException):
            raise ValueError("an exception that is none")
        if not issubclass(kind, (Exception, SystemExit)):
            # The others mean something to the runner of the tests, and the code has no say there.
            kind, args, number = RuntimeError, ["%s: %s" % (kind.__name__, words)], None

        def make():
            try:
                made = kind.__new__(kind, *args)
            except TypeError:
                return RuntimeError("%s: %s" % (kind.__name__, words))
            with contextlib.suppress(TypeError):
                next(base for base in kind.__mro__ if not isinstance(base, Meta)).__init__(made, *args)
            made.args = tuple(args)
            local(made).update((str(name), self(value)) for name, value in held)
            if number is not None:
                local(made).update(__rebut__=number, __rebut_words__=str(words))
            return made

        made = self.stand_in(number, make) if number is not None else make()
        local(made)["__rebut_trace__"] = str(trace)
        if cause is not None:
            made.__cause__ = self(cause)
        return made

    def function(self, number, about, is_async):
        def make():
            if is_async:
                async def stand_in(*args, **kwargs):
                    made = PEER.ask("call", number, *args, **kwargs)
                    return (await made) if inspect.isawaitable(made) else made
            else:
                def stand_in(*args, **kwargs):
                    return PEER.ask("call", number, *args, **kwargs)
            stand_in.__rebut__ = number
            return named(self, stand_in, about)

        return self.stand_in(number, make)

    def value(self, number, kind, base, content):
        kind, base, content = self.class_of(kind), TYPES[base], self(content)
        if not issubclass(kind, base) or type(content) is not base:
            raise ValueError("a value that is not of its class")
        made = base.__new__(kind, content)
        local(made).update(__rebut__=number, __rebut_trusted__=bool(MAKING))
        return made

    def handle(self, number, kind, filled, about, content):
        kind = self.class_of(kind)
        if filled is not None:
            # An object that extends a list or the like: plain where the tests were given it, live where they made it.
            value = self(content)
            if not MAKING:
                return value

        def make():
            made = object.__new__(kind if issubclass(kind, Handle) else Handle)
            local(made).update(__rebut__=number, __rebut_filled__=filled, __rebut_trusted__=bool(MAKING))
            return named(self, made, about)

        return self.stand_in(number, make)


def named(unpack, thing, about):
    """Gives a stand-in the name, words and parameters of what it stands for."""
    if about is not None:
        name, doc, rows = about
        if isinstance(thing, types.FunctionType):
            thing.__name__ = thing.__qualname__ = str(name)
            thing.__doc__, thing.__module__ = doc, "solution"
        else:
            local(thing).update(__name__=name, __doc__=doc)
        if rows is not None:
            local(thing)["__signature__"] = signature(unpack, rows)
    return thing


def signature(unpack, rows):
    empty = inspect.Parameter.empty
    made = []
    for name, kind, default, annotation in rows:
        default = empty if default is None else unpack(default[0])
        annotation = empty if annotation is None else unpack(annotation[0])
        made.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    try:
        return inspect.Signature(made)
    except ValueError:
        return inspect.Signature()


async def awaited(number):
    return PEER.ask("await", number)


def generated(number):
    """A real generator that stands for one of the other side."""
    given, raised = None, None
    while True:
        try:
            if raised is None:
                item = PEER.ask("send", number, given)
            else:
                item = PEER.ask("throw", number, raised)
        except StopIteration as stop:
            return stop.value
        given, raised = None, None
        try:
            given = yield item
        except GeneratorExit:
            PEER.ask("close", number)
            raise
        except Exception as error:
            raised = error


READ = {
    "i": lambda u, x: int(x, 16),
    "&": lambda u, i: u.filled[i],
    "m": lambda u, n: u.peer.given[n],
    "l": lambda u, x: u.fill([], ["l", x]),
    "s": lambda u, x: u.fill(set(), ["s", x]),
    "ba": lambda u, x: u.fill(bytearray(), ["ba", x]),
    "q": lambda u, x, m: u.fill(collections.deque(maxlen=m), ["q", x]),
    "d": lambda u, *x: u.dictionary(*x),
    "t": lambda u, x: tuple(u.many(x)),
    "fs": lambda u, x: frozenset(u.many(x)),
    "keys": lambda u, x: dict.fromkeys(u.many(x)).keys(),
    "items": lambda u, x: dict(u.many(x)).items(),
    "b": lambda u, x: base64.b64decode(x),
    "c": lambda u, a, b: complex(a, b),
    "r": lambda u, x: range(*u.many(x)),
    "sl": lambda u, x: slice(*u.many(x)),
    "D": lambda u, x: decimal.Decimal(x),
    "F": lambda u, a, b: fractions.Fraction(u(a), u(b)),
    "dt": lambda u, x, f: datetime.datetime.fromisoformat(x).replace(fold=f),
    "da": lambda u, x: datetime.date.fromisoformat(x),
    "ti": lambda u, x: datetime.time.fromisoformat(x),
    "td": lambda u, *x: datetime.timedelta(*x),
    "...": lambda u: ...,
    "no": lambda u: NotImplemented,
    "e": lambda u, *x: u.exception(*x),
    "k": lambda u, x: u.class_of(x),
    "fn": lambda u, *x: u.function(*x),
    "v": lambda u, *x: u.value(*x),
    "h": lambda u, *x: u.handle(*x),
    "gen": lambda u, n: u.stand_in(n, lambda: note_number(generated(n), n)),
    "aw": lambda u, n: note_number(awaited(n), n),
}
