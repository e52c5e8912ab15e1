"""What a journal acknowledged is there after any crash; what is torn or damaged is left out and reported."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redtogreen.errors import EnvironmentUnavailable, RecordError
from redtogreen.trajectories.recording.journal import MAGIC, JournalReport, JournalWriter, read_journal, read_records

EVENTS = [{"event": "step", "n": number, "text": "x" * number * 7} for number in range(6)]


def write(path: Path, events=EVENTS) -> bytes:
    with JournalWriter(path) as journal:
        for event in events:
            journal.append(event)
    return path.read_bytes()


def read(path: Path) -> tuple[list[dict], JournalReport]:
    report = JournalReport()
    return list(read_journal(path, report)), report


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.lists(st.dictionaries(st.text(), json_values, max_size=4), max_size=5))
def test_what_goes_in_comes_out(tmp_path, events):
    path = tmp_path / "a.rtgj"
    path.unlink(missing_ok=True)
    write(path, events)
    found, report = read(path)
    assert found == events
    assert (report.records, report.ignored, report.damaged) == (len(events), 0, None)


def test_a_name_is_used_once(tmp_path):
    write(tmp_path / "a.rtgj")
    with pytest.raises(FileExistsError):
        JournalWriter(tmp_path / "a.rtgj")


def test_cut_at_every_byte_every_whole_record_is_read_and_the_rest_counted(tmp_path):
    content = write(tmp_path / "whole.rtgj")
    ends = [place[0] for place, _ in read_records(tmp_path / "whole.rtgj")][1:] + [len(content)]
    path = tmp_path / "cut.rtgj"
    for size in range(len(content)):
        path.write_bytes(content[:size])
        found, report = read(path)
        whole = sum(end <= size for end in ends)
        assert found == EVENTS[:whole] and report.damaged is None
        start = ends[whole - 1] if whole else len(MAGIC)
        assert report.ignored == (size - start if size >= len(MAGIC) else size)


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_every_flipped_byte_is_noticed_and_everything_before_it_is_read(tmp_path, flip):
    content = write(tmp_path / "whole.rtgj")
    starts = [place[0] for place, _ in read_records(tmp_path / "whole.rtgj")]
    path = tmp_path / "flipped.rtgj"
    for at in range(len(MAGIC), len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ flip]) + content[at + 1 :])
        found, report = read(path)
        hit = sum(start <= at for start in starts) - 1
        assert found == EVENTS[:hit]
        assert report.end == starts[hit] and report.ignored == len(content) - starts[hit]
        assert report.damaged and f"at byte {starts[hit]}" in report.damaged


def test_zeros_after_a_power_cut_are_a_torn_tail(tmp_path):
    content = write(tmp_path / "a.rtgj")
    (tmp_path / "b.rtgj").write_bytes(content + bytes(4096))
    found, report = read(tmp_path / "b.rtgj")
    assert found == EVENTS and report.ignored == 4096 and report.damaged is None


def test_swapped_records_are_noticed(tmp_path):
    content = write(tmp_path / "a.rtgj", [{"n": 1}, {"n": 2}])
    middle = [place[0] for place, _ in read_records(tmp_path / "a.rtgj")][1]
    (tmp_path / "b.rtgj").write_bytes(MAGIC + content[middle:] + content[len(MAGIC) : middle])
    found, report = read(tmp_path / "b.rtgj")
    assert found == [] and report.damaged


def test_foreign_and_newer_files_are_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"hello, this is no journal")
    with pytest.raises(RecordError, match="not a journal"):
        list(read_journal(tmp_path / "a"))
    (tmp_path / "b").write_bytes(MAGIC[:5] + b"\x02" + MAGIC[6:])
    with pytest.raises(RecordError, match="newer"):
        list(read_journal(tmp_path / "b"))


def test_reading_on_from_a_place(tmp_path):
    write(tmp_path / "a.rtgj")
    places = [place for place, _ in read_records(tmp_path / "a.rtgj")]
    assert [event for _, event in read_records(tmp_path / "a.rtgj", start=places[3])] == EVENTS[3:]


_WRITER = """
import sys
from pathlib import Path
from redtogreen.trajectories.recording.journal import JournalWriter
journal = JournalWriter(Path(sys.argv[1]))
n = 0
while True:
    journal.append({"n": n, "text": "x" * (n % 5000)})
    print(n, flush=True)
    n += 1
"""


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path):
    for round_ in range(5):
        path = tmp_path / f"{round_}.rtgj"
        writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        for _ in range(20 + round_ * 30):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        acknowledged = [int(line) for line in writer.stdout.read().split("\n") if line]
        writer.wait()
        found, report = read(path)
        last = acknowledged[-1] if acknowledged else 18 + round_ * 30
        assert [event["n"] for event in found] == list(range(len(found))) and len(found) > last
        assert report.damaged is None


_FULL = """
import resource, sys
from pathlib import Path
from redtogreen.errors import EnvironmentUnavailable
from redtogreen.trajectories.recording.journal import JournalWriter, read_journal
import os
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
journal = JournalWriter(Path(sys.argv[1]))
n = 0
try:
    while True:
        journal.append({"n": n, "text": os.urandom(300).hex()})
        n += 1
except EnvironmentUnavailable as error:
    assert "cannot write journal" in error.message, error
    try:
        journal.append({"n": "after"})
    except EnvironmentUnavailable:
        print(n)
"""


def test_a_full_disk_is_an_error_and_leaves_whole_records(tmp_path):
    path = tmp_path / "a.rtgj"
    done = subprocess.run([sys.executable, "-c", _FULL, str(path)], capture_output=True, text=True, check=True)
    found, report = read(path)
    assert [event["n"] for event in found] == list(range(int(done.stdout)))
    assert int(done.stdout) > 10 and report.ignored == 0, "the torn tail was taken away"


def test_a_read_only_place_is_named(tmp_path):
    if os.geteuid() == 0:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        try:
            with pytest.raises(EnvironmentUnavailable, match="a.rtgj"):
                JournalWriter(tmp_path / "a.rtgj")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    else:
        (tmp_path / "closed").mkdir(mode=0o555)
        with pytest.raises((EnvironmentUnavailable, PermissionError)):
            JournalWriter(tmp_path / "closed" / "a.rtgj")
