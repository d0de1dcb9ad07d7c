"""What the text of the tests shows about what they do with results."""

import ast

# The tests as they were read, by the name that their frames have.
TREES = {}
# What takes a text for a program or a path: functions of Python, modules as a whole, and functions of modules that do more.
TAKING = set("eval exec compile open __import__ Path".split())
TAKING_MODULES = set(
    "pickle _pickle marshal shelve dbm dill joblib cloudpickle importlib runpy code codeop subprocess linecache fileinput shutil".split()
)
TAKING_PARTS = {
    **dict.fromkeys("io codecs gzip bz2 lzma tarfile zipfile tokenize".split(), {"open", "FileIO", "TarFile", "ZipFile"}),
    **dict.fromkeys("builtins pd pandas".split(), {"eval", "exec", "compile", "open", "__import__", "read_pickle"}),
    **dict.fromkeys("np numpy".split(), {"load", "loadtxt", "genfromtxt", "fromfile"}),
    "os": {"system", "popen", "open"},
}
READING = {"read_text", "read_bytes"}


def words_in(tree):
    """Every name in the tests, also in a text."""
    for node in ast.walk(tree):
        yield from (value for value in (getattr(node, "id", None), getattr(node, "attr", None)) if value)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (one.name for one in node.names)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"\w+", node.value)


def takes_text(tree):
    """Whether a result may be taken for a program, a path or a stored object: it could replace what judges, or name the file of the tests."""
    names, written = taking_names(tree), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and all(is_written(part) for part in [*node.args, *node.keywords]):
            written.update(id(part) for part in ast.walk(node.func))
    return any(id(node) not in written and is_taking(node, names) for node in ast.walk(tree))


def taking_names(tree):
    """What the tests call those functions and modules."""
    names = TAKING | TAKING_MODULES
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {one.asname for one in node.names if one.asname and one.name.split(".")[0] in TAKING_MODULES}
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".")[0]
            known = TAKING_PARTS.get(module, set()) | TAKING
            names |= {one.asname or one.name for one in node.names if module in TAKING_MODULES or one.name in known}
    return names


def is_taking(node, names):
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Load) and node.id in names
    if not isinstance(node, ast.Attribute):
        return False
    owner = getattr(node.value, "id", "")
    of_os = owner == "os" and node.attr.startswith(("exec", "spawn", "posix_spawn"))
    return node.attr in READING or node.attr in TAKING_PARTS.get(owner, ()) or of_os or (owner == "pathlib" and node.attr == "Path")


def is_written(part):
    """Whether all of an argument is written out, and is no name of the code."""
    inside = list(ast.walk(part))
    return not any(isinstance(node, ast.Name) or "solution" in str(getattr(node, "value", "")) for node in inside)
