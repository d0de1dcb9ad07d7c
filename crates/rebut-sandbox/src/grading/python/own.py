"""The code's own objects, as the process of the tests is told of them: they stay here, and the tests have stand-ins."""

SPECIALS = (
    "len iter next reversed bool int float complex index hash str repr bytes format neg pos invert abs round trunc floor ceil getitem setitem"
    " delitem missing call enter exit aenter aexit aiter anext await fspath length_hint sizeof instancecheck lt le gt ge contains"
).split()
ARITHMETIC = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or".split()
SPECIALS = ["__%s__" % n for n in [*SPECIALS, *(p + n for n in ARITHMETIC for p in ("", "r", "i"))]]
BY_FUNCTION = {
    "__getitem__": lambda o, k: o[k],
    "__iter__": iter,
    "__len__": len,
    "__contains__": lambda o, k: k in o,
    "__call__": lambda o, *a, **k: o(*a, **k),
    "__str__": str,
    "__repr__": repr,
    "__hash__": hash,
    "__bool__": bool,
    "call": lambda o, *a, **k: o(*a, **k),
    "get": lambda o, *a: getattr(o, *a),
    "set": lambda o, *a: setattr(o, *a),
    "del": lambda o, *a: delattr(o, *a),
    "eq": lambda o, other: o == other,
    "plain": lambda o: Content(o),
    "dir": dir,
    "await": lambda o: PEER.run(o),
}
SERVICES = {}


class Content:
    """A value whose plain content is wanted although its class is not plain."""

    def __init__(self, value):
        self.value = value


class Decorated:
    """What the class of a function that has attributes is told as: it can be called."""

    def __call__(self):
        raise TypeError("only told of")


class Heard:
    """What is printed meanwhile, bounded."""

    def __init__(self):
        self.before = sys.stdout, sys.stderr
        self.now = io.StringIO(), io.StringIO()
        sys.stdout, sys.stderr = self.now

    def leave(self):
        if (sys.stdout, sys.stderr) == self.now:
            sys.stdout, sys.stderr = self.before
        return [stream.getvalue()[: 1 << 20] for stream in self.now]


class Code(Peer):
    """The side of the code: it does all it is asked for with the code's objects."""

    def __init__(self, wire):
        super().__init__(wire)
        self.given, self.numbers, self.pinned, self.told = {}, {}, 0, set()
        self.classes, self.held = {}, {}

    def serve(self, request):
        unpack = self.unpacker(self, [])
        before = []
        heard = Heard()
        try:
            op, target, args, kwargs = request["q"]
            args, kwargs = [unpack(a) for a in args], {k: unpack(v) for k, v in kwargs}
            unpack.records(request.get("n", []))
            before = [(held, snapshot(held)) for held in unpack.filled]
            self.forget_all(request)
            answer, pack = self.answer("r", self.do(op, target, args, kwargs), before)
        except Broken:
            raise
        except BaseException as error:
            answer, pack = self.answer("x", error, before)
        finally:
            said = heard.leave()
        self.send({**answer, "o": said[0], "e": said[1]}, pack)
        self.told |= pack.telling

    def send(self, message, pack):
        super().send(message, pack)
        # The tests know now that nobody holds these any more, and will say all of them again.
        for which in message["f"]:
            self.held.pop(which, None)

    def do(self, op, target, args, kwargs):
        if op in SERVICES:
            return SERVICES[op](self, *args, **kwargs)
        subject = self.given[target]
        how = BY_FUNCTION.get(op)
        return how(subject, *args, **kwargs) if how else getattr(type(subject), op)(subject, *args, **kwargs)

    def number(self, thing):
        """The number of one of our objects; the same object has the same number."""
        known = self.numbers.get(id(thing))
        if known is None:
            self.pinned += 1
            known = self.pinned
            self.numbers[id(thing)] = known
            self.given[known] = thing
        return known

    def forget(self, which):
        if which in self.given:
            self.numbers.pop(id(self.given.pop(which)), None)


class Teller(Packer):
    """Makes data of what the code answers, and numbers of what is no data."""

    def __init__(self, peer):
        super().__init__(peer)
        self.telling = set()

    def records(self):
        """The attributes of objects of the tests that the code has changed."""
        rows = []
        for which, (reference, was) in list(self.peer.held.items()):
            known = reference()
            if known is None:
                continue
            now = vars(known)
            # With each: whether it is what it was, with another content.
            new = [
                [n, self(v), n in was and was[n][0] is v]
                for n, v in list(now.items())
                if n not in was or was[n][0] is not v or has_grown(v, was[n][1])
            ]
            gone = [n for n in was if n not in now]
            if new or gone:
                rows.append([which, new, gone])
                self.peer.held[which] = reference, shown(known)
        return rows

    def other(self, value, kind):
        which = given_number(value)
        if which is not None:
            return ["m", which]
        if kind is Content:
            return self.plain(value.value)
        if isinstance(value, BaseException):
            return self.exception(value)
        if isinstance(value, type):
            return ["k", self.class_of(value)]
        which = self.peer.number(value)
        if inspect.isgenerator(value):
            return ["gen", which]
        if inspect.isawaitable(value) and not isinstance(value, asyncio.Future):
            return ["aw", which]
        if kind is types.FunctionType and not value.__dict__:
            return ["fn", which, self.about(value), inspect.iscoroutinefunction(value)]
        for base in PLAIN:
            if isinstance(value, base):
                return ["v", which, self.class_of(kind), base.__name__, self.plain(value)]
        kind = Decorated if kind is types.FunctionType else kind
        filled = next((base.__name__ for base in FILLED if isinstance(value, base)), None)
        about = self.about(value) if callable(value) else None
        return ["h", which, self.class_of(kind), filled, about, self.container(value) if filled else None]

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
        known = name_of_class(kind)
        if known is not None:
            return known
        given = given_number(kind)
        if given is not None:
            return ["m", given]
        which = self.peer.number(kind)
        if which in self.peer.told or which in self.telling:
            return [which]
        self.telling.add(which)
        basis = next((base for base in PLAIN if issubclass(kind, base)), object)
        specials = [n for n in SPECIALS if getattr(kind, n, None) is not None and getattr(kind, n) is not getattr(basis, n, None)]
        bases = [self.class_of(base) for base in kind.__bases__]
        doc = kind.__doc__ if type(kind.__doc__) is str else None
        return [which, kind.__name__, bases, specials, doc, self.about(kind)[2]]

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
        cause = None if cause is None else self(cause)
        return ["e", kind, [self(a) for a in value.args], words, trace, own, cause, [[k, self(v)] for k, v in held if not k.startswith("_")]]


def own_part(trace):
    """The traceback from where it leaves this text."""
    while trace and trace.tb_next and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


Code.packer = Teller
