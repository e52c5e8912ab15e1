"""The shared promises, kept without namespaces, in a stand-in for an ordinary container.

The cases run in processes that have new namespaces around them and, like a container by Docker's default profile, are
refused any further ones. So their attacks meet nothing but this backend and, should it fail, a sealed world.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import conformance
import elsewhere
import landlock_cases
import ordinary_user

from redtogreen.errors import SandboxError, UsageError
from redtogreen.execution import doctor
from redtogreen.execution.sandboxes import backends, landlock
from redtogreen.execution.sandboxes.attacks import ATTACKS
from redtogreen.execution.sandboxes.guarantees import MEANINGS, demand, tier_of
from redtogreen.execution.sandboxes.landlock.places import Places
from redtogreen.execution.sandboxes.landlock.promises import promised

PYTHON = "/usr/bin/python3"
"""One that every user may read: commands run as another user than root."""
OWN = [name for name in vars(landlock_cases) if name.startswith("check_")]
CASES = [name for name in conformance.cases("landlock") if name not in landlock_cases.PRESUPPOSES]
CASES += [f"landlock-{name.removeprefix('check_')}" for name in OWN]
_CONTAINER = """
import os, sys
from redtogreen.execution.sandboxes.namespace import seccomp, syscalls
user, command = int(sys.argv[1]), sys.argv[2:]
docker = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}  # the capabilities of its default profile
syscalls.unshare(syscalls.CLONE_NEWPID | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC)
child = os.fork()
if child:
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256)
syscalls.prctl(syscalls.PR_SET_PDEATHSIG, syscalls.SIGKILL)
syscalls.mount(None, "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
syscalls.mount("proc", "/proc", "proc", syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC)
for number in set(range(64)) - docker:
    syscalls.libc.prctl(syscalls.PR_CAPBSET_DROP, number, 0, 0, 0)
if user:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
seccomp.Filter(seccomp.build_filter()).install()
child = os.fork()  # process 1 only waits, as in a container
if child == 0:
    os.execv(command[0], command)
while True:
    pid, status = os.wait()
    if pid == child:
        os._exit(os.waitstatus_to_exitcode(status) % 256)
"""


def contained(user: int, *words: str) -> dict[str, dict]:
    """Case -> what `landlock_cases.py WORDS` printed about it, in a container, as this user."""
    if os.geteuid() != 0:
        pytest.skip("only root can make the container without one more user namespace")
    if not os.path.exists(PYTHON):
        pytest.skip("no Python that every user can execute")
    elsewhere.need("landlock")
    with elsewhere.copied() as folder:
        program = [PYTHON, str(folder / "cases" / "landlock_cases.py"), *words]
        return elsewhere.rows(folder, [PYTHON, "-c", _CONTAINER, str(user), *program], "case")


@pytest.fixture(scope="module")
def of_root():
    return contained(0, "cases")


@pytest.fixture(scope="module")
def of_a_user():
    return contained(ordinary_user.USER, "cases")


@pytest.mark.parametrize("case", CASES)
def test_conformance(of_root, case):
    ordinary_user.judge(of_root, case)


@pytest.mark.parametrize("case", CASES)
def test_conformance_of_an_ordinary_user(of_a_user, case):
    ordinary_user.judge(of_a_user, case)


def test_what_is_left_out_exists():
    assert set(landlock_cases.PRESUPPOSES) <= set(conformance.cases("landlock"))


REFUSED = ("Permission denied: '/proc'", "Address family not supported", "may not read it")
"""What an attack ends with that is refused so much that it cannot even tell what it would have done."""


def test_every_attack_is_stopped_or_refused_before_it_starts():
    machine = {kind: os.stat(f"/proc/self/ns/{kind}").st_ino for kind in ("pid", "mnt", "net")}
    rows = contained(0, "attacks", json.dumps(machine))
    assert len(rows) == len(ATTACKS)
    # What is written is measured now and then: a flood of small files can get through on a busy machine.
    assert not [row for row in rows.values() if row["worked"] and row["guarantee"] != "disk"]
    unclear = [row for row in rows.values() if row["worked"] is None]
    assert all(any(reason in row["seen"] for reason in REFUSED) for row in unclear), unclear
    assert len(rows) - len(unclear) >= 20


def test_it_is_never_used_unasked():
    assert "landlock" not in backends.BACKENDS and "landlock" not in backends.known()
    assert backends.opener("landlock") is landlock.open_sandbox
    with pytest.raises(UsageError) as caught:
        backends.opener("landlok")
    assert "'landlock'" in str(caught.value.hint)


@pytest.mark.parametrize("own_user", [True, False])
@pytest.mark.parametrize("version", [2, 7])
def test_what_is_weaker_has_a_reason_and_a_tier_of_its_own(own_user, version):
    levels, reasons = promised(own_user=own_user, version=version)
    assert levels.keys() == MEANINGS.keys()
    assert {name for name, level in levels.items() if level != "enforced"} == reasons.keys()
    assert tier_of(levels) == "landlock"
    with pytest.raises(SandboxError, match="network is best effort"):
        demand(["network"], levels, "this run")


def test_doctor_tries_what_is_harmless_and_says_what_is_better():
    elsewhere.need("landlock")
    found = doctor.diagnose("landlock")
    assert (found.tier, found.exit_code) == ("landlock", 0), found.attacks
    assert len(found.attacks) == 5 and all(row.stopped for row in found.attacks)
    assert found.guarantees["disk"].level == "best effort" and found.guarantees["disk"].reason
    said = doctor.order(found)
    assert said["landlock"].startswith("in use") and said["namespaces+cgroup"].startswith("not here")


def test_paths_are_rewritten_only_where_they_stand_alone():
    places = Places({"/work": "/r/work", "/tmp": "/r/tmp", "/env": "/e", "/env/more": "/m", "/same": "/same"})
    for text, expected in (
        ("/work", "/r/work"),
        ("cd /work && cat '/work/a.txt'>/tmp/x", "cd /r/work && cat '/r/work/a.txt'>/r/tmp/x"),
        ("/env/bin:/usr/bin:/env/more", "/e/bin:/usr/bin:/m"),
        ("--out=/tmp/x", "--out=/r/tmp/x"),
        (
            "/home/work /workers /work.old ./work ~/work /var/tmp/x",
            "/home/work /workers /work.old ./work ~/work /var/tmp/x",
        ),
        ("/same/x", "/same/x"),
    ):
        assert places.inside(text) == expected
