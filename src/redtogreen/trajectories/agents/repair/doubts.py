"""What speaks against a repair before it is tried: nobody writes code that cannot work or leaves a value unused."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from redtogreen.trajectories.agents.repair.profiles import TYPES, fits, kind_of, needed

_CHANGERS = {
    "append", "extend", "insert", "remove", "sort", "reverse", "update", "clear", "add", "discard", "appendleft",
}  # fmt: skip
"""Methods that change their object and return nothing of use."""
_ORDERED = ({"int", "float", "bool"}, {"str"}, {"bytes"}, {"list"}, {"tuple"}, {"set", "frozenset"})
_BARE = (ast.Name, ast.Constant, ast.Compare, ast.Attribute, ast.Subscript, ast.BinOp)


def absurd(tree: ast.AST, kinds: Mapping[str, set[str]]) -> Counter[str]:
    """The expressions of a function that cannot work or say nothing, with why. `kinds`: variable -> types it holds."""
    parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found = Counter(
        f"{reason}: {ast.dump(parents.get(id(node), node) if isinstance(node, ast.Name | ast.Attribute) else node)}"
        for node in ast.walk(tree)
        for reason in _wrong(node, parents.get(id(node)), kinds)
    )
    return found + Counter(f"read before it is set: {node.id}" for node in _read_too_early(tree))


def _read_too_early(tree: ast.AST) -> list[ast.Name]:
    """Reads of variables that no line before gives a value."""
    inner = (ast.comprehension, ast.Lambda, ast.FunctionDef, ast.Global, ast.Nonlocal, ast.ExceptHandler, ast.alias)
    special = {n.id for node in ast.walk(tree) if isinstance(node, inner) and node is not tree for n in _names(node)}
    first: dict[str, int] = {}
    ends: dict[int, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            ends |= {id(name): node.end_lineno or node.lineno for name in _names(node)}
    names = [node for node in _names(tree) if node.id not in special]
    for node in names:
        if isinstance(node.ctx, ast.Store):
            first[node.id] = min(first.get(node.id, 1_000_000), ends.get(id(node), node.lineno - 1))
    own = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return [n for n in names if isinstance(n.ctx, ast.Load) and n.id not in own and n.lineno <= first.get(n.id, 0)]


def _names(tree: ast.AST) -> list[ast.Name]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name)]


def idle(tree: ast.AST) -> set[str]:
    """Variables and parameters that are never read."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return (stored | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}) - read


def _wrong(node: ast.AST, parent: ast.AST | None, kinds: Mapping[str, set[str]]) -> Iterator[str]:
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        known = _kinds(node, kinds)
        wanted = needed(node, parent)
        if known and wanted is not None and not fits(known, wanted):
            yield "a value of a type that cannot stand here"
        elif _unknown_of_self(node, parent, kinds):
            yield "an attribute the object was not seen with"
        elif known and known <= TYPES.keys() and isinstance(parent, ast.Attribute) and not _has(known, parent.attr):
            yield "an attribute that the value has not"
    if isinstance(node, ast.Expr) and isinstance(node.value, _BARE) and not _is_text(node.value):
        yield "a value nobody takes"
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _CHANGERS
        and isinstance(parent, ast.Return | ast.Assign | ast.Call | ast.Compare | ast.UnaryOp | ast.For)
        and not (isinstance(parent, ast.Call) and parent.func is node)
    ):
        yield "the result of a method that has none"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _compared(node, kinds)
    if isinstance(node, ast.BoolOp):
        texts = [ast.dump(value) for value in node.values]
        if len(set(texts)) < len(texts) or any(isinstance(value, ast.Constant) for value in node.values[:-1]):
            yield "a condition said twice"
    if isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Constant) and node.test.value is not True:
        yield "a condition that is none"
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == ast.unparse(node.value):
        yield "a variable put into itself"
    if isinstance(node, ast.Call) and len(node.args) > 1 and not node.keywords:
        first = node.args[0]
        if isinstance(first, ast.Name) and any(isinstance(x, ast.Name) and x.id == first.id for x in node.args[1:]):
            yield "one value given twice"


def _unknown_of_self(node: ast.AST, parent: ast.AST | None, kinds: Mapping[str, set[str]]) -> bool:
    """Whether `self.x` is read as data though the traced objects hold other attributes only."""
    own = {name for name in kinds if name.startswith("self.")}
    called = isinstance(parent, ast.Call) and parent.func is node
    text = ast.unparse(node)
    return bool(own) and len(own) < 12 and text.startswith("self.") and text not in own and not called


def _has(kinds: set[str], attribute: str) -> bool:
    return any(hasattr(TYPES[kind], attribute) for kind in kinds)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and (isinstance(node.value, str) or node.value is ...)


def _compared(node: ast.Compare, kinds: Mapping[str, set[str]]) -> Iterator[str]:
    left, right = node.left, node.comparators[0]
    if ast.dump(left) == ast.dump(right):
        yield "a value compared with itself"
    elif isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        one, other = _kinds(left, kinds), _kinds(right, kinds)
        if one and other and not any(one & group and other & group for group in _ORDERED):
            known = set().union(*_ORDERED) | {"NoneType", "dict", "none", "function"}
            if one | other <= known:
                yield "values that have no order"


def _kinds(node: ast.expr, kinds: Mapping[str, set[str]]) -> set[str]:
    if isinstance(node, ast.Name | ast.Attribute):
        return kinds.get(ast.unparse(node), set())
    kind = kind_of(node)
    return {kind} if kind else set()
