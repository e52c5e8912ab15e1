"""Random kill -9 during a collection: what was acknowledged is still there, and nothing is left behind.

    python -m benchmarks.kill9 [--kills 200] [--seed 0] [--work DIR]

Starts a collection in a process of its own that prints every event after it is on the disk, and kills, at random
moments, the collecting process, one of its workers, or a process of a sandbox. After each kill of the whole collection
every step it had acknowledged must be in the journals, no journal may be damaged, and the same command is started
again. Prints a table, and exits with 1 when anything was lost or left.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks._processes import below, children
from benchmarks._small_tasks import write_small_tasks
from redtogreen.trajectories.collection.load import DamagedJournal, load_run

AGENT = "benchmarks._small_tasks:build_walker"
PR_SET_CHILD_SUBREAPER = 36
"""prctl(2): orphans of a killed collection become children of this process, so that none escapes the count."""
SETTLE_SECONDS = 20.0
"""How long leftovers may take to go; more than a worker needs to unwind."""
_RUN = """
import json, sys
from pathlib import Path
from redtogreen.trajectories.collection import collect
collect(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), attempts=int(sys.argv[4]), workers=2,
        on_event=lambda event: print(json.dumps(event), flush=True))
"""


@dataclass
class Findings:
    """Everything that is counted."""

    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    missing: int = 0
    unreadable: int = 0
    left: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    finished: int = 0
    unfinished: int = 0

    def table(self) -> str:
        rows = [
            ("kills", sum(self.kills.values())),
            *((f"  of {victim}", count) for victim, count in sorted(self.kills.items())),
            ("runs begun", self.runs),
            ("runs finished after the kills", self.finished),
            ("runs that did not finish", self.unfinished),
            ("steps acknowledged", self.acknowledged),
            ("  missing afterwards", self.missing),
            ("journals unreadable", self.unreadable),
            *((f"left over: {what}", self.left[what]) for what in ("processes", "mounts", "control groups", "files")),
        ]
        return "\n".join(f"{name:<34}{count:>8}" for name, count in rows)

    @property
    def clean(self) -> bool:
        return not (self.missing or self.unreadable or self.unfinished or sum(self.left.values()))


class Attack:
    """One run after the other, each attacked until it is done."""

    def __init__(self, work: Path, kills: int, seed: int, attempts: int):
        self.work, self.wanted, self.attempts = work, kills, attempts
        self.random = random.Random(seed)
        self.found = Findings()
        self.ever: set[int] = set()
        """Every process seen below a collection."""
        self.environment = {
            **os.environ,
            "REDTOGREEN_HOME": str(work / "home"),
            "TMPDIR": str(work / "tmp"),
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).resolve().parents[1]), *sys.path[1:]]),
        }
        (work / "tmp").mkdir(parents=True)
        os.environ["REDTOGREEN_HOME"] = self.environment["REDTOGREEN_HOME"]
        self.tasks = write_small_tasks(work / "material")
        self.own = set(below(os.getpid()))
        """What making the tasks has started here: this process keeps its launcher of sandboxes."""
        self.mounts = _mounts()

    def run(self) -> Findings:
        number = 0
        while self.killed < self.wanted:
            self.attack(self.work / f"run-{number}")
            number += 1
            print(f"{self.killed}/{self.wanted} kills, {number} runs", file=sys.stderr, flush=True)
        self.leftovers()
        return self.found

    @property
    def killed(self) -> int:
        return sum(self.found.kills.values())

    def attack(self, run: Path) -> None:
        """Kill one run's processes until enough are killed or it is done, then let it finish."""
        self.found.runs += 1
        told: set[tuple[str, int]] = set()
        done, idle = False, 0
        while not done and self.killed < self.wanted and idle < 50:
            idle += 1
            done = self.start_and_kill(run, told)
            self.check(run, told)
        if not done:
            collection = self.start(run)
            done = collection.wait_for_end()
            told |= collection.told
            self.check(run, told)
        self.found.acknowledged += len(told)
        self.found.finished += done
        self.found.unfinished += not done

    def start(self, run: Path) -> Collection:
        command = [sys.executable, "-c", _RUN, str(self.tasks), AGENT, str(run), str(self.attempts)]
        return Collection(command, self.environment)

    def start_and_kill(self, run: Path, told: set[tuple[str, int]]) -> bool:
        """Start the collection and kill things until it is gone; whether it came to its end instead."""
        collection = self.start(run)
        if self.random.random() < 0.8:  # else it is hit while it starts
            collection.wait_for_a_step()
        try:
            while True:
                if not collection.alive_for(self.random.expovariate(1 / 0.8)):
                    return collection.process.returncode == 0
                self.ever.update(below(collection.process.pid))
                victim, pid = self.choose(collection.process.pid)
                if not _kill(pid):
                    continue
                self.found.kills[victim] += 1
                if victim == "the collection" or self.killed >= self.wanted:
                    collection.kill()
                    return False
        finally:
            collection.kill()
            told |= collection.told

    def choose(self, parent: int) -> tuple[str, int]:
        workers = children(parent)
        sandboxes = [pid for worker in workers for pid in below(worker)]
        choices = [("the collection", [parent]), ("a worker", workers), ("a sandbox's process", sandboxes)]
        victim, pids = self.random.choice([(name, pids) for name, pids in choices if pids])
        return victim, self.random.choice(pids)

    def check(self, run: Path, told: set[tuple[str, int]]) -> None:
        """Every acknowledged step is there, and every journal can be read."""
        self.wait_until_gone()
        if not (run / "run.toml").exists():
            self.found.missing += len(told)
            return
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            there = {(str(row.attempt), step.step) for row in load_run(run) for step in row.trajectory}
        self.found.unreadable += sum(issubclass(one.category, DamagedJournal) for one in caught)
        self.found.missing += len(told - there)

    def wait_until_gone(self) -> list[int]:
        """Wait for the processes of a killed collection, which have become our children, to end; those that do not."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            alive = [pid for pid in below(os.getpid()) if pid not in self.own]
            self.ever.update(alive)
            if not alive or time.monotonic() > deadline:
                return alive
            time.sleep(0.02)

    def leftovers(self) -> None:
        """What is still there when the last run has finished."""
        left = self.found.left
        left["processes"] = len(self.wait_until_gone())
        left["mounts"] = len(_mounts() - self.mounts)
        left["control groups"] = sum(bool(self.ever & set(_numbers(path.name))) for path in _control_groups())
        stale = [path for path in (self.work / "tmp").iterdir()]
        for pattern in (".writing-*", ".making-*"):
            stale += [path for path in self.work.rglob(pattern)]
        for path in stale:
            print(f"left over: {path}", file=sys.stderr)
        left["files"] = len(stale)


class Collection:
    """A collecting process and what it has said so far."""

    def __init__(self, command: list[str], environment: dict[str, str]):
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        self.told: set[tuple[str, int]] = set()
        self.stepped = threading.Event()
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._complaints: list[bytes] = []
        self._threads = [
            threading.Thread(target=self._listen, args=(self.process.stdout, self._lines.put)),
            threading.Thread(target=self._listen, args=(self.process.stderr, self._complaints.append)),
        ]
        for thread in self._threads:
            thread.start()

    def _listen(self, stream, keep) -> None:
        for line in stream:
            keep(line)
            if b'"step"' in line:
                self.stepped.set()

    def wait_for_a_step(self) -> None:
        """Until it has acknowledged its first step, or has ended."""
        while self.process.poll() is None and not self.stepped.wait(0.05):
            pass

    def alive_for(self, seconds: float) -> bool:
        """Wait so long; whether it still runs then."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        self._end()
        return False

    def wait_for_end(self) -> bool:
        self.process.wait()
        self._end()
        if self.process.returncode:
            print(b"".join(self._complaints).decode(errors="replace"), file=sys.stderr)
        return self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._end()

    def _end(self) -> None:
        for thread in self._threads:
            thread.join()
        while not self._lines.empty():
            line = self._lines.get()
            if line.endswith(b"\n"):  # a line cut by the kill was not told
                event = json.loads(line)
                if event["event"] == "step":
                    self.told.add((event["attempt"], event["step"]))


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _mounts() -> set[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {line.split()[4] for line in lines}


def _control_groups() -> list[Path]:
    return [path for path in Path("/sys/fs/cgroup").rglob("redtogreen-*") if path.is_dir()]


def _numbers(name: str) -> list[int]:
    return [int(part) for part in name.split("-") if part.isdigit()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--attempts", type=int, default=6, help="attempts per task in one run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, help="folder to work in, kept; default: a temporary one")
    options = parser.parse_args()
    began = time.monotonic()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="kill9-") as temporary:
        work = (options.work or Path(temporary) / "work").absolute()
        found = Attack(work, options.kills, options.seed, options.attempts).run()
    print(found.table())
    print(f"{'seconds':<34}{time.monotonic() - began:>8.0f}")
    raise SystemExit(0 if found.clean else 1)


if __name__ == "__main__":
    main()
