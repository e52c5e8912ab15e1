"""Format `redtogreen`: our own rows as JSON lines, one file per split."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from redtogreen.data.exports.files import JsonLinesFiles
from redtogreen.records import Trajectory, encode

LOADING = """
    from redtogreen import load_trajectories

    for trajectory in load_trajectories("DIR/train.jsonl"):
        print(trajectory.task_id, trajectory.outcome, trajectory.reward)
"""


def write(rows: Iterable[tuple[str, Trajectory]], out: Path) -> dict[str, Any]:
    """Trajectories as they are, one JSON object per line: OUT/<split>.jsonl."""
    with JsonLinesFiles(out) as files:
        for split, trajectory in rows:
            files.add(f"{split}.jsonl", encode(trajectory))
        return {"trajectories": files.rows.total(), "rows": files.counts(), "left_out": {}}
