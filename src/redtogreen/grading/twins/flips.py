"""What can be changed in a test so that a right solution must fail it, found in its source. Nothing is run here.

Only changes that no honest solution could survive together with the original are offered: another expected value of an
equality, an exception that is not raised, the opposite of a condition.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from redtogreen.grading.twins.values import other_literal

Kind = Literal["raises", "constant", "parametrisation", "computed", "negation"]
STRONG: tuple[Kind, ...] = ("raises", "constant", "parametrisation")
"""Kinds whose twin looks like any other test, and that objects which equal everything fail as well."""
RANKS: dict[Kind, int] = {"raises": 0, "constant": 0, "parametrisation": 0, "computed": 1, "negation": 2}
"""The lower the better."""
MOST = 4
"""Flips offered per test."""
OTHER = "redtogreen_other"
"""Name, in a composed file, of the function that gives a value another than its argument."""
_NEVER = ("StopAsyncIteration", "ZeroDivisionError")
_BUILDERS = {
    *("list", "tuple", "set", "frozenset", "dict", "sorted", "range", "str", "bytes", "bytearray", "int", "float"),
    *("complex", "Decimal", "Fraction", "OrderedDict", "deque", "Counter", "date", "datetime", "timedelta", "approx"),
}
_MODULES = {"pytest", "datetime", "decimal", "fractions", "collections"}
_EQUALITIES = {
    *("assertEqual", "assertEquals", "assertListEqual", "assertTupleEqual", "assertSetEqual", "assertDictEqual"),
    *("assertSequenceEqual", "assertMultiLineEqual", "assertCountEqual", "assertAlmostEqual"),
    *("assert_equal", "assert_array_equal", "assert_allclose", "eq_"),
}
_OPPOSITES = {
    "assertTrue": "assertFalse",
    "assertFalse": "assertTrue",
    "assertIn": "assertNotIn",
    "assertNotIn": "assertIn",
    "assertIs": "assertIsNot",
    "assertIsNot": "assertIs",
    "assertIsNone": "assertIsNotNone",
    "assertIsNotNone": "assertIsNone",
    "assertIsInstance": "assertNotIsInstance",
    "assertNotIsInstance": "assertIsInstance",
    "assertEqual": "assertNotEqual",
    "assertNotEqual": "assertEqual",
    "assertGreater": "assertLessEqual",
    "assertLessEqual": "assertGreater",
    "assertLess": "assertGreaterEqual",
    "assertGreaterEqual": "assertLess",
    "assertRegex": "assertNotRegex",
    "assertNotRegex": "assertRegex",
}
Edit = tuple[int, int, bytes]
"""Start, end (byte offsets in the file) and what comes there."""


@dataclass(frozen=True)
class Flip:
    """One way to make a twin of a test."""

    kind: Kind
    edits: tuple[Edit, ...]
    last: bool = True
    """Whether nothing of the test comes after what fails: what is left out could be what cleans up."""


@dataclass(frozen=True)
class TestFunction:
    """A test function, or method, of a file."""

    __test__ = False  # pytest would take the name for a test class

    scope: str
    """Classes around it, joined by `::`; empty at the top."""
    name: str
    start: int
    """Offset of its first decorator's line."""
    end: int
    name_at: int
    flips: tuple[Flip, ...]

    @property
    def key(self) -> str:
        return f"{self.scope}::{self.name}" if self.scope else self.name


class Source:
    """A file with its tree, and offsets of nodes in it."""

    def __init__(self, content: bytes):
        self.content = content
        self.tree = ast.parse(content)
        self._lines = [0]
        for line in content.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            self._lines[node.lineno - 1] + node.col_offset,
            self._lines[node.end_lineno - 1] + node.end_col_offset,
        )

    def line(self, number: int) -> int:
        """Offset at which a line, counted from 1, begins."""
        return self._lines[number - 1]

    def text(self, node: ast.expr) -> bytes:
        start, end = self.span(node)
        return self.content[start:end]


def find_functions(content: bytes) -> list[TestFunction]:
    """The test functions of a file with their flips, in order. Raises SyntaxError, ValueError or RecursionError for
    what is no Python."""
    source = Source(content)
    if source.content.startswith(b"\xef\xbb\xbf") or b"\r" in content or b"\f" in content:
        return []  # offsets would not be what they seem
    return list(_functions(source, source.tree.body, ""))


