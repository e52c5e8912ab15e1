"""The shared promises, as far as a container engine keeps them, and containers nobody owns any more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import conformance
import elsewhere

from redtogreen.execution.sandboxes import docker
from redtogreen.execution.sandboxes.docker.engine import find_engine

_HOST = """
import os, sys
from pathlib import Path
from redtogreen.execution.sandboxes import docker
box = docker.open_sandbox(Path(sys.argv[1]))
box._client.stdin.detach()  # a client that keeps the input open stands for an engine that does not close it
print(box._name, flush=True)
os.kill(box._client.pid, 9)
os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    elsewhere.need("docker")
    return conformance.Boxes(tmp_path_factory.mktemp("sandboxes"), "docker")


# A container takes a second to start: the cases about walls and workspaces, and one about a lost init.
CASES = {
    name: case
    for name, case in conformance.cases("docker").items()
    if name.startswith(("isolation", "calls", "workspace", "lifecycle-a_dead_init"))
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_conformance(boxes, case):
    try:
        boxes.check(case)
    except conformance.Unclaimed as reason:
        pytest.skip(str(reason))


def _containers() -> list[str]:
    return find_engine().ask("ps", "--all", "--format", "{{.Names}}").split()


def test_a_container_whose_owner_was_killed_is_reaped_and_a_living_one_is_not(boxes):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with boxes() as box:
        done = subprocess.run(
            [sys.executable, "-c", _HOST, str(boxes.lower)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        name = done.stdout.strip()
        assert name, done.stderr
        docker.reap_orphans()
        assert name not in _containers() and not (Path("/tmp") / name).exists()
        assert box._name in _containers() and box.run(["true"]).verdict == "ok"
    assert box._name not in _containers() and docker.reap_orphans() == []
