"""Every error redtogreen raises on purpose, by the boundary it crossed.

    RedToGreenError                exit code
    ├── UsageError                     2   the caller asked for something that does not exist or makes no sense
    ├── RecordError                    1   a line, file or manifest does not hold what its schema says
    ├── TaskError                      1   a project or task cannot be used (no tests, never passes, missing blob)
    ├── EnvironmentUnavailable         3   this machine cannot do it (no namespaces, no pip, full disk)
    │   └── SandboxError               3   the sandbox itself failed: never the agent's fault, never a reward
    ├── AgentError                     1   the agent's own code failed; the attempt is kept
    ├── ModelError                     3   a model endpoint failed or refused
    ├── GraderError                    3   the grader could not decide: never a reward
    └── ExportError                    1   a dataset cannot be written in the asked form

Each error carries `message` (what happened, and where) and `hint` (the nearest valid thing, the next command).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RedToGreenError(Exception):
    """Base of all deliberate errors. `message`: what and where; `hint`: what to do next, None: no advice."""

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n\nhint: {self.hint}"

    def __reduce__(self):
        return type(self), (self.message, self.hint)


class UsageError(RedToGreenError):
    """Asked for something that does not exist or makes no sense."""

    exit_code = 2


class RecordError(RedToGreenError):
    """A record breaks its schema. The message names file, line and path."""


class TaskError(RedToGreenError):
    """A project or a task cannot be used."""


class EnvironmentUnavailable(RedToGreenError):
    """This machine cannot do what was asked."""

    exit_code = 3


class SandboxError(EnvironmentUnavailable):
    """The sandbox failed. A failure of the machine, never of the agent."""


class AgentError(RedToGreenError):
    """The agent's own code failed."""


class ModelError(RedToGreenError):
    """A model endpoint failed or refused."""

    exit_code = 3


class GraderError(RedToGreenError):
    """The grader could not decide."""

    exit_code = 3


class ExportError(RedToGreenError):
    """A dataset cannot be written in the asked form."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to a mistyped one, or None when nothing is close."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return found[0] if found else None
