"""Repairs of values: arithmetic, constants, indices, slices, ranges, texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from redtogreen.trajectories.agents.repair.localise import words_of
from redtogreen.trajectories.agents.repair.suggestions import (
    Context,
    Suggestion,
    between,
    end,
    expressions,
    replace,
    rewrite,
    start,
    statement_line,
)
from redtogreen.trajectories.agents.repair.templates_conditions import unused

_ARITHMETIC: dict[type[ast.operator], list[tuple[str, float]]] = {
    ast.Add: [("-", 0.0), ("*", -2.0)],
    ast.Sub: [("+", 0.0), ("//", -3.0)],
    ast.Mult: [("/", -0.5), ("+", -0.5), ("//", -0.5), ("**", -1.0)],
    ast.Div: [("*", 0.0), ("//", 0.0)],
    ast.FloorDiv: [("/", 0.0), ("%", -0.5), ("*", -0.5)],
    ast.Mod: [("//", 0.0), ("/", -1.0), ("*", -1.5)],
    ast.Pow: [("*", 0.0)],
    ast.LShift: [(">>", 0.0)],
    ast.RShift: [("<<", 0.0)],
    ast.BitAnd: [("|", 0.0), ("^", -1.0)],
    ast.BitOr: [("&", 0.0), ("^", -1.0)],
    ast.BitXor: [("|", 0.0), ("&", 0.0)],
}
NUMBERS = ("int", "float", "bool")
_SYMBOL = re.compile(r"//|\*\*|<<|>>|[-+*/%&|^]")


def arithmetic(c: Context) -> Iterator[Suggestion]:
    """Another operator, or the operands exchanged."""
    for node in expressions(c, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            continue
        gap = between(c, end(node.left), start(node.right))
        for other, bonus in _ARITHMETIC.get(type(node.op), []):
            fresh, count = _SYMBOL.subn(other.replace("\\", r"\\"), gap, count=1)
            if count:
                line = statement_line(c, node)
                yield rewrite(c, end(node.left), start(node.right), fresh, "arithmetic", bonus, line)
        if isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.Add):
            left, right = c.function.text(node.left), c.function.text(node.right)
            plain = isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant)
            if left != right and not plain:
                yield replace(c, node, f"{right}{gap}{left}", "operands_exchanged")
            inner = node.left
            if isinstance(inner, ast.BinOp) and type(inner.op) is type(node.op):
                one, two = c.function.text(inner.left), c.function.text(inner.right)
                first = between(c, end(inner.left), start(inner.right))
                for chain in ((right, two, one), (one, right, two), (two, one, right)):
                    parts = f"{chain[0]}{first}{chain[1]}{gap}{chain[2]}"
                    yield replace(c, node, parts, "operands_exchanged", -0.3)
                yield replace(c, node, f"{one}{gap}{right}", "operand_dropped", -0.5)
    for node in expressions(c, ast.AugAssign):
        assert isinstance(node, ast.AugAssign)
        gap = between(c, end(node.target), start(node.value))
        for other, bonus in _ARITHMETIC.get(type(node.op), []):
            fresh, count = _SYMBOL.subn(other.replace("\\", r"\\"), gap, count=1)
            if count:
                yield rewrite(c, end(node.target), start(node.value), fresh, "arithmetic", bonus, c.line(node))
        if isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            yield rewrite(c, end(node.target), start(node.value), " = ", "augmented", -0.5, c.line(node))
    for node in expressions(c, ast.Assign):
        assert isinstance(node, ast.Assign)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name | ast.Attribute | ast.Subscript):
            gap = between(c, end(node.targets[0]), start(node.value))
            item = isinstance(node.targets[0], ast.Subscript) and isinstance(node.value, ast.Constant)
            if gap.strip() == "=" and (item or _assigned_before(c, node)):
                yield rewrite(c, end(node.targets[0]), start(node.value), " += ", "augmented", 0.0, c.line(node))


def _assigned_before(c: Context, node: ast.Assign) -> bool:
    name = ast.unparse(node.targets[0])
    return any(
        isinstance(other, ast.Assign | ast.AugAssign) and other.lineno < node.lineno and name in ast.unparse(other)
        for other in c.function.statements
    )


def off_by_one(c: Context) -> Iterator[Suggestion]:
    """One more or one less, where boundaries are: compared values, indices, ranges, lengths, returned counts."""
    for node in expressions(c, ast.BinOp):
        assert isinstance(node, ast.BinOp)
        one = isinstance(node.right, ast.Constant) and node.right.value == 1
        if one and isinstance(node.op, ast.Add | ast.Sub):
            yield rewrite(c, end(node.left), end(node.right), "", "off_by_one", 0.3, statement_line(c, node))
        elif isinstance(node.left, ast.Constant) and node.left.value == 1 and isinstance(node.op, ast.Add):
            yield rewrite(c, start(node.left), start(node.right), "", "off_by_one", 0.3, statement_line(c, node))
    for node, bonus in _boundaries(c):
        if isinstance(node, ast.Constant) or _ends_in_one(node):
            continue
        text = c.function.text(node)
        if isinstance(node, ast.BoolOp | ast.Compare | ast.IfExp | ast.Lambda) or not c.may_be(node, *NUMBERS):
            continue
        yield rewrite(c, start(node), end(node), f"{text} - 1", "off_by_one", bonus, statement_line(c, node))
        yield rewrite(c, start(node), end(node), f"{text} + 1", "off_by_one", bonus, statement_line(c, node))


def _ends_in_one(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value == 1


def _boundaries(c: Context) -> Iterator[tuple[ast.expr, float]]:
    for node in expressions(c, ast.Compare, ast.Subscript, ast.Call, ast.Return, ast.Assign):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            yield node.comparators[0], -0.7
            yield node.left, -1.2
        elif isinstance(node, ast.Subscript):
            index = node.slice
            parts = [index.lower, index.upper] if isinstance(index, ast.Slice) else [index]
            for part in parts:
                if isinstance(part, ast.Name | ast.Call | ast.BinOp | ast.Attribute):
                    yield part, -0.3 if isinstance(index, ast.Slice) else -1.0
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", "islice"):
            for argument in node.args:
                yield argument, 0.0
        elif isinstance(node, ast.Return | ast.Assign) and node.value is not None and _is_count(node.value):
            yield node.value, -0.7


def _is_count(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("len", "sum", "max", "min", "int", "abs")
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add | ast.Sub | ast.FloorDiv | ast.Mult)
        or (isinstance(node, ast.Name) and bool(re.search(r"idx|index|count|pos|num|end|start|len|^[ijkn]$", node.id)))
    )


def constant(c: Context) -> Iterator[Suggestion]:
    """A neighbouring number, the other truth value, nothing instead of something."""
    for node in expressions(c, ast.Constant):
        assert isinstance(node, ast.Constant)
        value = node.value
        if isinstance(value, bool):
            yield replace(c, node, str(not value), "flag")
            yield replace(c, node, "None", "flag", -3.0)
        elif isinstance(value, int):
            others = {value + 1: 0.0, value - 1: 0.0, 0: -0.7, 1: -0.7, -value: -1.0, 2 * value: -2.0, value // 2: -2.0}
            for number in c.project.numbers:
                others.setdefault(number, -2.5)
            for number in c.hints.numbers:
                others.setdefault(number, -1.5)
            for came, wanted in c.hints.amounts:
                for amount, bonus in ((value + wanted - came, 1.0), (value * wanted / came if came else None, 1.5)):
                    if amount is not None and amount == int(amount):
                        others[int(amount)] = max(others.get(int(amount), bonus), bonus)
            for number, bonus in others.items():
                if number != value:
                    yield replace(c, node, str(number), "number", bonus)
            yield replace(c, node, "None", "number", -3.0)
        elif value is None:
            for text, bonus in (("True", -2.5), ("False", -2.0), ("0", -2.0), ("''", -2.5), ("()", -3.0), ("[]", -2.5)):
                yield replace(c, node, text, "none_value", bonus)
        elif isinstance(value, float):
            for near in (value + 1, value - 1, -value, value * 2, value / 2, value * 10, value / 10):
                if near != value:
                    yield replace(c, node, repr(near), "number", -1.0)
    for node in expressions(c, ast.UnaryOp):
        if isinstance(node.op, ast.USub):  # type: ignore[attr-defined]
            yield replace(c, node, c.function.text(node.operand), "sign")  # type: ignore[attr-defined]
    for node in expressions(c, ast.Subscript):
        index = node.slice  # type: ignore[attr-defined]
        parts = [index.lower, index.upper, index.step] if isinstance(index, ast.Slice) else [index]
        for part in parts:
            if (
                isinstance(part, ast.Name | ast.Constant)
                and c.may_be(part, *NUMBERS)
                and not isinstance(getattr(part, "value", 0), str)
            ):
                yield rewrite(c, start(part), start(part), "-", "sign", -0.5, statement_line(c, node))


def constant_for_name(c: Context) -> Iterator[Suggestion]:
    """A constant where a variable is meant: one that nothing uses, a parameter, one called like the target."""
    idle = unused(c)
    names = [name for name in c.function.parameters if name not in ("self", "cls")]
    names += sorted(idle - set(names))
    for node in c.function.statements:
        if not isinstance(node, ast.Assign | ast.Return | ast.AugAssign) or node.value is None or not c.reached(node):
            continue
        values = [(node.value, c.function.text(node.targets[0]) if isinstance(node, ast.Assign) else "")]
        if isinstance(node.value, ast.Call):
            call = node.value
            values = [(each, "") for each in call.args] + [(each.value, each.arg or "") for each in call.keywords]
        for value, target in values:
            if isinstance(value, ast.Constant):
                for name in names:
                    bonus = 2.0 * (name in idle) + 0.7 * bool(words_of(name) & words_of(target))
                    yield replace(c, value, name, "constant_for_name", bonus)


def text(c: Context) -> Iterator[Suggestion]:
    """Texts: what the failure expected in the place of what came, and the project's other texts that are alike."""
    for node in expressions(c, ast.Constant):
        assert isinstance(node, ast.Constant)
        if not isinstance(node.value, str) or "\n" in c.function.text(node) or _in_f_string(c, node):
            continue
        value = node.value
        for wanted, bonus in _wanted_texts(value, c):
            yield replace(c, node, repr(wanted), "text", bonus)


