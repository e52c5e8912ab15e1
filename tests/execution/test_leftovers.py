"""What a killed process left is removed; what a living one uses is not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from redtogreen.execution.leftovers import remove_leftovers
from redtogreen.execution.sandboxes.docker import orphans
from redtogreen.execution.sandboxes.docker.engine import find_engine
from redtogreen.execution.sandboxes.namespace import cgroups
from redtogreen.store import home, scratch

_HOLDER = """
import sys, time
from redtogreen.execution.sandboxes.namespace import cgroups
from redtogreen.store import scratch
with scratch():
    groups = cgroups.create(2**26, 10)
    print("up", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def killed(monkeypatch, tmp_path):
    monkeypatch.setenv("REDTOGREEN_HOME", str(tmp_path / "home"))
    with subprocess.Popen([sys.executable, "-c", _HOLDER], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"up\n"
        yield holder


def _groups(pid: int) -> int:
    return sum(1 for parent in set(cgroups.parents().values()) for _ in parent.glob(f"redtogreen-*-{pid}-*"))


def test_leftovers_of_a_killed_process_are_removed_and_a_living_one_keeps_its_own(killed):
    with scratch() as own:
        assert remove_leftovers()["scratch folders"] == 0
        made = _groups(killed.pid)
        killed.kill()
        killed.wait()
        removed = remove_leftovers()
        assert removed["scratch folders"] == 1
        assert list((home() / "scratch").iterdir()) == [own]
        assert removed["control groups"] == made
        assert _groups(killed.pid) == 0
        if os.geteuid() == 0 and cgroups.parents().keys() & {"memory", "pids"}:
            assert made


def test_what_cannot_be_looked_for_is_said(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(orphans, "find_engine", find_engine.__wrapped__)  # not the one found before
    assert "not looked for" in str(remove_leftovers()["containers"])
