"""Trees: nothing that leaks the answer gets in, hashes cover everything, patches apply."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redtogreen.errors import RecordError, TaskError
from redtogreen.execution.sandboxes import FileChange
from redtogreen.execution.trees import (
    apply_changes,
    checkout,
    difference,
    export_tree,
    load_tree,
    matches,
    patch,
    save_tree,
    scan_folder,
)
from redtogreen.store import BlobStore


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


def write(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def test_second_copies_of_the_code_are_left_out(tmp_path: Path, store: BlobStore) -> None:
    files = ["build/lib/p.py", ".git/HEAD", "p.egg-info/PKG-INFO", "a/__pycache__/p.pyc", ".tox/x.py", "dist/p.whl"]
    write(tmp_path / "project", {**dict.fromkeys(files, "x"), "p.py": "x", "p/build/keep.py": "x"})
    tree, _ = scan_folder(tmp_path / "project", store)
    assert list(tree.entries) == ["p.py", "p/build/keep.py"]


def test_links_that_leave_the_folder_and_special_files_are_left_out(tmp_path: Path, store: BlobStore) -> None:
    project = write(tmp_path / "project", {"a.py": "x", "pkg/b.py": "y"})
    os.symlink("/etc/passwd", project / "out")
    os.symlink("a.py", project / "inside")
    os.symlink("pkg", project / "folder")
    os.mkfifo(project / "pipe")
    tree, notes = scan_folder(project, store)
    assert list(tree.entries) == ["a.py", "folder", "inside", "pkg/b.py"]
    assert tree.entries["inside"].mode == tree.entries["folder"].mode == "link"
    assert any("out" in note for note in notes) and any("pipe" in note for note in notes)


def test_an_empty_folder_is_refused(tmp_path: Path, store: BlobStore) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TaskError):
        scan_folder(tmp_path / "empty", store)


def test_hash_covers_path_mode_and_content(tmp_path: Path, store: BlobStore) -> None:
    project = write(tmp_path / "project", {"a.py": "x"})
    first, _ = scan_folder(project, store)
    (project / "a.py").chmod(0o755)
    second, _ = scan_folder(project, store)
    (project / "a.py").write_text("y")
    third, _ = scan_folder(project, store)
    assert len({first.hash, second.hash, third.hash}) == 3
    assert load_tree(save_tree(third, store), store) == third


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../b", "a//b", "", "a\0b", "./a"])
def test_paths_that_leave_the_tree_are_refused(path: str, tmp_path: Path, store: BlobStore) -> None:
    tree, _ = scan_folder(write(tmp_path / "project", {"a.py": "x"}), store)
    with pytest.raises(RecordError):
        apply_changes(tree, {path: FileChange("file", b"x")}, store)


def test_deleting_a_folder_deletes_what_is_in_it(tmp_path: Path, store: BlobStore) -> None:
    tree, _ = scan_folder(write(tmp_path / "project", {"p/a.py": "x", "p/q/b.py": "y", "pq.py": "z"}), store)
    assert list(apply_changes(tree, {"p": FileChange("deleted")}, store).entries) == ["pq.py"]


_names = st.sampled_from(["a.py", "b.py", "p/c.py", "p/d.txt", "q/r/e.py"])
_texts = st.text(alphabet="abc\n\r é", max_size=20)


@settings(max_examples=40, deadline=None)
@given(old=st.dictionaries(_names, _texts, min_size=1), new=st.dictionaries(_names, _texts, min_size=1))
def test_a_difference_leads_from_one_tree_to_the_other(tmp_path_factory, old: dict, new: dict) -> None:
    base = tmp_path_factory.mktemp("trees")
    store = BlobStore(base / "blobs")
    trees = []
    for files in (old, new):
        changes = {path: FileChange("file", text.encode()) for path, text in files.items()}
        trees.append(apply_changes(type_of_empty(), changes, store))
    assert apply_changes(trees[0], difference(*trees, store), store) == trees[1]


def type_of_empty():
    from redtogreen.execution.trees import Tree

    return Tree({})


@settings(max_examples=25, deadline=None)
@given(
    old=st.dictionaries(_names, st.text(alphabet="ab\n", max_size=30), min_size=1),
    new=st.dictionaries(_names, st.text(alphabet="ab\n", max_size=30), min_size=1),
)
def test_git_applies_our_patches(tmp_path_factory, old: dict, new: dict) -> None:
    base = tmp_path_factory.mktemp("patches")
    store = BlobStore(base / "blobs")
    before = apply_changes(type_of_empty(), {p: FileChange("file", t.encode()) for p, t in old.items()}, store)
    after = apply_changes(type_of_empty(), {p: FileChange("file", t.encode()) for p, t in new.items()}, store)
    text = patch(before, after, store)
    export_tree(before, base / "work", store)
    if text:
        (base / "patch").write_text(text)
        subprocess.run(["git", "apply", "--unsafe-paths", str(base / "patch")], cwd=base / "work", check=True)
    scanned = {
        path.relative_to(base / "work").as_posix(): path.read_text()
        for path in (base / "work").rglob("*")
        if path.is_file()
    }
    assert scanned == new


def test_a_checkout_is_made_once_and_can_be_read(tmp_path: Path, store: BlobStore, monkeypatch) -> None:
    monkeypatch.setenv("REDTOGREEN_HOME", str(tmp_path / "home"))
    tree, _ = scan_folder(write(tmp_path / "project", {"a.py": "x", "p/run.sh": "y"}), store)
    name = save_tree(tree, store)
    first = checkout(name, store)
    (tmp_path / "home" / "trees" / ".making-dead").mkdir()
    assert checkout(name, store) == first
    assert (first / "p/run.sh").read_text() == "y"
    assert os.stat(first / "a.py").st_mtime == os.stat(first / "p/run.sh").st_mtime


def test_missing_and_damaged_blobs_are_named(store: BlobStore) -> None:
    name = store.put(b"content")
    path = store.root / name[7:9] / name[9:]
    path.write_bytes(b"rubbish")
    with pytest.raises(RecordError, match="damaged"):
        store.get(name)
    path.unlink()
    with pytest.raises(RecordError, match="missing"):
        store.get(name)
    with pytest.raises(RecordError, match="not a blob name"):
        store.get("sha256:../../etc/passwd")


@pytest.mark.parametrize(
    "path, patterns, expected",
    [
        ("tests/a/b.py", ["tests/**"], True),
        ("src/tests.py", ["tests/**"], False),
        ("a/b/conftest.py", ["conftest.py"], True),
        ("conftest.py", ["conftest.py"], True),
        ("a/test_x.py", ["test_*.py"], True),
        ("a/b/c.cfg", ["**/*.cfg"], True),
    ],
)
def test_patterns(path: str, patterns: list[str], expected: bool) -> None:
    assert matches(path, patterns) is expected


@pytest.mark.parametrize("content", [b"no tree", b'{"a": 1}', b'{"../x": ["file", "sha256:0"]}', b"\xff"])
def test_a_blob_that_is_no_tree_is_named(store: BlobStore, content: bytes) -> None:
    with pytest.raises(RecordError):
        load_tree(store.put(content), store)
