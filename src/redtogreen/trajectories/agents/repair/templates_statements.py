"""Repairs of statements: values not returned, jumps, wrong depth, wrong order, exceptions, guards that are missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from redtogreen.trajectories.agents.repair.suggestions import (
    Context,
    Suggestion,
    blocks,
    drop,
    expressions,
    insert,
    replace,
    rewrite,
    start,
)
from redtogreen.trajectories.agents.repair.templates_conditions import unused


def returned(c: Context) -> Iterator[Suggestion]:
    """A computed value that is not returned, or another one that should be."""
    nothing = "none" in c.hints.kinds
    kinds, wanted = c.kinds, c.hints.wanted
    locals_ = {
        name: bonus - 2.5 * bool(wanted and name in kinds and not kinds[name] & wanted)
        for name, bonus in _locals(c).items()
    }
    for node in c.function.statements:
        if isinstance(node, ast.Return) and node.value is None:
            for name, bonus in locals_.items():
                yield drop(c, node, "returned", bonus + 2.0 * nothing, f"return {name}")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield rewrite(c, start(node), start(node), "return ", "returned", -1.0 + 2.0 * nothing, c.line(node))
        elif isinstance(node, ast.Return):
            for text, bonus in {**locals_, "None": -1.5, "True": -1.5, "False": -1.5, "self": -2.0}.items():
                if text != c.function.text(node.value):  # type: ignore[arg-type]
                    yield replace(c, node.value, text, "other_returned", bonus)  # type: ignore[arg-type]
    last = c.function.tree.body[-1]
    generator = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(c.function.tree))
    if not isinstance(last, ast.Return | ast.Raise) and not generator and c.function.name != "__init__":
        after = (last.end_lineno or last.lineno) + 1
        for name, bonus in {**locals_, "self": -1.0, "True": -1.0, "False": -1.0}.items():
            found = insert(c, after, [f"return {name}"], last.col_offset, "return_added", bonus + 2.5 * nothing)
            yield _counted_at(found, c.line(last))


def _counted_at(found: Suggestion, line: int) -> Suggestion:
    return Suggestion(found.path, found.first, found.last, found.new, found.template, found.bonus, line)


def _locals(c: Context) -> dict[str, float]:
    """Local variables -> how likely they are what the function is for: assigned and changed, yet not used otherwise."""
    stored = {n.id for n in ast.walk(c.function.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    idle, typical = unused(c), {"result", "results", "ret", "rv", "out", "output", "res"}
    every = {name: 1.5 * (name in idle) + 1.0 * (name in typical) for name in sorted(stored)}
    return every | {name: -0.7 for name in c.function.parameters if name not in ("self", "cls") and name not in every}


def jump(c: Context) -> Iterator[Suggestion]:
    """break, continue, return, pass and yield for one another; jumps added at the end of a branch."""
    looping = any(isinstance(node, ast.For | ast.While) for node in c.function.statements)
    endless = 1.5 * ("endless" in c.hints.kinds)
    for node in c.function.statements:
        if isinstance(node, ast.Break):
            yield drop(c, node, "jump", 0.0, "continue")
            yield drop(c, node, "jump", -1.0, "return")
        elif isinstance(node, ast.Continue):
            yield drop(c, node, "jump", 0.0, "break")
            yield drop(c, node, "jump", -1.0, "pass")
        elif isinstance(node, ast.Pass):
            for text, bonus in (("continue", 0.0), ("break", 0.0), ("return", -0.5), ("raise", 0.0)):
                if looping or text in ("return", "raise"):
                    yield drop(c, node, "jump", bonus, text)
        elif isinstance(node, ast.Return) and looping and node.value is None:
            yield drop(c, node, "jump", -0.5, "break")
            yield drop(c, node, "jump", -0.5, "continue")
    for owner, block in blocks(c):
        final = block[-1]
        if isinstance(final, ast.Return | ast.Raise | ast.Break | ast.Continue):
            continue
        after = (final.end_lineno or final.lineno) + 1
        if isinstance(owner, ast.If | ast.ExceptHandler):
            for text, bonus in (("break", 0.0), ("continue", 0.0), ("return", -0.2)):
                if looping or text == "return":
                    found = insert(
                        c, after, [text], final.col_offset, "jump_added", bonus + endless * (text == "break")
                    )
                    yield _counted_at(found, c.line(final))
    for given in expressions(c, ast.Yield, ast.YieldFrom):
        value = given.value  # type: ignore[attr-defined]
        if value is not None:
            word = "yield from" if isinstance(given, ast.Yield) else "yield"
            yield replace(c, given, f"{word} {c.function.text(value)}", "yielded")


def removed(c: Context) -> Iterator[Suggestion]:
    """A statement that should not be there, or a condition that should not guard it."""
    for owner, block in blocks(c):
        for node in block:
            if isinstance(
                node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal
            ):
                continue
            text = "pass" if len(block) == 1 else None
            weight = -0.5 if isinstance(node, ast.Raise | ast.Assert) and "raised" in c.hints.kinds else -1.5
            if owner is c.function.tree and len(block) == 1:
                continue
            yield drop(c, node, "removed", weight, text)
            if isinstance(node, ast.If) and not node.orelse:
                first, last = start(node.body[0])[0], (node.end_lineno or node.lineno)
                shift = node.body[0].col_offset - node.col_offset
                lines = [c.function.encoded[number - 1].decode() for number in range(first, last + 1)]
                body = "\n".join(line[node.col_offset + shift :] for line in lines)
                yield drop(c, node, "unguarded", -1.0, body)


def order(c: Context) -> Iterator[Suggestion]:
    """Two neighbouring statements exchanged."""
    for _, block in blocks(c):
        for one, other in zip(block, block[1:], strict=False):
            if isinstance(one, ast.FunctionDef | ast.ClassDef) or isinstance(other, ast.Return | ast.Raise):
                continue
            encoded = c.function.encoded
            first = [encoded[number - 1].decode() for number in range(one.lineno, (one.end_lineno or 0) + 1)]
            second = [encoded[number - 1].decode() for number in range(other.lineno, (other.end_lineno or 0) + 1)]
            gap = [encoded[number - 1].decode() for number in range((one.end_lineno or 0) + 1, other.lineno)]
            if one.lineno == other.lineno:
                continue
            margin = " " * c.function.indent
            new = tuple(margin + line if line.strip() else line for line in [*second, *gap, *first])
            last = c.function.first + (other.end_lineno or other.lineno) - 1
            yield Suggestion(c.function.path, c.line(one), last, new, "order", 0.0, c.line(one))


def depth(c: Context) -> Iterator[Suggestion]:
    """A statement one level too deep or not deep enough; elif for if."""
    for _owner, block in blocks(c):
        for position, node in enumerate(block):
            if not isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try):
                continue
            branch = getattr(node, "orelse", None) or node.body
            if len(branch) > 1:
                yield _moved(c, branch[-1], node.col_offset - branch[-1].col_offset, "depth")
            if position + 1 < len(block) and not isinstance(block[position + 1], ast.FunctionDef):
                deeper = node.body[0].col_offset - node.col_offset
                yield _moved(c, block[position + 1], deeper, "depth")
            if position + 1 < len(block) and isinstance(node, ast.If) and isinstance(block[position + 1], ast.If):
                following = block[position + 1]
                yield rewrite(c, start(following), start(following), "el", "elif", 0.0, c.line(following))
            if isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
                other = node.orelse[0]
                column = other.col_offset
                if c.function.encoded[other.lineno - 1][column : column + 4] == b"elif":
                    left = (other.lineno, column)
                    yield rewrite(c, left, (other.lineno, column + 2), "", "elif", -0.5, c.line(other))


def _moved(c: Context, node: ast.stmt, columns: int, template: str) -> Suggestion:
    lines = [c.function.encoded[number - 1].decode() for number in range(node.lineno, (node.end_lineno or 0) + 1)]
    margin = " " * c.function.indent
    moved = [" " * columns + line if columns > 0 else line[-columns:] for line in lines]
    new = tuple(margin + line if line.strip() else line for line in moved)
    last = c.function.first + (node.end_lineno or node.lineno) - 1
    return Suggestion(c.function.path, c.line(node), last, new, template, 0.0, c.line(node))


def exception(c: Context) -> Iterator[Suggestion]:
    """Another exception caught or raised: what the failure names, what the project catches elsewhere."""
    wanted = sorted(c.hints.exceptions)
    common = ["KeyError", "IndexError", "TypeError", "ValueError", "AttributeError", "StopIteration", "Exception"]
    for node in c.function.statements:
        for handler in getattr(node, "handlers", []):
            if handler.type is None:
                continue
            now = c.function.text(handler.type)
            held = (
                [c.function.text(each) for each in handler.type.elts] if isinstance(handler.type, ast.Tuple) else [now]
            )
            for name in wanted:
                if name not in held:
                    yield replace(c, handler.type, f"({', '.join([*held, name])})", "exception", 2.0)
                    yield replace(c, handler.type, name, "exception", 1.0)
            for name in [*c.project.caught, *common]:
                if name not in held and name not in wanted:
                    yield replace(c, handler.type, name, "exception", -0.5)
                    if not name.startswith("("):
                        yield replace(c, handler.type, f"({', '.join([*held, name])})", "exception", -0.5)
        if isinstance(node, ast.Raise) and node.exc is not None:
            kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            for name in {*wanted, *common}:
                if name != c.function.text(kind) and isinstance(kind, ast.Name):
                    yield replace(c, kind, name, "exception", 1.0 if name in wanted else -1.0)


def guard(c: Context) -> Iterator[Suggestion]:
    """A check at the beginning, or around one statement, for values that may be missing or empty."""
    body = c.function.tree.body
    top = body[1] if len(body) > 1 and isinstance(body[0], ast.Expr) and ast.get_docstring(c.function.tree) else body[0]
    names = [name for name in c.function.parameters if name not in ("self", "cls")]
    results = _results(c)
    hinted = 1.0 * bool(c.hints.kinds & {"none", "attribute", "type", "raised", "index", "key"})
    for name in names:
        for test, weight in ((f"{name} is None", 0.0), (f"not {name}", -0.5)):
            for result, bonus in results.items():
                lines = [f"if {test}:", f"    return{' ' + result if result else ''}"]
                found = insert(c, top.lineno, lines, top.col_offset, "guard", bonus + weight + hinted - 0.5)
                yield _counted_at(found, c.line(top))
    for _, block in blocks(c):
        for node in block:
            if not isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Return | ast.Delete | ast.Raise):
                continue
            text = [c.function.encoded[n - 1].decode()[node.col_offset :] for n in _lines(node)]
            for test in _tests_for(c, node):
                new = "\n".join([f"if {test}:", *("    " + line for line in text)])
                yield drop(c, node, "guarded", hinted - 1.0, new)


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _results(c: Context) -> dict[str, float]:
    """What an early return may give back: what the function returns elsewhere first."""
    found: dict[str, float] = {"": -1.0, "None": -1.5, "False": -1.5, "[]": -2.0}
    for node in c.function.statements:
        if isinstance(node, ast.Return):
            text = c.function.text(node.value) if node.value else ""
            if "\n" not in text:
                found[text] = 0.0 if isinstance(node.value, ast.Constant | ast.Name | None) else -1.0
    return found | {name: -0.7 for name in c.function.parameters[:2] if name not in ("self", "cls")}


def _tests_for(c: Context, node: ast.stmt) -> list[str]:
    """Conditions that may guard a statement, from what it uses."""
    found = []
    for each in ast.walk(node):
        if isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Name | ast.Constant | ast.Attribute):
            found.append(f"{c.function.text(each.slice)} in {c.function.text(each.value)}")
            if isinstance(each.ctx, ast.Store):
                found.append(f"{c.function.text(each.slice)} not in {c.function.text(each.value)}")
        elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id != "self":
            found.append(f"{each.value.id} is not None")
        elif isinstance(each, ast.Name) and each.id in c.function.parameters and each.id not in ("self", "cls"):
            found.append(each.id)
    idle = [name for name in unused(c) if name in c.function.parameters]
    return list(dict.fromkeys(found + idle + [f"not {name}" for name in idle]))
