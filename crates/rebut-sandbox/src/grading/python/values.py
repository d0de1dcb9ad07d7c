"""Values made data and data made values, for both processes. What is no data each side has its own way for: `other`."""

PLAIN = (int, float, complex, str, bytes, tuple, frozenset)
FILLED = (list, dict, set, bytearray, collections.deque)
DICTS = {"dict": dict, "OrderedDict": collections.OrderedDict, "Counter": collections.Counter, "defaultdict": collections.defaultdict}
TYPES = {t.__name__: t for t in (*PLAIN, list, dict, set, bytearray, bool, object, type, range, slice, type(None), types.FunctionType)}
TYPES.update({n: e for n, e in vars(builtins).items() if isinstance(e, type) and issubclass(e, BaseException)})
# Exceptions of the standard library that both sides know by name: a row for each. Not unittest's: nobody but the tests skips a test.
KNOWN = set(
    "argparse:ArgumentError argparse:ArgumentTypeError asyncio.exceptions:CancelledError asyncio.exceptions:IncompleteReadError"
    " asyncio.exceptions:InvalidStateError asyncio.exceptions:LimitOverrunError asyncio.queues:QueueEmpty asyncio.queues:QueueFull"
    " binascii:Error binascii:Incomplete calendar:IllegalMonthError calendar:IllegalWeekdayError concurrent.futures._base:CancelledError"
    " concurrent.futures._base:TimeoutError configparser:DuplicateOptionError configparser:DuplicateSectionError configparser:Error"
    " configparser:MissingSectionHeaderError configparser:NoOptionError configparser:NoSectionError configparser:ParsingError copy:Error"
    " _csv:Error dataclasses:FrozenInstanceError decimal:Clamped decimal:ConversionSyntax decimal:DecimalException decimal:DivisionByZero"
    " decimal:DivisionImpossible decimal:DivisionUndefined decimal:Inexact decimal:InvalidContext decimal:InvalidOperation decimal:Overflow"
    " decimal:Underflow email.errors:MessageError getopt:GetoptError http.client:HTTPException io:UnsupportedOperation"
    " json.decoder:JSONDecodeError _pickle:PickleError _pickle:PicklingError _pickle:UnpicklingError _queue:Empty queue:Full re:error"
    " shutil:Error sqlite3:DatabaseError sqlite3:Error sqlite3:IntegrityError sqlite3:OperationalError sqlite3:ProgrammingError"
    " statistics:StatisticsError struct:error subprocess:CalledProcessError subprocess:SubprocessError subprocess:TimeoutExpired"
    " tarfile:TarError tokenize:TokenError urllib.error:HTTPError urllib.error:URLError xml.etree.ElementTree:ParseError"
    " xml.parsers.expat:ExpatError zipfile:BadZipFile zipfile:LargeZipFile zlib:error zoneinfo._common:ZoneInfoNotFoundError"
    .split()
)
LOOKED_UP = {}


def known_class(name):
    """A class that both sides have, by its row in one of two tables."""
    if text(name) in TYPES:
        return TYPES[name]
    if name not in KNOWN:
        raise ValueError("a class nobody knows: %.80r" % name)
    if name not in LOOKED_UP:
        module, _, rest = name.partition(":")
        LOOKED_UP[name] = getattr(__import__(module, fromlist=["x"]), rest)
    return LOOKED_UP[name]


def name_of_class(kind):
    """The row of a class that both sides have; None for all others."""
    if TYPES.get(kind.__name__) is kind:
        return kind.__name__
    name = "%s:%s" % (kind.__module__, kind.__qualname__)
    return name if name in KNOWN and issubclass(kind, BaseException) else None


def snapshot(held):
    if isinstance(held, (io.StringIO, io.BytesIO)):
        return [] if held.closed else [held.getvalue(), held.tell()]
    return list(held.items()) if isinstance(held, dict) else list(held)


def changed(held, was):
    now = snapshot(held)
    if isinstance(held, (set, bytearray, io.StringIO, io.BytesIO)):
        return now != was
    if isinstance(held, dict):
        return len(now) != len(was) or any(a[0] is not b[0] or a[1] is not b[1] for a, b in zip(now, was))
    return len(now) != len(was) or any(a is not b for a, b in zip(now, was))


