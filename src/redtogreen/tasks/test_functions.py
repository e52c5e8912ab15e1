"""Test ids and the test functions behind them; taking whole test functions out of a file.

The unit of splitting is the test function: file, class and function, without parameters. Functions are cut by whole
lines (positions from the syntax tree), so that everything else in the file keeps its bytes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from dataclasses import dataclass

from redtogreen.errors import TaskError

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SUITES = ("body", "orelse", "finalbody")


def unit_of(test: str) -> str:
    """`tests/test_a.py::TestB::test_c[param]` -> `tests/test_a.py::TestB::test_c`."""
    path, mark, rest = test.partition("::")
    return path + mark + rest.split("[", 1)[0]


def file_of(test: str) -> str:
    """The path in front of the first `::`."""
    return test.split("::", 1)[0]


@dataclass(frozen=True)
class _Place:
    name: str
    """Qualified name in test-id form, `TestB::test_c`."""
    node: Function
    suite: list[ast.stmt]


def _places(suite: list[ast.stmt], prefix: str) -> Iterator[_Place]:
    """Functions at module and class level, also below `if` and `try`, in order."""
    for statement in suite:
        if isinstance(statement, Function):
            yield _Place(prefix + statement.name, statement, suite)
        elif isinstance(statement, ast.ClassDef):
            yield from _places(statement.body, f"{prefix}{statement.name}::")
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            for name in _SUITES:
                yield from _places(getattr(statement, name, []), prefix)
            for handler in getattr(statement, "handlers", []):
                yield from _places(handler.body, prefix)


def _parse(path: str, source: bytes) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        raise TaskError(f"{path}, line {line}: cannot be parsed: {error}", "repair the file or leave it out") from None


def cuttable_units(path: str, source: bytes) -> set[str]:
    """Units of one test file that can be taken out without touching others.

    A function can when it is defined there, nothing else in the file uses its name, and no class there inherits it.
    Raises TaskError when the file cannot be parsed.
    """
    module = _parse(path, source)
    used: dict[str, int] = {}
    bases: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Name):
            used[node.id] = used.get(node.id, 0) + 1
        elif isinstance(node, ast.Attribute):
            used[node.attr] = used.get(node.attr, 0) + 1
        elif isinstance(node, ast.ClassDef):
            bases.update(base.id for base in node.bases if isinstance(base, ast.Name))
    return {
        f"{path}::{place.name}"
        for place in _places(module.body, "")
        if place.node.name not in used and not (set(place.name.split("::")[:-1]) & bases)
    }


def _close_gap(lines: list[bytes | None], first: int, last: int) -> None:
    """Take away the blank lines after a cut, or before it at the end of the file: holes would show what was cut."""
    after = last
    while after < len(lines) and not (lines[after] or b"").strip():
        lines[after] = None
        after += 1
    while after == len(lines) and first > 0 and not (lines[first - 1] or b"").strip():
        first -= 1
        lines[first] = None


def cut_functions(path: str, source: bytes, units: Set[str]) -> bytes | None:
    """The test file without these units, decorators included; None when no test is left in it.

    An emptied class or block keeps a `pass`. Raises TaskError when a unit is not there or the rest does not parse.
    """
    module = _parse(path, source)
    wanted = {unit.partition("::")[2] for unit in units}
    places = list(_places(module.body, ""))
    if missing := wanted - {place.name for place in places}:
        raise TaskError(
            f"{path} does not define {', '.join(sorted(missing))}", "only functions of the file can be cut out"
        )
    cut = [place for place in places if place.name in wanted]
    stems = {"test"} | {place.node.name.split("_")[0] for place in cut}
    if not any(place.node.name.startswith(tuple(stems)) for place in places if place.name not in wanted):
        return None
    gone = {id(place.node) for place in cut}
    lines: list[bytes | None] = list(source.splitlines(keepends=True))
    for place in cut:
        first = min([place.node.lineno, *(decorator.lineno for decorator in place.node.decorator_list)])
        last = place.node.end_lineno or place.node.lineno
        head = lines[first - 1] or b""
        lines[first - 1 : last] = [None] * (last - first + 1)
        emptied = all(id(statement) in gone for statement in place.suite)
        if emptied and place.node is place.suite[0] and place.suite is not module.body:
            indent = head[: len(head) - len(head.lstrip(b" \t"))]
            lines[first - 1] = indent + b"pass" + (b"\r\n" if head.endswith(b"\r\n") else b"\n")
        else:
            _close_gap(lines, first - 1, last)
    rest = b"".join(line for line in lines if line is not None)
    _parse(path, rest)
    return rest
