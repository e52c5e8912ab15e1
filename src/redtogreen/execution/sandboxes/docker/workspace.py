"""A workspace that is a whole copy: compared with its lower tree, and owned by the sandbox's user."""

from __future__ import annotations

import os

from ..namespace import syscalls
from ..namespace.collector import Collector, Found
from ..requests import SANDBOX_ID


class CopyCollector(Collector):
    """Compares a whole copy with its lower tree: what the copy lacks is deleted."""

    def collect(self) -> tuple[Found, list[str]]:
        self.hidden(self.upper, self.lower, b"")
        return super().collect()


def give(root: int, path: str) -> None:
    """Make the sandbox's user the owner of a path and of the folders on the way."""
    directory = os.dup(root)
    try:
        *folders, name = path.split("/")
        for folder in folders:
            os.chown(folder, SANDBOX_ID, SANDBOX_ID, dir_fd=directory, follow_symlinks=False)
            inner = syscalls.open_beneath(directory, folder, os.O_RDONLY | os.O_DIRECTORY)
            os.close(directory)
            directory = inner
        os.chown(name, SANDBOX_ID, SANDBOX_ID, dir_fd=directory, follow_symlinks=False)
    finally:
        os.close(directory)
