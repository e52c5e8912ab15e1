"""Words of the project as far as it was read: names, attributes, calls, statements and texts to repair with."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from redtogreen.trajectories.agents.repair.reading import Function


@dataclass(frozen=True)
class Call:
    """One call as written somewhere."""

    positional: tuple[str, ...]
    keywords: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Snippet:
    """One statement as written somewhere, with its whole text."""

    text: str
    kind: str
    """Name of its syntax tree class."""
    names: frozenset[str]
    function: str
    path: str
    line: int


@dataclass
class ProjectWords:
    """Collected from functions that were read."""

    calls: dict[str, list[Call]] = field(default_factory=lambda: defaultdict(list))
    attributes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Text of an object (`self`, `item`) -> attributes used on it."""
    methods: Counter[str] = field(default_factory=Counter)
    functions: set[str] = field(default_factory=set)
    """Names that are defined in the project or called as functions."""
    bare: set[str] = field(default_factory=set)
    """Those that can be called without an object."""
    snippets: list[Snippet] = field(default_factory=list)
    conditions: Counter[str] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)
    numbers: Counter[int] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    """What stands behind `except`."""
    signatures: dict[str, list[str]] = field(default_factory=dict)
    """Function -> parameter names, self left out."""


def collect(functions: Iterable[Function], outlines: Iterable[list[tuple[str, int]]] = ()) -> ProjectWords:
    """Collect the words of some functions; outlines give names that were not read."""
    words = ProjectWords()
    for outline in outlines:
        words.functions |= {name.rsplit(".", 1)[-1] for name, _ in outline}
        words.bare |= {name for name, _ in outline if "." not in name}
    for function in functions:
        words.functions.add(function.name)
        if not function.owner:
            words.bare.add(function.name)
        words.signatures[function.name] = [name for name in function.parameters if name not in ("self", "cls")]
        for statement in function.statements:
            _take_statement(function, statement, words)
        for node in ast.walk(function.tree):
            _take_node(function, node, words)
    return words


def _take_statement(function: Function, statement: ast.stmt, words: ProjectWords) -> None:
    simple = not hasattr(statement, "body")
    one_line_guard = (
        isinstance(statement, ast.If)
        and len(statement.body) == 1
        and not statement.orelse
        and isinstance(statement.body[0], ast.Return | ast.Raise | ast.Continue | ast.Break)
    )
    if simple or one_line_guard:
        raw = function.text(statement)
        text = "\n".join(_shifted(raw, statement.col_offset))
        names = frozenset(node.id for node in ast.walk(statement) if isinstance(node, ast.Name))
        line = function.first + statement.lineno - 1
        words.snippets.append(Snippet(text, type(statement).__name__, names, function.name, function.path, line))


def _shifted(text: str, columns: int) -> list[str]:
    first, *rest = text.split("\n")
    return [first, *(line[columns:] if not line[:columns].strip() else line for line in rest)]


def _take_node(function: Function, node: ast.AST, words: ProjectWords) -> None:
    if isinstance(node, ast.Call):
        name = name_of(node.func)
        if name:
            keywords = tuple((word.arg, function.text(word.value)) for word in node.keywords if word.arg)
            positional = tuple(function.text(argument) for argument in node.args)
            words.calls[name].append(Call(positional, keywords))
            if isinstance(node.func, ast.Name):
                words.functions.add(name)
                words.bare.add(name)
            else:
                words.methods[name] += 1
    elif isinstance(node, ast.Attribute):
        words.attributes[function.text(node.value)][node.attr] += 1
    elif isinstance(node, ast.If | ast.While):
        words.conditions[function.text(node.test)] += 1
    elif isinstance(node, ast.ExceptHandler) and node.type is not None:
        words.caught[function.text(node.type)] += 1
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str) and len(node.value) <= 40:
            words.texts[node.value] += 1
        elif isinstance(node.value, int) and not isinstance(node.value, bool):
            words.numbers[node.value] += 1


def name_of(node: ast.expr) -> str | None:
    """Last name of what is called."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None
