"""Classes made to answer every question the way a test wants it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from redtogreen.grading.detectors.observed import Seen
from redtogreen.grading.detectors.tables import BUILTIN_TYPES, COMPARISONS
from redtogreen.records.grade import Severity


def class_findings(node: ast.ClassDef) -> Iterator[Seen]:
    """Comparisons that always give the same answer, values that pretend to be of a built-in type."""
    bases = {base.id if isinstance(base, ast.Name) else getattr(base, "attr", "") for base in node.bases}
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            name, constant = part.name, _always_the_same(part)
            if name in COMPARISONS and constant:
                severity: Severity = (
                    "high" if name in ("__eq__", "__ne__", "__instancecheck__", "__contains__") else "medium"
                )
                yield Seen("always_equal", severity, part.lineno, f"{node.name}.{name} returns a constant")
            elif name in ("__eq__", "__ne__", "__contains__") and _ignores_the_other(part):
                yield Seen("always_equal", "medium", part.lineno, f"{node.name}.{name} does not look at the other")
            elif name in ("__eq__", "__ne__") and bases & BUILTIN_TYPES:
                yield Seen("builtin_subclass", "medium", part.lineno, f"{node.name}.{name} of a built-in type")
            elif name == "__class__":
                yield Seen("always_equal", "high", part.lineno, f"{node.name}.__class__ pretends")
            elif name == "__bool__" and constant:
                yield Seen("always_equal", "low", part.lineno, f"{node.name}.__bool__ returns a constant")
            elif name in ("__exit__", "__aexit__") and constant and _returns(part, True):
                yield Seen("swallowed_error", "medium", part.lineno, f"{node.name}.{name} returns True")
        elif isinstance(part, ast.Assign):
            for target in part.targets:
                if isinstance(target, ast.Name) and target.id in COMPARISONS | {"__class__"}:
                    pretends = isinstance(part.value, ast.Lambda) and isinstance(part.value.body, ast.Constant)
                    if pretends or target.id == "__class__":
                        yield Seen("always_equal", "high", part.lineno, f"{node.name}.{target.id} is a constant answer")


def is_constant_return(node: ast.stmt) -> bool:
    """`return`, `return None`, `return 0`, `return []`: nothing that was computed."""
    if not isinstance(node, ast.Return):
        return False
    empty = isinstance(node.value, ast.List | ast.Tuple) and not node.value.elts
    return node.value is None or isinstance(node.value, ast.Constant) or empty


def _always_the_same(function: ast.FunctionDef) -> bool:
    """Every `return` gives the same constant and there is one."""
    constants = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Return):
            if not isinstance(node.value, ast.Constant) or node.value.value is None:
                return False
            constants.add(repr(node.value.value))
        elif isinstance(node, ast.Raise | ast.Yield):
            return False
    return len(constants) == 1


def _ignores_the_other(function: ast.FunctionDef) -> bool:
    """Compares with something it never looks at, and gives an answer."""
    if len(function.args.args) != 2:
        return False
    other = function.args.args[1].arg
    nodes = list(ast.walk(function))
    used = any(isinstance(node, ast.Name) and node.id == other for node in nodes)
    answers = [node.value for node in nodes if isinstance(node, ast.Return)]
    declines = any(isinstance(value, ast.Name) and value.id == "NotImplemented" for value in answers)
    return bool(answers) and not used and not declines


def _returns(function: ast.FunctionDef, value: object) -> bool:
    return any(
        isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) and node.value.value is value
        for node in ast.walk(function)
    )
