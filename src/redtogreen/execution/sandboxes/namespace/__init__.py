"""The sandbox made of Linux namespaces, without privileges."""

from __future__ import annotations

from .sandbox import SANDBOX_ID, NamespaceSandbox, open_sandbox, owner_for_lower

__all__ = ["SANDBOX_ID", "NamespaceSandbox", "open_sandbox", "owner_for_lower"]
