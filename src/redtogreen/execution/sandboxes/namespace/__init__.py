"""The sandbox made of Linux namespaces, without privileges."""

from __future__ import annotations

from .sandbox import NamespaceSandbox, open_sandbox

__all__ = ["NamespaceSandbox", "open_sandbox"]
