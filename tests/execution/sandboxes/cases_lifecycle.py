"""Beginnings and ends: whatever is killed, nothing of a sandbox stays."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from conformance import ancestors, attack, eventually, find, needs, parent, python_mounts

from redtogreen.errors import SandboxError, UsageError
from redtogreen.execution.sandboxes import Limits, Mount
from redtogreen.execution.sandboxes.namespace import cgroups

_HOST = """
import sys
from pathlib import Path
from redtogreen.execution.sandboxes.BACKEND import open_sandbox
box = open_sandbox(Path(sys.argv[1]))
print("open", flush=True)
sleep = f"sleep {sys.argv[2]}"
box.run(["sh", "-c", f"setsid {sleep} & setsid {sleep} & {sleep}; true"], seconds=600)
"""


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _init_of(pid: int) -> int:
    """The process 1 that a process of a sandbox lives under, as the host numbers it."""
    for above in ancestors(pid, 1):
        for line in Path(f"/proc/{above}/status").read_text().splitlines():
            if line.startswith("NSpid:") and line.split()[-1] == "1":
                return above
    raise AssertionError(f"{pid} lives in no pid namespace of its own")


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _descendants(root: int) -> list[int]:
    parents = {}
    for pid in _processes():
        try:
            state, parent, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state not in "ZX":  # a dead one may wait for the launcher to notice
            parents[pid] = int(parent)
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def _host(boxes, marker: str, **options):
    command = [sys.executable, "-c", _HOST.replace("BACKEND", boxes.backend), str(boxes.lower), marker]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
    return subprocess.Popen(command, env=environment, **options)


def _kill_and_look(boxes, choose) -> None:
    """Kill one of a host, its nearest process of the sandbox and the sandbox's init, while three programs sleep."""
    marker = f"600.{os.getpid()}"
    with _host(boxes, marker, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as host:
        host.stdout.readline()
        try:
            assert eventually(lambda: len(find(marker)) == 3), "the payload runs"
            sleepers = find(marker)
            members = {*sleepers, *(pid for sleeper in sleepers for pid in ancestors(sleeper, host.pid))}
            workers = [pid for pid in members if parent(pid) == host.pid]
            os.kill(choose(host.pid, (workers or [host.pid])[0], _init_of(sleepers[0])), signal.SIGKILL)
            assert eventually(lambda: not any(_alive(pid) for pid in members)), "everything inside is gone"
            host.wait(20)
        finally:
            host.kill()


@needs("tree_kill")
def check_a_killed_host_leaves_nothing(boxes):
    _kill_and_look(boxes, lambda host, worker, init: host)


@needs("tree_kill")
def check_a_killed_worker_leaves_nothing(boxes):
    _kill_and_look(boxes, lambda host, worker, init: worker)


@needs("tree_kill")
def check_a_killed_init_leaves_nothing(boxes):
    _kill_and_look(boxes, lambda host, worker, init: init)


@needs("tree_kill")
def check_a_host_killed_while_it_opens_leaves_nothing(boxes):
    hosts = []
    for number in range(12):
        with _host(boxes, "600", stdout=subprocess.DEVNULL) as host:
            hosts.append(str(host.pid).encode())
            assert eventually(lambda: len(_descendants(host.pid)) > 1 or host.poll() is not None)
            time.sleep(0.006 * number)
            host.kill()
    assert eventually(lambda: not _left_by(hosts))


def _left_by(hosts: list[bytes]) -> list[int]:
    """Workers of these hosts, and inits whose worker is gone."""
    found = []
    for pid in _processes():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().strip(b"\0").split(b"\0")
            parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if (words[1:3] == [b"-I", b"-S"] and set(words) & set(hosts)) or (words == [b"init"] and parent == "1"):
            found.append(pid)
    return found


def check_a_dead_worker_is_an_error_never_a_result(boxes):
    with boxes() as box:
        os.kill(box.worker_process, signal.SIGKILL)
        for call in (lambda: box.run(["true"]), lambda: box.run(["true"]), box.changes):
            try:
                call()
            except SandboxError as error:
                assert error.exit_code == 3
            else:
                raise AssertionError("a dead sandbox answered")


def check_a_dead_init_is_a_sandbox_verdict(boxes):
    marker = f"60.{os.getpid()}"

    def kill_init() -> None:
        assert eventually(lambda: bool(find(marker)))
        os.kill(getattr(box, "init_process", 0) or _init_of(find(marker)[0]), signal.SIGKILL)

    with boxes() as box:
        box.run(["sh", "-c", "echo kept > kept"])
        thread = threading.Thread(target=kill_init)
        thread.start()
        result = box.run(["sh", "-c", f"echo before; sleep {marker}; true"])
        thread.join()
        assert result.verdict == "sandbox" and result.exit_code is None, result
        assert result.stdout.text == "before\n"
        assert set(box.changes()) == {"kept"}, "the workspace can still be read"
        try:
            after = box.run(["true"])
        except SandboxError:
            return  # init served the whole sandbox
        assert after.verdict == "ok", "init served one command"


def check_closing_ends_everything_before_it_returns(boxes):
    boxes().close()  # what serves all sandboxes of this process stays
    before = set(_descendants(os.getpid()))
    box = boxes()
    thread = threading.Thread(target=lambda: _ignore(lambda: box.run(["sleep", "60"], seconds=0.5)))
    thread.start()
    members = set(_descendants(os.getpid())) - before
    thread.join()
    box.close()
    assert not any(_alive(pid) for pid in members)
    box.close()
    try:
        box.run(["true"])
    except SandboxError as error:
        assert "closed" in error.message
    else:
        raise AssertionError("a closed sandbox ran a command")


def _ignore(function) -> None:
    with contextlib.suppress(SandboxError):
        function()


def check_an_interrupt_ends_the_sandbox(boxes):
    def interrupt(*_):
        raise KeyboardInterrupt

    boxes().close()
    before = set(_descendants(os.getpid()))
    box = boxes()
    members = set(_descendants(os.getpid())) - before
    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        box.run(["sleep", "60"])
    except KeyboardInterrupt:
        assert not any(_alive(pid) for pid in members)
    else:
        raise AssertionError("not interrupted")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        box.close()


def check_a_sandbox_outlives_the_thread_and_the_fork_that_knew_it(boxes):
    with ThreadPoolExecutor(1) as pool:
        box = pool.submit(boxes).result()
    with box:
        child = os.fork()
        if child == 0:
            box.close()  # what leaving a with-block in a forked process does
            os._exit(0)
        os.waitpid(child, 0)
        assert box.run(["true"]).verdict == "ok"


def check_sandboxes_work_side_by_side(boxes):
    def work(number: int) -> tuple[str, int]:
        with boxes() as box:
            box.run(["sh", "-c", f"echo {number} > mine; sleep 0.1"])
            seen = box.run(["sh", "-c", "cat mine; ls /proc | grep -c '^[0-9]'"]).stdout.text.split()
            return seen[0], int(seen[1])

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(8)))
    assert [mine for mine, _ in results] == [str(number) for number in range(8)]
    assert all(count <= 4 for _, count in results), results


