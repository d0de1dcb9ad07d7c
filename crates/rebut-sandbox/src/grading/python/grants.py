"""What the tests give to the code: data, copies, and numbers that can be called.

Nothing of the tests itself crosses. A function, an iterator, an object or a class that the tests hand over becomes a grant: a number, and a short
row of callables made here when it was handed over. The code can name a number and a place in its row, and nothing else: what it names is
looked up in these rows only. What is of the standard library travels as a copy, or as a name that is looked up in the code's own process.
"""

import enum, pickle

SPACES = ("tests", "__main__")
# Special methods of an object of the tests that the code may have run, if the tests wrote them.
GRANTED_SPECIALS = {*SPECIALS, "__eq__", "__ne__", "__getattr__"}
# Those a data class has without having written them.
GENERATED = {"__eq__", "__repr__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"}
MAGIC = "__enter__ __exit__ __aenter__ __aexit__ __iter__ __len__ __getitem__ __setitem__ __contains__ __bool__ __int__ __str__".split()
ITERATORS = {type(iter(made)) for made in ([], (), {}, {}.values(), {}.items(), set(), "", "\u0100", b"", bytearray(), range(0), range(1 << 70))}
ITERATORS |= {map, filter, zip, enumerate, reversed, type(reversed([])), type(iter(int, 0)), type(reversed({}))}


class Ungiven(TypeError):
    """The tests handed something to the code that cannot be handed over."""


class Grant:
    """One thing of the tests that the code has a number for: what it may have called, and which attributes it may change."""

    def __init__(self, thing, ways, slots=()):
        self.thing, self.ways, self.slots = thing, ways, dict(slots)
        self.names, self.was = set(), None

    def attributes(self):
        """The attributes that are no secret, by name, as they are now."""
        kind = type(self.thing)
        if isinstance(self.thing, enum.Enum):
            return {"name": self.thing._name_, "value": self.thing._value_}
        if isinstance(self.thing, tuple):
            return dict(zip(getattr(kind, "_fields", ()), tuple.__iter__(self.thing)))
        found = {}
        for owner in reversed(kind.__mro__):
            if is_of_tests(owner):
                found.update((n, v) for n, v in vars(owner).items() if is_public(n) and is_data(v))
        for name, slot in self.slots.items():
            with contextlib.suppress(AttributeError):
                found[name] = slot.__get__(self.thing, kind)
        own = own_attributes(self.thing)
        found.update((n, v) for n, v in own.items() if is_public(n) and not (is_mock(self.thing) and (n == "method_calls" or is_mock(v))))
        return found

    def has_changed(self, now):
        then, self.was = self.was, {n: (v, snapshot(v) if type(v) in FILLED else None) for n, v in now.items()}
        self.names |= now.keys()
        if then is None or then.keys() != now.keys():
            return True
        return any(v is not then[n][0] or (then[n][1] is not None and changed(v, then[n][1])) for n, v in now.items())

    def set(self, name, value, is_same):
        self._check(name)
        now = own_attributes(self.thing).get(name)
        if is_same and type(now) is type(value) and type(now) in (list, dict, set):
            now.clear()
            return now.extend(value) if type(now) is list else now.update(value)
        if callable(own_attributes(self.thing).get(name)) or (is_mock(self.thing) and stands_for(value) is not None):
            raise ValueError("what can be called is not replaced by the code: %.40r" % name)
        if name in self.slots:
            return self.slots[name].__set__(self.thing, value)
        object.__getattribute__(self.thing, "__dict__")[name] = value

    def remove(self, name):
        self._check(name)
        if name in self.slots:
            return self.slots[name].__delete__(self.thing)
        object.__getattribute__(self.thing, "__dict__").pop(name, None)

    def _check(self, name):
        """An attribute that we showed, or a new one that means nothing to the class of the object."""
        is_new = is_public(name) and not any(name in vars(owner) for owner in type(self.thing).__mro__)
        if self.was is None or not (name in self.names or is_new) or isinstance(self.thing, (tuple, enum.Enum)):
            raise ValueError("an attribute that was not given: %.40r" % name)


def is_public(name):
    return name.isidentifier() and not name.startswith("_")


def is_data(value):
    return not hasattr(type(value), "__get__") and not isinstance(value, (type, types.ModuleType))


def own_attributes(thing):
    try:
        found = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def is_of_tests(kind):
    return kind.__module__ in SPACES and globals().get(kind.__name__) is not kind