def _in_f_string(c: Context, node: ast.Constant) -> bool:
    return not c.function.text(node).lstrip("rbuRBU").startswith(("'", '"'))


def _wanted_texts(value: str, c: Context) -> Iterator[tuple[str, float]]:
    yielded = {value}
    for came, wanted in c.hints.texts:
        new = _transferred(value, came, wanted)
        if new is not None and new not in yielded:
            yielded.add(new)
            yield new, 3.0
    variants = [
        value.strip(),
        value + " ",
        " " + value,
        value.lower(),
        value.upper(),
        value + "\n",
        value[:-1],
        value[1:],
    ]
    variants += ["" if value else " "]
    for new in variants:
        if new not in yielded:
            yielded.add(new)
            yield new, -1.5
    for other in c.project.texts:
        if other not in yielded and len(other) <= 20 and abs(len(other) - len(value)) <= max(1, len(value) // 3):
            shared = set(other) & set(value)
            yield other, -1.5 if len(value) > 1 and len(shared) * 2 >= len(set(value)) else -2.2
            yielded.add(other)


def _transferred(value: str, came: str, wanted: str) -> str | None:
    """`value` changed as `came` must change into `wanted`, when it lies over the difference."""
    if not value:
        return None
    head = 0
    while head < min(len(came), len(wanted)) and came[head] == wanted[head]:
        head += 1
    tail = 0
    while tail < min(len(came), len(wanted)) - head and came[-1 - tail] == wanted[-1 - tail]:
        tail += 1
    gone, come = came[head : len(came) - tail], wanted[head : len(wanted) - tail]
    at = came.find(value, max(0, head - len(value)))
    if at < 0 or at > head or at + len(value) < head + len(gone):
        return None
    return value[: head - at] + come + value[head - at + len(gone) :]


def index(c: Context) -> Iterator[Suggestion]:
    """Another element or part of a sequence."""
    for node in expressions(c, ast.Subscript):
        assert isinstance(node, ast.Subscript)
        inner = node.slice
        if isinstance(inner, ast.Slice):
            low, high, step = (c.function.text(part) if part else "" for part in (inner.lower, inner.upper, inner.step))
            behind = f":{step}" if step else ""
            options = {f"{high}:{low}{behind}": -0.3, f":{high}{behind}": -1.0, f"{low}:{behind}": -1.0}
            if low and not high:
                options[f":-{low}{behind}"] = -1.0
            if step:
                options[f"{low}:{high}"] = -0.5
            elif not low and not high:
                options |= {"::-1": -0.5, "1:": -1.0, ":-1": -1.0}
            for text_, bonus in options.items():
                if text_ != f"{low}:{high}{behind}":
                    yield rewrite(c, start(inner), end(inner), text_, "slice", bonus, statement_line(c, node))
            value = c.function.text(node.value)
            yield replace(c, node, value, "slice", -1.0)
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, int):
            for number in {0, 1, -1, 2} - {inner.value}:
                yield replace(c, inner, str(number), "index", 0.0 if number in (0, -1) else -0.5)
        elif isinstance(inner, ast.UnaryOp):
            for number in (0, 1, -2):
                yield replace(c, inner, str(number), "index", -0.3)
