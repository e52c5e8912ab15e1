"""One possible repair as replaced lines, and the tools templates make them with."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from redtogreen.trajectories.agents.repair.failure import Hints
from redtogreen.trajectories.agents.repair.profiles import fits, kind_of, kinds_of
from redtogreen.trajectories.agents.repair.project import ProjectWords
from redtogreen.trajectories.agents.repair.reading import Function


@dataclass(frozen=True)
class Suggestion:
    """Lines `first` to `last` of a file become `new`; last = first - 1 inserts before `first`."""

    path: str
    first: int
    last: int
    new: tuple[str, ...]
    template: str
    bonus: float = 0.0
    """Natural logarithm: how much likelier than other suggestions of this template, before looking at the code."""
    at: int = 0
    """The line whose suspiciousness counts."""


@dataclass(frozen=True)
class Context:
    """What a template may look at."""

    function: Function
    project: ProjectWords
    hints: Hints
    lines: frozenset[int] | None = None
    """Lines of the file that failing tests executed; only there repairs are looked for. None: everywhere."""

    seen: Mapping[str, set[str]] = field(default_factory=dict)
    """Variable -> names of the types it was seen to hold, `~` behind one for an empty value; only what was traced."""

    @cached_property
    def kinds(self) -> dict[str, set[str]]:
        """Variable -> kinds of value: as seen, else as the code suggests; a name that is missing may hold anything."""
        known = kinds_of(self.function)
        return known | {name: {each.rstrip("~") for each in kinds} for name, kinds in self.seen.items()}

    def may_be(self, node: ast.AST, *kinds: str) -> bool:
        """Whether an expression may be of one of some kinds; only for names and literals anything else is known."""
        if isinstance(node, ast.Name) and node.id in self.kinds:
            return fits(self.kinds[node.id], set(kinds))
        kind = kind_of(node) if isinstance(node, ast.expr) else None
        return kind is None or kind in kinds

    def may_be_empty(self, node: ast.AST) -> bool:
        """Whether a variable was seen with a value that is empty but not None, or was not traced."""
        if not isinstance(node, ast.Name) or node.id not in self.seen:
            return True
        return any(kind.endswith("~") for kind in self.seen[node.id])

    def line(self, node: ast.AST) -> int:
        """Line of a node in the file."""
        return self.function.first + node.lineno - 1  # type: ignore[attr-defined]

    def reached(self, node: ast.AST) -> bool:
        """Whether failing tests executed the statement."""
        return self.lines is None or self.line(node) in self.lines


Position = tuple[int, int]


def start(node: ast.AST) -> Position:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def end(node: ast.AST) -> Position:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def between(c: Context, left: Position, right: Position) -> str:
    """The source from one position to another."""
    encoded = c.function.encoded
    if left[0] == right[0]:
        return encoded[left[0] - 1][left[1] : right[1]].decode()
    middle = [line.decode() for line in encoded[left[0] : right[0] - 1]]
    first, last = encoded[left[0] - 1][left[1] :], encoded[right[0] - 1][: right[1]]
    return "\n".join([first.decode(), *middle, last.decode()])


def rewrite(
    c: Context, left: Position, right: Position, text: str, template: str, bonus: float = 0.0, at: int | None = None
) -> Suggestion:
    """Replace the source between two positions (lines from 1 and byte columns of the function's own tree)."""
    function = c.function
    head = function.encoded[left[0] - 1][: left[1]].decode()
    tail = function.encoded[right[0] - 1][right[1] :].decode()
    margin = " " * function.indent
    new = tuple(margin + line if line.strip() else line for line in (head + text + tail).split("\n"))
    first, last = function.first + left[0] - 1, function.first + right[0] - 1
    return Suggestion(function.path, first, last, new, template, bonus, at or first)


def replace(c: Context, node: ast.AST, text: str, template: str, bonus: float = 0.0) -> Suggestion:
    """Replace one node's source."""
    return rewrite(c, start(node), end(node), text, template, bonus, statement_line(c, node))


def statement_line(c: Context, node: ast.AST) -> int:
    """Line in the file of the innermost statement around a node: what coverage counts."""
    line = node.lineno  # type: ignore[attr-defined]
    return c.function.first + c.function.statement_lines.get(line, line) - 1


def insert(c: Context, before: int, lines: list[str], indent: int, template: str, bonus: float = 0.0) -> Suggestion:
    """Insert statements before a line of the function's own tree (from 1), indented by `indent` columns there."""
    margin = " " * (c.function.indent + indent)
    first = c.function.first + before - 1
    new = tuple(margin + line if line.strip() else line for line in lines)
    return Suggestion(c.function.path, first, first - 1, new, template, bonus, first)


def drop(c: Context, node: ast.stmt, template: str, bonus: float = 0.0, text: str | None = None) -> Suggestion:
    """Remove a statement, or put other lines in its place."""
    first, last = c.line(node), c.function.first + (node.end_lineno or node.lineno) - 1
    margin = " " * (c.function.indent + node.col_offset)
    new = () if text is None else tuple(margin + line for line in text.split("\n"))
    return Suggestion(c.function.path, first, last, new, template, bonus, first)


def expressions(c: Context, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    """Nodes of some kinds in the function's body and defaults, docstring and annotations left out."""
    for statement in filter(c.reached, c.function.statements):
        for node in own_nodes(statement):
            if isinstance(node, kinds):
                yield node
    for default in [*c.function.tree.args.defaults, *c.function.tree.args.kw_defaults]:
        for node in ast.walk(default) if default is not None else ():
            if isinstance(node, kinds):
                yield node


def own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of one statement, not those of the statements inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_comment"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, ast.stmt):
                    waiting.append(child)


def blocks(c: Context) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    """(owner, statements) of every block in the function."""
    for owner in [c.function.tree, *c.function.statements]:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(owner, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield owner, block
        for handler in getattr(owner, "handlers", []):
            yield handler, handler.body


def names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