def is_function_of_tests(value):
    """A function that the text of the tests made, or one around such a function."""
    while "__wrapped__" in getattr(value, "__dict__", {}):
        value = value.__dict__["__wrapped__"]
    if type(value) is not types.FunctionType:
        return False
    space = value.__globals__
    return (space.get("__name__") in SPACES and space is not globals()) or is_mock(value.__dict__.get("mock"))


def is_mock(value):
    mocks = sys.modules.get("unittest.mock")
    return mocks is not None and isinstance(value, mocks.NonCallableMock)


class Writer(pickle.Pickler):
    def __init__(self, to, inner):
        super().__init__(to, 4)
        self.inner = inner

    def persistent_id(self, thing):
        return self.inner(thing)


class Giver(Packer):
    """Makes data of what the tests give to the code, and grants of what is no data."""

    def __init__(self, peer):
        super().__init__(peer)
        # Objects and classes that the code has not heard of yet.
        self.fresh, self.telling = {}, {}

    def other(self, value, kind):
        which = stands_for(value)
        if which is not None:
            return ["m", which]
        if isinstance(value, BaseException):
            return self.exception(value)
        if isinstance(value, (types.TracebackType, types.FrameType)):
            return None
        if isinstance(value, type):
            return ["k", self.class_of(value, True)]
        if kind in (io.StringIO, io.BytesIO):
            return ["file", kind.__name__, self.container(value)]
        if is_function_of_tests(value):
            return ["fn", self.peer.grant(value, (value,)), self.about(value), inspect.iscoroutinefunction(value)]
        if kind is types.MethodType and (is_function_of_tests(value.__func__) or is_mock(value.__self__)):
            return ["fn", self.peer.grant(value, (value,)), self.about(value), inspect.iscoroutinefunction(value)]
        return self.live(value, kind) or self.copy(value)

    def live(self, value, kind):
        """What goes on in the process of the tests while the code uses it."""
        if kind is types.GeneratorType:
            return ["it", self.peer.grant(value, (value.send, value.throw, value.close)), True]
        if kind in ITERATORS or kind.__module__ == "itertools":
            return ["it", self.peer.grant(value, (lambda: next(value),)), False]
        if kind is types.AsyncGeneratorType:
            return ["ait", self.peer.grant(value, (lambda: PEER.run(value.__anext__()),))]
        if inspect.iscoroutine(value):
            return ["aw", self.peer.grant(value, (lambda: PEER.run(value),))]
        if is_mock(value) or kind is types.SimpleNamespace:
            return self.record(value, kind, None)
        if not is_of_tests(kind):
            return None
        for base in FILLED:
            if isinstance(value, base):
                return self.container(value)
        return self.record(value, kind, next((base for base in PLAIN if isinstance(value, base)), None))

    def copy(self, value):
        """What is of the standard library: as it would be stored in a file. Only the code's process ever reads such a thing."""
        held, found = io.BytesIO(), []
        try:
            Writer(held, lambda inner: self.inner(inner, value, found)).dump(value)
        except Ungiven:
            raise
        except Exception:
            raise Ungiven("the tests run apart from the code: %.80r cannot be handed to it" % (value,)) from None
        return ["pk", base64.b64encode(held.getvalue()).decode(), found]

    def inner(self, inner, outer, found):
        """Something of the tests or of the code in such a thing."""
        kind = type(inner)
        known = inner is outer or kind in (str, int, float, bool, type(None), bytes, tuple, dict, list, set)
        mine = not known and (stands_for(inner) is not None or is_function_of_tests(inner) or is_mock(inner) or is_of_tests(kind))
        if isinstance(inner, types.ModuleType) or (isinstance(inner, type) and is_of_tests(inner)):
            raise Ungiven("the tests run apart from the code: %.80r cannot be handed to it" % (inner,))
        if not mine:
            return None
        found.append(self(inner))
        return len(found) - 1

    def record(self, value, kind, base):
        desc = self.class_of(kind, False)
        rows, slots = ways_of(kind)
        which = self.peer.grant(value, tuple(way(value) for _, _, way in rows), slots)
        if which not in self.peer.told:
            self.fresh[which] = True
        return ["o", which, desc, base and base.__name__, self.plain(value) if base else None]

    def records(self):
        """The attributes of each object that the code has a number for, where they are new or have changed. Objects may hold objects."""
        rows = []
        for which in self.peer.told:
            self.one_record(which, rows)
        seen = 0
        while seen < len(self.fresh):
            due = list(self.fresh)[seen:]
            seen += len(due)
            for which in due:
                self.one_record(which, rows)
        self.peer.told.update(self.fresh)
        self.peer.told_classes.update(self.telling)
        return rows

    def one_record(self, which, rows):
        grant = self.peer.granted[which]
        now = grant.attributes()
        if not grant.has_changed(now) and which not in self.fresh:
            return
        given = []
        for name, value in now.items():
            # An attribute that cannot be given is simply not there.
            with contextlib.suppress(Ungiven):
                given.append([name, self(value)])
        rows.append([which, given])

    def class_of(self, kind, to_call):
        """A class: by its name where both sides have it, else what a stand-in needs; one of the tests can be called only if they hand it over."""
        known = name_of_class(kind)
        if known is not None:
            return known
        mine = stands_for(kind)
        if mine is not None:
            return ["m", mine]
        if not is_of_tests(kind) and not is_mock_class(kind):
            return self.copy(kind)
        which = self.peer.grant(kind, (kind,) if to_call and not issubclass(kind, BaseException) else ())
        if (which, to_call) in self.peer.told_classes or (which, to_call) in self.telling:
            return [which]
        self.telling[which, to_call] = True
        bases = [self.class_of(base, False) for base in kind.__bases__ if is_of_tests(base) or issubclass(base, BaseException)]
        rows = ways_of(kind)[0]
        members = [[name, self(member)] for name, member in kind.__members__.items()] if to_call and issubclass(kind, enum.Enum) else []
        plain = next((base.__name__ for base in PLAIN if issubclass(kind, base)), None)
        return [which, kind.__name__, bases, [[name, how] for name, how, _ in rows], bool(to_call), members, plain]

    def exception(self, value):
        """An exception of the tests on its way through the code. What an assertion says is not for the code to read."""
        kind = next(base for base in type(value).__mro__ if name_of_class(base) or is_of_tests(base))
        secret, args = isinstance(value, AssertionError), []
        for one in () if secret else value.args:
            try:
                args.append(self(one))
            except Ungiven:
                args.append(str(type(one)))
        words = ""
        with contextlib.suppress(Exception):
            words = "" if secret else str(value)
        return ["e", self.class_of(kind, False), args, words, self.peer.grant(value, ())]

    def about(self, value):
        """The name of a function and what its parameters are called. What they are by default is not for the code to read."""
        try:
            rows = [[p.name, int(p.kind), None if p.default is p.empty else [None], None] for p in inspect.signature(value).parameters.values()]
        except (ValueError, TypeError):
            rows = None
        name = getattr(value, "__name__", None)
        return [name if type(name) is str else None, None, rows]

    def factory(self, factory):
        return None if factory is None else self(factory)


