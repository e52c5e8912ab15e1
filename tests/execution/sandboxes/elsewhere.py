"""Copies of the sandboxes, and of these tests, to be run by a user who sees nothing else of the installation."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import conformance
import pytest

import redtogreen.errors
from redtogreen.execution import sandboxes
from redtogreen.execution.sandboxes import backends


def need(backend: str) -> None:
    """Skip the test where this machine cannot start the backend."""
    reason = backends.why_not(backend)
    if reason is not None:
        pytest.skip(reason)


@contextlib.contextmanager
def copied(*libraries: Path) -> Iterator[Path]:
    """A folder for all to read: `src` with the sandboxes and these packages, `cases` with the conformance cases."""
    folder = Path(tempfile.mkdtemp())
    try:
        package = folder / "src" / "redtogreen"
        shutil.copytree(Path(sandboxes.__file__).parent, package / "execution" / "sandboxes")
        shutil.copy(redtogreen.errors.__file__, package)
        for init in (package / "__init__.py", package / "execution" / "__init__.py"):
            init.touch()
        for library in libraries:
            shutil.copytree(library, folder / "src" / library.name)
        (folder / "cases").mkdir()
        for module in ("conformance", "landlock_cases", *conformance.MODULES):
            shutil.copy(Path(__file__).parent / f"{module}.py", folder / "cases")
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)


def rows(folder: Path, words: Sequence[str], key: str, user: int | None = None) -> dict[str, dict]:
    """What a program of a copied folder printed, one JSON object a line, by this field. user: who runs it."""
    done = subprocess.run(
        words,
        env={"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and lines, done.stderr
    return {line[key]: line for line in lines}
