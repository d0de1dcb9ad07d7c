"""What travels between the process of the code and the process of the tests: values as data, and everything else as a stand-in.

Both processes hold this text. Neither believes the other's objects: an object that is no data stays where it was made, and the other side has
a stand-in for it whose operations run there. The side of the tests (STRICT) never lets such an object decide a comparison with plain data.
"""

import asyncio, base64, builtins, collections, contextlib, datetime, decimal, fractions, functools, importlib, inspect, io, json, os
import struct, sys, threading, traceback, types, weakref

STRICT = False
NOTES = []
MOST = 64 << 20
PLAIN = (int, float, complex, str, bytes, tuple, frozenset)
FILLED = (list, dict, set, bytearray, collections.deque)
DICTS = {"dict": dict, "OrderedDict": collections.OrderedDict, "Counter": collections.Counter, "defaultdict": collections.defaultdict}
TYPES = {t.__name__: t for t in (*PLAIN, list, dict, set, bytearray, bool, object, type, range, slice, type(None), types.FunctionType)}
TYPES.update({n: e for n, e in vars(builtins).items() if isinstance(e, type) and issubclass(e, BaseException)})
# Whose exceptions both sides know by name. Not unittest: nobody but the tests skips a test.
KNOWN_MODULES = set(
    "argparse ast asyncio binascii calendar codecs concurrent.futures configparser copy csv dataclasses decimal email.errors enum getopt"
    " http.client inspect io json json.decoder os pickle queue re shutil socket sqlite3 ssl statistics string struct subprocess tarfile"
    " tokenize urllib.error uuid xml.etree.ElementTree zipfile zlib asyncio.exceptions concurrent.futures._base _queue xml.parsers.expat"
    .split()
)
UNARY = "len iter next reversed bool int float complex index hash str repr bytes format neg pos invert abs round trunc floor ceil".split()
ARITHMETIC = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or".split()
OTHERS = "getitem setitem delitem missing call enter exit aenter aexit aiter anext await fspath length_hint sizeof instancecheck".split()
ORDER = "lt le gt ge".split()
BINARY = [p + n for n in ARITHMETIC for p in ("", "r")] + ORDER + ["contains"]
SPECIALS = ["__%s__" % n for n in UNARY + OTHERS + BINARY + ["i" + n for n in ARITHMETIC]]
JUDGING = {"__%s__" % n for n in BINARY}
# What a plain value's own methods decide when they are given the expected value.
JUDGING_METHODS = {"startswith", "endswith", "issubset", "issuperset", "isdisjoint"}
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
}


class Broken(BaseException):
    """The other process does not speak as agreed. Not an Exception, so that no test or code takes it for one."""


class Unlike(TypeError):
    """An object of the code was to decide a comparison with plain data."""


class Wire:
    """Frames on two descriptors: four bytes of length, one byte of kind, the payload."""

    def __init__(self, source, sink):
        self.source, self.sink = source, sink

    def send(self, kind, payload):
        view = memoryview(struct.pack(">IB", len(payload), ord(kind)) + payload)
        while view:
            view = view[os.write(self.sink, view[: 1 << 16]) :]

    def receive(self):
        head = self._exactly(5)
        length, kind = struct.unpack(">IB", head)
        if length > MOST:
            raise Broken("a frame of %d bytes" % length)
        return chr(kind), self._exactly(length)

    def _exactly(self, count):
        parts = []
        while count:
            part = os.read(self.source, min(count, 1 << 20))
            if not part:
                os._exit(0)
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


