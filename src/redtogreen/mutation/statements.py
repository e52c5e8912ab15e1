"""Operators on statements: something forgotten, left too early or too late, or caught wrongly."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from redtogreen.mutation.model import Edit, Operator, Place, suite_of
from redtogreen.mutation.places import leaves, unseen
from redtogreen.mutation.spans import SourceFile

_EXITS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_SIMPLE = (*_EXITS, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Delete)
GUARD_STATEMENTS = 2
"""Longest body of an `if` that still counts as a guard."""

_OTHER_EXCEPTION = {
    "KeyError": "IndexError", "IndexError": "KeyError", "ValueError": "TypeError", "TypeError": "ValueError",
    "AttributeError": "KeyError", "LookupError": "ValueError", "StopIteration": "IndexError", "OSError": "ValueError",
    "IOError": "ValueError", "UnicodeDecodeError": "TypeError", "UnicodeError": "TypeError",
    "ZeroDivisionError": "OverflowError", "OverflowError": "ZeroDivisionError", "ImportError": "AttributeError",
    "FileNotFoundError": "PermissionError", "RuntimeError": "ValueError", "Exception": "ValueError",
    "NotImplementedError": "AttributeError",
}  # fmt: skip


def stmt_delete(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    if (place.in_while and leaves(node)) or _is_guard(place.parent):
        return
    if isinstance(node, ast.Break | ast.Continue):
        return  # break_continue and guard_remove cover them
    if isinstance(node, ast.Raise) and place.parent is place.owner.node:
        return  # "not implemented"
    if isinstance(node, ast.Return) and not _early(place, node):
        return
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return
    if isinstance(node, ast.Assign | ast.AnnAssign) and not _rebinds(place, node):
        return
    if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call | ast.Await | ast.Yield | ast.YieldFrom):
        return
    edit = source.delete_statement(place)
    if edit:
        yield edit


def _early(place: Place, node: ast.Return) -> bool:
    """A `return` in the middle: in a branch, not the function's own last word."""
    return node.value is not None and isinstance(place.parent, ast.If | ast.For | ast.With | ast.Try)


def _rebinds(place: Place, node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether the names stay bound without this assignment; otherwise its absence is only a NameError."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    scope = place.owner.scope
    return all(name not in scope.names or scope.binding_count(name) > 1 for name in names)


def _is_guard(node: ast.AST, most: int = 1) -> bool:
    """An `if` without `else` around at most so many simple statements, at least one of which a test can notice."""
    if not isinstance(node, ast.If) or node.orelse or len(node.body) > most:
        return False
    if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node.test)):
        return False
    return all(isinstance(s, _SIMPLE) for s in node.body) and not all(unseen(s) for s in node.body)


def guard_remove(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.If)
    if not _is_guard(node, GUARD_STATEMENTS):
        return
    if (place.in_while and leaves(node)) or source.text.startswith("elif", source.start(node)):
        return
    edit = source.delete_statement(place)
    if edit:
        yield edit


def else_drop(place: Place, source: SourceFile) -> Iterator[Edit]:
    """`else` with one simple statement: the branch does nothing."""
    node = place.node
    assert isinstance(node, ast.If)
    if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.Assign | ast.AugAssign | ast.Expr | ast.Return):
        return
    last = node.orelse[0]
    if isinstance(last, ast.Assign) and any(isinstance(t, ast.Name | ast.Tuple) for t in last.targets):
        return
    if not (place.in_while and leaves(last)):
        yield Edit(*source.span(last), "pass", last)


def return_none(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Return)
    if node.value is not None and not isinstance(node.value, ast.Constant):
        yield source.replace(node.value, "None")


def break_continue(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    loop = next((p for p in reversed(place.parents) if isinstance(p, ast.For | ast.AsyncFor | ast.While)), None)
    if isinstance(node, ast.Continue):
        yield source.replace(node, "break")
    elif not isinstance(loop, ast.While) and not place.in_while:
        yield source.replace(node, "continue")


def except_change(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.ExceptHandler)
    if isinstance(node.type, ast.Tuple):
        kinds = node.type.elts
        for index in range(len(kinds) if len(kinds) > 1 else 0):
            rest = [source.segment(kind) for i, kind in enumerate(kinds) if i != index]
            yield source.replace(node.type, rest[0] if len(rest) == 1 else f"({', '.join(rest)})")
    elif isinstance(node.type, ast.Name) and node.type.id in _OTHER_EXCEPTION:
        yield source.replace(node.type, _OTHER_EXCEPTION[node.type.id])


def stmt_swap(place: Place, source: SourceFile) -> Iterator[Edit]:
    """Two neighbours exchanged, where the second reads what the first sets."""
    node = place.node
    suite = suite_of(place.parent, node)  # type: ignore[arg-type]
    index = next((i for i, item in enumerate(suite) if item is node), 0)
    if index + 1 >= len(suite) or not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr) or place.in_while:
        return
    second = suite[index + 1]
    if not isinstance(second, ast.Assign | ast.AugAssign | ast.Expr) or not _order_matters(place, node, second):
        return
    lines = source.full_lines(node), source.full_lines(second)
    if lines[0] and lines[1] and lines[0][1] == lines[1][0]:
        (low, a), (b, high) = source.span(node), source.span(second)
        text = source.text
        yield Edit(low, high, text[b:high] + text[a:b] + text[low:a], place.parent)


def _order_matters(place: Place, first: ast.stmt, second: ast.stmt) -> bool:
    def names(node: ast.AST, store: bool) -> set[str]:
        kinds = ast.Store if store else ast.Load
        found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, kinds)}
        found |= {ast.unparse(n) for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, kinds)}
        if isinstance(node, ast.AugAssign) and not store:
            found.add(ast.unparse(node.target))
        return found

    own = {n.id for c in ast.walk(first) if isinstance(c, ast.comprehension) for n in ast.walk(c.target)
           if isinstance(n, ast.Name)}  # fmt: skip
    written = names(first, True) - own
    scope = place.owner.scope
    bound_before = all(scope.binding_count(name) > 1 for name in written & scope.names)
    return bound_before and bool(written & names(second, False))


OPERATORS = (
    Operator("stmt_delete", "a statement was forgotten", 1.0, _SIMPLE, stmt_delete),
    Operator("guard_remove", "a special case was not handled", 1.0, (ast.If,), guard_remove),
    Operator("else_drop", "the other branch was forgotten", 0.4, (ast.If,), else_drop),
    Operator("stmt_swap", "two steps were done in the wrong order", 0.4, (ast.Assign, ast.AugAssign, ast.Expr),
             stmt_swap),
    Operator("return_none", "the result was computed but not returned", 0.25, (ast.Return,), return_none),
    Operator("break_continue", "a loop goes on where it should stop, or stops where it should go on", 0.25,
             (ast.Break, ast.Continue), break_continue),
    Operator("except_change", "the wrong exception is caught", 0.25, (ast.ExceptHandler,), except_change),
)  # fmt: skip
