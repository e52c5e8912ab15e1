"""Folders appear whole or not at all, and nobody removes a folder somebody is still writing."""

from __future__ import annotations

from pathlib import Path

import pytest

from redtogreen.data.folders import content_hash, new_folder, workplace
from redtogreen.errors import UsageError


def test_a_folder_at_work_is_left_alone_and_an_abandoned_one_is_removed(tmp_path: Path) -> None:
    abandoned = tmp_path / ".x.writing-abandoned"
    abandoned.mkdir()
    (abandoned / "half").write_text("half")
    foreign = tmp_path / ".y.writing-other"
    foreign.mkdir()
    with workplace(tmp_path, "x") as first, workplace(tmp_path, "x") as second:
        assert first.exists() and second.exists() and first != second
        assert not abandoned.exists() and foreign.exists()
    assert list(tmp_path.iterdir()) == [foreign]


def test_of_two_writers_of_one_folder_the_second_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(UsageError, match="exists already"), new_folder(target, "a test") as mine:
        (mine / "mine").touch()
        with new_folder(target, "a test") as theirs:
            (theirs / "theirs").touch()
    assert [path.name for path in target.iterdir()] == ["theirs"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_names_with_wildcards_do_not_match_other_folders(tmp_path: Path) -> None:
    other = tmp_path / ".a1.writing-x"
    other.mkdir()
    with new_folder(tmp_path / "a[1]", "a test") as folder:
        (folder / "file").touch()
    assert other.exists() and (tmp_path / "a[1]" / "file").exists()


def test_the_hash_of_a_folder_covers_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "f"
    file.write_text("1")
    hashes = [content_hash(tmp_path / "a")]
    file.write_text("2")
    hashes.append(content_hash(tmp_path / "a"))
    file.rename(tmp_path / "a" / "g")
    hashes.append(content_hash(tmp_path / "a"))
    assert len(set(hashes)) == 3 and content_hash(tmp_path / "none") is None
