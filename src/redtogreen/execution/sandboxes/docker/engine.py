"""The command line of Docker or Podman, and which of them answers here."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

from redtogreen.errors import SandboxError

_SECONDS = 60.0


@dataclass(frozen=True)
class Engine:
    """How this machine's engine is called."""

    name: str
    """"docker" or "podman"."""
    words: tuple[str, ...]
    """The program and the options before its subcommand."""

    def command(self, *words: str) -> list[str]:
        return [*self.words, *words]

    def ask(self, *words: str, given: bytes = b"") -> str:
        """Standard output of one short subcommand. Raises SandboxError when it fails or does not answer."""
        try:
            done = subprocess.run(self.command(*words), input=given, capture_output=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SandboxError(f"{self.name} {words[0]} did not answer: {error}") from error
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["nothing"]
            raise SandboxError(f"{self.name} {words[0]} failed with status {done.returncode}: {said[0]}")
        return done.stdout.decode("utf-8", "replace").strip()


@cache
def find_engine() -> Engine:
    """The engine that answers. Raises SandboxError naming each that was tried and why it does not do."""
    tried = []
    for engine in _candidates():
        try:
            engine.ask(
                "version", "--format", "{{.Server.Version}}" if engine.name == "docker" else "{{.Client.Version}}"
            )
            return engine
        except SandboxError as error:
            tried.append(error.message)
    reason = "; ".join(tried) or "neither docker nor podman is on PATH"
    raise SandboxError(f"no container engine: {reason}", hint="start the Docker daemon, or install podman and runc")


def _candidates() -> list[Engine]:
    found = []
    if docker := shutil.which("docker"):
        found.append(Engine("docker", (docker,)))
    if podman := shutil.which("podman"):
        # Written out because the defaults, crun and systemd, do without neither systemd nor pure control groups.
        runtime = ("--runtime", "runc") if shutil.which("runc") or shutil.which("runc", path="/usr/sbin:/sbin") else ()
        found.append(Engine("podman", (podman, "--cgroup-manager=cgroupfs", *runtime)))
    return found
