"""What of the tests was not reached when something was raised in them.

An object of the code may end a block of the tests (`with`) by swallowing what was raised in it, as `contextlib.suppress` does. It may not, where
they would have judged in that block: then nobody would know.
"""

import ast

# The tests as they were read, by the name that their frames have.
TREES = {}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def leaves_out(trace):
    """Whether something that judges stands in the block that is left, at or behind what raised this, or in a function that was under way."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(trace)] if trace else []
    ours = [(at, frame, line) for at, (frame, line) in enumerate(frames) if frame.f_code.co_filename in TREES]
    if not ours or is_own_doing(frames, *ours[-1]):
        return False
    for place, (at, frame, line) in enumerate(ours):
        tree = TREES[frame.f_code.co_filename]
        block = block_left(tree, line) if place == 0 else function_around(tree, line)
        # The call in that line was made when the next frame is a function of the tests.
        is_made = place + 1 < len(ours) and ours[place + 1][0] == at + 1
        if block is not None and any(is_behind(block, node, line, is_made) for node in within(block) if judges_in(tree, node)):
            return True
    return False


def is_in_assertion(trace):
    """Whether this was raised where the tests assert something: they could not find out whether it holds."""
    ours = [(frame, line) for frame, line in traceback.walk_tb(trace) if frame.f_code.co_filename in TREES]
    tree = TREES[ours[-1][0].f_code.co_filename] if ours else None
    statement = statement_at(tree, ours[-1][1]) if ours else None
    called = statement.value if isinstance(statement, ast.Expr) else None
    name = getattr(called.func, "attr", getattr(called.func, "id", "")) if isinstance(called, ast.Call) else ""
    return isinstance(statement, ast.Assert) or name.lower().startswith("assert")


def is_own_doing(frames, at, frame, line):
    """Whether the tests raised it themselves: by saying `raise`, or where they name nothing (`1 / 0`)."""
    if at + 1 < len(frames):
        return False
    statement = statement_at(TREES[frame.f_code.co_filename], line)
    names = [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)] if statement else ["?"]
    return isinstance(statement, ast.Raise) or all(hasattr(builtins, name) for name in names)


def block_left(tree, line):
    """The `with` that is being left: the one whose line the frame of the tests is at."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename not in TREES:
        frame = frame.f_back
    now = frame.f_lineno if frame is not None else 0
    around = [node for node in ast.walk(tree) if isinstance(node, (ast.With, ast.AsyncWith)) and node.lineno <= line <= node.end_lineno]
    left = [node for node in around if node.lineno <= now <= max(node.lineno, node.body[0].lineno - 1)]
    # One that stands in another comes later.
    return left[-1] if left else None


def function_around(tree, line):
    around = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS) and node.lineno <= line <= node.end_lineno]
    return around[-1] if around else tree


def statement_at(tree, line):
    """The smallest statement in that line."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno]
    return found[-1] if found else None


def within(block):
    """All that runs when a block or a function runs, but what it only defines."""
    body = block.body if isinstance(block.body, list) else [block.body]
    for child in body:
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield child
            yield from parts_of(child)


def parts_of(node):
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield child
            yield from parts_of(child)


def judges_in(tree, node):
    """An assert, a raise, a call of an assertion or of a function that the tests define."""
    if isinstance(node, (ast.Assert, ast.Raise)):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    defined = {one.name for one in ast.walk(tree) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))}
    return name.lower().startswith(("assert", "fail", "raises")) or name in defined


def is_behind(block, node, line, is_made):
    """Whether a part of a block has not been run to its end when something was raised in that line."""
    if node.lineno <= line <= node.end_lineno:
        return not is_made and not isinstance(node, ast.Raise)
    loops = [loop for loop in within(block) if isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) and loop.lineno <= line <= loop.end_lineno]
    return node.lineno > line or any(loop.lineno <= node.lineno <= loop.end_lineno for loop in loops)


def looks_at_identity(tree):
    """Whether the tests ask who is who, of anything but `None` and the like."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            asks = any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
            if asks and not any(isinstance(side, ast.Constant) for side in sides):
                return True
        called = node.func if isinstance(node, ast.Call) else None
        if getattr(called, "attr", getattr(called, "id", "")) in ("assertIs", "assertIsNot", "id", "is_", "is_not"):
            return True
    return False
