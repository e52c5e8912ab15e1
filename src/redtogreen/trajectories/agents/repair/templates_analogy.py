"""Repairs by analogy: statements the project writes elsewhere in like places, and twins of the function itself."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from redtogreen.trajectories.agents.repair.localise import words_of
from redtogreen.trajectories.agents.repair.project import Snippet
from redtogreen.trajectories.agents.repair.reading import Function
from redtogreen.trajectories.agents.repair.suggestions import Context, Suggestion, blocks, insert
from redtogreen.trajectories.agents.repair.templates_conditions import unused

_KNOWN = {"len", "isinstance", "list", "dict", "tuple", "set", "str", "int", "range", "super", "type", "True", "False"}


def missing_statement(c: Context) -> Iterator[Suggestion]:
    """A statement of the project whose names all exist here, put before or after statements of each block."""
    scope = {node.id for node in ast.walk(c.function.tree) if isinstance(node, ast.Name)} | set(c.function.parameters)
    idle = unused(c) | (_undefined(c) if "name" in c.hints.kinds else set())
    present = {line.strip() for line in c.function.lines}
    seen: dict[str, float] = {}
    for snippet in c.project.snippets:
        if snippet.text.split("\n")[0] in present or snippet.kind in ("Pass", "Import", "ImportFrom"):
            continue
        free = snippet.names - scope - _KNOWN - c.project.functions
        if free:
            continue
        bonus = _likeness(c, snippet) + 2.0 * bool(snippet.names & idle)
        seen[snippet.text] = max(seen.get(snippet.text, -9.0), bonus)
    for text, bonus in sorted(seen.items(), key=lambda item: (-item[1], item[0]))[:12]:
        yield from _everywhere(c, text, bonus - 1.0)
    yield from _adapted(c, present)
    yield from _initialised(c)
    yield from _counted(c)


def _adapted(c: Context, present: set[str]) -> Iterator[Suggestion]:
    """Statements of this function or its neighbours with a value exchanged for a variable that nothing uses."""
    idle = {name for name in unused(c) if name not in ("_", "args", "kwargs")}
    if not idle:
        return
    scope = {node.id for node in ast.walk(c.function.tree) if isinstance(node, ast.Name)} | set(c.function.parameters)
    fresh: dict[str, float] = {}
    for snippet in c.project.snippets:
        if snippet.path != c.function.path or snippet.kind not in ("Assign", "AugAssign", "Expr", "Return"):
            continue
        if "\n" in snippet.text or len(snippet.names - scope - _KNOWN - c.project.functions) > 1:
            continue
        own = snippet.function == c.function.name
        for old in re.findall(r"(?<![\w.'\"])(?:\d+|[a-z_]\w*)(?![\w('\"])", snippet.text):
            if old in ("self", "return", "in", "is", "not", "and", "or", "if", "else", "for"):
                continue
            for name in sorted(idle):
                text = re.sub(rf"(?<![\w.]){re.escape(old)}(?!\w)", name, snippet.text)
                alike = bool(words_of(old) & words_of(name))
                known = not _names(text) - scope - _KNOWN - c.project.functions
                if known and text not in present and text != snippet.text:
                    fresh[text] = max(
                        fresh.get(text, -9.0), 1.0 * own + 0.8 * alike + 0.5 * (snippet.kind == "AugAssign")
                    )
    for text, bonus in sorted(fresh.items(), key=lambda item: (-item[1], item[0]))[:10]:
        yield from _everywhere(c, text, bonus)


def _names(text: str) -> set[str]:
    try:
        return {node.id for node in ast.walk(ast.parse(text.strip())) if isinstance(node, ast.Name)}
    except SyntaxError:
        return {"?"}


def _undefined(c: Context) -> set[str]:
    return {name for name in c.hints.names if name not in c.project.functions}


def _likeness(c: Context, snippet: Snippet) -> float:
    """How much the snippet's function is like this one: by name, and by being near."""
    mine, other = words_of(c.function.name), words_of(snippet.function)
    alike = len(mine & other) / max(1, len(mine | other))
    near = snippet.path == c.function.path
    hinted = any(re.search(rf"\b{re.escape(name)}\b", snippet.text) for name in c.hints.names)
    guard = 0.3 * (snippet.kind == "If")
    return 2.0 * alike + 0.3 * near + 1.0 * hinted + guard


def _everywhere(c: Context, text: str, bonus: float) -> Iterator[Suggestion]:
    lines = text.split("\n")
    ends = re.match(r"(return|raise|break|continue)\b", lines[0])
    for _, block in blocks(c):
        for node in block:
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                yield insert(c, node.lineno, lines, node.col_offset, "missing_statement", bonus - 2.0 * bool(ends))
        final = block[-1]
        if not isinstance(final, ast.Return | ast.Raise | ast.Break | ast.Continue):
            after = (final.end_lineno or final.lineno) + 1
            found = insert(c, after, lines, final.col_offset, "missing_statement", bonus)
            yield Suggestion(found.path, found.first, found.last, found.new, found.template, bonus, c.line(final))


