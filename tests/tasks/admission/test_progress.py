"""What is proven survives kill -9: whole lines are read back, torn or flipped ones are not."""

from __future__ import annotations

import resource
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redtogreen.errors import EnvironmentUnavailable, UsageError
from redtogreen.tasks.admission.progress import Progress
from redtogreen.tasks.files import Reject


def filled(path):
    progress = Progress(path)
    for number in range(3):
        progress.put(f"k{number}", Reject(task_id=f"t{number}", reason="survived"))
    progress.close(finished=False)
    return path.read_bytes()


def test_results_come_back_and_the_file_goes_when_finished(tmp_path):
    filled(tmp_path / "p")
    progress = Progress(tmp_path / "p")
    assert progress.get("k1", Reject).task_id == "t1"
    assert progress.get("other", Reject) is None
    progress.close(finished=True)
    assert list(tmp_path.iterdir()) == []


@given(cut=st.integers(0, 400))
def test_a_torn_tail_loses_only_the_torn_line(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("torn") / "p"
    whole = filled(path)
    path.write_bytes(whole[: min(cut, len(whole))])
    lines = path.read_bytes().count(b"\n")
    progress = Progress(path)
    kept = [number for number in range(3) if progress.get(f"k{number}", Reject)]
    assert kept == list(range(lines))
    progress.put("new", Reject(task_id="n", reason="r"))
    progress.close(finished=False)
    again = Progress(path)
    assert again.get("new", Reject) and [n for n in range(3) if again.get(f"k{n}", Reject)] == kept
    again.close(finished=False)


def test_a_flipped_byte_is_noticed(tmp_path):
    whole = bytearray(filled(tmp_path / "p"))
    whole[whole.index(b"t1")] ^= 1
    (tmp_path / "p").write_bytes(bytes(whole))
    progress = Progress(tmp_path / "p")
    assert progress.get("k0", Reject) and progress.get("k1", Reject) is None
    progress.close(finished=False)


def test_a_full_disk_is_named_also_when_the_file_is_let_go(tmp_path):
    """A limit on the size of files stands for a full disk; what the buffer still holds is tried again on closing."""
    progress = Progress(tmp_path / "p")
    progress.put("a", Reject(task_id="t", reason="r"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(EnvironmentUnavailable, match=f"cannot write {tmp_path / 'p'}"):
            progress.put("b", Reject(task_id="t" * 100, reason="r"))
        with pytest.raises(EnvironmentUnavailable, match=f"cannot write {tmp_path / 'p'}"):
            progress.close(finished=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    again = Progress(tmp_path / "p")
    assert again.get("a", Reject) and not again.get("b", Reject)
    again.close(finished=False)


def test_two_at_once_are_refused(tmp_path):
    progress = Progress(tmp_path / "p")
    with pytest.raises(UsageError, match="another admission"):
        Progress(tmp_path / "p")
    progress.close(finished=False)