def _functions(source: Source, body: list[ast.stmt], scope: str) -> Iterator[TestFunction]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(source, node.body, f"{scope}::{node.name}" if scope else node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            if any("fixture" in ast.dump(decorator) for decorator in node.decorator_list):
                continue
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            start, end = source.line(first), source.span(node)[1]
            line_end = source.content.find(b"\n", end) % (len(source.content) + 1)
            if source.content[end:line_end].strip()[:1] not in (b"", b"#"):
                continue  # something else on its last line
            end = line_end
            word = b"def " + node.name.encode()
            name_at = source.content.find(word, source.line(node.lineno)) + len(b"def ")
            if name_at < source.line(node.lineno) + len(b"def ") or name_at > end:
                continue
            flips = () if _searches(node) else tuple(_ordered(source, node))
            yield TestFunction(scope, node.name, start, end, name_at, flips)


def _searches(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A property-based test looks long for the smallest example when it fails."""
    return any("given" in ast.dump(decorator) for decorator in node.decorator_list)


def _ordered(source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[Flip]:
    """Strong ones first; of each kind those late in the test first, where more of it has run."""
    found = list(_flips(source, node))
    found.reverse()
    found.sort(key=lambda flip: RANKS[flip.kind])
    strong = [flip for flip in found if flip.kind in STRONG][: MOST - 1]
    weak = [flip for flip in found if flip.kind not in STRONG]
    return [*strong, *weak[: MOST - len(strong)]]


def _flips(source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Flip]:
    columns, assigned = _columns(node), _assigned(node)
    end = source.span(node)[1]
    local = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.stmt):
            last = source.span(inner)[1] == end
            for flip in _of_statement(source, inner, columns, assigned, local):
                yield replace(flip, last=last)


def _of_statement(
    source: Source,
    inner: ast.stmt,
    columns: dict[str, list[ast.expr]],
    assigned: dict[str, ast.expr],
    local: Collection[str],
) -> Iterator[Flip]:
    if isinstance(inner, ast.Assert):
        yield from _of_assert(source, inner, columns, assigned, local)
    elif isinstance(inner, ast.With | ast.AsyncWith):
        for item in inner.items:
            if isinstance(item.context_expr, ast.Call):
                yield from _of_raises(source, item.context_expr)
    elif isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call):
        yield from _of_raises(source, inner.value)
        yield from _of_call(source, inner.value, columns, assigned, local)


def _of_assert(
    source: Source,
    node: ast.Assert,
    columns: dict[str, list[ast.expr]],
    assigned: dict[str, ast.expr],
    local: Collection[str],
) -> Iterator[Flip]:
    test = node.test
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        test = test.values[-1]  # it decides when all before it hold
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        yield from _of_equality(source, test.comparators[0], test.left, columns, assigned, local)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Is):
        expected = test.comparators[0]
        yield from _constants(source, expected) if getattr(expected, "value", None) in (True, False) else ()
    start, end = source.span(node.test)
    yield Flip("negation", ((start, start, b"not ("), (end, end, b")")))


def _of_equality(
    source: Source,
    right: ast.expr,
    left: ast.expr,
    columns: dict[str, list[ast.expr]],
    assigned: dict[str, ast.expr],
    local: Collection[str],
) -> Iterator[Flip]:
    for side in (right, left):
        if isinstance(side, ast.Name) and side.id in columns:
            edits = [edit for value in columns[side.id] for edit in _first(source, value)]
            if edits:
                yield Flip("parametrisation", tuple(sorted(edits)))
        elif isinstance(side, ast.Name) and side.id in assigned:
            yield from _constants(source, assigned[side.id])
        elif _is_plain(side, local if side is right else ()):
            yield from _constants(source, side)
        else:
            continue
        return
    start, end = source.span(right)
    yield Flip("computed", ((start, start, OTHER.encode() + b"("), (end, end, b")")))


def _of_raises(source: Source, call: ast.Call) -> Iterator[Flip]:
    name = _name(call.func)
    if name not in ("raises", "assertRaises", "assertRaisesRegex", "warns") or not call.args or name == "warns":
        return
    expected = call.args[0]
    if isinstance(expected, ast.Starred):
        return
    text = source.text(expected)
    never = next(word for word in _NEVER if word.encode() not in text)
    start, end = source.span(expected)
    yield Flip("raises", ((start, end, never.encode()),))


def _of_call(
    source: Source,
    call: ast.Call,
    columns: dict[str, list[ast.expr]],
    assigned: dict[str, ast.expr],
    local: Collection[str],
) -> Iterator[Flip]:
    name = _name(call.func)
    plain = [arg for arg in call.args if not isinstance(arg, ast.Starred)]
    if name in _EQUALITIES and len(plain) >= 2:
        yield from _of_equality(source, plain[1], plain[0], columns, assigned, local)
    if name in _OPPOSITES and isinstance(call.func, ast.Attribute):
        _, end = source.span(call.func)
        yield Flip("negation", ((end - len(name), end, _OPPOSITES[name].encode()),))


def _name(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def _constants(source: Source, expression: ast.expr) -> Iterator[Flip]:
    edits = _first(source, expression)
    if edits:
        yield Flip("constant", tuple(edits))


def _first(source: Source, expression: ast.expr) -> list[Edit]:
    """The edit that makes a plain expression another value; none when there is nothing to change."""
    for node in _in_order(expression):
        changed: str | None = None
        if isinstance(node, ast.Constant):
            changed = other_literal(node.value)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set) and not node.elts:
            changed = "[0]" if isinstance(node, ast.List) else "(0,)"
        elif isinstance(node, ast.Dict) and not node.keys:
            changed = "{0: 0}"
        if changed is not None:
            return [(*source.span(node), changed.encode())]
    return []


def _in_order(expression: ast.expr) -> list[ast.expr]:
    """Values before the keys of dictionaries, late elements first: they are what a test is about."""
    if isinstance(expression, ast.JoinedStr):
        return []
    parts: list[ast.expr] = []
    if isinstance(expression, ast.Dict):
        parts = [*(value for value in reversed(expression.values)), *(key for key in expression.keys if key)]
    elif isinstance(expression, ast.List | ast.Tuple | ast.Set):
        parts = list(reversed(expression.elts))
    elif isinstance(expression, ast.Call):
        parts = list(reversed(expression.args))
    elif isinstance(expression, ast.UnaryOp):
        parts = [expression.operand]
    elif isinstance(expression, ast.BinOp):
        parts = [expression.right, expression.left]
    return [*(inner for part in parts for inner in _in_order(part)), expression]


def _is_plain(expression: ast.expr, local: Collection[str] = ()) -> bool:
    """Whether it is made of literals and builders of values alone, and holds a literal to change. local: names of the
    test's own that may build values too."""
    called = {id(node.func) for node in ast.walk(expression) if isinstance(node, ast.Call)}
    for node in ast.walk(expression):
        if isinstance(node, ast.Call):
            of_literal = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant)
            if not of_literal and _name(node.func) not in _BUILDERS and not _builds(node, local):
                return False
        elif isinstance(node, ast.Name):
            # As a value it is not plain: n * 2 and n * 3 are the same for some n.
            if node.id not in _BUILDERS | _MODULES and not (node.id in local and id(node) in called):
                return False
        elif not isinstance(
            node,
            ast.Constant
            | ast.List
            | ast.Tuple
            | ast.Set
            | ast.Dict
            | ast.UnaryOp
            | ast.BinOp
            | ast.operator
            | ast.unaryop
            | ast.Attribute
            | ast.expr_context,
        ):
            return False
    return bool(_in_order(expression)) and any(
        isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set) for node in ast.walk(expression)
    )


