"""The attack table: every attack is stopped, every control works, no payload runs where it must not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from redtogreen.errors import SandboxError
from redtogreen.execution.sandboxes import Limits, Output, ProcessResult, backends, open_sandbox
from redtogreen.execution.sandboxes.attacks import ATTACKS, attempt, leftovers
from redtogreen.execution.sandboxes.attacks.attack import PRELUDE
from redtogreen.execution.sandboxes.attacks.bait import Bait
from redtogreen.execution.sandboxes.guarantees import MEANINGS

BY_NAME = {attack.name: attack for attack in ATTACKS}


@pytest.fixture(scope="module", params=backends.known())
def backend(request):
    """How to open a sandbox of a backend that starts here, and what it says of itself."""
    reason = backends.why_not(request.param)
    if reason is not None:
        pytest.skip(f"{request.param}: {reason}")
    opener = backends.opener(request.param)
    with Bait() as bait, opener(bait.lower) as box:  # what a backend starts once and keeps is no leftover of an attack
        return opener, box.guarantees, box.reasons


@pytest.mark.parametrize("attack", ATTACKS, ids=BY_NAME)
def test_the_attack_is_stopped_and_its_control_works(attack, backend):
    opener, levels, reasons = backend
    before = leftovers()
    outcome = attempt(attack, opener)
    if outcome.worked and levels[attack.guarantee] != "enforced":
        pytest.skip(f"{attack.guarantee} is {levels[attack.guarantee]} only: {reasons[attack.guarantee]}")
    assert outcome.worked is False, outcome.seen
    control = attempt(attack, opener, control=True)
    assert control.worked is True or not control.ran, control.seen
    assert leftovers() == before


def test_every_guarantee_is_attacked():
    assert len(BY_NAME) == len(ATTACKS)
    assert {attack.guarantee for attack in ATTACKS} == set(MEANINGS)


def test_payloads_refuse_to_run_on_the_host():
    with Bait() as bait:
        done = subprocess.run(
            [sys.executable, "-c", PRELUDE + 'tell(True, "ran")', json.dumps(bait.facts())],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1 and done.stdout == ""
    assert "refusing to run outside a sandbox" in done.stderr


def test_an_ordinary_user_is_refused_on_the_host_too():
    if os.geteuid() != 0:
        pytest.skip("the tests run as an ordinary user already")
    if not os.path.exists("/usr/bin/python3"):
        pytest.skip("no Python that another user can execute")
    with Bait() as bait:
        done = subprocess.run(
            ["/usr/bin/python3", "-c", PRELUDE + 'tell(True, "ran")', json.dumps(bait.facts())],
            capture_output=True,
            text=True,
            check=False,
            user=64000,
            group=64000,
            extra_groups=[],
            cwd="/",
        )
    assert done.returncode == 1 and done.stdout == ""
    assert "refusing to run outside a sandbox: the pid namespace is the host's" in done.stderr


class NoSandbox:
    """Runs commands on the host and claims to be a sandbox. It records what it was asked to run."""

    skipped: list[str] = []

    def __init__(self):
        self.asked: list[list[str]] = []

    def run(self, argv, **options):
        self.asked.append(argv)
        assert PRELUDE not in argv[4], "an attack was about to run on the host"
        done = subprocess.run(argv, capture_output=True, check=False)
        empty = Output(done.stderr, b"", len(done.stderr))
        out = Output(done.stdout, b"", len(done.stdout))
        return ProcessResult(done.returncode, None, out, empty, "ok", 0, 0.0, 0.0, b"")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def test_nothing_is_attacked_where_the_probe_proves_no_sandbox():
    box = NoSandbox()
    with pytest.raises(SandboxError, match="isolation is not proven: the pid namespace is the host's"):
        attempt(BY_NAME["signals"], lambda lower, **options: box)
    assert len(box.asked) == 1, "only the probe ran"


def test_a_sandbox_that_keeps_a_promise_badly_is_found_out():
    """The attack table must be able to fail."""

    def lax(lower, **options):
        return open_sandbox(lower, **{**options, "limits": Limits(processes=300, seconds=20)})

    outcome = attempt(BY_NAME["fork bomb"], lax)
    assert outcome.worked is True and "no refusal" in outcome.seen


def test_harm_to_the_host_counts_whatever_the_payload_says():
    """What an attack has done is seen on the host, not only told by the payload."""
    modest = replace(BY_NAME["host files"], payload='tell(False, "nothing happened")')
    seen = {}

    def leaky(lower, **options):
        marker = lower.parent / "ran"
        marker.touch()
        seen["marker"] = marker
        return open_sandbox(lower, **options)

    outcome = attempt(modest, leaky)
    assert outcome.worked is True and "a program ran on the host" in outcome.seen
    assert not seen["marker"].exists()


def test_a_payload_that_says_nothing_is_never_called_stopped():
    outcome = attempt(replace(BY_NAME["host files"], payload="sys.exit(3)"), open_sandbox)
    assert outcome.worked is None and "status 3" in outcome.seen
