"""redtogreen turns code repositories into trustworthy reinforcement-learning data for coding agents.

    from redtogreen import grade, load_tasks, score

The chain is wired in `redtogreen.pipeline`; names below are loaded when first used.
"""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import Any

__version__ = version("redtogreen")

_WHERE = {
    "Task": "redtogreen.records",
    "Step": "redtogreen.records",
    "Trajectory": "redtogreen.records",
    "Outcome": "redtogreen.records",
    "Sandbox": "redtogreen.execution.sandboxes",
    "Recipe": "redtogreen.rewards",
    "load_tasks": "redtogreen.pipeline",
    "load_trajectories": "redtogreen.inputs",
    "make_tasks": "redtogreen.pipeline",
    "admit": "redtogreen.pipeline",
    "collect": "redtogreen.pipeline",
    "grade": "redtogreen.pipeline",
    "score": "redtogreen.pipeline",
    "clean": "redtogreen.pipeline",
    "build_dataset": "redtogreen.pipeline",
    "export": "redtogreen.pipeline",
}
__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        from redtogreen.errors import nearest

        close = nearest(name, _WHERE)
        raise AttributeError(
            f"redtogreen has no public name {name!r}" + (f"; did you mean {close!r}?" if close else "")
        )
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value
