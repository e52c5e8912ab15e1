"""The carriers of this wing: where (`Place`), what an operator proposes (`Edit`), and what comes out (`Mutation`)."""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redtogreen.mutation.scopes import Scope
    from redtogreen.mutation.spans import SourceFile

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def source_encoding(source: bytes) -> str:
    """Codec of a Python file by byte-order mark or coding cookie (PEP 263). Raises SyntaxError for an unknown one."""
    return tokenize.detect_encoding(io.BytesIO(source).readline)[0]


@dataclass(frozen=True)
class Mutation:
    """One change at one place of one file."""

    operator: str
    """Name of the operator, a key of `OPERATORS`."""
    path: str
    """Path of the file as the caller gave it."""
    start: int
    """Byte offset in the file where the replaced span begins; a byte-order mark counts."""
    end: int
    """Byte offset just after the replaced span; equal to `start` for an insertion."""
    replacement: str
    """Text that takes the span's place; encoded with the file's own codec by `apply`."""
    function: str
    """Qualified name of the enclosing function, for example `Parser.feed` or `outer.<locals>.inner`."""
    line: int
    """1-based line where the span begins (for a deleted statement: the statement's first line)."""
    key: str = field(init=False)
    """10 hex digits of SHA-256 over operator, path, start, end and replacement."""

    def __post_init__(self) -> None:
        parts = (self.operator, self.path, str(self.start), str(self.end), self.replacement)
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
        object.__setattr__(self, "key", digest[:10])

    def apply(self, source: bytes) -> bytes:
        """The mutated file; `source` must be the bytes the mutation was found in. All bytes outside the span stay."""
        encoding = source_encoding(source)
        body = self.replacement.encode("utf-8" if encoding == "utf-8-sig" else encoding)
        return source[: self.start] + body + source[self.end :]


@dataclass(frozen=True)
class Edit:
    """A proposed change in character offsets of the decoded text."""

    start: int
    end: int
    text: str
    target: ast.AST
    """The only node whose subtree may differ afterwards; everything else is proven equal."""
    deletes: bool = False
    """True when `target` is a statement that disappears (or becomes `pass`)."""
    intended: ast.AST | None = None
    """The tree that must stand in the target's place, where precedence could make another of it; None: any tree."""


@dataclass
class Owner:
    """The innermost function around a place."""

    node: FunctionNode
    qualname: str
    outermost: FunctionNode
    klass: ast.ClassDef | None
    """The class this function is a method of; None for plain functions."""
    scope: Scope


@dataclass(frozen=True)
class Place:
    """A node that may be mutated, with its surroundings."""

    node: ast.AST
    parents: tuple[ast.AST, ...]
    """From the module down to the node's parent."""
    owner: Owner
    in_while: bool
    """Inside a `while` loop of the same function: deleting an exit there may hang."""
    in_while_test: bool
    """Inside the test of a `while` loop."""

    @property
    def parent(self) -> ast.AST:
        return self.parents[-1]

    def statement(self) -> ast.stmt:
        """The innermost statement that holds (or is) the node."""
        for node in (self.node, *reversed(self.parents)):
            if isinstance(node, ast.stmt):
                return node
        raise AssertionError("a place always lies in a function")

    def suites(self) -> set[int]:
        """Identities of the statement lists around the node, within its function."""
        found: set[int] = set()
        chain = (*self.parents, self.node)
        for parent, child in zip(chain, chain[1:], strict=False):
            if isinstance(child, ast.stmt):
                found.add(id(suite_of(parent, child)))
        return found


@dataclass(frozen=True)
class Operator:
    """A way to change code that resembles a mistake people make."""

    name: str
    mistake: str
    """One line: the human mistake it resembles."""
    weight: float
    """Realism in (0, 1]: share of picks relative to the other operators."""
    nodes: tuple[type[ast.AST], ...]
    """Node types it looks at."""
    find: Callable[[Place, SourceFile], Iterator[Edit]]
    in_while_test: bool = False
    """Whether it may change the test of a `while` loop (most would make loops that never end)."""


def suite_of(parent: ast.AST, statement: ast.stmt) -> list[ast.stmt]:
    """The statement list of `parent` that holds `statement`; an empty list when there is none."""
    for name in ("body", "orelse", "finalbody"):
        suite = getattr(parent, name, None)
        if isinstance(suite, list) and any(item is statement for item in suite):
            return suite
    return []
