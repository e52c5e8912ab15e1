"""Sandboxes: isolated, limited, copy-on-write workspaces for foreign code. Standard library only."""

from __future__ import annotations

from .contract import (
    BASE_ENVIRONMENT,
    Changes,
    FileChange,
    Limits,
    Mount,
    Output,
    Preload,
    ProcessResult,
    Sandbox,
    Verdict,
)
from .namespace import NamespaceSandbox, open_sandbox
from .requests import SANDBOX_ID, owner_for_lower

__all__ = [
    "BASE_ENVIRONMENT",
    "SANDBOX_ID",
    "Changes",
    "FileChange",
    "Limits",
    "Mount",
    "NamespaceSandbox",
    "Output",
    "Preload",
    "ProcessResult",
    "Sandbox",
    "Verdict",
    "open_sandbox",
    "owner_for_lower",
]
