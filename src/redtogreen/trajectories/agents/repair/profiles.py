"""What kind of value a variable seems to hold, from how the function fills and uses it; unknown is the usual answer."""

from __future__ import annotations

import ast
from collections import defaultdict

from redtogreen.trajectories.agents.repair.reading import Function

_LITERALS: dict[type[ast.expr], str] = {
    ast.Dict: "dict", ast.DictComp: "dict", ast.List: "list", ast.ListComp: "list", ast.Set: "set", ast.SetComp: "set",
    ast.Tuple: "tuple", ast.JoinedStr: "str", ast.Lambda: "function", ast.Compare: "bool",
    ast.GeneratorExp: "generator",
}  # fmt: skip
_CALLS = {
    "dict": "dict", "list": "list", "set": "set", "tuple": "tuple", "str": "str", "int": "int", "len": "int",
    "sorted": "list", "sum": "int", "repr": "str", "bool": "bool", "isinstance": "bool", "hasattr": "bool",
    "callable": "bool", "ord": "int", "partial": "function", "float": "float", "iter": "generator",
    "frozenset": "frozenset", "any": "bool", "all": "bool", "range": "range", "deque": "deque",
}  # fmt: skip
TYPES: dict[str, type] = {
    "dict": dict, "list": list, "set": set, "tuple": tuple, "str": str, "int": int, "bool": bool, "float": float,
    "frozenset": frozenset, "range": range,
}  # fmt: skip
_TELLING = {
    "append": "list", "extend": "list", "sort": "list", "items": "dict", "keys": "dict", "values": "dict",
    "setdefault": "dict", "split": "str", "strip": "str", "lstrip": "str", "rstrip": "str", "startswith": "str",
    "endswith": "str", "lower": "str", "upper": "str", "splitlines": "str", "join": "str",
}  # fmt: skip
_CALLABLE = {"function", "builtin_function_or_method", "method", "type"}
_SUBSCRIPTED = {"dict", "list", "tuple", "str", "range", "deque"}
_STORED = {"dict", "list", "deque"}
_ITERATED = {"dict", "list", "tuple", "str", "range", "set", "frozenset", "generator", "deque"}
_NUMBERS = {"int", "float", "bool"}


def kinds_of(function: Function) -> dict[str, set[str]]:
    """Variable -> the kinds of value it seems to hold; a name that is missing may hold anything."""
    found: dict[str, set[str]] = defaultdict(set)
    unsure: set[str] = set()
    for node in ast.walk(function.tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            kind = kind_of(node.value)
            for target in targets:
                if isinstance(target, ast.Name):
                    (found[target.id].add(kind) if kind else unsure.add(target.id))
                else:
                    unsure |= {
                        n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                    }
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _TELLING:
            found[node.value.id].add(_TELLING[node.attr])
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            ranged = isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range"
            (found[node.target.id].add("int") if ranged else unsure.add(node.target.id))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "isinstance" and node.args and isinstance(node.args[0], ast.Name):
                unsure.add(node.args[0].id)
            found[node.func.id].add("function")
    return {name: kinds - {"none"} for name, kinds in found.items() if kinds - {"none"} and name not in unsure}


def kind_of(node: ast.expr) -> str | None:
    """The kind of value an expression has, as far as its form tells."""
    if isinstance(node, ast.Constant):
        return "none" if node.value is None else type(node.value).__name__
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _CALLS.get(node.func.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return "bool"
    return _LITERALS.get(type(node))


def fits(kinds: set[str], wanted: set[str]) -> bool:
    """Whether a value of one of these kinds may be of a wanted one; of types that are not built in nothing is known."""
    known = kinds & (TYPES.keys() | {"function", "NoneType", "generator", "builtin_function_or_method", "method"})
    return bool(kinds & wanted) or known != kinds


def parents_of(function: Function) -> dict[int, ast.AST]:
    """id of a node -> the node around it."""
    return {id(child): node for node in ast.walk(function.tree) for child in ast.iter_child_nodes(node)}


def needed(node: ast.expr, parent: ast.AST | None) -> set[str] | None:
    """The kinds a value must be of to stand where `node` stands; None: any."""
    if isinstance(parent, ast.Attribute):
        able = {kind for kind, type_ in TYPES.items() if hasattr(type_, parent.attr)}
        return able or None
    if isinstance(parent, ast.Call) and parent.func is node:
        return _CALLABLE
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub | ast.UAdd | ast.Invert):
        return _NUMBERS
    if isinstance(parent, ast.Call) and ast.unparse(parent.func) == "len":
        return _ITERATED - {"generator"}
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return _SUBSCRIPTED if isinstance(parent.ctx, ast.Load) else _STORED
    if isinstance(parent, ast.For | ast.comprehension) and parent.iter is node:
        return _ITERATED
    if isinstance(parent, ast.BinOp | ast.AugAssign) and isinstance(parent.op, ast.Sub | ast.FloorDiv | ast.Div):
        return _NUMBERS | {"set", "frozenset"}
    if isinstance(parent, ast.BinOp):
        other = parent.left if parent.right is node else parent.right
        kind = kind_of(other)
        return {kind} if kind in ("str", "list", "tuple") else _NUMBERS if kind in ("int", "float") else None
    return None