def _builds(call: ast.Call, local: Collection[str]) -> bool:
    """Whether the test's own name makes something of a written-out collection."""
    displays = ast.List | ast.Tuple | ast.Dict | ast.Set
    return isinstance(call.func, ast.Name) and call.func.id in local and any(isinstance(a, displays) for a in call.args)


def _columns(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, list[ast.expr]]:
    """Parameter -> its literal value in every row of `parametrize`; only where all rows are written out."""
    found: dict[str, list[ast.expr]] = {}
    for decorator in node.decorator_list:
        if not (isinstance(decorator, ast.Call) and _name(decorator.func) == "parametrize" and len(decorator.args) > 1):
            continue
        names, rows = _parameter_names(decorator.args[0]), decorator.args[1]
        if not names or not isinstance(rows, ast.List | ast.Tuple):
            continue
        table = [_row(row, len(names)) for row in rows.elts]
        for number, name in enumerate(names):
            column = [row[number] for row in table if row is not None]
            if len(column) == len(table) and column and all(_is_plain(value) for value in column):
                found[name] = column
    return found


def _parameter_names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",") if name.strip()]
    if isinstance(node, ast.List | ast.Tuple):
        return [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return []


def _row(row: ast.expr, width: int) -> list[ast.expr] | None:
    if isinstance(row, ast.Call) and _name(row.func) == "param":
        return list(row.args) if len(row.args) == width else None
    if width == 1:
        return [row]
    return list(row.elts) if isinstance(row, ast.Tuple | ast.List) and len(row.elts) == width else None


def _assigned(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, ast.expr]:
    """Names that are given a plain value once and then read once: what is compared with them is what is expected."""
    values: dict[str, ast.expr] = {}
    stores: dict[str, int] = {}
    loads: dict[str, int] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            counted = loads if isinstance(inner.ctx, ast.Load) else stores
            counted[inner.id] = counted.get(inner.id, 0) + 1
        elif isinstance(inner, ast.Assign) and len(inner.targets) == 1 and _is_plain(inner.value):
            target = inner.targets[0]
            if isinstance(target, ast.Name):
                values[target.id] = inner.value
    return {name: value for name, value in values.items() if stores.get(name) == 1 and loads.get(name) == 1}