def _initialised(c: Context) -> Iterator[Suggestion]:
    """`self.x = x` for a parameter that nothing uses; a first value for a name that may be unset."""
    body = c.function.tree.body
    top = body[1] if len(body) > 1 and ast.get_docstring(c.function.tree) is not None else body[0]
    final = body[-1]
    if "self" in c.function.parameters:
        for name in sorted(unused(c) & set(c.function.parameters)):
            for target in (f"self.{name}", f"self._{name}"):
                hinted = 2.0 * (target[5:] in c.hints.names) + 1.0 * (target[5:] in c.project.attributes["self"])
                after = (final.end_lineno or final.lineno) + 1
                found = insert(c, after, [f"{target} = {name}"], final.col_offset, "initialised", hinted)
                yield Suggestion(found.path, found.first, found.last, found.new, "initialised", hinted, c.line(final))
        if c.function.name == "__init__" and "attribute" in c.hints.kinds:
            for name in sorted(c.hints.names):
                for value in ("None", "[]", "{}", "0", "False", "set()", "True", *c.function.parameters[1:]):
                    yield insert(c, top.lineno, [f"self.{name} = {value}"], top.col_offset, "initialised", -0.5)
    if "name" in c.hints.kinds:
        for name in sorted(c.hints.names):
            if not any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(c.function.tree)):
                continue
            for value in ("None", "0", "[]", "{}", "''", "False", "set()", "1", "True"):
                yield insert(c, top.lineno, [f"{name} = {value}"], top.col_offset, "initialised", 0.0)


def _counted(c: Context) -> Iterator[Suggestion]:
    """A counter that a loop forgot to move on, a value that a loop forgot to keep."""
    numbers, collections = [], []
    for node in c.function.statements:
        for target, value in _pairs(node):
            name = target.id
            if isinstance(value, ast.Constant) and isinstance(value.value, int) and not isinstance(value.value, bool):
                numbers.append(name)
            elif isinstance(value, ast.List) or (isinstance(value, ast.Call) and ast.unparse(value) == "list()"):
                collections.append((name, "append"))
            elif isinstance(value, ast.Call) and ast.unparse(value) == "set()":
                collections.append((name, "add"))
    idle = unused(c)
    stores = [n.id for n in ast.walk(c.function.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for node in c.function.statements:
        if not isinstance(node, ast.While | ast.For):
            continue
        items = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)] if isinstance(node, ast.For) else []
        lines = [(f"{name} {step} 1", 0.5) for name in numbers for step in ("+=", "-=")]
        stored = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        fixed = [name for name in numbers if stores.count(name) == 1]
        summed = [(f"{name} += {each}", 2.0 + (name in fixed)) for name in numbers for each in items if each in idle]
        top = node.body[0]
        for line, bonus in summed:
            found = insert(c, top.lineno, [line], top.col_offset, "counted", bonus)
            yield Suggestion(found.path, found.first, found.last, found.new, "counted", bonus, c.line(node))
        lines += summed
        for name, method in collections:
            for each in dict.fromkeys([*items, *stored]):
                lines.append((f"{name}.{method}({each})", 0.5 + (each in idle)))
        for _owner, block in [each for each in blocks(c) if _inside(each[1][0], node)]:
            final = block[-1]
            if isinstance(final, ast.Break | ast.Continue | ast.Return | ast.Raise):
                where, at = final.lineno, c.line(final)
            else:
                where, at = (final.end_lineno or final.lineno) + 1, c.line(final)
            for line, bonus in lines:
                if line not in (each.strip() for each in c.function.lines):
                    found = insert(c, where, [line], final.col_offset, "counted", bonus)
                    yield Suggestion(found.path, found.first, found.last, found.new, "counted", bonus, at)


def _pairs(node: ast.stmt) -> list[tuple[ast.Name, ast.expr]]:
    """Variables and the values they get; `a, b = 0, []` gives two."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return []
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        both = zip(target.elts, value.elts, strict=False)
        return [(one, other) for one, other in both if isinstance(one, ast.Name)]
    return [(target, value)] if isinstance(target, ast.Name) else []


def _inside(node: ast.stmt, outer: ast.stmt) -> bool:
    return outer.lineno < node.lineno <= (outer.end_lineno or outer.lineno)


def twin(c: Context, functions: list[Function]) -> Iterator[Suggestion]:
    """What a function that is nearly the same has and this one has not: its lines added, changed or left out."""
    mine = [line[c.function.indent :] for line in c.function.lines]
    for other in functions:
        if other is c.function or (other.path, other.first) == (c.function.path, c.function.first):
            continue
        theirs = [line[other.indent :] for line in other.lines]
        if not 0.5 < len(mine) / len(theirs) < 2.0:
            continue
        matcher = difflib.SequenceMatcher(None, [x.strip() for x in mine], [x.strip() for x in theirs], autojunk=False)
        ratio = matcher.ratio()
        if ratio < 0.45 or len(mine) < 4:
            continue
        margin = " " * c.function.indent
        for kind, a, b, x, y in matcher.get_opcodes():
            if kind == "equal" or a == 0 or y - x > 6 or b - a > 6:
                continue
            new = tuple(margin + line if line.strip() else line for line in theirs[x:y])
            first = c.function.first + a
            same = (
                difflib.SequenceMatcher(None, "".join(mine[a:b]), "".join(theirs[x:y])).ratio()
                if kind != "insert"
                else 1
            )
            bonus = 2.0 * (ratio - 0.45) + (same - 0.5)
            yield Suggestion(c.function.path, first, first + b - a - 1, new, "twin", bonus, min(first, c.function.last))
            if kind == "replace" and b - a == y - x > 1:
                for step in range(b - a):
                    at = first + step
                    yield Suggestion(c.function.path, at, at, (new[step],), "twin", bonus - 0.3, at)
