"""Where the attempts of a run begin that do not begin at the start of their task: after a step of a recorded attempt.

The run keeps the steps and their blobs itself (`origin.jsonl`), so it stands on its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from redtogreen.errors import UsageError
from redtogreen.execution.sandboxes.contract import Changes
from redtogreen.execution.trees import load_tree
from redtogreen.records import Branch, Step, Trajectory, read_strict, write_jsonl
from redtogreen.store import BlobStore
from redtogreen.trajectories.recording.kept_changes import KeptChange, load_changes
from redtogreen.trajectories.recording.workspace_state import WorkspaceState

_EARLIER = "branch at an earlier step, or another attempt"


@dataclass(frozen=True)
class Origin:
    """A state to go on from."""

    attempt: Trajectory
    """With no more steps than are shared."""
    blobs: BlobStore

    @classmethod
    def at(cls, row: Trajectory, step: int, blobs: BlobStore, trees: BlobStore) -> Origin:
        """The state after this step of an attempt; 0: the start. trees: where the start state lies.

        Raises UsageError when nobody can go on from it.
        """
        if not 0 <= step <= len(row.trajectory):
            raise UsageError(
                f"attempt {row.attempt} has no step {step}", f"its steps are 1 to {len(row.trajectory)}; 0 is the start"
            )
        if step and row.trajectory[step - 1].action == "submit":
            raise UsageError(
                f"step {step} of attempt {row.attempt} submits: nothing follows it", f"branch at 0 to {step - 1}"
            )
        origin = cls(msgspec.structs.replace(row, trajectory=row.trajectory[:step]), blobs)
        state = WorkspaceState(load_tree(str(row.start_state.tree), trees), trees)
        state.update(origin.changes())
        if step and state.hash != row.trajectory[step - 1].tree:
            raise UsageError(
                f"attempt {row.attempt} cannot be branched after step {step}: the files kept are not those the step "
                "left, because personal data was replaced in them",
                _EARLIER,
            )
        return origin

    @property
    def branch(self) -> Branch:
        return Branch(attempt=str(self.attempt.attempt), step=len(self.attempt.trajectory))

    @property
    def steps(self) -> list[Step]:
        return self.attempt.trajectory

    def changes(self) -> Changes:
        """The workspace against the start state of the task. Raises UsageError when it was not kept as it was."""
        steps, kept = self.steps, None
        for step in steps:
            kept = step.changes or kept
            if step.diff is not None and step.changes is None:
                raise UsageError(
                    f"the workspace after step {step.step} of attempt {self.attempt.attempt} was not kept",
                    "an older version recorded it; branch an attempt of this version, or at an earlier step",
                )
        changes, redacted = load_changes(kept, self.blobs) if kept else ({}, [])
        if redacted:
            raise UsageError(
                f"attempt {self.attempt.attempt} cannot be branched after step {len(steps)}: secrets were replaced in "
                f"{', '.join(redacted)}",
                _EARLIER,
            )
        return changes

    def keep(self, file: Path, blobs: BlobStore) -> None:
        """Write the steps, and the blobs they name, unless that was done before."""
        if file.exists():
            return
        for name in _blobs(msgspec.to_builtins(self.steps), self.blobs):
            blobs.copy_from(self.blobs, name)
        write_jsonl(file, [self.attempt])


def read_origin(file: Path, blobs: BlobStore) -> Origin:
    """What `keep` has written."""
    (row,) = read_strict(file, Trajectory)
    return Origin(row, blobs)


def _blobs(value: Any, store: BlobStore) -> Iterator[str]:
    """Names of the blobs that a plain value mentions."""
    if isinstance(value, str):
        if value.startswith("sha256:") and store.has(value):
            yield value
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _blobs(item, store)
            if key == "changes" and isinstance(item, str) and store.has(item):
                kept = msgspec.msgpack.decode(store.get(item), type=list[KeptChange])
                yield from (one.blob for one in kept if one.blob)