def ways_of(kind):
    """What an object of a class of the tests can do, as rows of name, kind and a way to it; and its slots."""
    if is_mock_class(kind):
        return mock_ways(kind), {}
    rows, slots = {}, {}
    for owner in reversed(kind.__mro__):
        for name, held in vars(owner).items() if is_of_tests(owner) else ():
            if type(held) is types.MemberDescriptorType and is_public(name):
                slots[name] = held
            if not (is_public(name) or name in GRANTED_SPECIALS):
                continue
            if type(held) is property and is_function_of_tests(held.fget):
                rows[name] = [(name, "get", lambda o, held=held: lambda: held.fget(o))]
                if is_function_of_tests(held.fset):
                    rows[name].append((name, "set", lambda o, held=held: lambda value: held.fset(o, value)))
            elif type(held) in (staticmethod, classmethod) and is_function_of_tests(held.__func__):
                rows[name] = [(name, "call", lambda o, held=held: held.__get__(o, type(o)))]
            elif is_function_of_tests(held) or is_generated(name, held):
                rows[name] = [(name, "call", lambda o, held=held: held.__get__(o, type(o)))]
    return [row for found in rows.values() for row in found], slots


def is_generated(name, held):
    return name in GENERATED and type(held) is types.FunctionType and held.__code__.co_filename == "<string>"


def is_mock_class(kind):
    mocks = sys.modules.get("unittest.mock")
    return mocks is not None and issubclass(kind, mocks.NonCallableMock)


def mock_ways(kind):
    """What a mock can do for the code: be called, have parts, and the special methods of magic ones."""
    mocks = sys.modules["unittest.mock"]
    rows = [("__getattr__", "call", lambda o: lambda name: part_of(o, name))]
    if issubclass(kind, mocks.CallableMixin):
        rows.append(("__call__", "call", lambda o: lambda *a, **k: o(*a, **k)))
    if issubclass(kind, mocks.MagicMixin):
        rows.extend((name, "call", lambda o, name=name: lambda *a: getattr(type(o), name)(o, *a)) for name in MAGIC)
    return rows


