"""Repairs of the line on which the code itself failed: what a person tries first with a traceback at hand."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator, Mapping
from functools import partial

from redtogreen.trajectories.agents.repair.failure import Crash
from redtogreen.trajectories.agents.repair.reading import Function
from redtogreen.trajectories.agents.repair.suggestions import Context, Suggestion, insert, replace

_ATTRIBUTE = re.compile(r"'(?P<type>\w+)' object has no attribute '(?P<name>\w+)'")
_UNSET = re.compile(r"(?:name|variable) '(?P<name>\w+)'")


def crash(c: Context) -> Iterator[Suggestion]:
    """Suggestions for every crash inside this function."""
    for each in c.hints.crashes:
        statement = _statement_at(c, each)
        if statement is None:
            continue
        if found := _ATTRIBUTE.search(each.message):
            yield from _other_owner(c, statement, found["name"])
        if "NoneType" in each.message:
            yield from _none_guards(c, statement)
        if each.exception in ("NameError", "UnboundLocalError") and (found := _UNSET.search(each.message)):
            yield from _first_value(c, found["name"], each.line)
        if each.exception == "TypeError":
            yield from _other_operand(c, statement, each.message)


def refused(c: Context, functions: list[Function]) -> Iterator[Suggestion]:
    """A check before a call that was refused: what the called function raises for, said in the caller's words."""
    refusals = [each for each in c.hints.crashes if each.inner]
    for crash in (each for each in c.hints.crashes if not each.inner):
        statement = _statement_at(c, crash)
        if statement is None:
            continue
        for inner in refusals:
            if (inner.exception, inner.message) == (crash.exception, crash.message):
                for test in _reasons(c, statement, inner, functions):
                    for leave in ("return None", "return", "return []", "return False", "continue"):
                        lines = [f"if {test}:", f"    {leave}"]
                        bonus = 1.0 if leave == "return None" else 0.0
                        yield insert(c, statement.lineno, lines, statement.col_offset, "crash_refused", bonus)


def _reasons(c: Context, statement: ast.stmt, inner: Crash, functions: list[Function]) -> Iterator[str]:
    """The condition before the `raise`, with the caller's arguments in the place of the parameters."""
    callee = next((f for f in functions if f.path == inner.path and f.first <= inner.line <= f.last), None)
    if callee is None:
        return
    at = inner.line - callee.first + 1
    checks = [n for n in callee.statements if isinstance(n, ast.If) and n.lineno < at <= (n.end_lineno or n.lineno)]
    parameters = [name for name in callee.parameters if name not in ("self", "cls")]
    for call in (node for head in _head(statement) for node in ast.walk(head) if isinstance(node, ast.Call)):
        given = dict(zip(parameters, [c.function.text(each) for each in call.args], strict=False))
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        makes = callee.name == "__init__" and (name == callee.owner or (not callee.owner and name[:1].isupper()))
        if checks and (makes or name == callee.name):
            test = callee.text(checks[-1].test)
            if set(re.findall(r"[A-Za-z_]\w*", test)) & set(parameters) <= given.keys():
                yield re.sub(r"(?<![\w.])[A-Za-z_]\w*", partial(_put, given), test)


def _put(given: Mapping[str, str], found: re.Match[str]) -> str:
    return given.get(found[0], found[0])


def _statement_at(c: Context, crash: Crash) -> ast.stmt | None:
    if crash.path != c.function.path or not c.function.first <= crash.line <= c.function.last:
        return None
    own = [node for node in c.function.statements if _covers(c, node, crash.line)]
    return own[-1] if own else None


def _covers(c: Context, node: ast.stmt, line: int) -> bool:
    return c.line(node) <= line <= c.function.first + (node.end_lineno or node.lineno) - 1


def _head(statement: ast.stmt) -> list[ast.AST]:
    """What runs on the statement's own lines: of a compound one only its test or iterable."""
    parts = [getattr(statement, name, None) for name in ("test", "iter")]
    heads: list[ast.AST] = [part for part in parts if part is not None]
    return heads if hasattr(statement, "body") else [statement]