def check_a_bomb_in_one_sandbox_leaves_the_other_alone(boxes):
    with boxes(limits=Limits(processes=20)) as first, boxes(limits=Limits(processes=20)) as second:
        bomb = "import signal\nfor _ in range(100):\n    if os.fork() == 0:\n        signal.pause()"
        thread = threading.Thread(target=lambda: attack(first, bomb + "\nsignal.pause()", seconds=2))
        thread.start()
        time.sleep(0.5)
        result = second.run(["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1 & done; wait; echo fine"])
        thread.join()
        assert (result.stdout.text, result.verdict) == ("fine\n", "ok"), result


def check_many_cycles_leak_nothing(boxes):
    def state() -> tuple:
        groups = [entry for parent in set(cgroups.parents().values()) for entry in parent.glob("redtogreen-*")]
        mounts = Path("/proc/self/mountinfo").read_text()
        own = [name for name in groups if f"-{os.getpid()}-" in name.name]
        return len(os.listdir("/proc/self/fd")), mounts, len(_descendants(os.getpid())), own, threading.active_count()

    with boxes() as box:
        box.run(["true"])
    before = state()
    for _ in range(50 if boxes.backend == "namespace" else 8):
        with boxes() as box:
            box.run(["true"])
    assert state() == before


def check_groups_of_a_killed_host_are_swept(boxes):
    if os.geteuid() != 0 or not cgroups.parents():
        return  # an ordinary user without delegation makes no groups, and then none can be left
    with _host(boxes, "600", stdout=subprocess.PIPE) as host:
        host.stdout.readline()
        left = [entry for parent in cgroups.parents().values() for entry in parent.glob(f"redtogreen-*-{host.pid}-*")]
        host.kill()
    with boxes() as box:
        if box.guarantees["memory"] == "enforced":
            assert left

    def swept() -> bool:
        boxes().close()  # one in two seconds looks
        return not any(path.exists() for path in left)

    assert eventually(swept)


def check_unusable_requests_are_refused(boxes):
    for options in (
        {"mounts": [Mount(boxes.base / "absent", "/env")]},
        {"mounts": [Mount(boxes.base, "/work/inside")]},
        {"mounts": [Mount(boxes.base, "relative")]},
        {"mounts": [Mount(boxes.base, "/usr/no-such-place")]},
        {"covered": ["/env/.."]},
        {"covered": ["/etc/passwd"]},
    ):
        try:
            boxes(**options).close()
        except SandboxError as error:
            assert error.message
        else:
            raise AssertionError(f"accepted {options}")
    for lower in (boxes.base / "absent", boxes.base / "secret.txt", Path("/proc/self")):
        try:
            boxes.open_sandbox(lower, mounts=python_mounts()).close()
        except SandboxError as error:
            assert str(lower) in error.message
        else:
            raise AssertionError(f"accepted {lower}")


def check_commands_that_cannot_be_are_usage_errors(boxes):
    with boxes() as box:
        for argv, seconds in (([], 1), (["a\0"], 1), (["true"], 0), (["true"], float("inf")), (["true"], float("nan"))):
            try:
                box.run(argv, seconds=seconds)
            except UsageError:
                continue
            raise AssertionError((argv, seconds))
        assert box.run(["true"]).verdict == "ok"


def check_a_machine_without_user_namespaces_is_named(boxes):
    """The sandbox's own filter, put on a forked copy of the host, stands in for such a machine."""
    from redtogreen.execution.sandboxes.namespace import seccomp, syscalls

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
            seccomp.Filter(seccomp.build_filter()).install()
            boxes()
        except SandboxError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    text = os.read(reader, 10_000).decode()
    os.close(reader)
    assert "namespace" in text and "[Errno 1]" in text and "hint:" in text, text
