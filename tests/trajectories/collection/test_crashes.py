"""Whatever kills a collection, what it acknowledged is there, nothing is left behind, and it goes on."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from redtogreen.errors import UsageError
from redtogreen.trajectories.collection import collect, load_run

COUNT, MOST = "words-1.0/count/aaaaaa", "words-1.0/most/bbbbbb"

SCRIPT = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from redtogreen.trajectories.collection.collect import collect
report = collect(Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]), attempts=2, workers=2,
                 on_event=lambda event: print(json.dumps(event), flush=True))
print(json.dumps({"event": "done", "outcomes": report.outcomes}), flush=True)
"""


class Collection:
    """A collection in a process of its own, watched through its events."""

    def __init__(self, material, agents, run, agent="Slow", **options):
        folder = str(_folder(agents))
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, folder, str(material.file), f"{agents}:{agent}", str(run)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        self.events: list[dict] = []

    def watch(self, steps: int) -> None:
        while sum(event["event"] == "step" for event in self.events) < steps:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(self.process.stderr.read())
            self.events.append(json.loads(line))

    def finish(self) -> str:
        out, err = self.process.communicate(timeout=120)
        self.events += [json.loads(line) for line in out.splitlines()]
        return err

    def acknowledged(self) -> set[tuple[str, int]]:
        return {(event["attempt"], event["step"]) for event in self.events if event["event"] == "step"}


def _folder(module: str) -> Path:
    return Path(importlib.util.find_spec(module).origin).parent


def recorded(run: Path) -> set[tuple[str, int]]:
    return {(row.attempt, step.step) for row in load_run(run) for step in row.trajectory}


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def test_kill_9_of_the_collection_loses_no_acknowledged_step_and_resumes(material, agents, tmp_path):
    run = tmp_path / "run"
    first = Collection(material, agents, run)
    first.watch(7)
    first.process.kill()
    first.finish()
    assert first.acknowledged() <= recorded(run)
    assert {row.outcome for row in load_run(run)} <= {"interrupted", "failed"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(load_run(run)) == list(load_run(run)), "no journal is damaged"

    second = Collection(material, agents, run)
    err = second.finish()
    assert second.process.returncode == 0, err
    rows = list(load_run(run))
    assert first.acknowledged() <= recorded(run), "nothing was overwritten"
    finished = {(row.task_id, row.metadata.index) for row in rows if row.outcome == "failed"}
    assert finished == {(task, index) for task in (COUNT, MOST) for index in (0, 1)}
    assert len({row.attempt for row in rows}) == len(rows) > 4
    assert not list(run.rglob(".writing-*"))


def test_ctrl_c_keeps_everything_and_leaves_no_process(material, agents, tmp_path):
    run = tmp_path / "run"
    collection = Collection(material, agents, run)
    collection.watch(5)
    workers = children(collection.process.pid)
    collection.process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    collection.process.send_signal(signal.SIGINT)
    err = collection.finish()
    assert collection.process.returncode == -signal.SIGINT and "KeyboardInterrupt" in err
    assert len(workers) == 2 and not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert collection.acknowledged() <= recorded(run)


def test_two_collections_on_one_run_are_refused(material, agents, tmp_path):
    collection = Collection(material, agents, tmp_path / "run")
    collection.watch(1)
    with pytest.raises(UsageError, match=f"in use by process {collection.process.pid}"):
        collect(material.file, f"{agents}:Slow", tmp_path / "run", attempts=2)
    collection.process.kill()
    collection.finish()


def test_a_full_disk_stops_the_collection_and_loses_nothing(material, agents, tmp_path):
    """A small file system stands for a full disk; needs mount, hence a namespace of its own."""
    run = tmp_path / "small" / "run"
    run.parent.mkdir()
    code = f"""
import json, subprocess, sys
from pathlib import Path
subprocess.run(["mount", "--make-rprivate", "/"], check=True)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "none", {str(run.parent)!r}], check=True)
sys.path.insert(0, {str(_folder(agents))!r})
from redtogreen.errors import EnvironmentUnavailable
from redtogreen.trajectories.collection.collect import collect
from redtogreen.trajectories.collection.load import load_run
run, seen = Path({str(run)!r}), []
try:
    collect(Path({str(material.file)!r}), {agents!r} + ":Filling", run, attempts=3, workers=1, on_event=seen.append)
    print("finished")
except EnvironmentUnavailable as error:
    rows = list(load_run(run))
    kept = {{(row.attempt, step.step) for row in rows for step in row.trajectory}}
    told = {{(event["attempt"], event["step"]) for event in seen if event["event"] == "step"}}
    print(json.dumps({{"error": error.message, "told": len(told), "lost": len(told - kept)}}))
"""
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    if "unshare" in done.stderr and "not permitted" in done.stderr:
        pytest.skip("mounting a small file system needs root")
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert "no space left" in said["error"] and said["told"] > 0 and said["lost"] == 0
