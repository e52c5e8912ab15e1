"""Which processes there are below another."""

from __future__ import annotations

from pathlib import Path


def children(pid: int) -> list[int]:
    """Started by any thread of this process; none when it is gone."""
    try:
        return [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return []


def below(pid: int) -> list[int]:
    """Children, their children, and so on."""
    found = []
    for child in children(pid):
        found += [child, *below(child)]
    return found
