"""The sandbox made by Docker or Podman: for machines that have a container engine and nothing else."""

from __future__ import annotations

from .orphans import reap_orphans
from .sandbox import DockerSandbox, open_sandbox

__all__ = ["DockerSandbox", "open_sandbox", "reap_orphans"]
