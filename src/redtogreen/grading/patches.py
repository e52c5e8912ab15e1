"""Grading what somebody hands in: a unified diff, or a folder on this machine."""

from __future__ import annotations

from pathlib import Path

from redtogreen.errors import EnvironmentUnavailable, RedToGreenError, SandboxError, TaskError, UsageError
from redtogreen.execution.environments import open_workspace
from redtogreen.execution.sandboxes.contract import Changes
from redtogreen.execution.trees import difference, load_tree, scan_folder
from redtogreen.grading.grade import grade
from redtogreen.grading.workspace import load_workspace, sandbox_limits
from redtogreen.records import Finding, Grade, Task
from redtogreen.store import BlobStore, scratch

MAX_PATCH = 32 * 2**20
"""Bytes of the longest patch that is tried."""

_GIT = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
_PATCH = ["patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch", "--fuzz=0", "--reject-file=-"]
_CLEAN = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CEILING_DIRECTORIES": "/",
    "HOME": "/tmp",
    "POSIXLY_CORRECT": "1",
}


class PatchRejected(RedToGreenError):
    """A patch that does not fit the start state: the fault of who made it."""


def grade_patch(task: Task, patch_text: str | bytes, store: BlobStore, *, evaluation: bool = True) -> Grade:
    """The verdict on a unified diff against the start state.

    It is applied by the sandbox's own `git apply` (or `patch`), never on the host. One that does not apply is `failed`
    with a finding `patch_rejected`; an empty one is graded like any other.
    """
    patch = patch_text.encode("utf-8", "surrogateescape") if isinstance(patch_text, str) else patch_text
    try:
        changes = patch_changes(task, patch, store) if patch.strip() else {}
    except PatchRejected as error:
        finding = Finding(kind="patch_rejected", status="blocked", evidence=error.message)
        tests = dict.fromkeys((*task.tests.f2p, *task.tests.p2p), "absent")
        return Grade(task_id=task.task_id, outcome="failed", tests=tests, findings=[finding])  # type: ignore[arg-type]
    except EnvironmentUnavailable as error:
        outcome = "grader_error" if isinstance(error, SandboxError) else "environment_error"
        return Grade(task_id=task.task_id, outcome=outcome, error=f"{type(error).__name__}: {error}")  # type: ignore[arg-type]
    except (RedToGreenError, OSError) as error:
        return Grade(task_id=task.task_id, outcome="grader_error", error=f"{type(error).__name__}: {error}")
    return grade(task, changes, store, evaluation=evaluation)


def patch_changes(task: Task, patch: bytes, store: BlobStore) -> Changes:
    """What a unified diff changes. Raises PatchRejected with the tool's own first line of complaint."""
    if len(patch) > MAX_PATCH:
        raise PatchRejected(f"the patch has {len(patch)} bytes, more than {MAX_PATCH}")
    environment, lower = load_workspace(task, store)
    with open_workspace(environment, lower, limits=sandbox_limits(task, 60.0)) as sandbox:
        for tool in (_GIT, _PATCH):
            result = sandbox.run(tool, stdin=patch, env=_CLEAN)
            if result.verdict == "sandbox":
                raise SandboxError("the sandbox failed while a patch was applied")
            if result.exit_code in (126, 127):
                continue
            if result.exit_code == 0:
                return sandbox.changes()
            said = (result.stderr.text.strip() or result.stdout.text.strip()).splitlines()
            raise PatchRejected(f"the patch does not apply: {said[0] if said else result.verdict}")
    raise SandboxError("neither git nor patch can be run in the sandbox", "install one of them on this machine")


def grade_workspace(task: Task, folder: Path, store: BlobStore, *, evaluation: bool = True) -> Grade:
    """The verdict on a folder of the user's that started as the task's start state.

    Raises UsageError when the folder does not exist or holds none of the task's files.
    """
    if not folder.is_dir():
        raise UsageError(
            f"{folder} is not a folder", "unpack the task with: redtogreen tasks unpack G.jsonl#ID --out DIR"
        )
    if task.start_state.tree is None:
        raise TaskError(f"task {task.task_id} names no start tree")
    start = load_tree(task.start_state.tree, store)
    with scratch() as folder_blobs:
        contents = BlobStore(folder_blobs)
        tree, _ = scan_folder(folder, contents)
        if not start.entries.keys() & tree.entries.keys():
            raise UsageError(
                f"{folder} holds none of the files of task {task.task_id}",
                "give the folder made by: redtogreen tasks unpack G.jsonl#ID --out DIR",
            )
        changes = difference(start, tree, contents)
    return grade(task, changes, store, evaluation=evaluation)
