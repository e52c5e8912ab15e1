"""A sandbox for a person: over a copy of any folder, or over nothing; and a shell of single lines in it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from redtogreen.errors import UsageError
from redtogreen.execution.sandboxes import Limits, ProcessResult, Sandbox, owner_for_lower
from redtogreen.execution.sandboxes.backends import BACKENDS, opener
from redtogreen.execution.trees import export_tree, scan_folder
from redtogreen.store import BlobStore, scratch

if TYPE_CHECKING:
    from redtogreen.execution.environments import Environment


def open_lower(
    lower: Path, environment: Environment | None = None, *, backend: str | None = None, limits: Limits | None = None
) -> Sandbox:
    """A sandbox of any backend (None: the default one) over a tree laid out already.

    Without an environment it has the programs of the system. Raises UsageError for an unknown backend, SandboxError.
    """
    open_sandbox = opener(backend or BACKENDS[0])
    if environment is None:
        return open_sandbox(lower, limits=limits)
    from redtogreen.execution.environments.environment import VARIABLES  # the packages behind it take half a second

    shown = {"mounts": environment.mounts, "covered": environment.covered}
    return open_sandbox(lower, **shown, limits=limits, env=VARIABLES)


@contextlib.contextmanager
def copied(folder: Path | None) -> Iterator[tuple[Path, Sequence[str]]]:
    """A private copy of a folder (None: an empty one) that a sandbox can be opened over, and what was left out of it.

    The folder itself is only read. History, build results and links that lead outside are left out, as in every tree.
    """
    if folder is not None and not folder.is_dir():
        raise UsageError(f"{folder} is no folder", "give the folder of a project with --workspace")
    with scratch() as room:
        lower, notes = room / "lower", list[str]()
        lower.mkdir()
        if folder is not None and any(folder.iterdir()):
            store = BlobStore(room / "blobs")
            tree, notes = scan_folder(folder, store)
            export_tree(tree, lower, store)
        owner = owner_for_lower()
        if owner is not None:
            for path in (lower, *lower.rglob("*")):
                os.chown(path, owner, owner, follow_symlinks=False)
        lower.chmod(0o755)
        yield lower, notes


class LineShell:
    """Runs one line after the other, each as a command of its own; the folder it ends in is where the next begins."""

    _SCRIPT = 'trap \'pwd >&3\' EXIT; cd "$1" || cd /work; eval "$2"'

    def __init__(self, sandbox: Sandbox):
        self.sandbox, self.folder = sandbox, "/work"

    def run(self, line: str) -> ProcessResult:
        """The end of one line. Raises SandboxError."""
        result = self.sandbox.run(["sh", "-c", self._SCRIPT, "sh", self.folder, line], report=True)
        told = result.report.decode("utf-8", "replace").rstrip("\n").rpartition("\n")[2]
        if told.startswith("/") and "\0" not in told:
            self.folder = told
        return result
