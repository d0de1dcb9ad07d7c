"""Stand-ins: what the process of the tests holds for an object, a class or an exception of the code. Their operations run over there.

None of them decides a comparison with plain data, unless the tests made it themselves. What the code hands back they have not made, though it be
the very object: it has another stand-in then.
"""

NOTES = []
# What an object of the code has decided that perhaps should have been plain data. Once is enough for every test behind it.
DOUBTS = []
UNARY = "len iter next reversed bool int float complex index hash str repr bytes format neg pos invert abs round trunc floor ceil".split()
ARITHMETIC = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or".split()
OTHERS = "getitem setitem delitem missing call enter exit aenter aexit aiter anext await fspath length_hint sizeof instancecheck".split()
ORDER = "lt le gt ge".split()
BINARY = [p + n for n in ARITHMETIC for p in ("", "r")] + ORDER + ["contains"]
SPECIALS = ["__%s__" % n for n in UNARY + OTHERS + BINARY + ["i" + n for n in ARITHMETIC]]
JUDGING = {"__%s__" % n for n in [*BINARY, *("i" + n for n in ARITHMETIC)]}
# What a plain value's own methods decide when they are given the expected value.
JUDGING_METHODS = {"startswith", "endswith", "issubset", "issuperset", "isdisjoint"}
# Operations that leave an object as the tests have it: `with Stack() as s`, `s += 1`.
STAYING = {"__enter__", *("__i%s__" % n for n in ARITHMETIC)}
# How an object came to the tests: they made it; a function of its class made it; they made it and the code handed it back.
MADE, MADE_BY_CLASS, HANDED_BACK = "made", "made by its class", "handed back"
# Whether the tests look at who is who (`is`): then what the code hands back is the stand-in that they have.
LOOKED = {"identity": False}

NUMBERS = weakref.WeakKeyDictionary()
# Not empty while the tests make an object of one of the code's classes: that class, and how.
MAKING = []
AS_ITSELF = {"__class__", "__init__", "__new__", "__eq__", "__ne__", "__hash__", "__getattribute__", "__reduce_ex__", "__reduce__"}


def local(thing):
    """A stand-in's own dictionary, never that of what it stands for."""
    return object.__getattribute__(thing, "__dict__")


def stands_for(value):
    """The number of what a stand-in stands for; None for everything else."""
    kind = type(value)
    if kind is types.FunctionType:
        return value.__dict__.get("__rebut__")
    if kind in (types.GeneratorType, types.CoroutineType):
        return NUMBERS.get(value)
    if issubclass(kind, Meta):
        return type.__getattribute__(value, "__dict__").get("__rebut__")
    return local(value).get("__rebut__") if isinstance(kind, Meta) or kind is Handle else None


def note_number(thing, number):
    NUMBERS[thing] = number
    return thing


def ask_as_maker(number, args, kwargs, kind, how):
    MAKING.append((kind, how))
    try:
        return PEER.ask("call", number, *args, **kwargs)
    finally:
        MAKING.pop()


def made_now(kind):
    """How an object of that class comes to be that arrives now; None where the tests make none of that class."""
    return MAKING[-1][1] if MAKING and issubclass(kind, MAKING[-1][0]) else None


def may_decide(thing, name):
    """Whether an object of the code may decide something with plain data. Where plain data may be meant as well, that is told."""
    came = local(thing).get("__rebut_came__")
    if came is MADE:
        return True
    # Whether something is in it may be asked of what is handed back for the next call; a number is not handed back that way.
    if came is MADE_BY_CLASS or (came is HANDED_BACK and (name == "__contains__" or name in JUDGING_METHODS)):
        DOUBTS.append(name)
        NOTES.append("an object of the code (%s) decided `%s`: this could be forged" % (type(thing).__name__, name))
        return True
    return False


def handed_back(known):
    """What the tests get for an object that they have made and that comes back from the code."""
    held = local(known)
    if held["__rebut_came__"] is not MADE:
        return known
    if LOOKED["identity"]:
        held["__rebut_came__"] = MADE_BY_CLASS
        return known
    other = held["__rebut_other__"]() if "__rebut_other__" in held else None
    if other is None:
        other = object.__new__(type(known))
        local(other).update(held, __rebut_came__=HANDED_BACK, __rebut_made__=known)
        held["__rebut_other__"] = weakref.ref(other)
    return other


class Unlike(TypeError):
    """An object of the code was to decide a comparison with plain data."""


class Meta(type):
    """The class of stand-ins for classes."""

    def __new__(meta, name, bases, held):
        if "__rebut__" not in held:
            raise TypeError("the tests run apart from the code: its class %s cannot be extended in them" % bases[0].__name__)
        return super().__new__(meta, name, bases, held)

    def __call__(cls, *args, **kwargs):
        number = stands_for(cls)
        if local_of_class(cls, "__rebut_named__"):
            return ask_as_maker(number, args, kwargs, cls, MADE)
        return PEER.ask("call", number, *args, **kwargs)

    def __getattr__(cls, name):
        if name.startswith("__") and name not in ("__members__", "__dataclass_fields__", "__annotations__", "__slots__"):
            raise AttributeError(name)
        number = stands_for(cls)
        found = PEER.ask("get", number, name)
        # A function of the class may make an object of it. The code says which is one, so that is told where the object decides something.
        if local_of_class(cls, "__rebut_named__") and isinstance(found, Handle) and type(found).__name__ == "method":
            return lambda *args, **kwargs: ask_as_maker(stands_for(found), args, kwargs, cls, MADE_BY_CLASS)
        return found

    def __setattr__(cls, name, value):
        if name.startswith("__") and name.endswith("__"):
            return super().__setattr__(name, value)
        PEER.ask("set", stands_for(cls), name, value)

    def __delattr__(cls, name):
        PEER.ask("del", stands_for(cls), name)

    def __dir__(cls):
        return PEER.ask("dir", stands_for(cls))


