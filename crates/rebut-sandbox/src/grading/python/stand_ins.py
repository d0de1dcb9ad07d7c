"""Stand-ins: what the process of the tests holds for an object, a class or an exception of the code. Their operations run over there.

What such an object answers the code chooses anew each time, so it may contradict itself where plain data cannot. Held apart is therefore only what is
like calling a function: a call, and methods and attributes of what the tests made themselves by a class that they name. Whatever else an object
of the code answers is told, and marks the passes.
"""

NOTES = []
# What the code has decided in place of the tests. Once is enough for every test behind it.
DOUBTS = []
UNARY = "len iter next reversed bool int float complex index hash str repr bytes format neg pos invert abs round trunc floor ceil".split()
ARITHMETIC = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or".split()
OTHERS = "getitem setitem delitem missing call enter exit aenter aexit aiter anext await fspath length_hint sizeof instancecheck".split()
ORDER = "lt le gt ge".split()
BINARY = [p + n for n in ARITHMETIC for p in ("", "r")] + ORDER + ["contains"]
SPECIALS = ["__%s__" % n for n in UNARY + OTHERS + BINARY + ["i" + n for n in ARITHMETIC]]
JUDGING = {"__%s__" % n for n in [*BINARY, *("i" + n for n in ARITHMETIC)]}
# The words that stand in the text of the tests: which classes of the code they name.
NAMED_IN_TESTS = set()

NUMBERS = weakref.WeakKeyDictionary()
# Not empty while the tests make an object of one of the code's classes: that class.
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


def doubt(what):
    """Notes that the code had a say in what the tests judge."""
    DOUBTS.append(what)
    if what not in NOTES:
        NOTES.append(what)


def doubt_object(thing, name):
    doubt("an object of the code (%s) decided `%s`: this could be forged" % (type(thing).__name__, name))


def ask_as_maker(kind, args, kwargs):
    MAKING.append(kind)
    try:
        made = PEER.ask("call", stands_for(kind), *args, **kwargs)
    finally:
        MAKING.pop()
    if issubclass(type(made), kind):
        local(made)["__rebut_made__"] = True
    return made


def is_made_now(kind):
    """Whether the tests make an object of that class now."""
    return bool(MAKING) and issubclass(kind, MAKING[-1])


def is_made(thing):
    return local(thing).get("__rebut_made__", False)


def is_of_named_class(thing):
    """Whether the tests name the class of an object. What is of no such class may stand where they expect plain data."""
    return any(local_of_class(kind, "__rebut_named__") for kind in type(thing).__mro__)


class Unlike(TypeError):
    """An object of the code was to decide a comparison with plain data."""


class Meta(type):
    """The class of stand-ins for classes."""

    def __new__(meta, name, bases, held):
        if "__rebut__" not in held:
            raise TypeError("the tests run apart from the code: its class %s cannot be extended in them" % bases[0].__name__)
        return super().__new__(meta, name, bases, held)

    def __call__(cls, *args, **kwargs):
        if issubclass(cls, BaseException):
            # Raised by the tests it would be caught as an error of the code.
            doubt("the tests made an exception of the code (%s)" % cls.__name__)
        if local_of_class(cls, "__rebut_named__"):
            return ask_as_maker(cls, args, kwargs)
        return PEER.ask("call", stands_for(cls), *args, **kwargs)

    def __getattr__(cls, name):
        if name.startswith("__") and name not in ("__members__", "__dataclass_fields__", "__annotations__", "__slots__"):
            raise AttributeError(name)
        if not local_of_class(cls, "__rebut_named__"):
            doubt("a class of the code (%s) was asked `%s`: this could be forged" % (cls.__name__, name))
        return PEER.ask("get", stands_for(cls), name)

    def __setattr__(cls, name, value):
        if name.startswith("__") and name.endswith("__"):
            return super().__setattr__(name, value)
        PEER.ask("set", stands_for(cls), name, value)

    def __delattr__(cls, name):
        PEER.ask("del", stands_for(cls), name)


def of_class(name, op):
    def special(cls, *args):
        doubt("a class of the code (%s) decided `%s`: this could be forged" % (cls.__name__, name))
        return PEER.ask(op, stands_for(cls), *args)

    return special


for _name in ("__iter__", "__len__", "__getitem__", "__contains__", "__dir__"):
    setattr(Meta, _name, of_class(_name, "dir" if _name == "__dir__" else _name))
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
        if name.startswith("__") and name.endswith("__") and name != "__dict__":
            try:
                return object.__getattribute__(self, name)
            except AttributeError:
                pass
        if not is_made(self):
            doubt_object(self, name)
        return PEER.ask("get", held["__rebut__"], name)

    def __setattr__(self, name, value):
        PEER.ask("set", stands_for(self), name, value)

    def __delattr__(self, name):
        PEER.ask("del", stands_for(self), name)

    def __eq__(self, other):
        if self is other:
            return True
        doubt_object(self, "==")
        if isinstance(other, Handle):
            return bool(PEER.ask("eq", stands_for(self), other))
        if local(self)["__rebut_filled__"]:
            return PEER.ask("plain", stands_for(self)) == other
        return False


def of_object(name, op):
    def special(self, *args):
        doubt_object(self, name)
        return PEER.ask(op, stands_for(self), *args)

    return special


for _name in ("__hash__", "__bool__", "__repr__", "__str__", "__format__"):
    setattr(Handle, _name, of_object(_name, _name))
Handle.__dir__ = of_object("__dir__", "dir")


def of_copy(op):
    def special(self, *memo):
        doubt_object(self, op)
        return PEER.ask(op, 0, self)

    return special


Handle.__copy__, Handle.__deepcopy__ = of_copy("copy"), of_copy("deepcopy")


LEAVING = ("__exit__", "__aexit__")


def is_verdict(kind):
    """Whether an exception says that a test does not hold: no object of the code swallows it."""
    return issubclass(kind, (AssertionError, Unlike)) or not issubclass(kind, Exception)


async def left(made, may_end):
    ended = await made
    return ended if may_end else False


def forward(name, plain=None):
    """A special method that runs on the other side. What should have been plain data stays so, or decides nothing with plain data."""

    def special(self, *args, **kwargs):
        if name == "__call__":
            return PEER.ask(name, stands_for(self), *args, **kwargs)
        if plain is not None and not is_of_named_class(self):
            return getattr(plain, name)(self, *args, **kwargs)
        if name in JUDGING and not all(isinstance(a, Handle) for a in args) and not is_of_named_class(self):
            raise Unlike("an object of the code (%s) was to decide `%s` with plain data" % (type(self).__name__, name))
        doubt_object(self, name)
        made = PEER.ask(name, stands_for(self), *args, **kwargs)
        if name in LEAVING and args and args[0] is not None:
            may_end = not is_verdict(args[0])
            return left(made, may_end) if name == "__aexit__" else may_end and made
        return made

    special.__name__ = name
    return special


def words_of(self):
    return local(self).get("__rebut_words__", "")


def rest_of(self, name):
    number = local(self).get("__rebut__")
    if number is None or (name.startswith("__") and name.endswith("__")):
        raise AttributeError(name)
    if not is_made(self):
        doubt_object(self, name)
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
