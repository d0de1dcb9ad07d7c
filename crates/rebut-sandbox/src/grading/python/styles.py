"""How tests can be written, one row each: which there are without running anything, and how they are run."""


def parsed(style, text):
    """The tests as a tree; of examples after `>>>` that of what they run."""
    if style != "doctest":
        try:
            return ast.parse(text, "tests.py")
        except SyntaxError:
            if style or not re.search(r"^\s*>>> ", text, re.M):
                raise
    tree = ast.Module([], [])
    tree.examples = doctest.DocTestParser().get_examples(text, "tests.py")
    for example in tree.examples:
        tree.body += ast.parse(example.source, "tests.py").body
    return tree


def style_of(tree):
    if hasattr(tree, "examples"):
        return "doctest"
    imports = {n.name.split(".")[0] for s in ast.walk(tree) if isinstance(s, ast.Import) for n in s.names}
    imports |= {(s.module or "").split(".")[0] for s in ast.walk(tree) if isinstance(s, ast.ImportFrom)}
    if any(cases_of(tree)):
        return "pytest" if "pytest" in imports else "unittest"
    return "pytest" if "pytest" in imports or any(functions_of(tree)) else "asserts"


def cases_of(tree):
    """Classes that are unittest cases, by the name of their base."""
    known = set()
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            bases = {b.attr if isinstance(b, ast.Attribute) else getattr(b, "id", "") for b in statement.bases}
            if known & bases or any(b.endswith("TestCase") for b in bases):
                known.add(statement.name)
                yield statement


def methods_of(case):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [s.name for s in case.body if isinstance(s, kinds) and s.name.startswith("test")]


def functions_of(tree):
    """Functions and classes that pytest takes for tests by their names."""
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name.startswith("test_"):
            yield statement.name, statement
        if isinstance(statement, ast.ClassDef) and statement.name.startswith("Test"):
            for inner in statement.body:
                if isinstance(inner, ast.FunctionDef) and inner.name.startswith("test_"):
                    yield "%s::%s" % (statement.name, inner.name), inner


DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
BLOCKS = tuple(
    getattr(ast, name) for name in "For AsyncFor While If With AsyncWith Try TryStar Match".split() if hasattr(ast, name)
)


def is_test(statement):
    """Whether a statement of the top level judges: an assert, a raise, a call, or a block with one of these in it."""
    if isinstance(statement, (ast.Assert, ast.Raise)):
        return True
    if isinstance(statement, BLOCKS):
        return any(judges(node) for node in inside(statement))
    called = statement.value if isinstance(statement, ast.Expr) else None
    called = called.value if isinstance(called, ast.Await) else called
    # Printing says nothing about the code.
    return isinstance(called, ast.Call) and getattr(called.func, "id", "") != "print"


def inside(node):
    """What runs when a block runs: all that is in it but what it only defines."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, DEFINES):
            yield child
            yield from inside(child)


def judges(node):
    """An assert or raise, or a call of a function that is not Python's own: of the code, or of the tests."""
    if not isinstance(node, ast.Call):
        return isinstance(node, (ast.Assert, ast.Raise))
    root = node.func
    while isinstance(root, ast.Attribute):
        root = root.value
    name = getattr(root, "id", "")
    return name == "solution" or (root is node.func and bool(name) and not hasattr(builtins, name))


def name_of(statement):
    text = " ".join(ast.unparse(statement).split())
    return "line %d: %s" % (statement.lineno, text if len(text) <= 80 else text[:79] + "…")


def static_names(style, tree):
    """The tests that the text alone shows."""
    if style == "asserts":
        return [name_of(s) for s in tree.body if is_test(s)]
    if style == "unittest":
        return ["%s.%s" % (case.name, name) for case in cases_of(tree) for name in methods_of(case)]
    if style == "pytest":
        cases = {case.name: methods_of(case) for case in cases_of(tree)}
        plain = [name for name, _ in functions_of(tree) if name.split("::")[0] not in cases]
        return plain + ["%s::%s" % (case, name) for case, names in cases.items() for name in names]
    if style == "doctest":
        return ["line %d: %s" % (example.lineno + 1, " ".join(example.source.split())[:80]) for example in tree.examples]
    return ["the program"]


