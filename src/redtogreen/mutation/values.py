"""Operators on constants, arithmetic and ranges: boundary, sign and off-by-one mistakes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from redtogreen.mutation.model import Edit, Operator, Place
from redtogreen.mutation.spans import SourceFile

_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"), ast.Sub: ("-", "+"), ast.Mult: (r"\*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"), ast.Mod: ("%", "//"), ast.Pow: (r"\*\*", "*"),
    ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"), ast.BitOr: (r"\|", "&"),
}  # fmt: skip
_AUGMENTED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+=", "-="), ast.Sub: ("-=", "+="), ast.Mult: (r"\*=", "+="), ast.Div: ("/=", "*="),
    ast.FloorDiv: ("//=", "/="), ast.LShift: ("<<=", ">>="), ast.RShift: (">>=", "<<="),
    ast.BitAnd: ("&=", "|="), ast.BitOr: (r"\|=", "&="),
}  # fmt: skip
_ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
_TEXT_OR_LIST = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp, ast.Dict, ast.Set)


def _is_int(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _textual(node: ast.AST) -> bool:
    """Operands for which arithmetic would only raise TypeError."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    if isinstance(node, ast.BinOp):
        return _textual(node.left) or _textual(node.right)
    return isinstance(node, _TEXT_OR_LIST)


def _neighbours(literal: str, value: int) -> list[str]:
    """The numbers beside an integer, in the literal's own notation; empty for notations left alone."""
    numbers = [value + 1] + ([value - 1] if value > 0 else [])
    if re.fullmatch(r"[0-9]+", literal):
        return [str(n) for n in numbers]
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", literal):
        form = "X" if any(c in "ABCDEF" for c in literal[2:]) else "x"
        return [literal[:2] + format(n, f"0{len(literal) - 2}{form}") for n in numbers]
    return []


def _in_bound(place: Place) -> bool:
    """Part of a slice or range bound, where slice_off1 and range_off1 make the same changes."""
    for node in reversed(place.parents):
        if not isinstance(node, ast.BinOp | ast.UnaryOp):
            return isinstance(node, ast.Slice) or _is_range(node)
    return False


def _is_range(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def int_const(place: Place, source: SourceFile) -> Iterator[Edit]:
    if not _is_int(place.node) or _in_bound(place):
        return
    for text in _neighbours(source.segment(place.node), place.node.value):  # type: ignore[attr-defined]
        yield source.replace(place.node, text)


def bool_const(place: Place, source: SourceFile) -> Iterator[Edit]:
    value = place.node.value  # type: ignore[attr-defined]
    if isinstance(value, bool):
        yield source.replace(place.node, str(not value))


def arith_swap(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.BinOp)
    if type(node.op) not in _ARITHMETIC or _textual(node):
        return
    pattern, other = _ARITHMETIC[type(node.op)]
    found = source.token(source.end(node.left), source.start(node.right), pattern)
    if found and not (other in "*/" and any(_is_int(n) and n.value == 1 for n in (node.left, node.right))):  # type: ignore[attr-defined]
        yield Edit(*found, other, node)


def operand_swap(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.BinOp)
    if not isinstance(node.op, _ORDERED) or _textual(node) or ast.dump(node.left) == ast.dump(node.right):
        return
    (low, high), text = source.span(node), source.text
    found = source.token(source.end(node.left), source.start(node.right), _ARITHMETIC[type(node.op)][0])
    if found:
        left, right = text[low : found[0]].rstrip(), text[found[1] : high].lstrip()
        gap = text[low + len(left) : high - len(right)]
        if isinstance(node.left, ast.BinOp) and source.start(node.left) == low:
            left = f"({left})"
        yield Edit(low, high, right + gap + left, node, intended=ast.BinOp(node.right, node.op, node.left))


def sign_drop(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.UnaryOp)
    zero = isinstance(node.operand, ast.Constant) and not node.operand.value
    if isinstance(node.op, ast.USub) and not zero:
        start = source.start(node)
        rest = source.text[start + 1 :]
        yield Edit(start, start + 1 + len(rest) - len(rest.lstrip(" \t")), "", node)


def _off_by_one(node: ast.expr, source: SourceFile) -> Iterator[Edit]:
    """A bound moved by one: `n` -> `n - 1`, `n + 1` -> `n`, `3` -> `4` and `2`."""
    if _is_int(node):
        for text in _neighbours(source.segment(node), node.value):  # type: ignore[attr-defined]
            yield source.replace(node, text)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and _is_int(node.operand):
        for text in _neighbours(source.segment(node.operand), node.operand.value):  # type: ignore[attr-defined]
            if int(text, 0):
                yield source.replace(node, f"-{text}")
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and _is_int(node.right):
        if node.right.value == 1:  # type: ignore[attr-defined]
            low = source.token(source.end(node.left), source.start(node.right), r"[+-]")
            if low:
                yield Edit(len(source.text[: low[0]].rstrip()), source.end(node), "", node)
    elif isinstance(node, ast.Name | ast.Attribute | ast.Call) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv)
    ):
        yield source.replace(node, f"{source.segment(node)} - 1")
        yield source.replace(node, f"{source.segment(node)} + 1")


def slice_off1(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Slice)
    for bound in (node.lower, node.upper):
        if bound is not None and not (isinstance(bound, ast.Constant) and bound.value is None):
            yield from _off_by_one(bound, source)


def range_off1(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Call)
    if not _is_range(node):
        return
    for bound in node.args[:2]:
        if not isinstance(bound, ast.Starred):
            yield from _off_by_one(bound, source)


def aug_swap(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.AugAssign)
    if type(node.op) not in _AUGMENTED:
        return
    pattern, other = _AUGMENTED[type(node.op)]
    found = source.token(source.end(node.target), source.start(node.value), pattern)
    if found:
        if not _textual(node.value):
            yield Edit(*found, other, node)
        yield Edit(*found, "=", node)


def default_change(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for default in [*node.args.defaults, *node.args.kw_defaults]:
        if not isinstance(default, ast.Constant):
            continue
        if isinstance(default.value, bool):
            yield source.replace(default, str(not default.value))
        elif type(default.value) is int:
            for text in _neighbours(source.segment(default), default.value):
                yield source.replace(default, text)


OPERATORS = (
    Operator("slice_off1", "a slice begins or ends one too early or too late", 0.5, (ast.Slice,), slice_off1),
    Operator("range_off1", "a loop counts one too few or one too many", 0.4, (ast.Call,), range_off1),
    Operator("int_const", "a number is off by one", 0.35, (ast.Constant,), int_const),
    Operator("bool_const", "True / False were confused", 0.25, (ast.Constant,), bool_const),
    Operator("arith_swap", "the wrong arithmetic operator was written", 0.2, (ast.BinOp,), arith_swap),
    Operator("operand_swap", "operands of a calculation stand in the wrong order", 0.3, (ast.BinOp,), operand_swap),
    Operator("sign_drop", "a minus sign was lost", 0.15, (ast.UnaryOp,), sign_drop),
    Operator("aug_swap", "an accumulation overwrites, or counts in the wrong direction", 0.3, (ast.AugAssign,),
             aug_swap),
    Operator("default_change", "a parameter has the wrong default", 0.2, (ast.FunctionDef, ast.AsyncFunctionDef),
             default_change),
)  # fmt: skip
