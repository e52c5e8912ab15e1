"""Marks that say which process owns a thing outside it, so that later processes can remove what a killed one left."""

from __future__ import annotations

import os
from pathlib import Path


def lease(pid: int) -> str:
    """`<pid namespace>-<pid>-<start time>` of a process. Raises FileNotFoundError for one that does not live."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return f"{_here()}-{pid}-{fields[19]}"


def is_orphan(mark: str) -> bool:
    """Whether the owner with this lease is known to be gone: one of another container or machine never is."""
    if mark.count("-") != 2:
        return False
    space, pid, _ = mark.split("-")
    if space != str(_here()) or not pid.isdecimal():
        return False
    try:
        return lease(int(pid)) != mark
    except (FileNotFoundError, ProcessLookupError):
        return True


def _here() -> int:
    return os.stat("/proc/self/ns/pid").st_ino
