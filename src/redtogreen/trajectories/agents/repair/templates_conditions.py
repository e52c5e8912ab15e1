"""Repairs of conditions: boundaries, negations, operands too many, too few or joined the wrong way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from redtogreen.trajectories.agents.repair.suggestions import (
    Context,
    Suggestion,
    between,
    end,
    expressions,
    names_in,
    replace,
    rewrite,
    start,
    statement_line,
)

_OTHERS: dict[type[ast.cmpop], list[tuple[str, float]]] = {
    ast.Lt: [("<=", 0.0), (">", -1.0), (">=", -0.6)],
    ast.LtE: [("<", 0.0), (">=", -1.0), (">", -0.6)],
    ast.Gt: [(">=", 0.0), ("<", -1.0), ("<=", -0.6)],
    ast.GtE: [(">", 0.0), ("<=", -1.0), ("<", -0.6)],
    ast.Eq: [("!=", 0.0), ("<=", -2.0), (">=", -2.0), ("is", -3.0)],
    ast.NotEq: [("==", 0.0), ("<", -2.0), (">", -2.0)],
    ast.Is: [("is not", 0.0), ("==", -2.5)],
    ast.IsNot: [("is", 0.0), ("!=", -2.5)],
    ast.In: [("not in", 0.0), ("==", -3.0)],
    ast.NotIn: [("in", 0.0)],
}
_TESTED = (ast.If, ast.While, ast.IfExp, ast.Assert)


def comparison(c: Context) -> Iterator[Suggestion]:
    """Another comparison operator."""
    for node in expressions(c, ast.Compare):
        assert isinstance(node, ast.Compare)
        left: ast.expr = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            gap = between(c, end(left), start(right))
            for other, bonus in _OTHERS[type(operator)]:
                fresh, count = re.subn(
                    r"(<=|>=|==|!=|<|>|\bis\s+not\b|\bis\b|\bnot\s+in\b|\bin\b)", other, gap, count=1
                )
                if count:
                    yield rewrite(c, end(left), start(right), fresh, "comparison", bonus, statement_line(c, node))
            left = right


def negation(c: Context) -> Iterator[Suggestion]:
    """The condition the other way round."""
    for test in tests(c):
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield replace(c, test, c.function.text(test.operand), "negation")
        elif isinstance(test, ast.BoolOp):
            yield replace(c, test, f"not ({c.function.text(test)})", "negation", -2.0)
        elif not isinstance(test, ast.Compare):
            yield replace(c, test, f"not {c.function.text(test)}", "negation")
    for node in expressions(c, ast.Return):
        if isinstance(node.value, ast.UnaryOp) and isinstance(node.value.op, ast.Not):  # type: ignore[attr-defined]
            yield replace(c, node.value, c.function.text(node.value.operand), "negation")  # type: ignore[attr-defined]
        elif isinstance(node.value, ast.Call | ast.Name):  # type: ignore[attr-defined]
            yield replace(c, node.value, f"not {c.function.text(node.value)}", "negation", -2.5)  # type: ignore[attr-defined]
    for node in expressions(c, ast.BoolOp):
        for value in node.values:  # type: ignore[attr-defined]
            if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
                yield replace(c, value, c.function.text(value.operand), "negation", -0.5)
            elif isinstance(value, ast.Call | ast.Name | ast.Attribute):
                yield replace(c, value, f"not {c.function.text(value)}", "negation", -1.0)


def connective(c: Context) -> Iterator[Suggestion]:
    """`and` for `or`, or an operand taken away."""
    for node in expressions(c, ast.BoolOp):
        assert isinstance(node, ast.BoolOp)
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            gap = between(c, end(left), start(right))
            fresh, count = re.subn(rf"\b{old}\b", new, gap, count=1)
            if count:
                yield rewrite(c, end(left), start(right), fresh, "connective", 0.0, statement_line(c, node))
        for index, value in enumerate(node.values):
            if index == 0:
                yield rewrite(
                    c, start(value), start(node.values[1]), "", "operand_dropped", -0.5, statement_line(c, node)
                )
            else:
                yield rewrite(
                    c, end(node.values[index - 1]), end(value), "", "operand_dropped", -0.5, statement_line(c, node)
                )


def none_check(c: Context) -> Iterator[Suggestion]:
    """Truth of a value where its presence is meant, and the reverse."""
    for test in tests(c):
        values = test.values if isinstance(test, ast.BoolOp) else [test]
        for value in values:
            tested = value.operand if isinstance(value, ast.UnaryOp) else value
            tested = tested.left if isinstance(tested, ast.Compare) else tested
            if not c.may_be_empty(tested):
                continue
            if isinstance(value, ast.Name | ast.Attribute):
                yield replace(c, value, f"{c.function.text(value)} is not None", "none_check")
            elif isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
                yield replace(c, value, f"{c.function.text(value.operand)} is None", "none_check")
            elif isinstance(value, ast.Compare) and isinstance(value.comparators[0], ast.Constant):
                name = c.function.text(value.left)
                if value.comparators[0].value is None:
                    kind = isinstance(value.ops[0], ast.Is)
                    yield replace(c, value, f"not {name}" if kind else name, "none_check", -0.5)


def condition_strengthened(c: Context) -> Iterator[Suggestion]:
    """One more operand, as other conditions of the project have it with the same names."""
    scope = {node.id for node in ast.walk(c.function.tree) if isinstance(node, ast.Name)} | set(c.function.parameters)
    extra: dict[str, int] = {}
    for text, count in c.project.conditions.items():
        try:
            node = ast.parse(text, mode="eval").body
        except SyntaxError:
            continue
        for part in node.values if isinstance(node, ast.BoolOp) else [node]:
            if names_in(part) and names_in(part) <= scope | {"isinstance", "len", "callable", "hasattr"}:
                extra[ast.unparse(part)] = extra.get(ast.unparse(part), 0) + count
    flags = [name for name in c.function.parameters if name not in ("self", "cls")]
    for name in [*flags, *unused(c)]:
        for text in (name, f"not {name}", f"{name} is None", f"{name} is not None"):
            extra.setdefault(text, 0)
    idle = unused(c)
    names = {text: names_in(ast.parse(text, mode="eval")) for text in extra}
    for test in tests(c):
        written, here = ast.unparse(test), names_in(test)
        for text, count in extra.items():
            if text in written:
                continue
            bonus = min(count, 3) * 0.3 + 0.5 * bool(names[text] & here) + 2.0 * bool(names[text] & idle) - 2.0
            for word, order in (("and", 0.0), ("or", -0.3)):
                safe = f"({c.function.text(test)})" if isinstance(test, ast.BoolOp | ast.IfExp) else None
                old = safe or c.function.text(test)
                yield replace(c, test, f"{old} {word} {text}", "condition_strengthened", bonus + order)


def conditional_value(c: Context) -> Iterator[Suggestion]:
    """`a if x else b` with its branches exchanged."""
    for node in expressions(c, ast.IfExp):
        assert isinstance(node, ast.IfExp)
        body, test, other = (c.function.text(part) for part in (node.body, node.test, node.orelse))
        yield replace(c, node, f"{other} if {test} else {body}", "conditional_value")


def type_check(c: Context) -> Iterator[Suggestion]:
    """isinstance with more types, as the project asks for elsewhere."""
    seen = {call.positional[1] for call in c.project.calls.get("isinstance", []) if len(call.positional) == 2}
    for node in expressions(c, ast.Call):
        assert isinstance(node, ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id == "isinstance" and len(node.args) == 2:
            now = c.function.text(node.args[1])
            for other in sorted(seen - {now}):
                yield replace(c, node.args[1], other, "type_check", 1.0 if now in other else -0.5)
            pairs = {"str": "(str, bytes)", "list": "(list, tuple)", "int": "(int, float)", "dict": "Mapping"}
            if now in pairs:
                yield replace(c, node.args[1], pairs[now], "type_check")


def tests(c: Context) -> Iterator[ast.expr]:
    """Every condition of the function."""
    for node in expressions(c, *_TESTED):
        yield node.test  # type: ignore[attr-defined]
    for node in expressions(c, ast.comprehension):
        yield from node.ifs  # type: ignore[attr-defined]


def unused(c: Context) -> set[str]:
    """Parameters and locals that are never read: a hint that something was lost."""
    read = {n.id for n in ast.walk(c.function.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    written = {n.id for n in ast.walk(c.function.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return {name for name in written | set(c.function.parameters) if name not in read | {"self", "cls", "_"}}
