"""What processes that were killed have left on this machine, and its removal.

Nothing that belongs to a living process of ours is touched: everything carries the id and the start time of its owner.
Sandboxes of the namespace backend leave nothing but empty control groups, which later ones remove as well.
"""

from __future__ import annotations

from redtogreen.errors import SandboxError
from redtogreen.execution.sandboxes.docker import reap_orphans
from redtogreen.execution.sandboxes.namespace import cgroups
from redtogreen.store import remove_stale_scratch


def remove_leftovers() -> dict[str, int | str]:
    """Kind -> how many were removed, or why it could not be looked for. Raises EnvironmentUnavailable."""
    return {
        "scratch folders": remove_stale_scratch(),
        "control groups": cgroups.sweep(),
        "containers": _containers(),
    }


def _containers() -> int | str:
    try:
        return len(reap_orphans())
    except SandboxError as error:
        return f"not looked for: {error.message}"