class Peer:
    """One side of the conversation: asks the other side to do things with its objects, and does what it asks with ours."""

    def __init__(self, wire):
        self.wire = wire
        self.lock = threading.RLock()
        self.given, self.numbers, self.pinned = {}, {}, 0
        self.told, self.classes = set(), {}
        self.stand_ins = weakref.WeakValueDictionary()
        self.dropped = []
        self.loop = None

    def ask(self, op, target, *args, **kwargs):
        """Does something with an object of the other side; what it raises there is raised here."""
        with self.lock:
            free, self.dropped = [n for n in self.dropped if n not in self.stand_ins], []
            pack = Packer(self)
            body = [op, target, [pack(a) for a in args], [[k, pack(v)] for k, v in kwargs.items()]]
            self._send({"q": body, "f": free}, pack)
            while True:
                answer = self.next_message()
                if "q" in answer:
                    self.serve(answer)
                    continue
                return self._take(answer, pack, op)

    def next_message(self):
        kind, payload = self.wire.receive()
        try:
            message = json.loads(payload)
        except (ValueError, RecursionError) as error:
            self.broken("garbage (%s)" % type(error).__name__)
        if kind != "A" or not isinstance(message, dict):
            self.broken("no message")
        return message

    def broken(self, why):
        """Gives up on the other side; the side of the tests tells the host."""
        raise Broken(why)

    def _take(self, answer, pack, op):
        try:
            said = [answer.get("o", ""), answer.get("e", "")]
            unpack = Unpacker(self, pack.filled)
            for index, content in answer.get("w", []):
                if pack.filled[index] is not None:
                    unpack.refill(pack.filled[index], content)
            value = unpack(answer["r"]) if "r" in answer else None
            raised = unpack(answer["x"]) if "x" in answer else None
        except (KeyError, ValueError, TypeError, IndexError, AttributeError, RecursionError, OverflowError) as error:
            self.broken("an answer that cannot be read (%s: %s)" % (type(error).__name__, error))
        for text, stream in zip(said, (sys.stdout, sys.stderr)):
            if text:
                stream.write(str(text))
        if raised is not None:
            if not isinstance(raised, BaseException):
                self.broken("something raised that is no exception")
            if STRICT and isinstance(raised, (StopIteration, StopAsyncIteration)) and op not in ENDING:
                # It would quietly end a loop of the tests, such as that of `map`.
                other = RuntimeError("the code raised %s" % type(raised).__name__)
                other.__dict__["__rebut_trace__"] = local(raised).get("__rebut_trace__", "")
                raise other from raised
            raise raised
        return value

    def serve(self, request):
        """Does what the other side asks and answers."""
        for number in request.get("f", []):
            self._forget(number)
        unpack = Unpacker(self, [])
        before = []
        heard = None if STRICT else Heard()
        try:
            op, target, args, kwargs = request["q"]
            args, kwargs = [unpack(a) for a in args], {k: unpack(v) for k, v in kwargs}
            before = [(held, snapshot(held)) for held in unpack.filled]
            answer, pack = self._answer("r", self.do(op, target, args, kwargs), before)
        except Broken:
            raise
        except BaseException as error:
            answer, pack = self._answer("x", error, before)
        finally:
            said = heard.leave() if heard else ["", ""]
        self._send({**answer, "o": said[0], "e": said[1]}, pack)

    def _answer(self, key, value, before):
        pack = Packer(self)
        pack.know([held for held, _ in before])
        back = [[i, pack.content(held)] for i, (held, was) in enumerate(before) if changed(held, was)]
        return {"w": back, key: pack(value)}, pack

    def do(self, op, target, args, kwargs):
        """The operations: each on one of our objects."""
        if op in SERVICES:
            return SERVICES[op](self, *args, **kwargs)
        subject = self.given[target]
        if STRICT:
            guard(op, subject, args)
        if op == "call":
            return subject(*args, **kwargs)
        if op == "get":
            return shown(getattr(subject, *args))
        if op == "set":
            return setattr(subject, *args)
        if op == "del":
            return delattr(subject, *args)
        if op == "eq":
            return subject == args[0]
        if op == "await":
            return self.run(subject)
        if op == "plain":
            return Content(subject)
        if op == "dir":
            return dir(subject)
        how = BY_FUNCTION.get(op)
        return how(subject, *args, **kwargs) if how else getattr(type(subject), op)(subject, *args, **kwargs)

    def run(self, awaitable):
        async def whole():
            return await awaitable

        def alone():
            return asyncio.new_event_loop().run_until_complete(whole())

        if asyncio._get_running_loop() is not None:
            result = []

            def thread():
                try:
                    result.append((alone(), None))
                except BaseException as error:
                    result.append((None, error))

            runner = threading.Thread(target=thread)
            runner.start()
            runner.join()
            if result[0][1] is not None:
                raise result[0][1]
            return result[0][0]
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
        return self.loop.run_until_complete(whole())

    def number(self, thing):
        """The number of one of our objects; the same object has the same number."""
        known = self.numbers.get(id(thing))
        if known is None:
            self.pinned += 1
            known = self.pinned
            self.numbers[id(thing)] = known
            self.given[known] = thing
        return known

    def _forget(self, number):
        if number in self.given:
            self.numbers.pop(id(self.given.pop(number)), None)

    def _send(self, message, pack):
        self.wire.send("A", json.dumps(message, separators=(",", ":")).encode())
        self.told |= pack.telling


SERVICES = {}
# What may say that there is no more.
ENDING = {"__next__", "__anext__", "send", "throw", "close", "await"}
# Through these one could reach everything in a process, starting at any of its objects.
INSIDES = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType)


def guard(op, subject, args):
    """What the code may do with an object the tests gave it: use it, not look behind it."""
    if op in ("get", "set", "del"):
        name = args[0]
        if type(name) is not str or name.startswith("_") or isinstance(subject, (types.FunctionType, *INSIDES)):
            raise AttributeError("%r of an object of the tests is not for the code" % (name,))
        if op != "get" and isinstance(subject, type):
            raise AttributeError("a class of the tests cannot be changed by the code")
    elif op in ("send", "throw", "close"):
        if not isinstance(subject, types.GeneratorType):
            raise TypeError("no generator")
    elif op not in ("call", "eq", "await", "plain", "dir", *SPECIALS):
        raise TypeError("no such operation: %s" % op)


def shown(value):
    if STRICT and isinstance(value, INSIDES):
        raise AttributeError("the insides of the tests are not for the code")
    return value


class Content:
    """A value whose plain content is wanted although its class is not plain."""

    def __init__(self, value):
        self.value = value


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