def _locals(c: Context) -> list[str]:
    stored = {n.id for n in ast.walk(c.function.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return sorted((stored | set(c.function.parameters)) - {"_"})


def _other_owner(c: Context, statement: ast.stmt, name: str) -> Iterator[Suggestion]:
    """`other.name` for `wrong.name`: the object that really has the attribute."""
    users = {owner for owner, attributes in c.project.attributes.items() if name in attributes}
    for head in _head(statement):
        for node in ast.walk(head):
            if (
                isinstance(node, ast.Attribute)
                and node.attr == name
                and isinstance(node.value, ast.Name | ast.Attribute)
            ):
                owner = c.function.text(node.value)
                for other in _locals(c):
                    if other != owner:
                        yield replace(
                            c, node.value, other, "crash_owner", 0.5 * (other in users) + 0.5 * _assigned(c, other)
                        )


def _assigned(c: Context, name: str) -> bool:
    """Whether a name gets its value in the function itself, and so may hold any object."""
    return name not in c.function.parameters


def _none_guards(c: Context, statement: ast.stmt) -> Iterator[Suggestion]:
    """A check for None before the line, or inside its condition."""
    names: list[str] = []
    for head in _head(statement):
        for node in ast.walk(head):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                text = c.function.text(node)
                if text not in names and text not in ("self", "cls") and text.split(".")[0] in (*_locals(c), "self"):
                    names.append(text)
    test = getattr(statement, "test", None)
    wanted = sorted(name for name in c.hints.exceptions if name not in ("AttributeError", "TypeError"))
    loops = any(isinstance(node, ast.For | ast.While) and _inside(statement, node) for node in c.function.statements)

    def seen(name: str) -> float:
        kinds = c.seen.get(name)
        return 0.0 if kinds is None else 1.5 if "NoneType" in kinds else -1.5

    names.sort(key=seen, reverse=True)
    for name in names[:4]:
        bonus = 0.5 + seen(name)
        if isinstance(test, ast.expr):
            text = c.function.text(test)
            inner = f"({text})" if isinstance(test, ast.BoolOp | ast.IfExp) else text
            yield replace(c, test, f"{name} is None or {inner}", "crash_guard", bonus)
            yield replace(c, test, f"{name} is not None and {inner}", "crash_guard", bonus)
        exits = [f"raise {kind}({name!r})" for kind in wanted[:2]] + ["return None", "return"][: 1 + (not wanted)]
        for leave in [*exits, *(["continue"] if loops else [])]:
            lines = [f"if {name} is None:", f"    {leave}"]
            yield insert(
                c, statement.lineno, lines, statement.col_offset, "crash_guard", bonus - 0.5 * ("raise" not in leave)
            )


def _inside(node: ast.stmt, outer: ast.stmt) -> bool:
    return outer.lineno < node.lineno <= (outer.end_lineno or outer.lineno)


def _first_value(c: Context, name: str, line: int) -> Iterator[Suggestion]:
    """A first value before the loop or branch that uses a name, guessed from how the name is used."""
    uses = [n for n in ast.walk(c.function.tree) if isinstance(n, ast.Name) and n.id == name]
    if not uses:
        return
    first = min(node.lineno for node in uses)
    top = next((node for node in c.function.tree.body if (node.end_lineno or node.lineno) >= first), None)
    if top is None:
        return
    for position, value in enumerate(_guesses(c, name)):
        found = insert(c, top.lineno, [f"{name} = {value}"], top.col_offset, "crash_first_value", 0.6 - 0.3 * position)
        yield dataclasses.replace(found, at=line)


def _other_operand(c: Context, statement: ast.stmt, message: str) -> Iterator[Suggestion]:
    """Another variable or attribute in the place of the operand that has the wrong type."""
    for head in _head(statement):
        for node in _blamed(head, message):
            text = c.function.text(node)
            options = [name for name in _locals(c) if name not in ("self", "cls")]
            if isinstance(node, ast.Attribute):
                owner = c.function.text(node.value)
                options = [f"{owner}.{name}" for name in c.project.attributes.get(owner, {})]
            for other in options:
                if other != text:
                    yield replace(c, node, other, "crash_operand", 0.3 * (other in c.function.parameters))


def _blamed(head: ast.AST, message: str) -> Iterator[ast.expr]:
    """The operands a TypeError speaks of."""
    for node in ast.walk(head):
        parts: list[ast.expr] = []
        if isinstance(node, ast.UnaryOp) and "unary" in message:
            parts = [node.operand]
        elif isinstance(node, ast.Call) and "has no len" in message and ast.unparse(node.func) == "len":
            parts = node.args
        elif isinstance(node, ast.Call) and "not callable" in message:
            parts = [node.func]
        elif isinstance(node, ast.Subscript) and "not subscriptable" in message:
            parts = [node.value]
        elif isinstance(node, ast.For | ast.comprehension) and "not iterable" in message:
            parts = [node.iter]
        elif isinstance(node, ast.BinOp) and "operand type" in message:
            parts = [node.left, node.right]
        elif isinstance(node, ast.Compare) and "not supported between" in message:
            parts = [node.left, *node.comparators]
        yield from (part for part in parts if isinstance(part, ast.Name | ast.Attribute))


def _guesses(c: Context, name: str) -> list[str]:
    """Likely first values, best first."""
    text = c.function.source
    word = re.escape(name)
    signs = (
        ('""', rf"\b{word} \+= [\"'f]|\b{word} \+ [\"']|[\"'] \+ {word}\b|\b{word}\.(?:strip|join|split)\("),
        ("[]", rf"\b{word}\.(?:append|extend|insert|pop)\(|\blen\({word}\)"),
        ("{}", rf"\b{word}\[[^\]]+\] ?=|\b{word}\.(?:get|setdefault|items|update)\("),
        ("set()", rf"\b{word}\.(?:add|discard)\(|\bnot in {word}\b"),
        ("0", rf"\b{word} [-+]= |\b{word} [<>]=? |[<>]=? {word}\b"),
        ("None", rf"\b{word} is (?:not )?None\b"),
        ("False", rf"\bif (?:not )?{word}:"),
    )
    found = [value for value, sign in signs if re.search(sign, text)]
    return list(dict.fromkeys([*found, "None", "0", '""', "[]", "False", "{}", "1", "True"]))
