"""Operators on identifiers and arguments: the wrong name of the same scope, arguments exchanged or left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from redtogreen.mutation.model import Edit, Operator, Place
from redtogreen.mutation.scopes import ClassNames, role
from redtogreen.mutation.spans import SourceFile

PER_SITE = 2
"""Most plausible alternatives proposed for one identifier."""

ALIKE = 3
"""Characters two method names must share at their ends to be confused."""

_DEMANDING = {"call", "attribute", "container", "iterated"}
_FIXED_ORDER = {"isinstance", "issubclass", "getattr", "setattr", "hasattr", "cast", "super", "min", "max", "print",
                "map", "filter", "reduce", "partial", "heappush", "MethodType"}  # fmt: skip
_METHOD_PAIRS = (
    "lower upper", "lstrip rstrip", "startswith endswith", "find rfind", "index rindex", "split rsplit",
    "ljust rjust", "partition rpartition", "removeprefix removesuffix", "append extend", "pop popleft",
    "append appendleft", "keys values", "values items", "union intersection", "issubset issuperset",
    "update setdefault", "isdigit isalpha", "isalnum isalpha", "match search", "read readline", "floor ceil",
    "strip rstrip", "discard remove", "bisect_left bisect_right", "insort_left insort_right", "group groups",
    "search fullmatch", "setdefault get", "copy deepcopy", "capitalize title", "encode decode",
)  # fmt: skip
_FUNCTION_PAIRS = ("min max", "any all", "floor ceil", "round int", "copy deepcopy")


def _table(pairs: tuple[str, ...]) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for pair in pairs:
        a, b = pair.split()
        table.setdefault(a, []).append(b)
        table.setdefault(b, []).append(a)
    return table


_METHODS, _FUNCTIONS = _table(_METHOD_PAIRS), _table(_FUNCTION_PAIRS)


def _likeness(a: str, b: str) -> int:
    """Length of common start plus common end: names people mix up look alike."""
    shorter = min(len(a), len(b))
    head = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    tail = next((i for i in range(shorter - head) if a[-1 - i] != b[-1 - i]), shorter - head)
    return head + tail


def _ranked(name: str, wanted: str, others: Iterator[tuple[str, set[str]]]) -> list[str]:
    """Alternatives by plausibility. Calls, attribute bases and containers must be used the same way elsewhere."""
    scored = []
    for other, roles in others:
        same = wanted in roles
        if other == name or other.startswith("__") or (not same and wanted in _DEMANDING):
            continue
        scored.append((not same, -_likeness(name, other), other))
    return [other for _, _, other in sorted(scored)[:PER_SITE]]


def wrong_var(place: Place, source: SourceFile) -> Iterator[Edit]:
    node, scope = place.node, place.owner.scope
    assert isinstance(node, ast.Name)
    if not isinstance(node.ctx, ast.Load) or node.id not in scope.names or source.segment(node) != node.id:
        return
    others = ((other, scope.roles.get(other, set())) for other in scope.visible(place))
    for other in _ranked(node.id, role(place.parent, node), others):
        if not _says_the_same(place, other):
            yield source.replace(node, other)


def _says_the_same(place: Place, other: str) -> bool:
    """`x = y` turned into `x = x`, `y == x` into `x == x`, `x[y]` into `x[x]`: nobody writes that."""
    parent = place.parent
    if isinstance(parent, ast.Assign):
        return any(isinstance(t, ast.Name) and t.id == other for t in parent.targets)
    if isinstance(parent, ast.Compare):
        return any(isinstance(side, ast.Name) and side.id == other for side in (parent.left, *parent.comparators))
    if isinstance(parent, ast.Subscript):
        return any(isinstance(side, ast.Name) and side.id == other for side in (parent.value, parent.slice))
    return isinstance(parent, ast.keyword) and parent.arg == other


@lru_cache(maxsize=64)
def _class_names(klass: ast.ClassDef) -> ClassNames:
    return ClassNames(klass)


def wrong_attr(place: Place, source: SourceFile) -> Iterator[Edit]:
    node, owner = place.node, place.owner
    assert isinstance(node, ast.Attribute)
    receiver = owner.scope.receiver
    if owner.klass is None or not isinstance(node.ctx, ast.Load):
        return
    if not (isinstance(node.value, ast.Name) and node.value.id == receiver):
        return
    end = source.end(node)
    start = end - len(node.attr)
    if source.text[start:end] != node.attr:
        return
    known = _class_names(owner.klass)
    wanted = role(place.parent, node)
    if node.attr in known.data:
        others = [(name, known.roles.get(name, set())) for name in sorted(known.data)]
    elif node.attr in known.methods and isinstance(place.parent, ast.Call) and wanted == "call":
        given = len(place.parent.args) + len(place.parent.keywords)
        fits = [n for n, (low, high) in known.methods.items() if low <= given <= high and not n.startswith("__")]
        others = [(name, {"call"}) for name in sorted(fits) if _likeness(name, node.attr) >= ALIKE]
    else:
        return
    for other in _ranked(node.attr, wanted, iter(others)):
        yield Edit(start, end, other, node)


def arg_swap(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Call)
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if name in _FIXED_ORDER:
        return
    for first, second in zip(node.args, node.args[1:], strict=False):
        if not _mistakable(first, second) or ast.dump(first) == ast.dump(second):
            continue
        (low, a), (b, high) = source.span(first), source.span(second)
        yield Edit(low, high, source.text[b:high] + source.text[a:b] + source.text[low:a], node)


def _mistakable(a: ast.expr, b: ast.expr) -> bool:
    """Arguments of a like kind; anything else would hardly be passed in the wrong order."""
    if isinstance(a, ast.Constant) and isinstance(b, ast.Constant):
        return type(a.value) is type(b.value)
    plain = (ast.Name, ast.Attribute, ast.Subscript)
    if isinstance(a, ast.Starred | ast.Lambda):
        return False
    return type(a) is type(b) or (isinstance(a, plain) and isinstance(b, plain))


def kwarg_drop(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Call)
    items = sorted([*node.args, *node.keywords], key=source.start)
    for index, item in enumerate(items):
        if not isinstance(item, ast.keyword) or item.arg is None:
            continue
        low, high = source.span(item)
        if index:
            comma = source.token(source.end(items[index - 1]), low, ",")
            if comma:
                yield Edit(comma[0], high, "", node)
        elif len(items) > 1:
            yield Edit(low, source.start(items[1]), "", node)
        else:
            comma = source.token(high, source.end(node), ",")
            yield Edit(low, comma[1] if comma else high, "", node)


def method_swap(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Call)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    table = _METHODS if isinstance(node.func, ast.Attribute) else _FUNCTIONS
    end = source.end(node.func)
    start = end - len(name)
    if source.text[start:end] != name:
        return
    for other in table.get(name, []):
        edit = Edit(start, end, other, node)
        if not _pointless(name, other, node):
            yield edit


def _pointless(name: str, other: str, node: ast.Call) -> bool:
    """Calls that cannot tell the two apart, or that could only fail on their arguments."""
    count = len(node.args)
    if {name, other} == {"split", "rsplit"}:
        return count < 2 and not node.keywords
    if "popleft" in (name, other) or {name, other} == {"min", "max"}:
        return name == "pop" and count > 0
    if other == "extend":
        return not isinstance(node.args[0] if node.args else None, ast.Name | ast.Attribute | ast.Call | ast.Tuple)
    if {name, other} & {"setdefault", "group", "round"}:
        return not _arity_fits(other, count)
    return False


def _arity_fits(name: str, count: int) -> bool:
    low, high = {"setdefault": (1, 2), "get": (1, 2), "update": (0, 1), "group": (0, 9), "groups": (0, 1),
                 "round": (1, 2), "int": (1, 1)}.get(name, (0, 9))  # fmt: skip
    return low <= count <= high


OPERATORS = (
    Operator("wrong_var", "another variable of the same scope was used", 1.0, (ast.Name,), wrong_var),
    Operator("wrong_attr", "another attribute or method of the same object was used", 1.0, (ast.Attribute,),
             wrong_attr),
    Operator("arg_swap", "two arguments were passed in the wrong order", 0.9, (ast.Call,), arg_swap),
    Operator("kwarg_drop", "an optional argument was not passed on", 0.5, (ast.Call,), kwarg_drop),
    Operator("method_swap", "the sibling of a method or function was called", 0.35, (ast.Call,), method_swap),
)  # fmt: skip
