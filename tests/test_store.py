"""What lies on disk: blobs, atomic writes, scratch folders that outlive nobody."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from redtogreen.errors import EnvironmentUnavailable
from redtogreen.store import BlobStore, home, scratch, write_atomic


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDTOGREEN_HOME", str(tmp_path / "home"))


def test_scratch_is_gone_afterwards_also_after_an_error() -> None:
    with scratch() as folder:
        (folder / "file").write_text("x")
    assert not folder.exists()
    with pytest.raises(ValueError), scratch() as folder:
        raise ValueError
    assert not folder.exists()


def test_what_a_killed_process_left_is_removed_by_the_next() -> None:
    code = (
        "import os, signal\nfrom redtogreen.store import scratch\nwith scratch(): os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", code])
    assert killed.returncode == -9
    assert len(list((home() / "scratch").iterdir())) == 1
    with scratch() as folder:
        assert list((home() / "scratch").iterdir()) == [folder]


def test_scratch_of_a_living_process_is_left_alone() -> None:
    with scratch() as first, scratch() as second:
        assert first.exists() and second.exists()


def test_a_full_disk_names_the_place_and_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_atomic(file, b"old")
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            write_atomic(file, b"x" * 5000)
        except EnvironmentUnavailable as error:
            os._exit(7 if str(file) in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_equal_blobs_are_stored_once(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    assert store.put(b"a") == store.put(b"a")
    assert list(store.names()) == [store.put(b"a")]
    assert store.get(store.put(b"a")) == b"a"
