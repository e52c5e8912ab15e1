"""The sandbox for machines that refuse namespaces, such as an ordinary container: Landlock, a system call filter,
resource limits, and as root a user of its own. It promises less than the others and is used only when asked for."""

from __future__ import annotations

from .sandbox import LandlockSandbox, open_sandbox

__all__ = ["LandlockSandbox", "open_sandbox"]
