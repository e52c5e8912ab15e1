"""Whether a repair can have an effect on a crash: it must change what raised, what fed it, or the way there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from redtogreen.trajectories.agents.repair.failure import Crash
from redtogreen.trajectories.agents.repair.reading import Function

NO_EFFECT, ONLY_THE_WAY, ONLY_THE_VALUES = 3.0, 1.5, 0.7
"""Taken off the score of a repair after which the crash would happen as before; that only changes whether the line is
reached; that only changes the values which come there."""
_QUOTED = re.compile(r"'(\w+)'")
_ORDER = re.compile(r"(?:Lt|LtE|Gt|GtE)\(\)")
_GUARDED = ("NoneType", "out of range", "empty", "not in")
"""Messages of crashes that a check before the line usually cures."""


def without_cure(crash: Crash, function: Function, changed: ast.AST) -> float:
    """What is taken off the score of a changed function, given a crash inside it; 0 when the crash is touched."""
    raised = _statement(function, crash)
    if raised is None or isinstance(raised, ast.Raise):
        return 0.0
    blamed = [_key(node) for head in _heads(raised) for node in blamed_parts(head, crash)] if crash.inner else []
    if not crash.inner:
        blamed = [_key(node) for head in _heads(raised) for node in ast.walk(head) if isinstance(node, ast.Call)]
    blamed = blamed or [_key(head) for head in _heads(raised)]
    names = {n.id for head in _heads(raised) for n in ast.walk(head) if isinstance(n, ast.Name)} - {"self", "cls"}
    before, after = _Way(function.tree, blamed, names), _Way(changed, blamed, names)
    if before.count != after.count:
        return 0.0
    unset = crash.exception in ("UnboundLocalError", "NameError")
    if before.values != after.values:
        named = set(_QUOTED.findall(crash.message)) if unset else names
        return ONLY_THE_VALUES * (not unset) if named & after.fresh(before) or not unset else NO_EFFECT
    unordered = "not supported between" in crash.message
    if before.conditions(unordered) != after.conditions(unordered):
        return ONLY_THE_WAY * (not any(word in crash.message for word in _GUARDED) and crash.exception != "KeyError")
    return NO_EFFECT


class _Way:
    """What decides about some expressions of a function."""

    def __init__(self, tree: ast.AST, blamed: list[str], names: set[str]):
        keys = [_key(node) for node in ast.walk(tree)]
        self.count = [keys.count(each) for each in blamed]
        self.stores = [(names_, text) for names_, text in _stores(tree) if names_ & names]
        self.values = [text for _, text in self.stores]
        self.tests = [ast.dump(test) for test in _tests(tree)]

    def conditions(self, unordered: bool) -> list[str]:
        """`unordered`: one order is as good as another."""
        return [_ORDER.sub("Order()", test) for test in self.tests] if unordered else self.tests

    def fresh(self, before: _Way) -> set[str]:
        """Names that get a value where they got none before."""
        return {
            name for names, text in self.stores if self.values.count(text) > before.values.count(text) for name in names
        }


def blamed_parts(head: ast.AST, crash: Crash) -> Iterator[ast.AST]:
    """The expressions that a message speaks of."""
    named, message = set(_QUOTED.findall(crash.message)), crash.message
    for node in ast.walk(head):
        if crash.exception == "AttributeError":
            wrong = isinstance(node, ast.Attribute) and node.attr in named
        elif crash.exception in ("NameError", "UnboundLocalError"):
            wrong = isinstance(node, ast.Name) and node.id in named
        elif crash.exception in ("KeyError", "IndexError"):
            wrong = isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and "pop" in ast.dump(node.func))
        elif "unary" in message:
            wrong = isinstance(node, ast.UnaryOp)
        elif "operand type" in message or "concatenate" in message:
            wrong = isinstance(node, ast.BinOp | ast.AugAssign)
        elif "not supported between" in message:
            wrong = isinstance(node, ast.Compare)
        elif "not callable" in message or "argument" in message or "has no len" in message:
            wrong = isinstance(node, ast.Call)
        elif "not subscriptable" in message:
            wrong = isinstance(node, ast.Subscript)
        else:
            wrong = False
        if wrong:
            yield node


def _key(node: ast.AST) -> str:
    """What an expression is made of; another operator between the same operands fails in the same way."""
    if isinstance(node, ast.Compare):
        return " ".join(map(ast.dump, [node.left, *node.comparators]))
    if isinstance(node, ast.BinOp):
        return " ".join(map(ast.dump, [node.left, node.right]))
    return ast.dump(node)


def _statement(function: Function, crash: Crash) -> ast.stmt | None:
    if crash.path != function.path or not function.first <= crash.line <= function.last:
        return None
    at = crash.line - function.first + 1
    return next((n for n in reversed(function.statements) if n.lineno <= at <= (n.end_lineno or n.lineno)), None)


def _heads(statement: ast.stmt) -> list[ast.AST]:
    """What runs on the statement's own lines: of a compound one only its test or iterable."""
    if not hasattr(statement, "body"):
        return [statement]
    parts = [getattr(statement, name, None) for name in ("test", "iter", "target")]
    return [part for part in parts if part is not None]


def _stores(tree: ast.AST) -> Iterator[tuple[set[str], str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.comprehension | ast.NamedExpr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = [*targets, *(part for name in ("value", "iter") if (part := getattr(node, name, None)) is not None)]
            names = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            yield names, type(node).__name__ + "".join(map(ast.dump, parts))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = {n.id for n in ast.walk(node.func.value) if isinstance(n, ast.Name)}
            yield owner, ast.dump(node)
        elif isinstance(node, ast.arguments):
            yield {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}, ast.dump(node)


def _tests(tree: ast.AST) -> Iterable[ast.AST]:
    """Conditions, and the jumps that decide what is reached."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.BoolOp | ast.Break | ast.Continue | ast.ExceptHandler):
            yield node
