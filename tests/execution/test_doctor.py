"""What doctor says follows from what it tried."""

from __future__ import annotations

import pytest

from redtogreen.errors import SandboxError, UsageError
from redtogreen.execution import doctor
from redtogreen.execution.sandboxes import Limits, backends, open_sandbox
from redtogreen.execution.sandboxes.attacks import ATTACKS
from redtogreen.execution.sandboxes.guarantees import MEANINGS, TIERS, held, missing, tier_of

BOMB = [attack for attack in ATTACKS if attack.name == "fork bomb"]


def test_a_guarantee_whose_attack_works_is_absent(monkeypatch):
    """A backend that claims everything and keeps it badly is not believed."""

    def lax(lower, **options):
        return open_sandbox(lower, **{**options, "limits": Limits(processes=300, seconds=20)})

    monkeypatch.setattr(backends, "opener", lambda name: lax)
    monkeypatch.setattr(doctor, "ATTACKS", BOMB)
    found = doctor.diagnose()
    level = found.guarantees["process_count"]
    assert level.level == "absent" and "fork bomb" in str(level.reason) and level.remedy
    assert found.guarantees["network"].level == "enforced"
    assert found.exit_code == 1


def test_a_control_that_fails_is_not_proven(monkeypatch):
    """An attack that does not work where nothing stops it shows nothing."""

    def tight(lower, **options):
        return open_sandbox(lower, **{**options, "limits": Limits(processes=20, seconds=20)})

    monkeypatch.setattr(backends, "opener", lambda name: tight)
    monkeypatch.setattr(doctor, "ATTACKS", BOMB)
    found = doctor.diagnose(controls=True)
    assert [(row.stopped, row.control) for row in found.attacks] == [(True, "failed")]
    assert found.exit_code == 1


def test_a_machine_without_sandboxes_is_told_why(monkeypatch):
    def none(lower, **options):
        raise SandboxError("the sandbox could not create a user namespace", hint="sysctl -w x=1")

    monkeypatch.setattr(backends, "opener", lambda name: none)
    monkeypatch.setattr(backends, "why_not", lambda name: "no user namespace\n\nhint: sysctl -w x=1")
    found = doctor.diagnose()
    assert (found.tier, found.exit_code, found.attacks) == ("none", 3, [])
    assert {level.level for level in found.guarantees.values()} == {"absent"}
    memory = found.guarantees["memory"]
    assert (memory.reason, memory.remedy) == ("no user namespace", "sysctl -w x=1")
    assert doctor.order(found)["none"].startswith("in use")


def test_tiers_follow_from_what_holds():
    enforced, _ = held(memory_group=True, process_group=True, release="6.1.0")
    watched, reasons = held(memory_group=False, process_group=False, release="6.1.0")
    assert tier_of(enforced) == "namespaces+cgroup"
    assert tier_of(watched) == "namespaces+watchdog" and "50 ms" in reasons["memory"]
    assert tier_of({}) == tier_of(dict.fromkeys(MEANINGS, "absent")) == "none"
    assert list(TIERS) == ["namespaces+cgroup", "namespaces+watchdog", "landlock", "none"]


def test_required_guarantees_must_be_enforced():
    levels, _ = held(memory_group=False, process_group=True, release="6.1.0")
    assert missing(["network", "memory", "disk"], levels) == ["memory"]
    assert missing(["network"], {}) == ["network"]
    with pytest.raises(UsageError, match="unknown guarantee 'netwrok'") as caught:
        missing(["netwrok"], levels)
    assert "'network'" in str(caught.value.hint)


def test_backends_are_known_by_name():
    assert backends.known()[0] == "namespace"
    assert backends.why_not("namespace") is None
    with pytest.raises(UsageError) as caught:
        backends.opener("namespaces")
    assert "did you mean 'namespace'?" in str(caught.value.hint)


def test_a_run_that_requires_more_than_holds_is_refused(monkeypatch):
    backends.demand([])
    backends.demand(["network", "tree_kill"])
    with pytest.raises(UsageError, match="unknown guarantee"):
        backends.demand(["nonsense"])
    levels, reasons = held(memory_group=False, process_group=True, release="6.1.0")
    monkeypatch.setattr("redtogreen.execution.sandboxes.namespace.sandbox.held", lambda **_: (levels, reasons))
    with pytest.raises(SandboxError, match="this run requires what .*: memory is best effort"):
        backends.demand(["network", "memory"])
