"""The sandbox made by Docker or Podman: for machines that have a container engine and nothing else."""

from __future__ import annotations

from .leases import reap_orphans
from .sandbox import DockerSandbox, available, open_sandbox

__all__ = ["DockerSandbox", "available", "open_sandbox", "reap_orphans"]
