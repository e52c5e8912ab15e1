"""The sandbox made by bubblewrap, an audited program of other people: a second opinion on the namespace sandbox."""

from __future__ import annotations

from .sandbox import BubblewrapSandbox, open_sandbox

__all__ = ["BubblewrapSandbox", "open_sandbox"]
