"""What travels between the process of the code and the process of the tests: data, and numbers.

Both processes hold this text and know how to make data of values. What a number means differs. The tests may do anything with the objects of the
code: it is done over there. The code may do one thing with what the tests gave it: call what was granted to be called, by its number.
"""

import asyncio, base64, builtins, collections, contextlib, datetime, decimal, fractions, inspect, io, json, linecache, os, struct, sys
import threading, traceback, types, weakref

MOST = 64 << 20


class Broken(BaseException):
    """The other process does not speak as agreed. Not an Exception, so that no test or code takes it for one."""


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
    """One side of the conversation. What the other side may ask for, each side says itself: `requested`."""

    packer = unpacker = None

    def __init__(self, wire):
        self.wire = wire
        self.lock = threading.RLock()
        self.stand_ins = weakref.WeakValueDictionary()
        self.dropped = []
        self.loop = None

    def ask(self, op, target, *args, **kwargs):
        """Has something done on the other side; what it raises there is raised here."""
        with self.lock:
            pack = self.packer(self)
            body = [op, target, [pack(a) for a in args], [[k, pack(v)] for k, v in kwargs.items()]]
            self.send({"q": body}, pack)
            while True:
                answer = self.next_message()
                if "q" in answer:
                    self.serve(answer)
                    continue
                return self.take(answer, pack, op)

    def next_message(self):
        kind, payload = self.wire.receive()
        try:
            message = json.loads(payload, object_pairs_hook=once_each)
        except (ValueError, RecursionError) as error:
            self.broken("garbage (%s)" % type(error).__name__)
        if kind != "A" or type(message) is not dict:
            self.broken("no message")
        return message

    def broken(self, why):
        """Gives up on the other side; the side of the tests tells the host."""
        raise Broken(why)

    def take(self, answer, pack, op):
        try:
            unpack = self.unpacker(self, pack.filled)
            for index, content in answer.get("w", []):
                held = pack.filled[number(index)]
                if held is not None:
                    unpack.refill(held, content)
            value = unpack(answer["r"]) if "r" in answer else None
            raised = unpack(answer["x"]) if "x" in answer else None
            unpack.records(answer.get("n", []))
            self.forget_all(answer)
        except Exception as error:
            self.broken("an answer that cannot be read (%s: %s)" % (type(error).__name__, error))
        self.heard(answer)
        if raised is None:
            return value
        if not isinstance(raised, BaseException):
            self.broken("something raised that is no exception")
        raise self.meant(raised, op)

    def forget_all(self, message):
        for which in message.get("f", []):
            self.forget(number(which))

    def heard(self, answer):
        """What was printed over there meanwhile."""

    def meant(self, raised, op):
        return raised

    def send(self, message, pack):
        message["n"] = pack.records()
        # Numbers whose stand-ins nobody holds here any more.
        dropped, self.dropped = self.dropped, []
        message["f"] = [n for n in dropped if n not in self.stand_ins]
        self.wire.send("A", json.dumps(message, separators=(",", ":")).encode())

    def answer(self, key, value, before):
        """An answer: the value, and the containers among the arguments that were changed."""
        pack = self.packer(self)
        pack.know([held for held, _ in before])
        back = [[i, pack.content(held)] for i, (held, was) in enumerate(before) if changed(held, was)]
        return {"w": back, key: pack(value)}, pack

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

    def stand_in(self, number, make):
        """The same thing over there is the same stand-in here, as long as somebody holds it."""
        known = self.stand_ins.get(number)
        if known is None:
            known = make()
            self.stand_ins[number] = known
            weakref.finalize(known, self.dropped.append, number)
        return known


def number(value):
    """A number that came over the wire: not a truth value, not a text that looks like one, not less than nothing."""
    if type(value) is not int or value < 0:
        raise ValueError("%.40r is no number" % (value,))
    return value


def text(value):
    if type(value) is not str:
        raise ValueError("%.40r is no text" % (value,))
    return value


def once_each(pairs):
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key that stands twice")
    return made


def relayed(send, throw, close):
    """A real generator that stands for one of the other side, and hands on what is done with it."""
    given, raised = None, None
    while True:
        try:
            item = send(given) if raised is None else throw(raised)
        except StopIteration as stop:
            return stop.value
        given, raised = None, None
        try:
            given = yield item
        except GeneratorExit:
            close()
            raise
        except Exception as error:
            raised = error
