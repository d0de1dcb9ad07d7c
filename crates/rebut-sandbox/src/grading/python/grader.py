"""The process of the tests: lists them, runs them against stand-ins for the code, and tells the host how each one went."""

import ast, doctest, importlib, re, unittest

NAMED = "/in/tests.py"


class Host:
    """What the host is told. Every word carries the run's nonce."""

    def __init__(self, wire):
        self.wire = wire
        self.order = None

    def begin(self):
        kind, payload = self.wire.receive()
        self.order = json.loads(payload)

    def say(self, word, **more):
        self.wire.send("H", json.dumps({"nonce": self.order["nonce"], "say": word, **more}).encode())


class Run:
    """The tests of one file: which there are, which of them are to be run now, and how each is told."""

    def __init__(self, host):
        self.host = host
        self.skip = host.order["skip"]
        self.output = io.StringIO()

    def collected(self, names):
        """Tells the names, each made unique; answers the numbers that are to be run."""
        seen, unique = {}, []
        for name in names:
            seen[name] = seen.get(name, 0) + 1
            unique.append(name if seen[name] == 1 else "%s #%d" % (name, seen[name]))
        self.host.say("collected", names=unique)
        return range(self.skip, len(unique))

    def one(self, number, body):
        """Runs one test: `body` returns nothing, or why it is no pass as (verdict, words)."""
        self.host.say("begin", number=number)
        NOTES.clear()
        PEER.failed.clear()
        printed = io.StringIO()
        verdict, words = "pass", ""
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                verdict, words = body() or ("pass", "")
            swallowed = [error for error in PEER.failed if is_verdict(type(error))]
            if verdict == "pass" and swallowed:
                verdict, words = "fail", "the code caught this and went on:\n" + told(swallowed[0])
            elif PEER.failed:
                doubt("the code caught an error of the tests and went on: %s" % type(PEER.failed[0]).__name__)
        except Broken:
            raise
        except BaseException as error:
            verdict, words = judge(error), told(error)
        text = "\n".join(part for part in (printed.getvalue()[-1000:].strip(), words.strip(), *NOTES[:3]) if part)
        output = "" if verdict == "pass" and not NOTES else text[-2000:]
        self.host.say("end", number=number, verdict=verdict, output=output, doubted=bool(DOUBTS))


def judge(error):
    """An assertion that does not hold, and what the code raised, is a failure. What the tests raise themselves says nothing about the code."""
    if isinstance(error, SystemExit):
        return "error"
    from_code = "__rebut_trace__" in getattr(error, "__dict__", {})
    judged = isinstance(error, (AssertionError, Unlike)) or type(error).__name__ == "Failed"
    return "fail" if from_code or judged or is_meant(error) else "error"


def is_meant(error):
    """Whether the tests themselves say `raise`: that is their way to fail."""
    if isinstance(error, (unittest.SkipTest, NameError)) or type(error).__name__ == "Skipped" or not error.__traceback__:
        return False
    last = list(traceback.walk_tb(error.__traceback__))[-1]
    line = linecache.getline(last[0].f_code.co_filename, last[1])
    return last[0].f_code.co_filename.endswith("tests.py") and re.search(r"(^|[:;])\s*raise\b", line) is not None


def is_on_purpose(error):
    """Whether the tests raise this for the code to catch, or to say that there is no more."""
    if is_verdict(type(error)):
        return False
    last = list(traceback.walk_tb(error.__traceback__))[-1:]
    by_mock = any(frame.f_code.co_filename.endswith("unittest/mock.py") for frame, _ in last)
    return by_mock or isinstance(error, (StopIteration, StopAsyncIteration)) or is_meant(error)


def told(error):
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    kept = [line for line in lines if "grader.py" not in line and "/unittest/" not in line and "/contextlib.py" not in line]
    held = getattr(error, "__dict__", {})
    return "".join(kept)[-1400:] + ("\nin the code:\n" + held["__rebut_trace__"][-600:] if held.get("__rebut_trace__") else "")


