"""A file of another kind than a command wants gets a straight answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from redtogreen import pipeline
from redtogreen.errors import UsageError
from redtogreen.records import Score, Verdict, encode
from redtogreen.records.kinds import check_kind

EXAMPLE = Path(__file__).parents[2] / "examples" / "config-parser.jsonl"
TASK = b'{"task_id": "t", "task_desc": "d", "provenance": {"project": "p"}, "tests": {}, "start_state": {}}'


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (TASK, "tasks"),
        (encode(Verdict(source="a.jsonl", line=1, keep=True)), "verdicts of cleaning"),
        (encode(Score(recipe="r", version=1, task_id="t")), "scores"),
        (b'{"task_id": "t", "reason": "survived"}', "rejected candidates"),
        (b'{"messages": []}', "chat messages"),
    ],
)
def test_what_is_no_trajectory_is_called_what_it_is(tmp_path: Path, line: bytes, kind: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n" + line + b"\n")
    with pytest.raises(UsageError, match=f"x.jsonl holds {kind}, not trajectories") as caught:
        list(pipeline.load_trajectories(path))
    assert caught.value.hint


def test_trajectories_are_no_tasks_and_what_cannot_be_told_is_left_to_the_reader(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds trajectories, not tasks"):
        pipeline.load_tasks(EXAMPLE)
    check_kind(EXAMPLE, "trajectories")
    for number, content in enumerate((b"", b"\n\n", b"{", b"[1]", b'"trajectory"', b'{"task_idd": 1}', b"[" * 100_000)):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(content)
        check_kind(path, "tasks")
