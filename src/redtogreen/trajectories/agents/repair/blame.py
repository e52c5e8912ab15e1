"""Which lines a crash points to: what raised, what fed it its values, and the conditions that led there."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from redtogreen.trajectories.agents.repair.failure import Crash
from redtogreen.trajectories.agents.repair.reading import Function

OWN_LINE = {"AttributeError": 1.6, "TypeError": 1.6, "NameError": 1.6, "UnboundLocalError": 1.6, "KeyError": 1.0}
OTHER = 0.7
"""Added on a line that raised by itself; more for errors that mostly come from the very line they are raised on."""
FEEDS, LEADS = 0.7, 0.5
"""On lines that gave the raising line its values, and on conditions around it."""
CALLER = 0.6
"""Share of all that for a function that only called what raised."""
RAISED = -1.5
"""On a `raise` that did its duty: the mistake lies in what led there."""
LED_TO_RAISE, FED_THE_CHECK = 1.2, 0.8


def blamed(function: Function, crashes: Iterable[Crash], wanted: set[str]) -> dict[int, float]:
    """Line in the file -> what crashes add to its score (natural logarithm, may be negative).

    `wanted`: exception types the failing tests speak of; a `raise` of another type than those is suspicious itself.
    """
    found: dict[int, float] = {}
    for crash in crashes:
        if crash.path != function.path or not function.first <= crash.line <= function.last:
            continue
        statement = _statement(function, crash.line)
        if statement is None:
            continue
        around = _around(function, statement)
        if isinstance(statement, ast.Raise):
            mistaken = bool(wanted - {crash.exception})
            own = {function.first + statement.lineno - 1: 0.0 if mistaken else RAISED}
            own |= {_line(function, node): LED_TO_RAISE for node in around}
            own |= dict.fromkeys(_feeding(function, statement, _read(around[-1:])) - own.keys(), FED_THE_CHECK)
        else:
            own = dict.fromkeys(_feeding(function, statement, _read([statement])), FEEDS)
            own |= {line: max(own.get(line, 0.0), LEADS) for line in (_line(function, node) for node in around)}
            own |= {crash.line: OWN_LINE.get(crash.exception, OTHER)}
            own |= {_line(function, statement): OWN_LINE.get(crash.exception, OTHER)}
        if not crash.inner:
            own = {line: CALLER * bonus for line, bonus in own.items()}
        for line, bonus in own.items():
            found[line] = max(found.get(line, bonus), bonus)
    return found


def _line(function: Function, node: ast.stmt) -> int:
    return function.first + node.lineno - 1


def _statement(function: Function, line: int) -> ast.stmt | None:
    at = line - function.first + 1
    return next((n for n in reversed(function.statements) if n.lineno <= at <= (n.end_lineno or n.lineno)), None)


def _around(function: Function, statement: ast.stmt) -> list[ast.stmt]:
    """Conditions and loops around a statement, the innermost last."""
    at = statement.lineno
    kinds = (ast.If, ast.While, ast.For)
    return [n for n in function.statements if isinstance(n, kinds) and n.lineno < at <= (n.end_lineno or n.lineno)]


def _read(statements: Iterable[ast.stmt]) -> set[str]:
    """Names that statements read on their own lines."""
    found: set[str] = set()
    for statement in statements:
        heads: list[ast.AST] = [statement]
        if hasattr(statement, "body"):
            heads = [part for name in ("test", "iter") if (part := getattr(statement, name, None)) is not None]
        for head in heads:
            found |= {n.id for n in ast.walk(head) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return found - {"self", "cls"}


def _feeding(function: Function, statement: ast.stmt, names: set[str]) -> set[int]:
    """Lines on which some names get their values, with the conditions directly around those lines."""
    lines: set[int] = set()
    for node in function.statements:
        if node is statement or not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.With):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        stored = {n.id for t in targets if t is not None for n in ast.walk(t) if isinstance(n, ast.Name)}
        if stored & names:
            lines.add(_line(function, node))
            lines |= {_line(function, each) for each in _around(function, node)[-1:]}
    return lines