def part_of(mock, name):
    """A part of a mock by a name of the code: a key of its parts, made where there is none. No attribute is looked up."""
    held = own_attributes(mock)
    parts, allowed = held["_mock_children"], held["_mock_methods"]
    if not is_public(text(name)) or (allowed is not None and name not in allowed) or any(name in vars(k) for k in type(mock).__mro__):
        raise AttributeError("a mock of the tests has no %.40r" % name)
    if name not in parts:
        parts[name] = mock._get_child_mock(parent=mock, name=name, _new_name=name, _new_parent=mock)
    if not is_mock(parts[name]):
        raise AttributeError("a mock of the tests has no %.40r" % name)
    return parts[name]


class Tests(Peer):
    """The side of the tests. What the code can ask for stands in `requested`, and that is all of it."""

    packer, unpacker = Giver, Reader

    def __init__(self, wire, host):
        super().__init__(wire)
        self.host = host
        self.classes = {}
        # What went wrong in what the code called, and what it has not handed on.
        self.failed = []
        self.granted, self.numbers, self.told, self.told_classes, self.last = {}, {}, set(), set(), 0

    def grant(self, thing, ways, slots=()):
        """The number of one of our objects; the same object has the same number."""
        known = self.numbers.get(id(thing))
        if known is None:
            self.last += 1
            known = self.numbers[id(thing)] = self.last
            self.granted[known] = Grant(thing, ways, slots)
        elif ways and not self.granted[known].ways:
            self.granted[known].ways = ways
        return known

    def forget(self, which):
        if which in self.granted:
            self.numbers.pop(id(self.granted.pop(which).thing), None)
            self.told.discard(which)

    def broken(self, why):
        self.host.say("broken", why=why)
        # The host ends this process now; nothing after a broken answer may be told as a result.
        self.wire.receive()
        os._exit(1)

    def heard(self, answer):
        for key, stream in (("o", sys.stdout), ("e", sys.stderr)):
            if type(answer.get(key)) is str:
                stream.write(answer[key])

    def meant(self, raised, op):
        self.failed = [error for error in self.failed if error is not raised]
        if isinstance(type(raised), Meta):
            # The tests know that it is an object: it cannot be meant for plain data.
            local(raised)["__rebut_made__"] = True
        if isinstance(raised, (StopIteration, StopAsyncIteration)) and op not in ENDING:
            # It would quietly end a loop of the tests, such as that of `map`.
            other = RuntimeError("the code raised %s" % type(raised).__name__)
            other.__dict__["__rebut_trace__"] = local(raised).get("__rebut_trace__", "")
            other.__cause__ = raised
            return other
        return raised

    def serve(self, request):
        """Does what the code asks and answers. What it may not ask for, or what cannot be read, ends the conversation."""
        # What the code hands over here was not asked for by the maker of anything.
        making, MAKING[:] = MAKING[:], []
        unpack = self.unpacker(self, [])
        try:
            op, target, args, kwargs = request["q"]
            args, kwargs = unpack.many(args), {text(k): unpack(v) for k, v in kwargs}
            unpack.records(request.get("n", []))
            what = self.requested(op, target, args, kwargs)
            before = [(held, snapshot(held)) for held in unpack.filled]
            self.forget_all(request)
        except Exception as error:
            self.broken("a request that cannot be granted (%s: %s)" % (type(error).__name__, error))
        try:
            answer, pack = self.answer("r", what(*args, **kwargs), before)
        except Broken:
            raise
        except BaseException as error:
            if not is_on_purpose(error):
                self.failed.append(error)
            answer, pack = self.answer("x", error, before)
        finally:
            MAKING[:] = making
        self.send(answer, pack)

    def requested(self, op, target, args, kwargs):
        """The whole list of what the code can ask for: a call of what was granted, and the standard input."""
        if op == "call" and type(target) is list and len(target) == 2:
            return self.granted[number(target[0])].ways[number(target[1])]
        if kwargs or target is not None or len(args) > 1 or not all(type(a) in (int, str, type(None)) for a in args):
            raise ValueError("no such request")
        if op == "stdin read":
            return lambda *size: sys.stdin.read(*size)
        if op == "stdin readline":
            return lambda *size: sys.stdin.readline(*size)
        if op == "input" and len(args) == 1:
            return lambda prompt: builtins.input(prompt)
        raise ValueError("no such request")


# What may say that there is no more.
ENDING = {"__next__", "__anext__", "send", "throw", "close", "await"}
