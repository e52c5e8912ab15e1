"""Where the modules of a run come from."""

from __future__ import annotations

import os
import sys

_REWRITING = "AssertionRewritingHook"
_AT_START = ("sitecustomize", "usercustomize")
"""Modules that an interpreter looks for when it starts, which a warm one has done elsewhere."""


def loaded(root: str) -> list[str]:
    """Names in the order of loading, without the project's files below `root`, ours, and what pytest itself must load
    because it rewrites the assertions in it, with the rest of its package."""
    strange = (root + os.sep, os.path.dirname(os.path.abspath(__file__)) + os.sep)
    names = []
    specs = {name: getattr(module, "__spec__", None) for name, module in list(sys.modules.items())}
    rewritten = {
        name.partition(".")[0]
        for name, spec in specs.items()
        if type(getattr(spec, "loader", None)).__name__ == _REWRITING
    }
    for name, spec in specs.items():
        if spec is None or name == "__main__" or name.partition(".")[0] in rewritten:
            continue
        places = [spec.origin or ""] if spec.has_location else list(spec.submodule_search_locations or ())
        if not any(not place.startswith("/") or f"{place}/".startswith(strange) for place in places):
            names.append(name)
    return names


def shadowed(names: set[str], root: str) -> list[str]:
    """Those of the modules, loaded before the run began, in whose place the project could have offered its own."""
    offered = set()
    for folder in sys.path:
        if folder == root or folder.startswith(root + os.sep):
            try:
                offered |= {entry.partition(".")[0] for entry in os.listdir(folder)}
            except OSError:
                continue
    return sorted({*(name.partition(".")[0] for name in names), *_AT_START} & offered)
