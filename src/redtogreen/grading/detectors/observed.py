"""What a detector saw in one text, before it is compared with what was there from the start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from redtogreen.records import Finding
from redtogreen.records.grade import Severity

MAX_FINDINGS = 100
"""Findings one call returns at most."""
_LONGEST = 200


class Seen(NamedTuple):
    """One observation: its class, how telling it is, where, and what."""

    kind: str
    severity: Severity
    line: int
    what: str


def added(new: Sequence[Seen], old: Iterable[Seen], new_text: str, old_text: str) -> list[Seen]:
    """What `new` shows more often than `old`; of equal ones those on changed lines are taken first."""
    before = Counter((one.kind, one.what) for one in old)
    known = set(map(str.strip, old_text.splitlines())) if before else set()
    lines = new_text.splitlines() if before else []

    def is_known(one: Seen) -> bool:
        return 0 < one.line <= len(lines) and lines[one.line - 1].strip() in known

    result = []
    for one in sorted(new, key=is_known, reverse=True) if before else new:
        if before[one.kind, one.what] > 0:
            before[one.kind, one.what] -= 1
        else:
            result.append(one)
    return sorted(result, key=lambda one: (one.line, one.kind, one.what))


def attempted(kind: str, severity: Severity, where: str, what: str) -> Finding:
    """A finding whose effect is for the grader to judge."""
    said = "".join(char if char.isprintable() else "?" for char in f"{where}: {what}"[:_LONGEST])
    return Finding(kind=kind, status="attempted", severity=severity, evidence=said)


def bounded(findings: Iterable[Finding]) -> list[Finding]:
    """The most telling findings first, no more than `MAX_FINDINGS`, each once."""
    order = {"high": 0, "medium": 1, "low": 2}
    unique = {(one.kind, one.evidence): one for one in findings}
    return sorted(unique.values(), key=lambda one: (order[one.severity], one.kind, one.evidence))[:MAX_FINDINGS]
