"""Names a place can see: what a function binds, from where on, and how each name is used."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from redtogreen.mutation.model import FunctionNode, Place

_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Binding:
    """A name gets a value: after which position, and in which statement list."""

    name: str
    after: tuple[int, int]
    suite: int


class Scope:
    """Parameters and local names of one function. Imported modules, `self`, `*args` and `**kwargs` are left out."""

    def __init__(self, function: FunctionNode, receiver: str | None):
        self.function = function
        self.receiver = receiver
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.parameters = [a.arg for a in every if a.arg != receiver]
        self.bindings = list(_bindings(function.body, id(function.body)))
        self.names = {*self.parameters, *(b.name for b in self.bindings)} - _imported(function)
        self.roles: dict[str, set[str]] = {}
        for parent in ast.walk(function):
            for child in ast.iter_child_nodes(parent):
                if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                    self.roles.setdefault(child.id, set()).add(role(parent, child))

    def binding_count(self, name: str) -> int:
        return (name in self.parameters) + sum(b.name == name for b in self.bindings)

    def visible(self, place: Place) -> list[str]:
        """Names surely bound when the node runs: parameters, and bindings before it in a list around it; sorted."""
        suites = place.suites()
        position = (place.node.lineno, place.node.col_offset)  # type: ignore[attr-defined]
        bound = {b.name for b in self.bindings if b.suite in suites and b.after <= position}
        return sorted((bound | set(self.parameters)) & self.names)


def role(parent: ast.AST, child: ast.expr) -> str:
    """How a value is used by its parent, as one word."""
    if isinstance(parent, ast.Call) and parent.func is child:
        return "call"
    if isinstance(parent, ast.Attribute):
        return "attribute"
    if isinstance(parent, ast.Subscript):
        return "container" if parent.value is child else "index"
    if isinstance(parent, ast.For | ast.AsyncFor | ast.comprehension) and parent.iter is child:
        return "iterated"
    if isinstance(parent, ast.BinOp | ast.AugAssign):
        return "operand"
    if isinstance(parent, ast.Compare):
        return "compared"
    if isinstance(parent, ast.Call | ast.keyword):
        return "argument"
    if isinstance(parent, ast.BoolOp | ast.If | ast.IfExp | ast.While) or (
        isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    ):
        return "truth"
    return "value"


def _stored(node: ast.AST) -> Iterator[ast.Name]:
    """Names an expression or simple statement binds, scopes of their own left out."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, ast.Name) and isinstance(current.ctx, ast.Store):
            yield current
        stack.extend(c for c in ast.iter_child_nodes(current) if not isinstance(c, (*_OWN_SCOPE, *_COMPREHENSIONS)))


def _after(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def _bindings(statements: Iterable[ast.stmt], suite: int) -> Iterator[Binding]:
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield Binding(statement.name, _after(statement), suite)
        elif isinstance(statement, ast.For | ast.AsyncFor):
            for name in _stored(statement.target):
                yield Binding(name.id, _after(name), id(statement.body))
            yield from _bindings(statement.body, id(statement.body))
            yield from _bindings(statement.orelse, id(statement.orelse))
        elif isinstance(statement, ast.With | ast.AsyncWith):
            for item in statement.items:
                for name in _stored(item):
                    yield Binding(name.id, _after(name), suite)
            yield from _bindings(statement.body, suite)
        elif isinstance(statement, ast.If | ast.While):
            for name in _stored(statement.test):
                yield Binding(name.id, _after(name), suite)
            yield from _bindings(statement.body, id(statement.body))
            yield from _bindings(statement.orelse, id(statement.orelse))
        elif isinstance(statement, ast.Match):
            for case in statement.cases:
                yield from _bindings(case.body, id(case.body))
        elif isinstance(statement, ast.Try | ast.TryStar):
            yield from _bindings(statement.body, id(statement.body))
            for handler in statement.handlers:
                if handler.name:
                    yield Binding(handler.name, _after(handler.type or handler), id(handler.body))
                yield from _bindings(handler.body, id(handler.body))
            yield from _bindings(statement.orelse, id(statement.orelse))
            yield from _bindings(statement.finalbody, suite)
        elif not isinstance(statement, ast.AnnAssign) or statement.value:
            for name in _stored(statement):
                yield Binding(name.id, _after(statement), suite)


def _imported(function: FunctionNode) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
    return found


class ClassNames:
    """What the methods of a class call on `self`: data attributes and methods with their number of parameters."""

    def __init__(self, klass: ast.ClassDef):
        self.methods: dict[str, tuple[int, int]] = {}
        self.data: set[str] = set()
        self.roles: dict[str, set[str]] = {}
        for item in klass.body:
            if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            receiver = receiver_of(item, klass)
            if not item.decorator_list:
                positional = len(item.args.posonlyargs) + len(item.args.args) - 1
                self.methods[item.name] = (positional - len(item.args.defaults), positional)
            for parent in ast.walk(item):
                for child in ast.iter_child_nodes(parent):
                    if isinstance(child, ast.Attribute) and is_name(child.value, receiver):
                        if isinstance(child.ctx, ast.Store):
                            self.data.add(child.attr)
                        else:
                            self.roles.setdefault(child.attr, set()).add(role(parent, child))
        self.data -= set(self.methods)


def receiver_of(function: FunctionNode, klass: ast.ClassDef | None) -> str | None:
    """Name of the first parameter of a method (`self`, `cls`); None for functions and static methods."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    static = any(is_name(d, "staticmethod") for d in function.decorator_list)
    return arguments[0].arg if klass is not None and arguments and not static else None


def is_name(node: ast.AST | None, name: str | None) -> bool:
    return name is not None and isinstance(node, ast.Name) and node.id == name
