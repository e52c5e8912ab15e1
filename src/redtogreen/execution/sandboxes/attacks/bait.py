"""What attacks on the host are aimed at: a file, a secret, a process and two sockets of our own, and nothing else."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..requests import owner_for_lower
from .attack import BAIT

_VARIABLE = "REDTOGREEN_SELF_TEST_SECRET"
_LINE = "a line of the lower tree\n"
_VICTIM = "victim-of-"
KINDS = ("pid", "mnt", "net")
"""Namespaces that must not be the host's when an attack runs."""


class Bait:
    """One set of targets, gone at the end of the block. `harm` says what an attack has done to it."""

    def __init__(self) -> None:
        self.mark = f"{payload_mark()}{secrets.token_hex(8)}"
        self.folder = Path(tempfile.mkdtemp(prefix="redtogreen-bait-"))
        self.lower, self.shown = self.folder / "lower", self.folder / "shown"
        self.secret, self.marker = self.shown / "secret.txt", self.folder / "ran"
        try:
            self.folder.chmod(0o755)
            self._fill()
            self._listen()
            self._victim = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()", _VICTIM + self.mark],
                stdin=subprocess.PIPE,
            )
        except BaseException:
            shutil.rmtree(self.folder)
            raise
        self._descriptor = os.open(self.secret, os.O_RDONLY)
        os.set_inheritable(self._descriptor, True)
        os.environ[_VARIABLE] = BAIT

    def _fill(self) -> None:
        for folder in (self.lower, self.shown):
            folder.mkdir(mode=0o755)
        self.secret.write_text(BAIT)
        file = self.lower / "file.txt"
        file.write_text(_LINE)
        owner = owner_for_lower()
        if owner is not None:
            for path in (self.lower, file):
                os.chown(path, owner, owner)

    def _listen(self) -> None:
        self._tcp, self._unix = socket.socket(), socket.socket(socket.AF_UNIX)
        self._tcp.bind(("127.0.0.1", 0))
        self._unix.bind(f"\0{self.mark}")
        for listening in (self._tcp, self._unix):
            listening.setblocking(False)
            listening.listen()

    def __enter__(self) -> Bait:
        return self

    def __exit__(self, *error: object) -> None:
        os.environ.pop(_VARIABLE, None)
        os.close(self._descriptor)
        self._victim.kill()
        self._victim.communicate()
        self._tcp.close()
        self._unix.close()
        shutil.rmtree(self.folder)

    def facts(self) -> dict[str, Any]:
        """What a payload is told."""
        return {
            "namespaces": {kind: os.stat(f"/proc/self/ns/{kind}").st_ino for kind in KINDS},
            "mark": self.mark,
            "target": str(self.secret),
            "marker": str(self.marker),
            "victim": self._victim.pid,
            "port": self._tcp.getsockname()[1],
            "abstract": self.mark,
        }

    def harm(self) -> str | None:
        """What has happened to the host, in a few words; None: nothing."""
        if self._victim.poll() is not None:
            return "a process of the host was ended"
        if self.marker.exists():
            return "a program ran on the host"
        if (self.lower / "file.txt").read_text() != _LINE or os.listdir(self.lower) != ["file.txt"]:
            return "the lower tree was changed"
        for listening in (self._tcp, self._unix):
            try:
                listening.accept()[0].close()
                return "a socket of the host was reached"
            except BlockingIOError:
                continue
        return None


def payload_mark() -> str:
    """Stands in the arguments of every payload this process starts, and of the victims."""
    return f"redtogreen-payload-{os.getpid()}-"


def payloads_alive() -> int:
    """Processes on the host that carry the mark, victims left out."""
    count = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        count += payload_mark().encode() in words and _VICTIM.encode() not in words
    return count
