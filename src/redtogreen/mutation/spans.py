"""A Python file as text with exact positions: nodes to spans, spans to bytes, statements to removable ranges.

`ast` counts columns in UTF-8 bytes of the decoded line, whatever the file's own codec; this module is the only place
that knows it. Offsets inside the wing are characters of the decoded text (byte-order mark removed, line ends kept).
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right

from redtogreen.errors import TaskError
from redtogreen.mutation.model import Edit, Place, source_encoding, suite_of

_LINE_END = re.compile(r"\r\n|\r|\n")
_REST_OF_LINE = re.compile(r"[ \t\f]*;?[ \t\f]*(?:#[^\r\n]*)?(?=\r|\n|\Z)")
_BOM = b"\xef\xbb\xbf"


class SourceFile:
    """Text, tree and positions of one file. Raises TaskError (file, line) when it cannot be decoded or parsed."""

    def __init__(self, path: str, source: bytes):
        self.path = path
        self.source = source
        try:
            self.encoding = source_encoding(source)
        except SyntaxError as error:
            raise _unusable(path, 1, str(error)) from error
        self.offset = len(_BOM) if source.startswith(_BOM) else 0
        if self.encoding == "utf-8-sig":
            self.encoding = "utf-8"
        body = source[self.offset :]
        try:
            self.text = body.decode(self.encoding)
            faithful = self.text.encode(self.encoding) == body
        except UnicodeDecodeError as error:
            line = body.count(b"\n", 0, error.start) + 1
            raise _unusable(path, line, f"not valid {self.encoding}: {error.reason}") from error
        except (LookupError, UnicodeError) as error:
            raise _unusable(path, 1, str(error)) from error
        if not faithful:
            raise _unusable(path, 1, f"does not survive decoding and encoding as {self.encoding}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(self.text)
        except SyntaxError as error:
            raise _unusable(path, error.lineno or 1, error.msg) from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise _unusable(path, 1, str(error) or type(error).__name__) from error
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        self._ascii = self.text.isascii()
        self._byte_starts = self._measure()

    def _measure(self) -> list[int]:
        if self._ascii:
            return self._starts
        bounds = [*self._starts, len(self.text)]
        sizes = [0]
        for low, high in zip(bounds, bounds[1:], strict=False):
            sizes.append(sizes[-1] + len(self.text[low:high].encode(self.encoding)))
        return sizes

    def at(self, line: int, column: int) -> int:
        """Character offset of a 1-based line and a column in UTF-8 bytes, as `ast` counts them."""
        start = self._starts[line - 1]
        if self._ascii:
            return start + column
        stop = self._starts[line] if line < len(self._starts) else len(self.text)
        return start + len(self.text[start:stop].encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Character range of a node; parentheses around it are outside."""
        return self.start(node), self.end(node)

    def start(self, node: ast.AST) -> int:
        return self.at(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self.at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def segment(self, node: ast.AST) -> str:
        low, high = self.span(node)
        return self.text[low:high]

    def line_index(self, position: int) -> int:
        """0-based index of the line holding a character offset."""
        return bisect_right(self._starts, position) - 1

    def line_start(self, position: int) -> int:
        return self._starts[self.line_index(position)]

    def next_line(self, position: int) -> int:
        """Offset where the line after the one holding `position` starts, or the end of the text."""
        index = self.line_index(position) + 1
        return self._starts[index] if index < len(self._starts) else len(self.text)

    def byte_offset(self, position: int) -> int:
        """Offset in the file's own bytes."""
        if self._ascii:
            return self.offset + position
        index = self.line_index(position)
        head = self.text[self._starts[index] : position]
        return self.offset + self._byte_starts[index] + len(head.encode(self.encoding))

    def token(self, low: int, high: int, pattern: str) -> tuple[int, int] | None:
        """First match of `pattern` between two sibling nodes, comments left out. No strings occur in such gaps."""
        for match in re.finditer(rf"#[^\r\n]*|({pattern})", self.text[low:high]):
            if match.group(1) is not None:
                return low + match.start(1), low + match.end(1)
        return None

    def full_lines(self, statement: ast.stmt) -> tuple[int, int] | None:
        """Range of whole lines a statement has for itself (with a trailing comment); None when it shares one."""
        low, high = self.span(statement)
        decorators = getattr(statement, "decorator_list", None)
        if decorators:
            low = self.line_start(self.start(decorators[0]))
            low += len(self.text[low:]) - len(self.text[low:].lstrip(" \t\f"))
        begin = self.line_start(low)
        before = self.text[self.line_start(begin - 1) : begin] if begin else ""
        if self.text[begin:low].strip(" \t\f") or before.rstrip("\r\n").endswith("\\"):
            return None
        if not _REST_OF_LINE.match(self.text, high):
            return None
        return begin, self.next_line(high)

    def replace(self, node: ast.AST, text: str) -> Edit:
        low, high = self.span(node)
        return Edit(low, high, text, node)

    def delete_statement(self, place: Place) -> Edit | None:
        """Take a statement out: whole lines where it owns them, `pass` where it is alone, else up to its neighbour."""
        statement = place.node
        assert isinstance(statement, ast.stmt)
        suite = suite_of(place.parent, statement)
        low, high = self.span(statement)
        if len(suite) < 2:
            return Edit(low, high, "pass", statement, deletes=True)
        lines = self.full_lines(statement)
        if lines:
            return Edit(*lines, "", statement, deletes=True)
        index = next(i for i, item in enumerate(suite) if item is statement)
        if index + 1 < len(suite) and suite[index + 1].lineno == statement.end_lineno:
            return Edit(low, self.start(suite[index + 1]), "", statement, deletes=True)
        if index and suite[index - 1].end_lineno == statement.lineno:
            return Edit(self.end(suite[index - 1]), high, "", statement, deletes=True)
        return None


def _unusable(path: str, line: int, why: str) -> TaskError:
    return TaskError(f"{path}, line {line}: cannot be mutated: {why}", "leave this file out; the others can be used")
