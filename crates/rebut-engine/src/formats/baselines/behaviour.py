"""Runs one program on some calls and says, in one line of JSON, what came of each: a digest of its value, or the error's name."""

import hashlib
import io
import json
import re
import signal
import sys

SECONDS_PER_CALL = 1


class Late(BaseException):
    """A call took too long. Not an Exception, so that the program does not catch it by chance."""


def late(*_):
    raise Late()


def shown(value, depth=0):
    """A value as text that is the same whenever the values are equal: sets and dictionaries have no order."""
    if depth > 20:
        return "…"
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, (int, float)):
        number = float(value) if abs(value) < 2**53 else value
        return repr(float("%.9g" % number) if isinstance(number, float) else number)
    if isinstance(value, dict):
        return "{%s}" % ",".join(sorted(shown(k, depth + 1) + ":" + shown(v, depth + 1) for k, v in value.items()))
    if isinstance(value, (set, frozenset)):
        return "set(%s)" % ",".join(sorted(shown(v, depth + 1) for v in value))
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + "(%s)" % ",".join(shown(v, depth + 1) for v in value)
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def within_time(work):
    signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_CALL)
    try:
        return "=" + hashlib.sha256(shown(work()).encode("utf-8", "replace")).hexdigest()[:16]
    except BaseException as error:
        return "!" + type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main():
    given = json.load(sys.stdin)
    out, sys.stdout = sys.stdout, io.StringIO()
    signal.signal(signal.SIGALRM, late)
    names = {"__name__": "solution"}
    loaded = within_time(lambda: exec(compile(given["code"], "solution.py", "exec"), names))
    results = [loaded]
    if loaded.startswith("="):
        results += [within_time(lambda: eval(call, names)) for call in given["calls"]]
    out.write(json.dumps(results) + "\n")
    out.flush()


main()
