"""Walk a file and yield the nodes worth changing: code in functions that tests can see and that cannot hang."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from redtogreen.mutation.model import FunctionNode, Owner, Place
from redtogreen.mutation.scopes import Scope, receiver_of
from redtogreen.mutation.spans import SourceFile

_LOOKS_ONLY = {"__repr__", "__dir__", "__del__", "__rich_repr__", "_repr_html_", "_repr_pretty_"}
_LOG_ROOTS = {"log", "logger", "logging", "warnings", "print", "_log", "_logger"}
_LOG_METHODS = {"debug", "info", "warning", "warn", "error", "exception", "critical", "print", "log"}
_NEVER = (ast.Assert, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass)
# Positions of nodes inside f-strings are wrong before Python 3.12.
_OPAQUE = (ast.JoinedStr, *(t for t in [getattr(ast, "TemplateStr", None)] if t))
_NOT_CODE = (*_OPAQUE, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.pattern, ast.arguments)
_SUITES = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True)
class _Context:
    parents: tuple[ast.AST, ...] = ()
    owner: Owner | None = None
    klass: ast.ClassDef | None = None
    prefix: str = ""
    in_while: bool = False
    in_while_test: bool = False
    advances: frozenset[str] = frozenset()

    def below(self, node: ast.AST) -> _Context:
        return replace(self, parents=(*self.parents, node))


def places(source: SourceFile) -> Iterator[Place]:
    """Every node inside functions that operators may look at, in source order of their statements."""
    for statement in source.tree.body:
        yield from _statement(statement, _Context(parents=(source.tree,)), source)


def _statement(node: ast.stmt, context: _Context, source: SourceFile) -> Iterator[Place]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _function(node, context, source)
    elif isinstance(node, ast.ClassDef):
        prefix = f"{context.prefix}{node.name}."
        yield from _suite(node.body, replace(context.below(node), klass=node, prefix=prefix), source)
    elif context.owner is None:
        if not (isinstance(node, ast.If) and (_is_main(node.test) or _asks_platform(node))):
            for suite in _suites(node):
                yield from _suite(suite, context.below(node), source)
    elif not _ignored(node, context, source):
        yield _place(node, context)
        if not isinstance(node, ast.Raise):
            yield from _children(node, context, source)


def _suite(items: list[Any], context: _Context, source: SourceFile) -> Iterator[Place]:
    for item in items:
        if isinstance(item, ast.stmt):
            yield from _statement(item, context, source)
            continue
        if context.owner is not None and isinstance(item, ast.ExceptHandler):
            yield _place(item, context)
        if isinstance(item, ast.match_case) and item.guard is not None:
            yield from _expression(item.guard, context.below(item), source)
        yield from _suite(item.body, context.below(item), source)


def _function(node: FunctionNode, context: _Context, source: SourceFile) -> Iterator[Place]:
    if node.name in _LOOKS_ONLY or "debug" in node.name or any(_ends_in(d, "overload") for d in node.decorator_list):
        return
    if _excluded_from_coverage(node, source):
        return
    method_of = context.klass if context.parents[-1] is context.klass else None
    owner = Owner(
        node,
        context.prefix + node.name,
        context.owner.outermost if context.owner else node,
        method_of,
        Scope(node, receiver_of(node, method_of)),
    )
    inside = _Context((*context.parents, node), owner, prefix=f"{owner.qualname}.<locals>.")
    yield Place(node, context.parents, owner, False, False)
    yield from _suite(node.body, inside, source)


def _children(node: ast.stmt, context: _Context, source: SourceFile) -> Iterator[Place]:
    below = context.below(node)
    if isinstance(node, ast.While):
        yield from _expression(node.test, replace(below, in_while=True, in_while_test=True), source)
        below = replace(below, in_while=True, advances=context.advances | _advancing_names(node))
    left_out = {"annotation", "test"} if isinstance(node, ast.While) or _asks_platform(node) else {"annotation"}
    for name, value in ast.iter_fields(node):
        if name in _SUITES:
            yield from _suite(value, below, source)
        elif name not in left_out:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _expression(child, below, source)


def _expression(node: ast.AST, context: _Context, source: SourceFile) -> Iterator[Place]:
    if isinstance(node, _NOT_CODE):
        return
    yield _place(node, context)
    below = context.below(node)
    for child in ast.iter_child_nodes(node):
        yield from _expression(child, below, source)


def _place(node: ast.AST, context: _Context) -> Place:
    assert context.owner is not None
    return Place(node, context.parents, context.owner, context.in_while, context.in_while_test)


def _suites(node: ast.stmt) -> Iterator[list[Any]]:
    for name in _SUITES:
        yield getattr(node, name, [])


def _ignored(node: ast.stmt, context: _Context, source: SourceFile) -> bool:
    if unseen(node) or _excluded_from_coverage(node, source):
        return True
    return bool(context.advances) and _advances(node, context.advances)


def unseen(node: ast.stmt) -> bool:
    """Statements whose absence no test is meant to notice: docstrings, logging, assertions, imports, `pass`."""
    if isinstance(node, _NEVER) or _sets_looks(node):
        return True
    return isinstance(node, ast.Expr) and (isinstance(node.value, (ast.Constant, *_OPAQUE)) or _is_logging(node.value))


def _is_logging(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    chain = (dotted(node.func) or "").split(".")
    if chain[0] in _LOG_ROOTS:
        return True
    return len(chain) > 1 and chain[-1] in _LOG_METHODS and any("log" in part.lower() for part in chain[:-1])


def _sets_looks(node: ast.stmt) -> bool:
    """`f.__doc__ = ...`, `f.__name__ = ...`, `__tracebackhide__ = ...`: no test sees them."""
    if not isinstance(node, ast.Assign):
        return False
    names = [t.attr if isinstance(t, ast.Attribute) else getattr(t, "id", "") for t in node.targets]
    return all(n in {"__doc__", "__name__", "__qualname__", "__module__", "__tracebackhide__"} for n in names)


def _excluded_from_coverage(node: ast.stmt, source: SourceFile) -> bool:
    start = source.start(node)
    return "pragma: no cover" in source.text[start : source.next_line(start)]


def _is_main(test: ast.expr) -> bool:
    return any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(test))


def _asks_platform(statement: ast.stmt) -> TypeGuard[ast.If]:
    """Branches that a suite on one machine sees from one side only."""
    for node in ast.walk(statement.test) if isinstance(statement, ast.If) else ():
        if isinstance(node, ast.Name) and node.id in {"TYPE_CHECKING", "__debug__"}:
            return True
        if isinstance(node, ast.Attribute) and (
            node.attr == "TYPE_CHECKING" or dotted(node) in {"sys.version_info", "sys.platform", "os.name"}
        ):
            return True
    return False


def _ends_in(node: ast.expr, name: str) -> bool:
    return (dotted(node) or "").split(".")[-1] == name


def dotted(node: ast.AST) -> str | None:
    """`a.b.c` for a chain of names; subscripts are looked through; None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return None if base is None else f"{base}.{node.attr}"
    if isinstance(node, ast.Subscript | ast.Starred):
        return dotted(node.value)
    return None


