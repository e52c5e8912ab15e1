"""Operators on conditions: comparisons, boolean connectives, negation, conditional expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from redtogreen.mutation.model import Edit, Operator, Place
from redtogreen.mutation.spans import SourceFile

_SPELLING: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_OPPOSITE = {
    "<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "!=", "!=": "==",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
_PATTERN = {"is": r"\bis\b", "in": r"\bin\b", "is not": r"\bis\s+not\b", "not in": r"\bnot\s+in\b"}
_PATTERN |= {"<": "<", ">": ">", "<=": "<=", ">=": ">=", "==": "==", "!=": "!="}
_LOOSE = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)


def _change_comparison(place: Place, source: SourceFile, table: dict[str, str]) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Compare)
    sides = [node.left, *node.comparators]
    for index, op in enumerate(node.ops):
        word = _SPELLING[type(op)]
        found = source.token(source.end(sides[index]), source.start(sides[index + 1]), _PATTERN[word])
        if word in table and found:
            yield Edit(*found, table[word], node)


def compare_boundary(place: Place, source: SourceFile) -> Iterator[Edit]:
    yield from _change_comparison(place, source, _BOUNDARY)


def compare_swap(place: Place, source: SourceFile) -> Iterator[Edit]:
    yield from _change_comparison(place, source, _OPPOSITE)


def _has_opposite(test: ast.expr) -> bool:
    """Comparisons whose negation is another comparison."""
    kinds = ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn
    return isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], kinds)


def cond_negate(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    tests = node.ifs if isinstance(node, ast.comprehension) else [node.test]  # type: ignore[attr-defined]
    for test in tests:
        if isinstance(test, ast.UnaryOp | ast.Constant):
            continue
        if _has_opposite(test):
            continue  # compare_swap makes the same change
        text = source.segment(test)
        yield source.replace(test, f"not ({text})" if isinstance(test, _LOOSE) else f"not {text}")


def not_remove(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.UnaryOp)
    if isinstance(node.op, ast.Not):
        start = source.start(node)
        rest = source.text[start + 3 :]
        yield Edit(start, start + 3 + len(rest) - len(rest.lstrip(" \t")), "", node)


def _connectives(node: ast.BoolOp, source: SourceFile) -> list[tuple[int, int]] | None:
    word = r"\band\b" if isinstance(node.op, ast.And) else r"\bor\b"
    found = [
        source.token(source.end(a), source.start(b), word) for a, b in zip(node.values, node.values[1:], strict=False)
    ]
    return None if None in found else [f for f in found if f]


def bool_swap(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.BoolOp)
    words = _connectives(node, source)
    if words:
        other = "or" if isinstance(node.op, ast.And) else "and"
        low, high = words[0][0], words[-1][1]
        pieces, position = [], low
        for start, end in words:
            pieces += [source.text[position:start], other]
            position = end
        yield Edit(low, high, "".join(pieces), node)


def bool_drop_operand(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.BoolOp)
    words = _connectives(node, source)
    if not words or len({ast.dump(value) for value in node.values}) < len(node.values):
        return
    low, high = source.span(node)
    text = source.text
    for index in range(len(node.values) - 1, -1, -1):
        if index == 0:
            end = words[0][1]
            yield Edit(low, end + len(text[end:]) - len(text[end:].lstrip(" \t\r\n\\")), "", node)
        elif index < len(words):
            yield Edit(words[index - 1][0], words[index][0], "", node)
        else:
            yield Edit(len(text[: words[-1][0]].rstrip(" \t\r\n\\")), high, "", node)


def ifexp_swap(place: Place, source: SourceFile) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.IfExp)
    (low, a), (b, high) = source.span(node.body), source.span(node.orelse)
    negatable = isinstance(node.test, ast.UnaryOp) or _has_opposite(node.test)
    if not negatable and ast.dump(node.body) != ast.dump(node.orelse):
        intended = ast.IfExp(node.test, node.orelse, node.body)
        yield Edit(low, high, source.text[b:high] + source.text[a:b] + source.text[low:a], node, intended=intended)


OPERATORS = (
    Operator("compare_boundary", "off by one at a boundary: < where <= was meant", 0.6, (ast.Compare,),
             compare_boundary, in_while_test=True),
    Operator("compare_swap", "the opposite comparison was written", 0.15, (ast.Compare,), compare_swap),
    Operator("bool_drop_operand", "one part of a condition was forgotten", 0.8, (ast.BoolOp,),
             bool_drop_operand, in_while_test=True),
    Operator("bool_swap", "and / or were confused", 0.2, (ast.BoolOp,), bool_swap),
    Operator("not_remove", "a `not` was forgotten", 0.2, (ast.UnaryOp,), not_remove),
    Operator("cond_negate", "a condition was written the wrong way round", 0.15,
             (ast.If, ast.comprehension), cond_negate),
    Operator("ifexp_swap", "the branches of a conditional expression were exchanged", 0.25, (ast.IfExp,), ifexp_swap),
)  # fmt: skip
