"""What a sandbox promises and how it was attacked, as tables for a terminal and as a page of the docs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from redtogreen.execution.doctor import Diagnosis, Tried, order
from redtogreen.execution.sandboxes.guarantees import MEANINGS
from redtogreen.insight.tables import table

_WIDE = 240


def doctor_data(found: Diagnosis, self_test: bool) -> dict[str, Any]:
    """The diagnosis as plain values."""
    data: dict[str, Any] = {
        "backend": found.backend,
        "tier": found.tier,
        "machine": found.machine,
        "guarantees": {name: asdict(level) for name, level in found.guarantees.items()},
        "backends": {name: {"starts": reason is None, "reason": reason} for name, reason in found.backends.items()},
        "order": order(found),
    }
    if self_test:
        data |= {
            "attacks": [asdict(row) for row in found.attacks],
            "stopped": sum(row.stopped for row in found.attacks),
            "left": found.left,
        }
    return data


def doctor_text(found: Diagnosis, self_test: bool) -> str:
    """The diagnosis for a person."""
    machine = ", ".join(f"{name}: {value}" for name, value in found.machine.items())
    parts = [f"{found.tier} ({found.backend} backend)\n{machine}"]
    rows = [(name, level.level, level.reason or MEANINGS[name]) for name, level in found.guarantees.items()]
    remedies = [f"{name}: {level.remedy}" for name, level in found.guarantees.items() if level.remedy]
    if found.tier == "none":
        first = next(iter(found.guarantees.values()))
        parts.append(f"no guarantee holds: {first.reason}\nremedy: {first.remedy}")
    else:
        parts.append(table(["guarantee", "level", "reason, or what it means"], rows, left=3, limit=_WIDE))
        parts += ["remedies\n" + "\n".join(f"  {line}" for line in remedies)] if remedies else []
    starts = [(name, "starts" if reason is None else reason) for name, reason in found.backends.items()]
    parts.append(table(["backend", "on this machine"], starts, left=2, limit=_WIDE))
    parts.append(table(["tier, best first", "on this machine"], order(found).items(), left=2, limit=_WIDE))
    if self_test and found.attacks:
        parts += [_attacks_table(found.attacks), _sum(found)]
    return "\n\n".join(parts)


_INTRODUCTION = """What hostile code tries, and what was seen when it tried. Each attack runs in a sandbox of its own,
after a harmless probe has proven it to be one; every payload refuses to run anywhere else. The control is the same
attack where the one guarantee it is made against does not stand in its way: it shows that the attack works."""


def attacks_page(found: Diagnosis) -> str:
    """The attack table as a page of the docs."""
    attacks = [
        [row.name, row.guarantee, row.tries, row.expected, _stopped(row), f"{_control(row)} ({row.control_how})"]
        for row in found.attacks
    ]
    levels = [[name, level.level, level.reason or MEANINGS[name]] for name, level in found.guarantees.items()]
    machine = ", ".join(f"{name} {value}" for name, value in found.machine.items())
    parts = [
        "<!-- made by `redtogreen doctor --self-test --out docs/attacks.md` -->",
        "# Attacks on the sandbox",
        _INTRODUCTION,
        f"Backend {found.backend}, tier {found.tier}; {machine}. {_sum(found)}",
        _markdown(["attack", "guarantee", "what it tries", "expected", "seen", "control"], attacks),
        "## Guarantees seen",
        _markdown(["guarantee", "level", "reason, or what it means"], levels),
        "Not tried: side channels of the processor, holes of the kernel, devices such as GPUs.",
    ]
    return "\n\n".join(parts) + "\n"


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _attacks_table(attacks: list[Tried]) -> str:
    rows = [(row.name, row.expected, _stopped(row), _control(row)) for row in attacks]
    return table(["attack", "expected", "seen", "control"], rows, left=4, limit=90)


def _stopped(row: Tried) -> str:
    return f"{'stopped' if row.stopped else 'NOT STOPPED'}: {row.seen}"


def _control(row: Tried) -> str:
    return row.control if row.control == "worked" else f"{row.control}: {row.control_seen}"


def _sum(found: Diagnosis) -> str:
    stopped = sum(row.stopped for row in found.attacks)
    kinds = ("worked", "failed", "not run")
    controls = ", ".join(f"{sum(row.control == kind for row in found.attacks)} {kind}" for kind in kinds)
    left = ", ".join(f"{count} {kind}" for kind, count in found.left.items())
    return f"{stopped} of {len(found.attacks)} attacks stopped; controls: {controls}; left on the host: {left}."
