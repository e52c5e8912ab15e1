"""Whatever is written into a workspace is what is read back from it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

import conformance

from redtogreen.errors import SandboxError
from redtogreen.execution.sandboxes import FileChange, Limits, Output
from redtogreen.execution.sandboxes.contract import check_changes
from redtogreen.execution.sandboxes.namespace.output import Kept

names = st.sampled_from(["a.txt", "d", "x", "y", "deep", "z", "src", "new", "é", "sp ace"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
contents = st.binary(max_size=20)
targets = st.binary(min_size=1, max_size=9).filter(lambda target: 0 not in target)
changes = st.dictionaries(
    paths,
    st.one_of(
        st.builds(FileChange, kind=st.just("file"), content=contents, executable=st.booleans()),
        st.builds(FileChange, kind=st.just("link"), content=targets),
        st.just(FileChange("deleted")),
    ),
    max_size=8,
)


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    return conformance.Boxes(tmp_path_factory.mktemp("sandboxes"))


def _tree(box) -> str:
    """Every file and link with its mode and content, as the inside sees it."""
    show = """'test -L "$1" || cksum < "$1"; echo' - {} ';'"""
    listing = f"find . -mindepth 1 ! -type d -printf '%P %y %l %m ' -exec sh -c {show}"
    result = box.run(["sh", "-c", f"{listing} | sort"])
    assert result.verdict == "ok", result
    return result.stdout.text


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=changes, second=changes)
def test_a_copy_made_from_the_changes_is_the_same_workspace(boxes, first, second):
    with boxes(limits=Limits(seconds=30)) as box:
        for part in (first, second):
            for path, change in part.items():
                try:
                    box.write({path: change})
                except SandboxError as error:  # through a link or a file: refused, and nothing was written
                    assert path in error.message
        seen, tree = box.changes(), _tree(box)
        assert box.skipped == []
    with boxes(changes=seen) as copy:
        assert copy.changes() == seen
        assert _tree(copy) == tree


@given(st.lists(st.binary(max_size=300), max_size=30), st.integers(0, 400))
def test_output_keeps_both_ends_and_counts_all(chunks, limit):
    kept, whole = Kept(limit), b"".join(chunks)
    for chunk in chunks:
        kept.add(chunk)
    output = Output(*kept.ends())
    assert output.size == len(whole)
    assert whole.startswith(output.head) and whole.endswith(output.tail)
    assert len(output.head) + len(output.tail) == min(limit, len(whole))
    assert output.cut == (len(whole) > limit)
    assert output.cut or output.text == whole.decode("utf-8", "replace")


@given(st.text(alphabet="a./\0", max_size=6))
def test_only_plain_relative_paths_are_accepted(path):
    plain = all(part not in ("", ".", "..") for part in path.split("/")) and "\0" not in path
    try:
        check_changes({path: FileChange("deleted")})
    except SandboxError:
        assert not plain
    else:
        assert plain