def needs_pytest(style, tree):
    """Plain functions without parameters, decorators or pytest's name need nothing but being called."""
    if style != "pytest":
        return False
    named = any(isinstance(n, ast.Name) and n.id == "pytest" for n in ast.walk(tree))
    classes = any("::" in name for name, _ in functions_of(tree)) or any(cases_of(tree))
    taking = any(f.args.args or f.args.kwonlyargs or f.decorator_list for _, f in functions_of(tree))
    return named or classes or taking or "import pytest" in ast.unparse(tree) or "from pytest" in ast.unparse(tree)


def pytest_missing():
    try:
        import pytest
    except ImportError:
        return True
    return False


def names_for(module):
    # A file of statements is run as a script is.
    space = {"__name__": "__main__", "__builtins__": builtins, "math": importlib.import_module("math"), "solution": module}
    for name, came in vars(module)["__rebut_names__"].items():
        if name in NAMED_IN_TESTS and genuine(name, came) is not None:
            with contextlib.suppress(AttributeError):
                space[name] = getattr(module, name)
    return space


def asserts(run, text, tree, module):
    """Each statement of the top level that judges is a test; everything else prepares, in order."""
    tests = [s for s in tree.body if is_test(s)]
    due = run.collected([name_of(s) for s in tests])
    space, number, unprepared, untold = names_for(module), 0, None, None
    for statement in tree.body:
        code = compile(ast.Module([statement], []), "tests.py", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if is_test(statement):
            untold = None
            if number in due:
                # What was not prepared is not tested: nothing after a set-up that failed can be a pass.
                run.one(number, lambda: unprepared or step(code, space))
            number += 1
        elif unprepared is None:
            try:
                step(code, space)
            except Broken:
                raise
            except BaseException as error:
                unprepared = "error", "the statement in line %d failed before it:\n%s" % (statement.lineno, told(error))
                untold = {"name": name_of(statement), "verdict": judge(error), "output": told(error)}
    # No test stands behind it that could say so.
    if untold:
        run.host.say("outside", **untold)


def step(code, space):
    made = eval(code, space)
    if inspect.iscoroutine(made):
        PEER.run(made)


def doctests(run, text, tree, module):
    """Each example is a test: it holds when it prints what is expected, or raises it."""
    space = names_for(module)
    due = run.collected(static_names("doctest", tree))
    for number, example in enumerate(tree.examples):
        if number in due:
            run.one(number, lambda: one_example(example, space))


def one_example(example, space):
    # Its globals are ours: what one example makes the next one finds.
    held = doctest.DocTest([example], space, "tests.py", "tests.py", 0, None)
    held.globs = space
    words = io.StringIO()
    TREES["<doctest tests.py[0]>"] = ast.parse(example.source)
    runner = Examples(verbose=False)
    result = runner.run(held, out=words.write, clear_globs=False)
    if result.attempted != 1:
        return "error", "it was not run"
    return (judge(runner.raised) if runner.raised else "fail", words.getvalue()) if result.failed else None


class Examples(doctest.DocTestRunner):
    """Keeps what an example raised that should not have, to be judged."""

    raised = None

    def report_unexpected_exception(self, out, test, example, exc_info):
        self.raised = exc_info[1]
        super().report_unexpected_exception(out, test, example, exc_info)


def program(run, text, tree, module):
    """The whole file is one test: it holds when it runs to its end, or ends itself with success."""

    def whole():
        sys.path_importer_cache.clear()
        space = {"__name__": "__main__", "__builtins__": builtins}
        try:
            exec(compile(text, "tests.py", "exec"), space)
        except SystemExit as ended:
            if "__rebut_trace__" in vars(ended):
                return "error", "the code ended the program: " + told(ended)
            if ended.code not in (None, 0):
                return "fail", "it ended with %r" % (ended.code,)

    for number in run.collected(static_names("program", tree)):
        run.one(number, whole)


def unittest_style(run, text, tree, module):
    space = test_module(text)
    tests = []

    def flat(part):
        for test in part:
            flat(test) if isinstance(test, unittest.TestSuite) else tests.append(test)

    flat(unittest.TestLoader().loadTestsFromModule(space))
    # The order of the file, not of the alphabet.
    place = {name: at for at, name in enumerate(static_names("unittest", tree))}
    short = lambda test: "%s.%s" % (type(test).__name__, getattr(test, "_testMethodName", "?"))
    tests.sort(key=lambda test: place.get(short(test), len(place)))
    due = run.collected([short(test) for test in tests])
    cases = Cases()
    for number in due:
        run.one(number, lambda: cases.one(tests[number]))
    cases.end()


class Cases(unittest.TestSuite):
    """Runs cases one by one, with the set-up of their class and module around them as unittest has it."""

    last = None

    def one(self, test):
        result = Raised()
        result._previousTestClass = self.last
        self._tearDownPreviousClass(test, result)
        self._handleModuleFixture(test, result)
        self._handleClassSetUp(test, result)
        self.last = test.__class__
        if not result.errors and not result.failures:
            test.run(result)
        for _, words in result.failures:
            return "fail", words
        for _, words in result.errors:
            return ("fail" if any(judge(error) == "fail" for error in result.raised) else "error"), words
        for _, words in (*result.skipped, *result.expectedFailures):
            return "error", "skipped, or expected to fail: %s" % words
        if result.unexpectedSuccesses:
            return "fail", "it was expected to fail and did not"
        return None if result.testsRun == 1 else ("error", "it did not run")

    def end(self):
        """What is torn down after the last test."""
        result = Raised()
        result._previousTestClass = self.last
        self._tearDownPreviousClass(None, result)
        self._handleModuleTearDown(result)
        for _, words in (*result.failures, *result.errors):
            raise RuntimeError("tearing down failed:\n" + words)


class Raised(unittest.TestResult):
    """A result that keeps what was raised, to be judged."""

    def __init__(self):
        super().__init__()
        self.raised = []

    def addError(self, test, error):
        super().addError(test, error)
        self.raised.append(error[1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.raised.append(error[1])


def test_module(text):
    module = types.ModuleType("tests")
    module.__file__ = "tests.py"
    sys.modules["tests"] = module
    exec(compile(text, "tests.py", "exec"), module.__dict__)
    return module


def pytest_style(run, text, tree, module):
    if not needs_pytest("pytest", tree):
        return plain_functions(run, text, tree)
    import pytest
    from _pytest.runner import runtestprotocol

    class Plugin:
        def __init__(self):
            self.numbers, self.problem = {}, []

        def pytest_collectreport(self, report):
            if report.failed:
                self.problem.append(str(report.longrepr))

        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items):
            if self.problem:
                return
            names = [item.nodeid.split("::", 1)[1] if "::" in item.nodeid else item.nodeid for item in items]
            due = run.collected(names)
            self.numbers = {item.nodeid: number for number, item in enumerate(items)}
            items[:] = [items[number] for number in due]

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item, call):
            made = yield
            made.get_result().rebut_verdict = judge(call.excinfo.value) if call.excinfo else "error"

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(self, item, nextitem):
            run.one(self.numbers[item.nodeid], lambda: told_by(runtestprotocol(item, log=False, nextitem=nextitem)))
            return True

    plugin = Plugin()
    options = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir=/in", "--import-mode=importlib", "-o", "python_files=tests.py", NAMED]
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(options, plugins=[plugin])
    if plugin.problem:
        raise RuntimeError(plugin.problem[0][-1500:])


def told_by(reports):
    """What pytest's reports of set-up, call and tear-down come to: a pass is a call that passed and nothing else that did not."""
    called = False
    for report in reports:
        words = str(report.longrepr or "") + "".join("\n" + text for _, text in report.sections)
        if hasattr(report, "wasxfail"):
            return ("fail" if report.passed else "error"), "marked as expected to fail. " + words
        if report.skipped:
            return "error", "skipped: " + words
        if report.failed:
            return (report.rebut_verdict if report.when == "call" else "error"), words
        called = called or (report.when == "call" and report.passed)
    return None if called else ("error", "it was not called")


def plain_functions(run, text, tree):
    names = [name for name, _ in functions_of(tree)]
    space = vars(test_module(text))
    for number in run.collected(names):
        run.one(number, lambda: finish(space[names[number]]()))


def finish(made):
    if inspect.iscoroutine(made):
        PEER.run(made)


STYLES = {"asserts": asserts, "unittest": unittest_style, "pytest": pytest_style, "program": program, "doctest": doctests}

main()
