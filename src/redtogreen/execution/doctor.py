"""Which guarantees hold on this machine: each is tried by attacking it, harmlessly, inside a sandbox."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redtogreen.errors import SandboxError
from redtogreen.execution.sandboxes import backends
from redtogreen.execution.sandboxes.attacks import ATTACKS, Attack, Outcome, attempt, leftovers
from redtogreen.execution.sandboxes.attacks.bait import Bait
from redtogreen.execution.sandboxes.guarantees import MEANINGS, REMEDIES, TIERS, tier_of

OnEvent = Callable[[dict[str, Any]], None]
_BROKEN = "do not run foreign code with this backend here, and report what was seen"
_WEAKER = "use another backend, or another machine"
_LAST_RESORT = (
    f"use less, knowingly: --backend {backends.WITHOUT_NAMESPACES} (see: redtogreen doctor --backend landlock)"
)


@dataclass(frozen=True)
class Level:
    """How strongly one guarantee holds."""

    level: str
    """enforced, best effort or absent."""
    reason: str | None = None
    """Why it is not enforced."""
    remedy: str | None = None


@dataclass(frozen=True)
class Tried:
    """One attack and what came of it."""

    name: str
    guarantee: str
    tries: str
    expected: str
    stopped: bool
    seen: str
    control: str
    """The attack where nothing stops it: worked, failed (then it shows nothing), or not run."""
    control_how: str
    control_seen: str

    @property
    def proven(self) -> bool:
        """Stopped, with no control that contradicts."""
        return self.stopped and self.control != "failed"


@dataclass
class Diagnosis:
    """What this machine can promise to one user."""

    backend: str
    tier: str
    guarantees: dict[str, Level]
    attacks: list[Tried] = field(default_factory=list)
    backends: dict[str, str | None] = field(default_factory=dict)
    """Name -> why it cannot start here; None: it can."""
    machine: dict[str, str] = field(default_factory=dict)
    """kernel, user, cgroups."""
    left: dict[str, int] = field(default_factory=dict)
    """What the attacks left on the host, by kind; all 0."""

    @property
    def exit_code(self) -> int:
        """0: all that is claimed holds. 1: an attack was not stopped, or showed nothing. 3: nothing can be run here."""
        if self.tier == "none":
            return 3
        return 0 if all(row.proven for row in self.attacks) and not any(self.left.values()) else 1


def diagnose(backend: str | None = None, *, controls: bool = False, on_event: OnEvent | None = None) -> Diagnosis:
    """Attack every guarantee of a backend (None: the default one), with `controls` also where it is switched off.

    Raises UsageError for an unknown backend. A machine that can start none gives the tier "none".
    """
    name = backend or backends.BACKENDS[0]
    opener = backends.opener(name)
    with Bait():  # what a backend starts only once, it starts where the bait can be found
        started = {other: backends.why_not(other) for other in [*backends.known(), backends.WITHOUT_NAMESPACES]}
    machine = {"kernel": os.uname().release, "user": "root" if os.geteuid() == 0 else f"uid {os.geteuid()}"}
    if started[name] is not None:
        reason, _, remedy = str(started[name]).partition("\n\nhint: ")
        weaker = _WEAKER if started[backends.WITHOUT_NAMESPACES] is not None else _LAST_RESORT
        nothing = Level("absent", reason, remedy or weaker)
        machine["cgroups"] = "untested"
        return Diagnosis(name, "none", dict.fromkeys(MEANINGS, nothing), backends=started, machine=machine)
    claimed, reasons = _claims(opener)
    machine["cgroups"] = _control_groups(claimed)
    before = leftovers()
    rows = []
    if name == backends.WITHOUT_NAMESPACES:
        rows = _modest_trials(opener)
    else:
        for number, attack in enumerate(ATTACKS, 1):
            if on_event is not None:
                on_event({"event": "attack", "number": number, "of": len(ATTACKS), "name": attack.name})
            rows.append(_try(attack, opener, controls))
    left = {kind: count - before[kind] for kind, count in leftovers().items()}
    levels = {guarantee: _level(guarantee, claimed, reasons, rows) for guarantee in MEANINGS}
    tier = tier_of({guarantee: level.level for guarantee, level in levels.items()})
    return Diagnosis(name, tier, levels, rows, started, machine, left)


def _claims(opener: Callable[..., Any]) -> tuple[dict[str, str], dict[str, str]]:
    """What a sandbox says of itself: levels, and reasons where it promises less."""
    with Bait() as bait, opener(bait.lower) as box:
        return dict(box.guarantees), dict(getattr(box, "reasons", {}))


def _try(attack: Attack, opener: Callable[..., Any], controls: bool) -> Tried:
    outcome = _attempt(attack, opener, control=False)
    control = _attempt(attack, opener, control=True) if controls else Outcome(None, "", ran=False)
    return Tried(
        name=attack.name,
        guarantee=attack.guarantee,
        tries=attack.tries,
        expected=attack.expected,
        stopped=outcome.worked is False,
        seen=outcome.seen,
        control="worked" if control.worked else "failed" if control.ran else "not run",
        control_how=attack.control.how,
        control_seen=control.seen,
    )


_MODEST = {
    "read a file of the host": ("host_files", 'cat "$TARGET"'),
    "write into the lower tree": ("system_read_only", 'echo x >> "$LOWER/file.txt"'),
    "signal a process of the host": ("process_isolation", 'kill -0 "$VICTIM"'),
    "read the variables of a process of the host": ("host_environment", 'cat "/proc/$VICTIM/environ"'),
    "make a user namespace": ("system_calls", "unshare -U true"),
}
"""Harmless even where nothing stops them, unlike the attacks, whose payloads refuse to run in the host's namespaces."""


