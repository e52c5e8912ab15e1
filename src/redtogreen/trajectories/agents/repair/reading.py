"""What the agent has read so far: known lines of files, the functions in them, the outline of a file."""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

_NUMBERED = re.compile(r"^ *(\d+)  (.*)$")
_SYMBOL = re.compile(r"^(?:(?P<path>[^:]+): )?(?P<name>[\w.]+)\(line:(?P<line>\d+)\)$")
_DEFINITION = re.compile(r"^( *)(?:async +)?def +(\w+)")
_CLASS = re.compile(r"^( *)class +(\w+)")


@dataclass(frozen=True)
class Function:
    """One whole function, as it stands in its file."""

    path: str
    name: str
    first: int
    """Line of its `def` in the file, from 1."""
    lines: tuple[str, ...]
    owner: str = ""
    """Name of the class around it; empty: none known."""

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @cached_property
    def indent(self) -> int:
        return len(self.lines[0]) - len(self.lines[0].lstrip())

    @cached_property
    def source(self) -> str:
        """The function's text, moved to the left margin; continuation lines in strings keep what they can."""
        return "\n".join(line[self.indent :] if not line[: self.indent].strip() else line for line in self.lines)

    @cached_property
    def tree(self) -> ast.FunctionDef | ast.AsyncFunctionDef:
        body = ast.parse(self.source + "\n").body[0]
        assert isinstance(body, ast.FunctionDef | ast.AsyncFunctionDef)
        return body

    @cached_property
    def encoded(self) -> list[bytes]:
        """Lines of `source`; syntax trees count columns in UTF-8 bytes."""
        return [line.encode() for line in self.source.split("\n")]

    @cached_property
    def docstring(self) -> str:
        return ast.get_docstring(self.tree) or ""

    def text(self, node: ast.AST) -> str:
        """The source of a node, exactly as written."""
        first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
        start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        if first == last:
            return self.encoded[first][start:end].decode()
        middle = [line.decode() for line in self.encoded[first + 1 : last]]
        return "\n".join([self.encoded[first][start:].decode(), *middle, self.encoded[last][:end].decode()])

    @cached_property
    def parameters(self) -> list[str]:
        arguments = self.tree.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
        return [argument.arg for argument in every]

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """Every statement inside, docstring left out."""
        own = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and node is not self.tree]
        if self.tree.body and _is_docstring(self.tree.body[0]):
            own.remove(self.tree.body[0])
        return sorted(own, key=lambda node: (node.lineno, node.col_offset))

    @cached_property
    def statement_lines(self) -> dict[int, int]:
        """Line -> first line of the innermost statement it belongs to, both from 1 in `source`."""
        found: dict[int, int] = {}
        for node in self.statements:
            found.update((line, node.lineno) for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))
        return found

    @cached_property
    def dump(self) -> str:
        """The function's tree as text: equal for functions that mean the same."""
        return ast.dump(self.tree)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@dataclass
class Reading:
    """Lines of files by number, kept in step with the agent's own edits."""

    lines: dict[str, dict[int, str]] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)
    outlines: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """Path -> (qualified name, line) of everything defined there, sorted by line."""
    _functions: dict[str, list[Function]] = field(default_factory=dict)

    def take_file(self, observation: dict) -> None:
        """Remember what open_file answered."""
        path = observation["path"]
        known = self.lines.setdefault(path, {})
        for line in observation["content"].split("\n"):
            if found := _NUMBERED.match(line):
                known[int(found[1])] = found[2]
        self.total[path] = observation["total_lines"]
        self._functions.pop(path, None)

    def take_symbols(self, path: str, observation: dict) -> None:
        """Remember what search_symbol answered about one file."""
        found = (_SYMBOL.match(each) for each in observation.get("matches", ()))
        self.outlines[path] = sorted(((each["name"], int(each["line"])) for each in found if each), key=lambda x: x[1])

    def knows(self, path: str, first: int, last: int) -> bool:
        known = self.lines.get(path, {})
        return all(number in known for number in range(first, min(last, self.total.get(path, last)) + 1))

    def text(self, path: str, first: int, last: int) -> list[str]:
        known = self.lines[path]
        return [known[number] for number in range(first, last + 1)]

    def replace(self, path: str, first: int, last: int, new: list[str]) -> None:
        """Follow an applied edit: lines first..last became `new`."""
        shift = len(new) - (last - first + 1)
        known = {
            (number + shift if number > last else number): line
            for number, line in self.lines[path].items()
            if not first <= number <= last
        }
        known.update(enumerate(new, first))
        self.lines[path] = known
        self.total[path] += shift
        self._functions.pop(path, None)

    def functions(self, path: str) -> list[Function]:
        """Every function of a file that is known as a whole and parses, nested ones left to their outer one."""
        if path not in self._functions:
            self._functions[path] = list(_functions_in(path, self.lines.get(path, {}), self.total.get(path, 0)))
        return self._functions[path]

    def function_at(self, path: str, line: int) -> Function | None:
        for function in self.functions(path):
            if function.first <= line <= function.last:
                return function
        return None

    def extent(self, path: str, line: int) -> tuple[str, int, int] | None:
        """(qualified name, first line, last line at most) of the function around a line, from the outline."""
        outline = self.outlines.get(path)
        if not outline:
            return None
        inner = [(name, first) for name, first in outline if first <= line]
        if not inner:
            return None
        after = [first for _, first in outline if first > line]
        name, first = inner[-1]
        return name, first, (after[0] - 1 if after else self.total.get(path, line + 60))

    def every_function(self) -> Iterator[Function]:
        for path in sorted(self.lines):
            yield from self.functions(path)


def _functions_in(path: str, known: dict[int, str], total: int) -> Iterator[Function]:
    inside_until = 0
    owners: list[tuple[int, str]] = []
    for number in sorted(known):
        if number <= inside_until:
            continue
        line = known[number]
        if found := _CLASS.match(line):
            owners = [each for each in owners if each[0] < len(found[1])] + [(len(found[1]), found[2])]
        found = _DEFINITION.match(line)
        if not found:
            continue
        block = _block(known, number, total)
        if block is None:
            continue
        owner = next((name for indent, name in reversed(owners) if indent < len(found[1])), "")
        function = Function(path, found[2], number, tuple(block), owner)
        try:
            function.tree  # noqa: B018  (parsed here once, so that only functions that parse are handed on)
        except (SyntaxError, ValueError, AssertionError, RecursionError):
            continue
        inside_until = number + len(block) - 1
        yield function


def _block(known: dict[int, str], first: int, total: int) -> list[str] | None:
    """The lines of the function whose `def` stands at `first`; None when its end is not known."""
    lines: list[str] = []
    number = first
    while number in known:
        lines.append(known[number])
        number += 1
    indent = len(lines[0]) - len(lines[0].lstrip())
    text = textwrap.dedent("\n".join(line[indent:] if not line[:indent].strip() else line for line in lines)) + "\n"
    last, opened = 0, 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.INDENT:
                opened += 1
            elif token.type == tokenize.DEDENT:
                opened -= 1
                if opened == 0:
                    at_the_cut = token.start[0] > len(lines) and first + len(lines) - 1 < total
                    return None if at_the_cut else lines[:last]
            elif token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER):
                if opened == 0 and last and token.start[1] == 0 and token.string not in (")", "]", "}"):
                    return lines[:last]
                last = token.end[0]
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return None
    return None