def leaves(node: ast.AST) -> bool:
    """Whether there is a way out of a surrounding loop inside."""
    return any(isinstance(inner, ast.Return | ast.Raise | ast.Break) for inner in ast.walk(node))


def _read_names(test: ast.expr) -> Iterator[str]:
    for node in ast.walk(test):
        name = dotted(node)
        if name is not None:
            yield name
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            base = dotted(node.func.value)
            if base is not None:
                yield base


def _advancing_names(loop: ast.While) -> frozenset[str]:
    """Names whose change ends the loop: those its test reads, and those read by tests that guard an exit from it."""
    found = set(_read_names(loop.test))
    for node in ast.walk(loop):
        if isinstance(node, ast.If) and leaves(node):
            found.update(_read_names(node.test))
    return frozenset(found)


def _advances(node: ast.stmt, names: frozenset[str]) -> bool:
    """Whether a simple statement binds or moves on something the loop around it waits for."""
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Delete):
        return False
    for inner in ast.walk(node):
        touched = None
        if isinstance(inner, ast.Name | ast.Attribute | ast.Subscript) and not isinstance(inner.ctx, ast.Load):
            touched = dotted(inner)
        elif isinstance(inner, ast.Call):
            if isinstance(inner.func, ast.Name) and inner.func.id == "next":
                return True
            touched = dotted(inner.func.value) if isinstance(inner.func, ast.Attribute) else None
        if touched is not None and touched in names:
            return True
    return False
