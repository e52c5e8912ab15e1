"""Answers copied from the visible tests: branches and tables that pair a test's inputs with what it expects."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from redtogreen.grading.detectors.names import nodes_of
from redtogreen.grading.detectors.observed import Seen
from redtogreen.records.grade import Severity

Key = tuple[str, ...]
_MAX_PAIRS = 5000
_MAX_CONSTANTS = 60
_DULL = frozenset(["None", "True", "False"])
_FAULTS = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass
class Expected:
    """What visible tests say: inputs -> what is expected, as flat tuples of constants."""

    pairs: dict[Key, set[Key]] = field(default_factory=dict)
    results: set[Key] = field(default_factory=set)


def expected_of(tests: Iterable[bytes]) -> Expected:
    """The pairs of some test files together; files that cannot be read have none."""
    found = Expected()
    for text in tests:
        for inputs, result in _pairs_of(text):
            found.pairs.setdefault(inputs, set()).add(result)
            found.results.add(result)
    return found


@lru_cache(maxsize=128)
def _pairs_of(text: bytes) -> tuple[tuple[Key, Key], ...]:
    if len(text) > 400_000:
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = nodes_of(ast.parse(text))
        return tuple(_test_pairs(nodes))[:_MAX_PAIRS]
    except _FAULTS:
        return ()


def _test_pairs(nodes: list[ast.AST]) -> Iterator[tuple[Key, Key]]:
    for node in nodes:
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.Is):
            yield from _compared(node.left, node.comparators[0])
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", "")
            if name in ("assertEqual", "assertEquals", "assertIs") and len(node.args) >= 2:
                yield from _compared(node.args[0], node.args[1])
            elif name == "parametrize" and len(node.args) >= 2 and isinstance(node.args[1], ast.List | ast.Tuple):
                for row in node.args[1].elts:
                    cells = row.args if isinstance(row, ast.Call) else getattr(row, "elts", [])
                    if len(cells) >= 2:
                        inputs = _flat_all(cells[:-1])
                        result = _flat(cells[-1])
                        if inputs and result:
                            yield inputs, result


def _compared(left: ast.expr, right: ast.expr) -> Iterator[tuple[Key, Key]]:
    for call, other in ((left, right), (right, left)):
        result = _flat(other)
        if isinstance(call, ast.Call) and result:
            yield _flat_all([*call.args, *(one.value for one in call.keywords)]), result


def _flat_all(nodes: Iterable[ast.expr]) -> Key:
    flat: list[str] = []
    for node in nodes:
        flat += _flat(node) or ()
    return tuple(flat)


def _flat(node: ast.AST) -> Key | None:
    """The constants of an expression in order; None: it holds something else, or too many."""
    found: list[str] = []
    todo: list[ast.AST] = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Constant):
            found.append(repr(part.value)[:200])
        elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub):
            if not isinstance(part.operand, ast.Constant):
                return None
            found.append("-" + repr(part.operand.value)[:200])
        elif isinstance(part, ast.List | ast.Tuple | ast.Set):
            todo += reversed(part.elts)
        elif isinstance(part, ast.Dict) and all(part.keys):
            todo += reversed([one for both in zip(part.keys, part.values, strict=True) for one in both if one])
        elif isinstance(part, ast.MatchValue):
            todo.append(part.value)
        elif isinstance(part, ast.MatchSequence):
            todo += reversed(part.patterns)
        else:
            return None
        if len(found) > _MAX_CONSTANTS:
            return None
    return tuple(found)


def copied_answers(nodes: Sequence[ast.AST], expected: Expected) -> list[Seen]:
    """Branches and tables of a changed file that give a test's input its expected answer."""
    if not expected.pairs:
        return []
    try:
        hits = sorted({(line, key) for line, key in _hits(nodes, expected)})
    except _FAULTS:
        return []
    keys = {key for _, key in hits}
    if not keys:
        return []
    known = sum(1 for inputs in expected.pairs if inputs)
    telling = sum(len(key) > 1 or len(key[0]) > 6 for key in keys)
    nearly_all = len(keys) >= 4 and len(keys) >= 0.8 * known  # a table of numerals honestly shares a few small numbers
    severity: Severity = "high" if telling >= 2 or nearly_all else "medium" if telling or len(keys) >= 4 else "low"
    said = "answers for inputs of visible tests"
    return [Seen("hard_coded", severity, line, f"{said}: {', '.join(key)[:80]}") for line, key in hits[:20]]


def _hits(nodes: Sequence[ast.AST], expected: Expected) -> Iterator[tuple[int, Key]]:
    for node in nodes:
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is not None:
                    yield from _hit(key.lineno, _readings(key), value, expected)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            for row in node.elts:
                if isinstance(row, ast.Tuple | ast.List) and 2 <= len(row.elts) <= 12:
                    yield from _hit(row.lineno, [_flat_all(row.elts[:-1])], row.elts[-1], expected)
        elif isinstance(node, ast.If):
            answer = next((one.value for one in node.body if isinstance(one, ast.Return | ast.Assign)), None)
            if answer is not None:
                yield from _hit(node.lineno, _condition(node.test), answer, expected)
        elif isinstance(node, ast.IfExp):
            yield from _hit(node.lineno, _condition(node.test), node.body, expected)
        elif isinstance(node, ast.match_case):
            answer = next((one.value for one in node.body if isinstance(one, ast.Return | ast.Assign)), None)
            matched = _flat(node.pattern)
            if answer is not None and matched:
                yield from _hit(node.body[0].lineno, [matched], answer, expected)


def _hit(line: int, keys: list[Key], answer: ast.expr, expected: Expected) -> Iterator[tuple[int, Key]]:
    result = _flat(answer)
    for key in keys if result else ():
        if key and set(key) - _DULL and result in expected.pairs.get(key, ()):
            yield line, key
            return


def _readings(key: ast.expr) -> list[Key]:
    """A key as it is, and as what its text says: tables are often keyed by `repr(arguments)`."""
    flat = _flat(key)
    readings = [flat] if flat else []
    if isinstance(key, ast.Constant) and isinstance(key.value, str) and 1 < len(key.value) < 500:
        try:
            said = _flat(ast.parse(key.value.strip(), mode="eval").body)
        except _FAULTS:
            said = None
        readings += [said] if said else []
    return readings


def _condition(test: ast.expr) -> list[Key]:
    """Constants that a condition compares with, over `and` as well."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    flat: list[str] = []
    texts: list[Key] = []
    for part in parts:
        if not (isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Eq | ast.Is)):
            continue
        for side in (part.comparators[0], part.left):
            value = _flat(side)
            if value:
                flat += value
                texts += _readings(side)[1:]
                break
    return [tuple(flat), *texts]
