"""Sandboxes beside bubblewrap with an overlay: create, step, snapshot and branch, throughput, and nothing left behind.

    python -m benchmarks.episodes [--rounds 40] [--episodes 2000] [--bwrap PATH] [--swerex PYTHON]

bwrap 0.11 or newer is needed for the comparison (make installs it); --swerex: an interpreter that has the package
swe-rex. Without them only our own figures are printed. "Sandboxes per second" runs a no-op from as many threads as
there are cores: ours forked from a warm interpreter, bwrap with `python -c pass`.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks._processes import below
from redtogreen.errors import SandboxError
from redtogreen.execution.sandboxes import Changes, FileChange, Limits, Mount, Preload, open_sandbox, owner_for_lower
from redtogreen.execution.sandboxes.bubblewrap.program import find_program
from redtogreen.execution.sandboxes.namespace import cgroups

_EDIT: Changes = {f"folder-1/file-{number}.txt": FileChange("file", b"edited\n") for number in range(4)}
_INSIDE = ["--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-pid", "--unshare-net", "--unshare-ipc"]
_INSIDE += ["--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
_INSIDE += ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib"]
_INSIDE += ["--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--bwrap", type=Path)
    parser.add_argument("--swerex", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        bwrap = arguments.bwrap or _installed_bwrap()
        _latencies(Path(folder), arguments.rounds, bwrap)
        if arguments.swerex:
            _swerex(arguments.swerex, arguments.rounds)
        _throughput(Path(folder), bwrap)
        _idle(_tree(Path(folder), 100))
        _leaks(_tree(Path(folder), 100), arguments.episodes)


def _installed_bwrap() -> Path | None:
    try:
        program = find_program()
    except SandboxError:
        return None
    return Path(program.folder) / program.name


def _tree(folder: Path, files: int) -> Path:
    tree = folder / f"tree-{files}"
    if not tree.exists():
        for number in range(files):
            path = tree / f"folder-{number % 20}" / f"file-{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{number}\n" * 20)
        owner = owner_for_lower()
        if owner is not None:
            for path in (tree, *tree.rglob("*")):
                os.chown(path, owner, owner)
    return tree


def _latencies(folder: Path, rounds: int, bwrap: Path | None) -> None:
    small, large = _tree(folder, 100), _tree(folder, 10_000)
    box = open_sandbox(small)
    box_large = open_sandbox(large)
    for one in (box, box_large):
        one.write(_EDIT)

    def create(tree: Path, changes: Changes | None = None) -> Callable[[], None]:
        return lambda: open_sandbox(tree, changes=changes).close()

    def once(tree: Path) -> None:
        with open_sandbox(tree) as sandbox:
            sandbox.run(["/bin/bash", "-c", "/bin/true"])

    ways: dict[str, Callable[[], object]] = {
        "episode: open and close, 100 files": create(small),
        "episode: open and close, 10,000 files": create(large),
        "step: `bash -c /bin/true`": lambda: box.run(["/bin/bash", "-c", "/bin/true"]),
        "snapshot of 4 edits, 100 files": box.changes,
        "snapshot of 4 edits, 10,000 files": box_large.changes,
        "branch: open with 4 edits, 100 files": create(small, _EDIT),
        "branch: open with 4 edits, 10,000 files": create(large, _EDIT),
        "open, one step, close": lambda: once(small),
    }
    version = "not found"
    if bwrap:
        version = subprocess.run([bwrap, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        command = _bwrap_command(bwrap, small)
        ways["bwrap + overlay + `true`"] = lambda: subprocess.run([*command, "/bin/true"], check=True)
        bash = [*command, "/bin/bash", "-c", "/bin/true"]
        ways["bwrap + overlay + `bash -c /bin/true`"] = lambda: subprocess.run(bash, check=True)
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, run in ways.items():
            start = time.perf_counter()
            run()
            times[way].append(1000 * (time.perf_counter() - start))
    box.close()
    box_large.close()
    print(f"Linux {os.uname().release}, Python {sys.version.split()[0]}, {version}; milliseconds")
    for way, found in times.items():
        found.sort()
        print(f"  {way:42} median {statistics.median(found):7.2f}   p10 {found[len(found) // 10]:7.2f}")


def _bwrap_command(bwrap: Path, tree: Path) -> list[str]:
    overlay = ["--overlay-src", str(tree), "--tmp-overlay", "/work", "--chdir", "/work"]
    return ["env", "-i", str(bwrap), *_INSIDE, *overlay]


_SWEREX = """
import asyncio, statistics, sys, time
from importlib.metadata import version
from swerex.runtime.abstract import BashAction, CreateBashSessionRequest
from swerex.runtime.local import LocalRuntime