class Packer:
    """Makes data of values. Containers that can change have numbers, so that they can be sent back and named twice."""

    def __init__(self, peer):
        self.peer, self.filled, self.known = peer, [], {}

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
        if kind in FILLED or kind in DICTS.values() or id(value) in self.known:
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
            return ["d", pairs, name, self.factory(factory)]
        if isinstance(value, list):
            return ["l", [self(v) for v in list.__iter__(value)]]
        if isinstance(value, set):
            return ["s", [self(v) for v in set.__iter__(value)]]
        if isinstance(value, bytearray):
            return ["ba", base64.b64encode(bytes(value)).decode()]
        if isinstance(value, (io.StringIO, io.BytesIO)):
            if value.closed:
                raise ValueError("I/O operation on closed file.")
            return ["io", self(value.getvalue()), value.tell()]
        return ["q", [self(v) for v in value], value.maxlen]

    def factory(self, factory):
        return getattr(factory, "__name__", None)

    def plain(self, value):
        """A value of a class derived from a plain one, as the plain one."""
        for base in (*FILLED, *FIXED):
            if isinstance(value, base) and base is not type:
                return self.content(value) if base in FILLED else FIXED[base](self, base.__new__(base, value))
        if isinstance(value, int):
            return self(int(value))
        return self(str.__str__(value) if isinstance(value, str) else float.__float__(value))


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

    read = {}

    def __init__(self, peer, filled):
        self.peer, self.filled = peer, list(filled)

    def __call__(self, data):
        if type(data) is not list:
            if type(data) is dict:
                raise ValueError("a bare object")
            return data
        return self.read[text(data[0])](self, *data[1:])

    def said(self, data):
        """A parameter's default or type."""
        return self(data)

    def many(self, data):
        if type(data) is not list:
            raise ValueError("no list")
        return [self(x) for x in data]

    def fill(self, empty, data):
        """A container takes its number before its content is read: the content may name it."""
        self.filled.append(empty)
        return self.refill(empty, data)

    def refill(self, held, data):
        content = data[1]
        if isinstance(held, bytearray):
            held[:] = base64.b64decode(content)
        elif isinstance(held, (io.StringIO, io.BytesIO)):
            written = self(content)
            held.seek(0)
            held.truncate()
            held.write(written)
            held.seek(number(data[2]))
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
        if name == "defaultdict":
            made.default_factory = self.factory(factory)
        return self.fill(made, ["d", pairs])

    def factory(self, factory):
        return TYPES[factory] if factory in ("list", "int", "set", "dict", "str", "float", "tuple", "bool") else None


def signature(unpack, rows):
    empty = inspect.Parameter.empty
    made = []
    for name, kind, default, annotation in rows:
        default = empty if default is None else unpack.said(default[0])
        annotation = empty if annotation is None else unpack.said(annotation[0])
        made.append(inspect.Parameter(text(name), number(kind), default=default, annotation=annotation))
    try:
        return inspect.Signature(made)
    except ValueError:
        return inspect.Signature()


READ = {
    "i": lambda u, x: int(text(x), 16),
    "&": lambda u, i: u.filled[number(i)],
    "l": lambda u, x: u.fill([], ["l", x]),
    "s": lambda u, x: u.fill(set(), ["s", x]),
    "ba": lambda u, x: u.fill(bytearray(), ["ba", x]),
    "q": lambda u, x, m: u.fill(collections.deque(maxlen=m), ["q", x]),
    "d": lambda u, *x: u.dictionary(*x),
    "t": lambda u, x: tuple(u.many(x)),
    "fs": lambda u, x: frozenset(u.many(x)),
    "keys": lambda u, x: dict.fromkeys(u.many(x)).keys(),
    "items": lambda u, x: dict(u.many(x)).items(),
    "b": lambda u, x: base64.b64decode(text(x)),
    "c": lambda u, a, b: complex(a, b),
    "r": lambda u, x: range(*u.many(x)),
    "sl": lambda u, x: slice(*u.many(x)),
    "D": lambda u, x: decimal.Decimal(text(x)),
    "F": lambda u, a, b: fractions.Fraction(u(a), u(b)),
    "dt": lambda u, x, f: datetime.datetime.fromisoformat(x).replace(fold=f),
    "da": lambda u, x: datetime.date.fromisoformat(x),
    "ti": lambda u, x: datetime.time.fromisoformat(x),
    "td": lambda u, *x: datetime.timedelta(*x),
    "...": lambda u: ...,
    "no": lambda u: NotImplemented,
}
