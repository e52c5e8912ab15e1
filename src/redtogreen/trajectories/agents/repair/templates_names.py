"""Repairs of names: another variable, attribute, method or function; arguments exchanged, missing or too many."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache

from redtogreen.trajectories.agents.repair.localise import words_of
from redtogreen.trajectories.agents.repair.profiles import fits, needed, parents_of
from redtogreen.trajectories.agents.repair.project import name_of
from redtogreen.trajectories.agents.repair.suggestions import (
    Context,
    Suggestion,
    between,
    end,
    expressions,
    own_nodes,
    replace,
    rewrite,
    start,
    statement_line,
)
from redtogreen.trajectories.agents.repair.templates_conditions import unused

PAIRS = [
    *(("min", "max"), ("any", "all"), ("first", "last"), ("left", "right"), ("start", "end"), ("start", "stop")),
    *(
        ("lower", "upper"),
        ("begin", "end"),
        ("head", "tail"),
        ("prev", "next"),
        ("append", "extend"),
        ("add", "update"),
    ),
    *(("keys", "values"), ("values", "items"), ("keys", "items"), ("startswith", "endswith"), ("lstrip", "rstrip")),
    *(("strip", "lstrip"), ("strip", "rstrip"), ("find", "rfind"), ("split", "rsplit"), ("partition", "rpartition")),
    *(("pop", "popleft"), ("append", "appendleft"), ("pop", "get"), ("get", "setdefault"), ("old", "new")),
    *(("encode", "decode"), ("sorted", "reversed"), ("ceil", "floor"), ("union", "intersection"), ("row", "col")),
    *(("issubset", "issuperset"), ("difference", "intersection"), ("key", "value"), ("src", "dst"), ("x", "y")),
    *(
        ("bisect_left", "bisect_right"),
        ("index", "find"),
        ("remove", "discard"),
        ("width", "height"),
        ("list", "tuple"),
    ),
    *(
        ("isdigit", "isalpha"),
        ("isinstance", "issubclass"),
        ("int", "float"),
        ("read", "readline"),
        ("set", "frozenset"),
    ),
    *(("hasattr", "getattr"), ("search", "match"), ("match", "fullmatch"), ("sub", "subn"), ("insert", "append")),
    *(("ge", "gt"), ("le", "lt"), ("ge", "le"), ("gt", "lt"), ("eq", "ne"), ("a", "b"), ("i", "j"), ("k", "v")),
    *(("rows", "cols"), ("success", "failure"), ("min", "sum"), ("max", "sum"), ("enter", "exit"), ("pre", "post")),
]
_WHOLE = ("list", "tuple", "set", "frozenset", "dict", "generator", "range", "str", "bytes")
_OUTER = {
    "list": _WHOLE, "tuple": _WHOLE, "set": _WHOLE, "sorted": _WHOLE, "len": _WHOLE, "iter": _WHOLE,
    "reversed": ("list", "tuple", "range", "str", "dict"), "dict": ("list", "dict", "generator"),
    "str": ("int", "float", "bool", "NoneType", "bytes"), "int": ("str", "float", "bool"), "abs": ("int", "float"),
}  # fmt: skip
"""Conversion -> kinds of values it may be meant for."""
_BUILTIN = set(dir(builtins))


@cache
def partners(name: str) -> set[str]:
    """Counterparts of a name, also inside a longer one: start_index -> end_index, stop_index."""
    found = set()
    for pair in PAIRS:
        for one, other in (pair, pair[::-1]):
            if name == one:
                found.add(other)
            else:
                fresh = re.sub(rf"(^|_){one}(?=_|$)", rf"\g<1>{other}", name)
                if fresh != name:
                    found.add(fresh)
    return found


def variable(c: Context) -> Iterator[Suggestion]:
    """Another variable of the function: unused ones and parameters first, then those that are called alike."""
    nodes = [n for n in ast.walk(c.function.tree) if isinstance(n, ast.Name)]
    stored = {n.id for n in nodes if isinstance(n.ctx, ast.Store)}
    scope = sorted((stored | set(c.function.parameters)) - {"self", "cls", "_"})
    idle = unused(c)
    first_stored: dict[str, int] = {}
    for each in nodes:
        if isinstance(each.ctx, ast.Store):
            first_stored[each.id] = min(each.lineno, first_stored.get(each.id, each.lineno))
    loops = any(isinstance(each, ast.While | ast.For | ast.comprehension) for each in ast.walk(c.function.tree))
    called = {id(n.func) for n in ast.walk(c.function.tree) if isinstance(n, ast.Call)}
    kinds, parents = c.kinds, parents_of(c.function)
    for node in expressions(c, ast.Name):
        assert isinstance(node, ast.Name)
        if not isinstance(node.ctx, ast.Load) or id(node) in called or node.id in ("self", "cls"):
            continue
        if node.id in _BUILTIN and node.id not in scope:
            continue
        counterparts = partners(node.id)
        parent = parents.get(id(node))
        wanted = needed(node, parent)
        if isinstance(parent, ast.Return):
            wanted = c.hints.wanted or None
        for other in scope:
            early = other not in c.function.parameters and first_stored[other] > node.lineno
            if other == node.id or (early and not loops):
                continue
            if wanted and other in kinds and not fits(kinds[other], wanted):
                continue
            bonus = 2.0 * (other in idle) + 1.0 * (other in counterparts) + 0.4 * (other in c.function.parameters)
            bonus += 0.5 if words_of(other) & words_of(node.id) else 0.0
            if other in kinds and node.id in kinds:
                bonus += 0.5 if kinds[other] & kinds[node.id] else -2.0
            bonus += 3.0 if "name" in c.hints.kinds and node.id in c.hints.names else 0.0
            yield replace(c, node, other, "variable", bonus)
        for other in counterparts - set(scope):
            if other in c.project.functions or other in _BUILTIN:
                yield replace(c, node, other, "function")
    for node in expressions(c, ast.Name):
        assert isinstance(node, ast.Name)
        if isinstance(node.ctx, ast.Store) and node.id not in ("_",):
            for other in scope:
                if other != node.id:
                    bonus = 1.5 * (node.id in idle) + 0.5 * bool(words_of(other) & words_of(node.id))
                    yield replace(c, node, other, "target", bonus - 1.0)


def attribute(c: Context) -> Iterator[Suggestion]:
    """Another attribute of the same object, or another method that does something like it."""
    bare_calls = {id(n.func) for n in ast.walk(c.function.tree) if isinstance(n, ast.Call) and not n.args}
    for node in expressions(c, ast.Attribute):
        assert isinstance(node, ast.Attribute)
        owner = c.function.text(node.value)
        left = (node.end_lineno, node.end_col_offset - len(node.attr.encode()))  # type: ignore[operator]
        options: dict[str, float] = dict.fromkeys(partners(node.attr), 1.0)
        for other, count in c.project.attributes.get(owner, {}).items():
            alike = bool(words_of(other) & words_of(node.attr))
            options.setdefault(other, -1.0 + 1.0 * alike + min(count, 4) * 0.1)
        if "attribute" in c.hints.kinds and node.attr in c.hints.names:
            for other in c.project.methods:
                if words_of(other) & words_of(node.attr):
                    options.setdefault(other, 0.5)
        for other, bonus in options.items():
            bare_split = {other, node.attr} == {"split", "rsplit"} and id(node) in bare_calls
            if other != node.attr and not bare_split:
                named = 2.0 * ("attribute" in c.hints.kinds and node.attr in c.hints.names)
                line = statement_line(c, node)
                yield rewrite(c, left, end(node), other, "attribute", bonus + named, line)  # type: ignore[arg-type]


def function_called(c: Context) -> Iterator[Suggestion]:
    """Another function: the counterpart, or one called alike; or the call taken away around its argument."""
    for node in expressions(c, ast.Call):
        assert isinstance(node, ast.Call)
        if isinstance(node.func, ast.Name):
            known = c.project.bare | _BUILTIN
            options: dict[str, float] = {name: 1.0 for name in partners(node.func.id) if name in known}
            mine = words_of(node.func.id)
            for other in sorted(c.project.bare):
                if words_of(other) & mine and other != node.func.id and other.isidentifier():
                    options.setdefault(other, 0.0 if len(words_of(other) ^ mine) <= 2 else -1.0)
            for other, bonus in options.items():
                yield replace(c, node.func, other, "function", bonus)
        if len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred):
            inner = c.function.text(node.args[0])
            if not isinstance(node.args[0], ast.GeneratorExp):
                yield replace(c, node, inner, "call_dropped", -0.5 if isinstance(node.func, ast.Name) else -1.0)
        if isinstance(node.func, ast.Attribute) and not node.args:
            yield replace(c, node, c.function.text(node.func.value), "call_dropped", -0.7)


def argument(c: Context) -> Iterator[Suggestion]:
    """Arguments exchanged, taken away, added, or given under the name that other calls use."""
    for node in expressions(c, ast.Call):
        assert isinstance(node, ast.Call)
        name = name_of(node.func)
        texts = [c.function.text(each) for each in node.args]
        signature = c.project.signatures.get(name or "", [])
        known = _fits(texts, signature)
        for first in range(len(texts) - 1):
            for second in range(first + 1, len(texts)):
                swapped = list(texts)
                swapped[first], swapped[second] = texts[second], texts[first]
                if texts[first] != texts[second] and "*" not in (texts[first][0], texts[second][0]):
                    better = _fits(swapped, signature) - known
                    bonus = 1.5 * better - 0.5 * (second - first - 1)
                    yield _arguments(c, node, swapped, "arguments_exchanged", bonus)
        yield from _missing(c, node, name or "", texts, signature)
        for position in range(len(node.args)):
            fewer = texts[:position] + texts[position + 1 :]
            kinds = "arguments" in c.hints.kinds
            yield _arguments(c, node, fewer, "argument_dropped", -0.5 + kinds)
        for word in node.keywords:
            others = [other for other in node.keywords if other is not word]
            yield _arguments(c, node, texts, "argument_dropped", -0.5, others)
            plain = isinstance(word.value, ast.Constant | ast.Name) and word.arg in c.function.parameters
            if plain and word.arg and c.function.text(word.value) != word.arg:
                yield replace(c, word.value, word.arg, "keyword_value", 1.0)


def exchanged(c: Context) -> Iterator[Suggestion]:
    """Two variables of one statement in each other's place."""
    for statement in filter(c.reached, c.function.statements):
        found = [n for n in own_nodes(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        names = [
            n for n in found if n.id not in _BUILTIN and n.id not in ("self", "cls") and n.id not in c.project.bare
        ]
        if len(names) > 6 or any(n.lineno != statement.lineno for n in names):
            continue
        for first in range(len(names)):
            for second in range(first + 1, len(names)):
                one, other = sorted((names[first], names[second]), key=start)
                if one.id != other.id:
                    text = other.id + between(c, end(one), start(other)) + one.id
                    yield rewrite(c, start(one), end(other), text, "names_exchanged", 0.0, statement_line(c, statement))


def _fits(texts: list[str], signature: list[str]) -> int:
    """How many arguments are called like the parameter they stand for."""
    return sum(bool(words_of(text) & words_of(name)) for text, name in zip(texts, signature, strict=False))


def _missing(c: Context, node: ast.Call, name: str, texts: list[str], signature: list[str]) -> Iterator[Suggestion]:
    present = {word.arg for word in node.keywords} | set(signature[: len(texts)])
    urgent = 2.0 * ("arguments" in c.hints.kinds and bool(c.hints.names & {name, *signature}))
    seen: dict[tuple[str, str], int] = {}
    for call in c.project.calls.get(name, []):
        for key, value in call.keywords:
            seen[key, value] = seen.get((key, value), 0) + 1
        for extra in call.positional[len(texts) : len(texts) + 1]:
            if call.positional[: len(texts)] == tuple(texts) or extra in c.function.parameters:
                yield _arguments(c, node, [*texts, extra], "argument_added", 0.5 + urgent)
    own = set(c.function.parameters) - {"self", "cls"}
    own |= {n.id for n in ast.walk(c.function.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    idle = unused(c)
    for parameter in signature[len(texts) :] + sorted(own):
        if parameter in own and parameter not in present:
            known = parameter in signature
            seen.setdefault((parameter, parameter), 0)
            bonus = (1.5 if known else -1.5) + 1.5 * (parameter in idle) + urgent
            if known and signature.index(parameter) == len(texts):
                yield _arguments(c, node, [*texts, parameter], "argument_added", bonus)
            elif parameter in idle and len(texts) < 3 and not (signature and len(texts) >= len(signature)):
                yield _arguments(c, node, [*texts, parameter], "argument_added", bonus + 1.0)
    for (key, value), count in seen.items():
        if key not in present and (key in signature or not signature):
            usable = value in own or not value.isidentifier() or value in ("True", "False", "None")
            if usable:
                bonus = min(count, 3) * 0.4 + 0.8 * (key in signature) + 1.5 * (key in idle) - 1.0
                yield _arguments(c, node, texts, "argument_added", bonus + urgent, node.keywords, f"{key}={value}")


def _arguments(
    c: Context,
    node: ast.Call,
    texts: list[str],
    template: str,
    bonus: float,
    keywords: list[ast.keyword] | None = None,
    extra: str = "",
) -> Suggestion:
    """The call with other arguments; on one line where the old one was."""
    words = node.keywords if keywords is None else keywords
    parts = texts + [c.function.text(word) for word in words] + ([extra] if extra else [])
    text = "(" + (",\n" if any("\n" in part for part in parts) else ", ").join(parts) + ")"
    return rewrite(c, end(node.func), end(node), text, template, bonus, statement_line(c, node))


def wrapped(c: Context) -> Iterator[Suggestion]:
    """A conversion or copy around a value."""
    for node in expressions(c, ast.Return, ast.Assign, ast.For, ast.comprehension, ast.Call, ast.Compare, ast.Yield):
        values: list[ast.expr] = []
        if isinstance(node, ast.Return | ast.Assign | ast.Yield) and node.value is not None:
            values = [node.value]
        elif isinstance(node, ast.For | ast.comprehension):
            values = [node.iter]
        elif isinstance(node, ast.Call):
            values = [each for each in node.args if not isinstance(each, ast.Starred)]
        elif isinstance(node, ast.Compare):
            values = [node.left, *node.comparators]
        for value in values:
            text = c.function.text(value)
            if isinstance(value, ast.Constant | ast.GeneratorExp | ast.Lambda) or "\n" in text:
                continue
            for outer, kinds in _OUTER.items():
                if not text.startswith(f"{outer}(") and c.may_be(value, *kinds):
                    typed = 1.0 if "type" in c.hints.kinds else 0.0
                    yield replace(c, value, f"{outer}({text})", "wrapped", typed)
            if isinstance(value, ast.Name | ast.Attribute):
                for tail in (".copy()", "()", ".strip()", ".lower()", "[:]"):
                    yield replace(c, value, text + tail, "wrapped", -0.5)
            if isinstance(value, ast.Name):
                for attribute_ in c.project.attributes.get(text, ()):
                    yield replace(c, value, f"{text}.{attribute_}", "member", -0.5)
            if isinstance(value, ast.Attribute):
                yield replace(c, value, c.function.text(value.value), "member", -0.5)
    for node in expressions(c, ast.Subscript):
        assert isinstance(node, ast.Subscript)
        if isinstance(node.ctx, ast.Load) and "key" in c.hints.kinds:
            text = f"{c.function.text(node.value)}.get({c.function.text(node.slice)})"
            yield replace(c, node, text, "wrapped", 0.5)


def bare_name_of_self(c: Context) -> Iterator[Suggestion]:
    """`self.x` for `x` and the reverse."""
    for node in expressions(c, ast.Attribute):
        assert isinstance(node, ast.Attribute)
        if isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr in c.function.parameters:
            yield replace(c, node, node.attr, "self_or_not", 0.5)
    fields = set(c.project.attributes.get("self", {}))
    for node in expressions(c, ast.Name):
        assert isinstance(node, ast.Name)
        if isinstance(node.ctx, ast.Load) and node.id in fields:
            yield rewrite(c, start(node), start(node), "self.", "self_or_not", 0.0, statement_line(c, node))