def _modest_trials(opener: Callable[..., Any]) -> list[Tried]:
    rows = []
    with Bait() as bait, opener(bait.lower) as box:
        facts = bait.facts()
        given = {"TARGET": facts["target"], "VICTIM": str(facts["victim"]), "LOWER": str(bait.lower)}
        for name, (guarantee, command) in _MODEST.items():
            result = box.run(["sh", "-c", command], env=given, seconds=10)
            stopped = result.verdict == "failure"
            seen = "refused" if stopped else f"verdict {result.verdict}"
            rows.append(
                Tried(name, guarantee, command, "refused", stopped, seen, "not run", "none", "harmless by itself")
            )
    return rows


def _attempt(attack: Attack, opener: Callable[..., Any], *, control: bool) -> Outcome:
    try:
        return attempt(attack, opener, control=control)
    except SandboxError as error:
        return Outcome(None, error.message)


def _level(guarantee: str, claimed: dict[str, str], reasons: dict[str, str], rows: list[Tried]) -> Level:
    broken = [row for row in rows if row.guarantee == guarantee and not row.stopped]
    if broken:
        seen = "; ".join(f"{row.name}: {row.seen}" for row in broken)
        return Level("absent", f"not stopped: {seen}", _BROKEN)
    level = claimed.get(guarantee, "absent")
    if level == "enforced":
        return Level("enforced")
    reason = reasons.get(guarantee, "the backend does not promise it")
    return Level(level, reason, REMEDIES.get(guarantee, _WEAKER))


def _control_groups(claimed: dict[str, str]) -> str:
    """Which version limits memory here; what cannot be tried here is said to be untested."""
    kinds = {line.partition(" - ")[2].split(" ")[0] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    mounted = [f"version {number}" for number, kind in ((1, "cgroup"), (2, "cgroup2")) if kind in kinds]
    if claimed.get("memory") != "enforced":
        return f"none can be used by this user ({', '.join(mounted) or 'nothing'} mounted); both versions are untested"
    used, other = ("version 1", "version 2") if _memory_is_version_1() else ("version 2", "version 1")
    return f"{used}; {other} is untested here"


def _memory_is_version_1() -> bool:
    return any(
        line.partition(" - ")[2].startswith("cgroup ") and "memory" in line.rpartition(" ")[2].split(",")
        for line in Path("/proc/self/mountinfo").read_text().splitlines()
    )


def order(diagnosis: Diagnosis) -> dict[str, str]:
    """Every tier in the order of fallback -> in use, why not, or what it would be."""
    said = {}
    for tier, meaning in TIERS.items():
        if tier == diagnosis.tier:
            said[tier] = f"in use: {meaning}"
        elif not any(text.startswith("in use") for text in said.values()) and tier.startswith("namespaces"):
            said[tier] = f"not here: {_why_not_better(diagnosis)}"
        else:
            said[tier] = meaning
    return said


def _why_not_better(diagnosis: Diagnosis) -> str | None:
    """What sets the tier in use apart from those above it."""
    if diagnosis.tier == backends.WITHOUT_NAMESPACES:
        refused = diagnosis.backends[backends.BACKENDS[0]]
        return "another backend was asked for" if refused is None else refused.partition("\n\n")[0]
    return diagnosis.guarantees["memory"].reason
