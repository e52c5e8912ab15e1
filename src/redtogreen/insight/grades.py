"""A grade as scripts and people read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from redtogreen.errors import UsageError
from redtogreen.insight.tables import counts_table, table
from redtogreen.insight.texts import one_line
from redtogreen.records import Grade


def grade_data(grade: Grade) -> dict[str, Any]:
    """The documented keys of `grade --json`."""
    return msgspec.to_builtins(grade)


def grade_text(grade: Grade) -> str:
    """Outcome, tests that do not pass, findings."""
    counts = Counter(grade.tests.values())
    lines = [f"{grade.task_id}: {grade.outcome}"]
    if counts:
        lines.append("reward tests: " + ", ".join(f"{count} {status}" for status, count in counts.most_common()))
    if grade.evaluation:
        passed = sum(status == "passed" for status in grade.evaluation.values())
        lines.append(f"evaluation tests: {passed} of {len(grade.evaluation)} passed")
    rejected = [item.evidence for item in grade.findings if item.kind == "patch_rejected"]
    if rejected:
        return f"{grade.task_id}: {grade.outcome}: {one_line(rejected[0], 400)}\nno test was run"
    if grade.error:
        lines.append(f"error: {one_line(grade.error, 400)}")
    bad = [(status, name) for name, status in grade.tests.items() if status != "passed"]
    if bad:
        lines += ["", table(["status", "test"], bad[:50], left=2, limit=160)]
        lines += [f"and {len(bad) - 50} more; --json names all"] if len(bad) > 50 else []
    if grade.findings:
        rows = [(item.kind, item.status, item.evidence) for item in grade.findings]
        lines += ["", table(["finding", "status", "evidence"], rows, left=3, limit=100)]
    return "\n".join(lines)


def grades_text(grades: Sequence[Grade]) -> str:
    """Outcomes of a whole run, and why attempts could not be graded."""
    parts = [counts_table("outcome", Counter(grade.outcome for grade in grades))]
    reasons = Counter(one_line(grade.error, 160) for grade in grades if grade.error)
    if reasons:
        parts.append(table(["no verdict because", "count"], reasons.most_common(), limit=160))
    return "\n\n".join(parts)


def read_patch(path: Path) -> str:
    """The text of a patch file. Raises UsageError when it is missing or not UTF-8."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        raise UsageError(f"no patch file at {path}", "write one with: git diff > fix.diff") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"patch {path} is not UTF-8: {error}") from None
