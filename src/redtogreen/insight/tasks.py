"""A task as its owner reads it."""

from __future__ import annotations

from redtogreen.insight.texts import shorten
from redtogreen.records import Task


def task_text(task: Task) -> str:
    """Origin, description, tests by purpose, certificate and reference."""
    where = task.provenance
    origin = " ".join(part for part in (where.project, where.version, where.origin) if part)
    lines = [
        f"{task.task_id}",
        f"  kind        {task.kind}, from {task.source}, for {task.use}",
        f"  project     {origin}",
        f"  licence     {where.license or 'not stated'}",
        f"  operator    {where.operator or '-'}",
        f"  limits      {task.limits.steps} steps, {task.limits.seconds:g} s, {task.limits.memory}",
        f"  certificate {_certificate(task)}",
        "",
        *(f"  {line}".rstrip() for line in shorten(task.task_desc, 40, 4000).split("\n")),
    ]
    for name, tests in (
        ("fail, then pass", task.tests.f2p),
        ("keep passing", task.tests.p2p),
        ("evaluation, never seen by an agent", task.tests.evaluation),
    ):
        lines += ["", f"  {name}: {len(tests)}", *(f"    {test}" for test in tests[:8])]
        lines += [f"    and {len(tests) - 8} more"] if len(tests) > 8 else []
    if task.reference:
        lines += ["", "  reference:", *(f"    {line}" for line in shorten(task.reference.patch, 60, 6000).split("\n"))]
    return "\n".join(lines)


def _certificate(task: Task) -> str:
    proof = task.certificate
    if proof is None:
        return "none: not admitted yet"
    flaky = f", {len(proof.flaky)} flaky tests left out" if proof.flaky else ""
    return f"{proof.proof}, reference passed {proof.reference_runs} times, empty patch {proof.empty_patch}{flaky}"
