"""Run one attack: in a new sandbox, after a harmless probe has proven it, and never anywhere else."""

from __future__ import annotations

import inspect
import json
import os
import resource
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redtogreen.errors import SandboxError

from ..contract import Mount, ProcessResult, Sandbox
from .attack import BAIT, HOST_FOLDER, PRELUDE, Attack, Setting
from .bait import KINDS, Bait, payloads_alive

Opener = Callable[..., Sandbox]
"""Such as namespace.open_sandbox."""

_PYTHON = os.path.realpath(sys.executable)
_GROWTH = 64 * 2**20
"""Bytes by which this process may grow while it serves an attack."""

_PROBE = """
import json, os, sys
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines() if ":" in line)
print(json.dumps({
    "uid": os.getuid(),
    "map": open("/proc/self/uid_map").read().split(),
    "namespaces": {kind: os.stat("/proc/self/ns/" + kind).st_ino for kind in sys.argv[2:]},
    "capabilities": int(status["CapEff"], 16),
    "secret": os.path.exists(sys.argv[1]),
}))
"""


@dataclass(frozen=True)
class Outcome:
    """What came of an attack or of its control."""

    worked: bool | None
    """True: the guarantee was broken. None: nobody can say."""
    seen: str
    ran: bool = True
    """False: it could not be tried here; `seen` says why."""


def attempt(attack: Attack, opener: Opener, *, control: bool = False) -> Outcome:
    """Try an attack, or its control, in a sandbox of its own that `opener` makes.

    Raises SandboxError when no sandbox can be opened, or when what was opened is not proven to be one.
    """
    setting = attack.control.setting if control else attack.setting
    payload = attack.control.payload if control and attack.control.payload else attack.payload
    if setting.without and "without" not in inspect.signature(opener).parameters:
        return Outcome(None, f"this backend cannot leave out {', '.join(setting.without)}", ran=False)
    with Bait() as bait:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with _open(opener, setting, bait) as box:
            _prove(box, bait)
            outcome = _run(box, attack, payload, {**bait.facts(), "inside": setting.inside}, control)
        harm = bait.harm()
        if left := payloads_alive():
            harm = f"{left} processes are left on the host"
        if (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 > _GROWTH:
            harm = "the host process grew"
    return outcome if harm is None else Outcome(True, f"{harm}; {outcome.seen}")


def _open(opener: Opener, setting: Setting, bait: Bait) -> Sandbox:
    prefix = Path(_PYTHON).parent.parent
    mounts = [] if prefix == Path("/usr") else [Mount(prefix, str(prefix))]
    if setting.shows_host:
        mounts.append(Mount(bait.shown, HOST_FOLDER))
    options: dict[str, Any] = {"without": setting.without} if setting.without else {}
    return opener(bait.lower, mounts=mounts, limits=setting.limits, env=dict(setting.env), **options)


def _prove(box: Sandbox, bait: Bait) -> None:
    """Look, without touching anything, whether this is a sandbox."""
    result = box.run([_PYTHON, "-I", "-S", "-c", _PROBE, str(bait.secret), *KINDS], seconds=10)
    try:
        found = json.loads(result.stdout.text)
    except ValueError:
        said = (result.stderr.text or result.verdict).strip().splitlines()[-1:]
        raise SandboxError(f"the sandbox's isolation is not proven: the probe did not answer: {said}") from None
    host = bait.facts()["namespaces"]
    doubts = [f"the {kind} namespace is the host's" for kind in KINDS if found["namespaces"][kind] == host[kind]]
    if found["uid"] == 0 and found["map"] == ["0", "0", "4294967295"]:
        doubts.append("commands run as root of the host")
    if found["capabilities"]:
        doubts.append("commands have capabilities")
    if found["secret"]:
        doubts.append("a file of the host is visible")
    if doubts:
        raise SandboxError(
            f"the sandbox's isolation is not proven: {', '.join(doubts)}",
            hint="no attack was run; see: redtogreen doctor",
        )


def _run(box: Sandbox, attack: Attack, payload: str, given: Mapping[str, Any], control: bool) -> Outcome:
    result = _execute(box, payload, given)
    outcome = _judge(result, attack, control)
    try:
        if attack.after is not None and not control:
            look = _told(_execute(box, attack.after, given, seconds=10))
            outcome = Outcome(look.worked if not outcome.worked else True, f"{outcome.seen}; {look.seen}")
        if attack.collects:
            changes = box.changes()
            if any(BAIT.encode() in change.content for change in changes.values()):
                outcome = Outcome(True, f"a file of the host was collected; {outcome.seen}")
            links = sum(change.kind == "link" for change in changes.values())
            left_out = sorted(entry.rpartition(" [")[0] for entry in box.skipped)
            seen = (
                f"{len(changes) - links} files and {links} links collected, left out: {', '.join(left_out) or 'none'}"
            )
            outcome = Outcome(outcome.worked, f"{outcome.seen}; {seen}")
    except SandboxError as error:
        outcome = Outcome(True, f"the sandbox broke: {error.message}")
    return outcome


def _execute(box: Sandbox, payload: str, given: Mapping[str, Any], seconds: float | None = None) -> ProcessResult:
    return box.run([_PYTHON, "-I", "-S", "-c", PRELUDE + payload, json.dumps(given)], seconds=seconds)


def _judge(result: ProcessResult, attack: Attack, control: bool) -> Outcome:
    if result.verdict in attack.ended_by and not _last_line(result):
        return Outcome(False, f"ended, verdict {result.verdict}")
    outcome = _told(result)
    if control or outcome.worked is not False:
        return outcome
    if result.exit_code != attack.exit_code:
        return Outcome(True, f"status {result.exit_code} instead of {attack.exit_code}")
    return outcome if not attack.exit_code else Outcome(False, f"{outcome.seen}; status {result.exit_code}")


def _told(result: ProcessResult) -> Outcome:
    line = _last_line(result)
    if line:
        return Outcome(line["worked"], line["seen"], ran=line["worked"] is not None)
    said = result.stderr.text.strip().splitlines()[-1:] or [f"verdict {result.verdict}, status {result.exit_code}"]
    return Outcome(None, f"unclear: {said[0]}")


def _last_line(result: ProcessResult) -> dict[str, Any] | None:
    last = (result.stdout.head + result.stdout.tail).rpartition(b'{"worked": ')
    try:
        return json.loads(b"".join(last[1:]))
    except ValueError:
        return None


def leftovers() -> dict[str, int]:
    """Payloads alive, mounts, descriptors and control groups: equal before and after when nothing was left."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    groups = 0
    for line in lines:
        kind = line.partition(" - ")[2].split(" ")[0]
        if kind in ("cgroup", "cgroup2"):
            groups += sum(1 for _ in Path(line.split(" ")[4]).glob(f"redtogreen-*-{os.getpid()}-*"))
    return {
        "processes": payloads_alive(),
        "mounts": sum(line.split(" ")[4].startswith("/tmp") for line in lines),  # others mount elsewhere
        "descriptors": len(os.listdir("/proc/self/fd")),
        "control groups": groups,
    }