for _name in ("__iter__", "__len__", "__getitem__", "__contains__"):
    setattr(Meta, _name, lambda cls, *args, _name=_name: PEER.ask(_name, stands_for(cls), *args))
Meta.__bool__ = lambda cls: True


def local_of_class(cls, name):
    return type.__getattribute__(cls, "__dict__").get(name)


class Handle:
    """A stand-in for an object. What it can do is added by make_class, as the class it stands for can do it."""

    def __getattribute__(self, name):
        held = local(self)
        if name in held:
            return held[name]
        if name in AS_ITSELF:
            return object.__getattribute__(self, name)
        if name in JUDGING_METHODS and not may_decide(self, name):
            raise Unlike("an object of the code was asked `%s`, which only plain data may answer" % name)
        if name.startswith("__") and name.endswith("__") and name != "__dict__":
            try:
                return object.__getattribute__(self, name)
            except AttributeError:
                pass
        return PEER.ask("get", held["__rebut__"], name)

    def __setattr__(self, name, value):
        PEER.ask("set", stands_for(self), name, value)

    def __delattr__(self, name):
        PEER.ask("del", stands_for(self), name)

    def __dir__(self):
        return PEER.ask("dir", stands_for(self))

    def __eq__(self, other):
        if self is other:
            return True
        if isinstance(other, Handle) and stands_for(self) == stands_for(other):
            return True
        if isinstance(other, Handle):
            return bool(PEER.ask("eq", stands_for(self), other))
        if local(self)["__rebut_filled__"]:
            return PEER.ask("plain", stands_for(self)) == other
        if other is not None:
            NOTES.append("an object of the code (%s) was compared with plain data: never equal" % type(self).__name__)
        return False

    def __hash__(self):
        return PEER.ask("__hash__", stands_for(self))

    def __repr__(self):
        return PEER.ask("__repr__", stands_for(self))

    def __str__(self):
        return PEER.ask("__str__", stands_for(self))

    def __format__(self, spec):
        return PEER.ask("__format__", stands_for(self), spec)

    def __copy__(self):
        return PEER.ask("copy", 0, self)

    def __deepcopy__(self, memo):
        return PEER.ask("deepcopy", 0, self)


LEAVING = ("__exit__", "__aexit__")


def is_verdict(kind):
    """Whether an exception says that a test does not hold: no object of the code swallows it."""
    return issubclass(kind, (AssertionError, Unlike)) or not issubclass(kind, Exception)


async def left(made, may_end):
    ended = await made
    return ended if may_end else False


async def entered(made, thing):
    found = await made
    return thing if stands_for(found) == stands_for(thing) else found


def forward(name, plain=None):
    """A special method that runs on the other side. With an expected value at hand only an object the tests made has a say."""

    def special(self, *args, **kwargs):
        held = local(self)
        if plain is not None and not may_decide(self, name):
            return getattr(plain, name)(self, *args, **kwargs)
        if name in JUDGING and not all(isinstance(a, Handle) for a in args) and not may_decide(self, name):
            raise Unlike("an object of the code (%s) was to decide `%s` with plain data" % (type(self).__name__, name))
        made = PEER.ask(name, held["__rebut__"], *args, **kwargs)
        if name in LEAVING and args and args[0] is not None:
            may_end = not is_verdict(args[0]) and not leaves_out(args[2])
            return left(made, may_end) if name == "__aexit__" else may_end and made
        if name == "__aenter__":
            return entered(made, self)
        if name in STAYING and stands_for(made) == held["__rebut__"]:
            return self
        if name in JUDGING and type(made) is type(self) and local(made).get("__rebut_came__") is None:
            # What an operator makes of an object is believed as far as the object is.
            local(made)["__rebut_came__"] = held.get("__rebut_came__")
        return made

    special.__name__ = name
    return special


def words_of(self):
    return local(self).get("__rebut_words__", "")


def rest_of(self, name):
    number = local(self).get("__rebut__")
    if number is None or (name.startswith("__") and name.endswith("__")):
        raise AttributeError(name)
    return PEER.ask("get", number, name)


def make_class(number, name, bases, specials, doc):
    """A stand-in for a class, with the plain and exception classes it is derived from."""
    held = {"__rebut__": number, "__doc__": doc, "__module__": "solution"}
    plain = next((base for kind in bases for base in PLAIN if issubclass(kind, base)), None)
    raised = [kind for kind in bases if issubclass(kind, BaseException)]
    if raised:
        held.update(__str__=words_of, __getattr__=rest_of)
        bases = raised
    elif plain:
        held.update({n: forward(n, None if n in ("__str__", "__repr__", "__format__", "__call__") else plain) for n in SPECIALS if n in specials})
        held["__getattr__"] = rest_of
        held.pop("__hash__", None)
        bases = [plain]
    else:
        held.update({n: forward(n) for n in SPECIALS if n in specials and n not in vars(Handle)})
        bases = [kind for kind in bases if issubclass(kind, Handle)] or [Handle]
    try:
        return Meta(name, tuple(bases), held)
    except TypeError:
        return Meta(name, tuple(bases[:1]), held)