class Solution(types.ModuleType):
    """The module `solution` as the tests see it."""

    def __getattr__(self, name):
        if name.startswith("__") and name not in ("__version__", "__author__"):
            raise AttributeError(name)
        held = vars(self)
        found = genuine(name, held["__rebut_names__"].get(name))
        if found is None or found is PEER_OWN:
            found = PEER.ask("get", held["__rebut__"], name)
        elif isinstance(found, type) and issubclass(found, BaseException):
            doubt("the code offers a class that is not its own: %s" % found.__name__)
        if type(found) is Meta and name[:1].isupper() and name in NAMED_IN_TESTS:
            type.__setattr__(found, "__rebut_named__", True)
        before = held["__rebut_offered__"].setdefault(name, [])
        if is_replacing(sys._getframe(1), name, [*before, found]):
            doubt("an import from the code replaced `%s`: this could be forged" % name)
        before.append(found)
        return found

    def __setattr__(self, name, value):
        if name.startswith("__"):
            return super().__setattr__(name, value)
        PEER.ask("set", vars(self)["__rebut__"], name, value)

    def __delattr__(self, name):
        PEER.ask("del", vars(self)["__rebut__"], name)

    def __dir__(self):
        return list(vars(self)["__rebut_public__"])


def is_replacing(frame, name, offered):
    """Whether an import of the tests puts a name of the code over something that they have otherwise, or that Python has."""
    tree = TREES.get(frame.f_code.co_filename)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.ImportFrom) and node.module == "solution" and node.lineno <= frame.f_lineno <= node.end_lineno:
            for bound in [one.asname or name for one in node.names if one.name in (name, "*")]:
                had = frame.f_globals.get(bound, vars(builtins).get(bound, offered[-1]))
                if not any(had is one for one in offered):
                    return True
    return False


def load(tree):
    """Has the code imported over there and puts its stand-in where `import solution` finds it."""
    number, public, names = PEER.ask("load", 0)
    offered = offered_names(tree, {name for name, _ in names})
    module = Solution("solution")
    public = [name for name in public if name in offered]
    # What the tests do not name is not asked for.
    named = [name for name in public if name in NAMED_IN_TESTS]
    vars(module).update(__rebut__=number, __all__=named, __rebut_public__=public, __rebut_names__={}, __rebut_offered__={})
    sys.modules["solution"] = module
    vars(module)["__rebut_names__"].update({name: came for name, came in names if name in offered})
    return module


def offered_names(tree, names):
    """The code's names that the tests may find without naming their module.

    A name that the tests define stays theirs, and one that Python has stays Python's, or the code could replace what the tests judge with (`abs`,
    `len`). Unless such a name is all that they use of the code. The same with names of modules.
    """
    builtin = {name for name in names if hasattr(builtins, name)}
    own = names - builtin - defined_names(tree)
    meant = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & builtin
    return own | (meant if len(meant) == 1 and is_all_they_use(tree, *meant) else set())


def defined_names(tree):
    """Functions and classes of the tests, and what they import from elsewhere."""
    found = {statement.name for statement in tree.body if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    for statement in tree.body:
        if isinstance(statement, ast.Import) or isinstance(statement, ast.ImportFrom) and statement.module != "solution":
            found.update((name.asname or name.name).split(".")[0] for name in statement.names)
    return found


def is_all_they_use(tree, name):
    """Whether nothing in the tests can be another name of the code, and the results of nothing else are given to this one."""
    bound, used = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.ExceptHandler):
            bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update((one.asname or one.name).split(".")[0] for one in node.names)
            used.update([(getattr(node, "module", None) or node.names[0].name).split(".")[0]])
    is_named_only = not used - bound - MODULES - set(dir(builtins)) - {"solution"} and not used & LOOKING_UP and not names_the_module(tree)
    return is_named_only and not any(is_given_results(node, name) for node in ast.walk(tree))


# What finds a name that is not written out.
LOOKING_UP = set("eval exec globals locals vars getattr __import__ __builtins__ builtins importlib sys gc inspect runpy pkgutil operator".split())


