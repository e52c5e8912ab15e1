"""Columnar tables of a run: one row per attempt, and the steps of the two stages apart.

Made from the journals, in parts of a few hundred attempts; a part is never written again.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from redtogreen.records import Score, Step, Trajectory
from redtogreen.store import write_atomic
from redtogreen.trajectories.collection.load import AttemptEntry, index_run, load_attempt
from redtogreen.trajectories.collection.run_folder import RunFolder

PART = 256
"""Attempts per part."""


def write_tables(run: RunFolder) -> int:
    """Add the attempts that are final and in no part yet; returns how many. Call with the run's lock held."""
    known = _known(run)
    new = [
        entry
        for entry in index_run(run).attempts
        if entry.attempt not in known and (entry.outcome is not None or entry.marked)
    ]
    number = max((int(part.stem.removeprefix("part-")) + 1 for part in _parts(run)), default=0)
    for at in range(0, len(new), PART):
        _write_part(run, f"{number + at // PART:05d}", new[at : at + PART])
    return len(new)


def keep_scores(run: Path, scores: Iterable[Score]) -> Path | None:
    """Keep scores of a run under one recipe in `rewards/<recipe>.parquet`; returns the file, None without scores."""
    rows = [
        {
            "task_id": one.task_id,
            "attempt": one.attempt,
            "recipe": one.recipe,
            "version": one.version,
            "reward": one.reward,
            "components": _json(one.components),
            "steps": one.steps,
            "gate": one.gate,
            "reason": one.reason,
        }
        for one in scores
    ]
    if not rows:
        return None
    name = re.sub(r"[^\w.-]+", "-", Path(str(rows[0]["recipe"])).name) or "recipe"
    path = Path(run) / "rewards" / f"{name}.parquet"
    _write(path, rows, _schema(_SCORE))
    return path


def _known(run: RunFolder) -> set[str]:
    """Attempts that stand in a part. A damaged part is removed: all of it is in the journals, so it is made again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    known: set[str] = set()
    for part in _parts(run):
        try:
            known.update(pq.read_table(part, columns=["attempt"])["attempt"].to_pylist())
        except (pa.ArrowException, OSError):
            for steps in run.steps.glob(f"*-{part.stem.removeprefix('part-')}.parquet"):
                steps.unlink()
            part.unlink()
    return known


def _parts(run: RunFolder) -> list[Path]:
    return sorted(part for part in run.tables.glob("part-*.parquet") if part.stem.removeprefix("part-").isdecimal())


def _write_part(run: RunFolder, stem: str, entries: list[AttemptEntry]) -> None:
    attempts: list[dict[str, Any]] = []
    stages: dict[str, list[dict[str, Any]]] = {"plan": [], "coding": []}
    for entry in entries:
        row = load_attempt(entry)
        attempts.append(_attempt_row(row))
        for step in row.trajectory:
            stages[step.stage].append(_step_row(row, step))
    # The attempts come last: a part without them does not count and is written again.
    for stage, rows in stages.items():
        _write(run.steps / f"{stage}-{stem}.parquet", rows, _schema(_STEP))
    _write(run.tables / f"part-{stem}.parquet", attempts, _schema(_ATTEMPT))


def _write(path: Path, rows: list[dict[str, Any]], schema: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), buffer, compression="zstd", row_group_size=64 * 1024)
    write_atomic(path, buffer.getvalue(), durable=True)


def _attempt_row(row: Trajectory) -> dict[str, Any]:
    summary, grade = row.final_state.test_summary, row.metadata.grade
    facts = row.metadata
    return {
        "task_id": row.task_id,
        "attempt": row.attempt,
        "outcome": row.outcome,
        "ending": row.ending,
        "success": row.success,
        "reward": row.reward,
        "agent": facts.agent,
        "agent_version": facts.agent_version,
        "model": facts.model,
        "seed": facts.seed,
        "index": facts.index,
        "retry": facts.retry,
        "project": facts.project,
        "steps": len(row.trajectory),
        "plan_steps": sum(step.stage == "plan" for step in row.trajectory),
        "tests_passed": summary.passed if summary else None,
        "tests_failed": summary.failed if summary else None,
        "completion": grade.completion if grade else None,
        "patch_characters": len(row.final_state.patch),
        "redactions": facts.redactions,
        "started": facts.started,
        "seconds": facts.seconds,
        "error": facts.error,
    }


def _step_row(row: Trajectory, step: Step) -> dict[str, Any]:
    said = step.feedback
    return {
        "task_id": row.task_id,
        "attempt": row.attempt,
        "step": step.step,
        "action": step.action,
        "status": said.status,
        "applied": said.applied,
        "passed": said.passed,
        "failed": said.failed,
        "compile_error": said.compile_error,
        "params": _json(step.params),
        "observation": _json(step.observation),
        "probe": None if step.probe is None else _json(step.probe),
        "tree": step.tree,
        "diff": step.diff,
        "seconds": step.seconds,
    }


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_TEXT = "string"
_ATTEMPT = {
    **dict.fromkeys(("task_id", "attempt", "outcome", "ending"), _TEXT),
    "success": "bool_",
    "reward": "float64",
    **dict.fromkeys(("agent", "agent_version", "model"), _TEXT),
    **dict.fromkeys(("seed", "index", "retry"), "int64"),
    "project": _TEXT,
    **dict.fromkeys(("steps", "plan_steps", "tests_passed", "tests_failed"), "int64"),
    "completion": "bool_",
    **dict.fromkeys(("patch_characters", "redactions"), "int64"),
    "started": _TEXT,
    "seconds": "float64",
    "error": _TEXT,
}
_STEP = {
    **dict.fromkeys(("task_id", "attempt"), _TEXT),
    "step": "int64",
    **dict.fromkeys(("action", "status"), _TEXT),
    "applied": "bool_",
    **dict.fromkeys(("passed", "failed"), "int64"),
    "compile_error": "bool_",
    **dict.fromkeys(("params", "observation", "probe", "tree", "diff"), _TEXT),
    "seconds": "float64",
}
_SCORE = {
    **dict.fromkeys(("task_id", "attempt", "recipe"), _TEXT),
    "version": "int64",
    "reward": "float64",
    "components": _TEXT,
    "steps": "float64 list",
    **dict.fromkeys(("gate", "reason"), _TEXT),
}


def _schema(columns: dict[str, str]) -> Any:
    import pyarrow as pa

    def typed(kind: str) -> Any:
        name, _, many = kind.partition(" ")
        return pa.list_(getattr(pa, name)()) if many else getattr(pa, name)()

    return pa.schema([(name, typed(kind)) for name, kind in columns.items()])
