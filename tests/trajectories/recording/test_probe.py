"""A probe measures what the grader would, out of the agent's reach, and tells machine failures from the agent's."""

from __future__ import annotations

import pytest

from redtogreen.errors import RedToGreenError
from redtogreen.execution.sandboxes.contract import FileChange
from redtogreen.store import BlobStore, home
from redtogreen.trajectories.recording.probe import Prober, probe

PATH = "words/counting.py"
ID = "tests/test_counting.py::"


@pytest.fixture(scope="module")
def prober(material):
    return Prober(material.store, seconds=20)


def test_the_start_state_of_each_task(material, prober):
    first, second = (prober.start(task) for task in material.tasks)
    assert [test for test, status in first.tests.items() if status == "failed"] == material.tasks[0].tests.f2p
    assert [test for test, status in second.tests.items() if status == "failed"] == material.tasks[1].tests.f2p
    assert first.failure_stage == "assertion" and first.lint == 0 and first.parse_errors == 0


def test_evaluation_tests_are_not_probed(material, prober):
    assert not set(material.tasks[0].tests.evaluation) & prober.start(material.tasks[0]).tests.keys()


def test_changed_tests_and_configuration_do_not_count(material, prober):
    """The probe runs the tests of the task, not the agent's."""
    changes = {
        "tests/test_counting.py": FileChange("file", b"def test_count(): pass\n"),
        "conftest.py": FileChange("file", b"import pytest\ndef pytest_runtest_call(item): pytest.skip()\n"),
    }
    assert prober.probe(material.tasks[0], changes) == prober.start(material.tasks[0])


def test_an_endless_loop_is_measured_as_absent(material):
    hanging = {PATH: FileChange("file", b"while True: pass\n")}
    found = Prober(material.store, seconds=3).probe(material.tasks[0], hanging)
    assert set(found.tests.values()) == {"absent"} and found.parse_errors == 0 and found.failure_stage != "pass"


def test_code_that_exits_does_not_end_the_measurement_as_passed(material, prober):
    found = prober.probe(material.tasks[0], {PATH: FileChange("file", b"import os\nos._exit(0)\n")})
    assert set(found.tests.values()) == {"absent"} and found.failure_stage != "pass"


@pytest.mark.parametrize(
    "source",
    [b"x = (", b"\0\0", b"\xff\xfe\xff", b"(" * 5000, b"return 1", b"def f():\n\treturn 1\n        return 2\n"],
)
def test_files_that_do_not_parse_are_counted(material, prober, source):
    assert prober.probe(material.tasks[0], {"words/broken.py": FileChange("file", source)}).parse_errors == 1


def test_a_state_is_measured_once_whoever_meets_it_again(material, monkeypatch):
    """Attempts of other processes and later runs find the measurement; a damaged one is made again."""
    change = {PATH: FileChange("file", b"def count(words): return 41\n")}
    first = Prober(material.store, seconds=20).probe(material.tasks[0], change)
    kept = max((home() / "probes").rglob("*.zst"), key=lambda path: path.stat().st_mtime_ns)
    with monkeypatch.context() as patch:
        patch.setattr("redtogreen.trajectories.recording.probe.run_tests", None)
        assert Prober(material.store, seconds=20).probe(material.tasks[0], change) == first
    kept.write_bytes(b"rubbish")
    assert Prober(material.store, seconds=20).probe(material.tasks[0], change) == first
    assert kept.read_bytes() != b"rubbish"


def test_a_probe_that_ran_out_of_time_is_not_remembered(material):
    """It may have been a slow moment of the machine."""
    hanging = {PATH: FileChange("file", b"while True: pass  # again\n")}
    before = set((home() / "probes").rglob("*.zst"))
    Prober(material.store, seconds=2).probe(material.tasks[0], hanging)
    assert set((home() / "probes").rglob("*.zst")) == before


def test_missing_blobs_are_the_machines_failure(material, tmp_path):
    with pytest.raises(RedToGreenError, match="missing"):
        probe(material.tasks[0], {PATH: FileChange("file", b"x = 77\n")}, BlobStore(tmp_path / "empty"))