async def main():
    runtime = LocalRuntime()
    await runtime.create_session(CreateBashSessionRequest())
    times = []
    for _ in range(int(sys.argv[1])):
        start = time.perf_counter()
        await runtime.run_in_session(BashAction(command="/bin/true"))
        times.append(1000 * (time.perf_counter() - start))
    await runtime.close()
    times.sort()
    print(f"  step: swe-rex {version('swe-rex')}, local shell         "
          f"median {statistics.median(times):7.2f}   p10 {times[len(times) // 10]:7.2f}")

asyncio.run(main())
"""


def _swerex(python: Path, rounds: int) -> None:
    subprocess.run([python, "-c", _SWEREX, str(rounds)], check=True, stderr=subprocess.DEVNULL)


def _throughput(folder: Path, bwrap: Path | None, seconds: float = 5.0) -> None:
    """Sandboxes opened, used for a no-op in Python, and closed, on all cores at once; three turns each."""
    tree = _tree(folder, 100)
    (folder / "pass.py").write_text("pass\n")
    python = os.path.realpath(sys.executable)
    where = [] if sys.base_prefix.startswith("/usr") else [Mount(Path(sys.base_prefix), sys.base_prefix)]
    mounts = [*where, Mount(folder, "/opt/no-op")]
    warm = Preload(interpreter=(python, "-P", "-s", "-B"), modules=(), folder="/opt/no-op", roots=())
    command = [*warm.interpreter, "/opt/no-op/pass.py"]

    def ours() -> None:
        with open_sandbox(tree, mounts=mounts, preload=warm) as box:
            result = box.run(command, warm=warm)
            assert result.verdict == "ok", result

    ways: dict[str, Callable[[], object]] = {"warm no-op": ours}
    if bwrap:
        shown = [word for mount in mounts for word in ("--ro-bind", str(mount.source), mount.target)]
        words = [*_bwrap_command(bwrap, tree), *shown, python, "-c", "pass"]
        ways["bwrap + overlay + `python -c pass`"] = lambda: subprocess.run(words, check=True)
    for _ in range(3):
        ours()
    rates: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(3):
        for way, run in ways.items():
            rates[way].append(_rate(run, seconds))
    print("\nsandboxes per second, all cores     median")
    for way, found in rates.items():
        print(f"  {way:34} {statistics.median(found):6.1f}")


def _rate(run: Callable[[], object], seconds: float) -> float:
    end, counts = time.monotonic() + seconds, []

    def work() -> None:
        count = 0
        while time.monotonic() < end:
            run()
            count += 1
        counts.append(count)

    threads = [threading.Thread(target=work) for _ in range(os.cpu_count() or 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def _idle(tree: Path, count: int = 20) -> None:
    """What an open sandbox that does nothing holds: proportional set size of its processes."""
    boxes = [open_sandbox(tree) for _ in range(count)]
    for box in boxes:
        box.run(["/bin/true"])
    sizes = [sum(_proportional(pid) for pid in (box.worker_process, box.init_process)) for box in boxes]
    print(f"\nmemory of an idle sandbox, of {count} open: {statistics.median(sizes) / 1024:.2f} MB")
    for box in boxes:
        box.close()


def _proportional(pid: int) -> int:
    """KB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _leaks(tree: Path, episodes: int) -> None:
    def episode() -> None:
        with open_sandbox(tree, limits=Limits(memory=64 * 2**20)) as sandbox:
            sandbox.write(_EDIT)
            sandbox.run(["/bin/true"])

    print(f"\n{episodes} episodes in one process       memory KB  descriptors  mounts  processes  groups  ms each")
    episode()
    done, marks = 1, sorted({10, 100, 1000, episodes})
    print(f"  before                       {_held()}")
    start = time.perf_counter()
    for mark in marks:
        if mark > episodes:
            break
        before = done
        begin = time.perf_counter()
        while done < mark:
            episode()
            done += 1
        each = 1000 * (time.perf_counter() - begin) / max(1, done - before)
        print(f"  after {done:<6}                 {_held()}  {each:7.1f}")
    print(f"  {(done - 1) / (time.perf_counter() - start):.1f} episodes a second, one at a time")


def _held() -> str:
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024
    mounts = len(Path("/proc/self/mountinfo").read_text().splitlines())
    groups = sum(1 for parent in set(cgroups.parents().values()) for _ in parent.glob("redtogreen-*"))
    count = len(below(os.getpid()))
    return f"{resident:9}  {len(os.listdir('/proc/self/fd')):11}  {mounts:6}  {count:9}  {groups:6}"


if __name__ == "__main__":
    main()
