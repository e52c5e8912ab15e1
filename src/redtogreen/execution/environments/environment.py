"""An environment as the rest of redtogreen sees it, and the workspaces opened over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redtogreen.errors import EnvironmentUnavailable
from redtogreen.execution.environments import build, distributions
from redtogreen.execution.environments.preloading import preload_of
from redtogreen.execution.environments.specification import Specification, decode
from redtogreen.execution.sandboxes import Changes, Limits, Mount, Sandbox, open_sandbox
from redtogreen.execution.testruns.run import PROGRAMS

VARIABLES = {
    "PYTHONNOUSERSITE": "1",
    # Any of the variables by which Hypothesis knows a CI system makes its examples the same in every run; this is the
    # one that no program under test looks at.
    "__TOX_ENVIRONMENT_VARIABLE_ORIGINAL_CI": "1",
    "HYPOTHESIS_STORAGE_DIRECTORY": "/tmp/hypothesis",
}

_INSIDE = Path(__file__).resolve().parents[1] / "inside"


@dataclass(frozen=True)
class Environment:
    """An interpreter with everything a project's tests need, except the project."""

    hash: str
    path: Path
    spec: bytes
    """Canonical JSON; its digest is `hash`."""
    mounts: list[Mount]
    roots: list[str]
    """Folders of the workspace that are on the interpreter's path."""
    covered: list[str]
    """Folders hidden inside: they may hold another copy of the project."""
    python: str = build.PYTHON
    notes: list[str] = field(default_factory=list, compare=False)
    """What was left out or found out while it was built; not kept with it."""


def load_environment(spec: bytes) -> Environment:
    """The environment of a specification, from the cache or built again.

    Raises RecordError when it is no specification, EnvironmentUnavailable when it needs another Python or packages
    that cannot be had here.
    """
    return environment_of(decode(spec))


def environment_of(specification: Specification, notes: Sequence[str] = (), fetched: Path | None = None) -> Environment:
    """As load_environment, from the decoded specification. `fetched`: see build.folder_of."""
    prefix = distributions.interpreter_prefix()
    mounts = [Mount(build.folder_of(specification, fetched), build.INSIDE)]
    if prefix != Path("/usr") and Path("/usr") not in prefix.parents:
        if any(prefix == Path(taken) or Path(taken) in prefix.parents for taken in ("/work", "/tmp", "/dev", "/proc")):
            raise EnvironmentUnavailable(
                f"the Python under redtogreen lies in {prefix}, which is another place inside a sandbox",
                "use a Python that is installed outside /work, /tmp, /dev and /proc",
            )
        mounts.append(Mount(prefix, str(prefix)))
    return Environment(
        hash=specification.hash,
        path=mounts[0].source,
        spec=specification.encode(),
        mounts=mounts,
        roots=specification.import_roots,
        covered=distributions.foreign_folders(),
        notes=list(notes),
    )


def open_workspace(
    environment: Environment,
    lower: Path,
    *,
    changes: Changes | None = None,
    limits: Limits | None = None,
    env: dict[str, str] | None = None,
) -> Sandbox:
    """A sandbox with the environment at /env, redtogreen's own programs at /opt/redtogreen, and `lower` at /work.

    Raises SandboxError.
    """
    common: dict[str, Any] = {
        "mounts": [*environment.mounts, Mount(_INSIDE, PROGRAMS)],
        "covered": environment.covered,
        "env": {**VARIABLES, **(env or {})},
    }
    preload = preload_of(environment.hash, environment.roots, lower, lambda: open_sandbox(lower, **common))
    return open_sandbox(lower, changes=changes, limits=limits or Limits(), preload=preload, **common)