def names_the_module(tree):
    """Whether the tests say `solution` in any way but `from solution import *`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(name.name.split(".")[0] == "solution" for name in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module == "solution" and any(name.name != "*" for name in node.names):
            return True
        if isinstance(node, ast.Name) and node.id == "solution" or isinstance(node, ast.Constant) and "solution" in str(node.value):
            return True
    return False


def is_given_results(node, name):
    """Whether this calls the function with what another one returned: `abs(sum(xs) - 6)` judges `sum`. Making a value is none."""
    if not (isinstance(node, ast.Call) and getattr(node.func, "id", None) == name):
        return False
    inner = [one.func.id for part in (*node.args, *node.keywords) for one in ast.walk(part) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
    return any(one != name and not isinstance(getattr(builtins, one, None), type) for one in inner)


# Names that mean a module to whoever reads tests.
MODULES = set(sys.stdlib_module_names) | {"np", "numpy", "pd", "pandas", "scipy", "pytest"}
# Modules whose content can be had here by name when the code has only imported it.
GENUINE = set(
    "bisect cmath collections copy datetime decimal enum fractions functools heapq itertools json math numbers numpy operator pandas random re"
    " statistics string textwrap typing _collections_abc _collections _functools _bisect _heapq".split()
)


def genuine(name, came):
    """What the tests get for a name of the code that is a module's, or a thing of one: ours, never the code's."""
    module, inner = came if came else (None, None)
    if module not in GENUINE and not (inner is None and module in sys.stdlib_module_names):
        return None if name in MODULES else PEER_OWN
    with contextlib.suppress(ImportError, AttributeError):
        made = importlib.import_module(module)
        if inner is None:
            return made
        # One of the names that the module offers to everybody; what it has imported itself is not among them.
        offered = getattr(made, "__all__", None) or [name for name in vars(made) if not name.startswith("_")]
        found = vars(made)[inner] if inner in offered and inner in vars(made) else PEER_OWN
        return PEER_OWN if isinstance(found, types.ModuleType) else found
    return None


PEER_OWN = object()


def local_stand_ins():
    """Functions of the standard library that look into objects: for stand-ins they look over there."""
    import dataclasses

    for name in ("asdict", "astuple", "replace", "fields"):
        real = getattr(dataclasses, name)

        def apart(thing, *args, _name=name, _real=real, **kwargs):
            if stands_for(thing) is None:
                return _real(thing, *args, **kwargs)
            doubt_object(thing, _name)
            return PEER.ask("dataclasses", 0, _name, thing, *args, **kwargs)

        setattr(dataclasses, name, apart)


def hide_memory():
    """Nobody of the same user may look into this process. The cell has no way to it either; a Python without ctypes has that only."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)


def main():
    global PEER
    wire = Wire(os.dup(0), os.dup(1))
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.closerange(nothing, 1024)
    hide_memory()
    sys.dont_write_bytecode = True
    host = Host(wire)
    host.begin()

    PEER = Tests(wire, host)
    local_stand_ins()
    with open(NAMED, encoding="utf-8") as file:
        text = file.read()
    style = host.order["style"]
    try:
        tree = parsed(style, text)
    except (SyntaxError, ValueError) as error:
        return host.say("unreadable", why="%s: %s" % (type(error).__name__, error))
    style = style or style_of(tree)
    runner = STYLES.get(style)
    if runner is None:
        return host.say("unreadable", why="no Python tests are written as %s" % style)
    host.say("listed", names=static_names(style, tree), style=style)
    if needs_pytest(style, tree) and pytest_missing():
        return host.say("missing", what="pytest")
    TREES.update({"tests.py": tree, NAMED: tree})
    NAMED_IN_TESTS.update(words_in(tree))
    if takes_text(tree):
        DOUBTS.append("the tests take texts for programs, paths or stored objects")
    try:
        module = load(tree)
    except (Exception, SystemExit) as error:
        return host.say("unloaded", why=told(error))
    linecache.cache["tests.py"] = (len(text), None, text.splitlines(True), "tests.py")
    try:
        runner(Run(host), text, tree, module)
    except (Exception, SystemExit) as error:
        return host.say("unloaded", why=told(error))
    host.say("done")
