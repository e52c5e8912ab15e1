"""Jobs run apart from each other; nothing is left behind, however the work ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path

import pytest

from redtogreen.errors import EnvironmentUnavailable, TaskError, UsageError
from redtogreen.execution.executors.local import WorkerLost, run_jobs

JOBS = """
import os, signal, sys, threading, time
from pathlib import Path
from redtogreen.errors import TaskError


def square(job, emit):
    emit({"job": job})
    print("talk that must not reach standard output")
    return job * job, os.getpid(), len(os.listdir("/proc/self/task")), sys.stdin.read()


def fail(job, emit):
    if job % 2:
        raise TaskError(f"job {job}", "a hint")
    return job


class Local(Exception):
    def __init__(self, a, b):
        super().__init__(a)


def odd_errors(job, emit):
    if job == 0:
        raise Local("x", 1)
    return threading.Lock()


def die(job, emit):
    if job == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return job


def sleep(job, emit):
    place = Path(job)
    place.write_text("half done")
    try:
        emit({"pid": os.getpid()})
        time.sleep(60)
    finally:
        place.unlink()


def stubborn(job, emit):
    emit({"pid": os.getpid()})
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass


def descriptor(job, emit):
    return os.fstat(job).st_ino


def sigint_of_children(job, emit):
    import subprocess
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()
"""


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    folder = tmp_path / "modules"
    folder.mkdir()
    name = f"executor_jobs_{os.getpid()}_{time.time_ns()}"
    (folder / f"{name}.py").write_text(JOBS)
    monkeypatch.syspath_prepend(str(folder))
    return __import__(name)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids, seconds=8.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def test_results_events_and_separate_single_threaded_processes(jobs, capfd):
    events = []
    results = dict(run_jobs(jobs.square, iter(range(6)), 2, events.append))
    assert {job: result[0] for job, result in results.items()} == {n: n * n for n in range(6)}
    assert sorted(event["job"] for event in events) == list(range(6))
    pids = {result[1] for result in results.values()}
    assert len(pids) == 2 and os.getpid() not in pids and gone(pids)
    assert {result[2] for result in results.values()} == {1}
    assert {result[3] for result in results.values()} == {""}, "no standard input"
    out, err = capfd.readouterr()
    assert out == "" and "talk" in err and "Warning" not in err


def test_no_jobs_start_no_process(jobs):
    assert list(run_jobs(jobs.square, [], 2)) == []


def test_an_exception_comes_back_as_itself_and_the_others_go_on(jobs):
    results = dict(run_jobs(jobs.fail, range(4), 2))
    assert results[0] == 0 and results[2] == 2
    assert isinstance(results[1], TaskError) and results[1].hint == "a hint"


def test_what_cannot_travel_is_said(jobs):
    results = dict(run_jobs(jobs.odd_errors, range(2), 1))
    assert isinstance(results[0], RuntimeError) and "Local: x" in str(results[0])
    assert isinstance(results[1], TypeError) and "cannot be sent" in str(results[1])


def test_a_lost_worker_costs_its_job_only(jobs):
    results = dict(run_jobs(jobs.die, range(5), 2))
    assert isinstance(results[2], WorkerLost) and "signal 9" in str(results[2])
    assert [results[n] for n in (0, 1, 3, 4)] == [0, 1, 3, 4]


def test_closing_early_ends_the_workers_and_lets_them_clean_up(jobs, tmp_path):
    pids, place = [], tmp_path / "half"
    results = run_jobs(jobs.sleep, [str(place)], 1, lambda event: _stop_at(event, pids))
    with pytest.raises(RuntimeError, match="enough"), closing(results):
        list(results)
    assert gone(pids) and not place.exists()


def _stop_at(event, pids):
    pids.append(event["pid"])
    raise RuntimeError("enough")


def test_functions_that_no_worker_can_import_are_refused():
    with pytest.raises(UsageError, match="cannot be sent"):
        list(run_jobs(lambda job, emit: job, [1], 1))


def test_workers_that_cannot_start_are_an_error_not_a_loop(jobs, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(EnvironmentUnavailable, match="could not start"):
        list(run_jobs(jobs.square, range(3), 2))


def test_kept_descriptors_stay_open_in_workers(jobs, tmp_path):
    with open(tmp_path / "lock", "w") as lock:
        ((_, inode),) = run_jobs(jobs.descriptor, [lock.fileno()], 1, keep=[lock.fileno()])
        assert inode == os.fstat(lock.fileno()).st_ino


def test_programs_started_by_a_worker_see_ctrl_c_as_usual(jobs):
    """Tests under study may rely on KeyboardInterrupt."""
    ((_, answer),) = run_jobs(jobs.sigint_of_children, [0], 1)
    assert answer == "True"


SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import {name} as jobs
from redtogreen.execution.executors.local import run_jobs
try:
    for job, result in run_jobs(jobs.{function}, sys.argv[2:], 2, lambda event: print(event["pid"], flush=True)):
        print(result, file=sys.stderr)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""


def start(jobs, function, *arguments):
    code = textwrap.dedent(SCRIPT).format(name=jobs.__name__, function=function)
    folder = str(Path(jobs.__file__).parent)
    parent = subprocess.Popen(
        [sys.executable, "-c", code, folder, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    pids = [int(parent.stdout.readline()) for _ in arguments]
    return parent, pids


def test_kill_9_of_the_parent_takes_the_workers_along_and_they_clean_up(jobs, tmp_path):
    places = [tmp_path / "a", tmp_path / "b"]
    parent, pids = start(jobs, "sleep", *map(str, places))
    parent.kill()
    parent.wait()
    assert gone(pids) and not any(place.exists() for place in places)
    parent.stdout.close(), parent.stderr.close()


def test_even_a_worker_that_swallows_everything_ends_with_its_parent(jobs):
    parent, pids = start(jobs, "stubborn", "x")
    parent.kill()
    parent.wait()
    assert gone(pids)
    parent.stdout.close(), parent.stderr.close()


def test_ctrl_c_waits_for_the_workers_and_is_passed_on(jobs, tmp_path):
    places = [tmp_path / "a", tmp_path / "b"]
    parent, pids = start(jobs, "sleep", *map(str, places))
    parent.send_signal(signal.SIGINT)
    out, err = parent.communicate(timeout=20)
    assert "interrupted" in out and not any(alive(pid) for pid in pids)
    assert parent.returncode == -signal.SIGINT and not any(place.exists() for place in places)
    assert "leaked" not in err and "resource_tracker" not in err


def test_a_second_ctrl_c_only_hurries(jobs):
    parent, pids = start(jobs, "stubborn", "x", "y")
    parent.send_signal(signal.SIGINT)
    time.sleep(0.3)
    began = time.monotonic()
    parent.send_signal(signal.SIGINT)
    out, _ = parent.communicate(timeout=20)
    assert "interrupted" in out and not any(alive(pid) for pid in pids)
    assert time.monotonic() - began < 4
