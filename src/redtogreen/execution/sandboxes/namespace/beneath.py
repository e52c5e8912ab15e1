"""Directories that hostile code wrote, opened one component at a time."""

from __future__ import annotations

import os

from . import syscalls

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY


class opened:
    """A directory below another, closed at the end of the block; a link or a mount in its place is an OSError."""

    def __init__(self, directory: int, name: bytes):
        self.descriptor = syscalls.open_beneath(directory, name, DIRECTORY)

    def __enter__(self) -> int:
        return self.descriptor

    def __exit__(self, *error: object) -> None:
        os.close(self.descriptor)


def entries(directory: int) -> list[bytes]:
    """Names in a directory, in order."""
    return sorted(os.fsencode(name) for name in os.listdir(directory))
