"""A mutant as new code for living functions, so that nothing needs to be imported again to run it."""

from __future__ import annotations
import __future__

import ast
import gc
import io
import os
import sys
import tokenize
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import NamedTuple

CO_OPTIMIZED = 0x1
"""Set in the code of functions, not in that of modules and class bodies."""


class Unswappable(Exception):
    """The change shows in more than the code of living functions; says in what."""


class Change(NamedTuple):
    """What one mutant comes to in this process."""

    swaps: list[tuple[FunctionType, CodeType]]
    """Empty when the file has not been imported yet: importing it brings the change along."""
    lines: set[int]
    """Of the file as it was: a test that executes none of them cannot notice the change."""
    body: set[int]
    """All lines of the changed functions but the ones that define them."""


class LivingFunctions:
    """The functions of this process by file, line and name."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, str], list[FunctionType]] = {}
        for thing in gc.get_objects():
            if type(thing) is FunctionType:
                self._found.setdefault(_place(thing.__code__), []).append(thing)
        files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        self.files = {os.path.abspath(file) for file in files if isinstance(file, str)}

    def of(self, code: CodeType) -> list[FunctionType]:
        """Those whose code this is; the instructions may differ, as what a file imports decides how calls compile."""
        found = self._found.get(_place(code), [])
        return [function for function in found if _shape(function.__code__)[:-1] == _shape(code)[:-1]]


def _place(code: CodeType) -> tuple[str, int, str]:
    return os.path.abspath(code.co_filename), code.co_firstlineno, code.co_qualname


class SourceFile:
    """One file of the project, parsed once for all its mutants."""

    def __init__(self, path: str, living: LivingFunctions):
        self.path, self._living = path, living
        with open(path, "rb") as file:
            self.content = file.read()
        self._encoding = tokenize.detect_encoding(io.BytesIO(self.content).readline)[0]
        self._lines = self._decoded(self.content).split("\n")
        self._tree = ast.parse(self.content, path)
        self._flags = _future_flags(self._tree)
        self._statements = list(_statements(self._tree))

    def change(self, start: int, end: int, replacement: bytes) -> Change:
        """What replacing these bytes comes to. Raises Unswappable."""
        first = self._decoded(self.content[:start]).count("\n") + 1
        last = self._decoded(self.content[: max(start, end - 1)]).count("\n") + 1
        lines = {*range(first, last + 1)}
        for low, high in self._statements:
            if low <= last and first <= high:
                lines.update(range(low, high + 1))
        if self.path not in self._living.files:
            return Change([], lines, set())
        new_lines = self._decoded(self.mutated(start, end, replacement)).split("\n")
        low, high = self._top_statement(first, last)
        old = self._compiled(self._lines, low, high)
        new = self._compiled(new_lines, low, high + len(new_lines) - len(self._lines))
        swaps: list[tuple[FunctionType, CodeType]] = []
        body: set[int] = set()
        for before, after, nested in _differing(old, new, False):
            functions = self._living.of(before)
            if not functions and not nested:
                raise Unswappable(f"no living function has the code of {before.co_qualname}")
            if functions and before.co_freevars != after.co_freevars:
                raise Unswappable(f"{before.co_qualname} closes over other names")
            swaps += [(function, after) for function in functions]
            body |= _lines(before)
            if _signature(before) != _signature(after):
                lines |= _lines(before)
        return Change(swaps, lines, body)

    def mutated(self, start: int, end: int, replacement: bytes) -> bytes:
        return self.content[:start] + replacement + self.content[end:]

    def _decoded(self, content: bytes) -> str:
        text = content.decode(self._encoding, "replace").removeprefix("\ufeff")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def _top_statement(self, first: int, last: int) -> tuple[int, int]:
        for node in self._tree.body:
            low = _first_line(node)
            if low <= first and last <= (node.end_lineno or low):
                return low, node.end_lineno or low
        raise Unswappable("the change lies in the module itself")

    def _compiled(self, lines: list[str], low: int, high: int) -> CodeType:
        text = "\n" * (low - 1) + "\n".join(lines[low - 1 : high]) + "\n"
        try:
            return compile(text, self.path, "exec", flags=self._flags, dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise Unswappable(f"does not compile: {error}") from None


def _future_flags(tree: ast.Module) -> int:
    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(__future__, alias.name).compiler_flag
    return flags


def _statements(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """First and last line of each statement; of a compound statement, of its head."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.excepthandler):
            body = getattr(node, "body", None)
            last = (_first_line(body[0]) - 1) if body else (node.end_lineno or node.lineno)
            yield node.lineno, max(last, node.lineno)


def _first_line(node: ast.stmt) -> int:
    return min(part.lineno for part in (node, *getattr(node, "decorator_list", [])))


def _differing(old: CodeType, new: CodeType, nested: bool) -> Iterator[tuple[CodeType, CodeType, bool]]:
    """Functions whose code differs, outer ones first, and whether they are made anew by an outer one that differs."""
    inner, others = _codes(old), _codes(new)
    if old.co_flags & CO_OPTIMIZED:
        if _shape(old) == _shape(new):
            return
        yield old, new, nested
        nested = True
        if [code.co_name for code in inner] != [code.co_name for code in others]:
            return
    elif _shape(old, deep=False) != _shape(new, deep=False):
        raise Unswappable(f"the change shows in the body of {old.co_qualname}, which is run once")
    for before, after in zip(inner, others, strict=True):
        yield from _differing(before, after, nested)


def _codes(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _signature(code: CodeType) -> tuple:
    """What a function is, besides what it does line by line."""
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    return code.co_flags, code.co_varnames, code.co_cellvars, code.co_freevars, counts


def _shape(code: CodeType, *, deep: bool = True) -> tuple:
    """Everything about code but on which lines it stands; the instructions, inner ones included, last."""
    inner = [_shape(constant) for constant in _codes(code)] if deep else []
    constants = [code.co_name if isinstance(code, CodeType) else _exact(code) for code in code.co_consts]
    return (
        (code.co_name, _signature(code), code.co_names, *constants),
        [shape[0] for shape in inner],
        (code.co_code, code.co_exceptiontable, [shape[-1] for shape in inner]),
    )


def _exact(constant: object) -> tuple[str, str]:
    return type(constant).__name__, repr(constant)  # 1, 1.0 and True are equal


def _lines(code: CodeType) -> set[int]:
    found = {line for _, _, line in code.co_lines() if line} - {code.co_firstlineno}
    return found.union(*map(_lines, _codes(code)))
