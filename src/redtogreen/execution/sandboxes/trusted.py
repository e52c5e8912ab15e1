"""The host's handle to an interpreter of its own that serves sandboxes: started bare, asked over a socket."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from redtogreen.errors import SandboxError

from .namespace.channel import Channel, pair
from .namespace.hints import hint

SETUP_SECONDS = 30.0
GRACE_SECONDS = 15.0
_SHARED = Channel.__module__.rpartition(".")[0]  # what the programs of all backends use
Advice = Callable[[str, int], str | None]
_SOURCE = Path(__file__).resolve().parents[3]
# Runs no __init__ file on the way: they may import what is slow or, without site-packages, not there.
_BOOT = """import sys
source, program, packages, *numbers = sys.argv[1:]
for name in packages.split(","):
    module = sys.modules[name] = type(sys)(name)
    module.__path__ = [source + "/" + name.replace(".", "/")]
__import__(program, fromlist=["main"]).main(*map(int, numbers))
"""


class TrustedInterpreter:
    """One process of this package's own program `main(channel, host, *numbers)`, and the channel to it.

    role: what to call it in messages. Raises OSError when it cannot be started.
    """

    def __init__(self, program: str, role: str, *numbers: int):
        self._role, self._said = role, ""
        self.channel, inside = pair()
        self._complaints: int | None = os.memfd_create(f"{role}-stderr")
        names = program.split(".")[:-1]
        packages = {".".join(names[: count + 1]) for count in range(len(names))} | {
            Channel.__module__.rpartition(".")[0]
        }
        words = [str(_SOURCE), program, ",".join(sorted(packages)), str(inside.fileno()), str(os.getpid())]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, *words, *map(str, numbers)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._complaints,
                pass_fds=(inside.fileno(),),
                env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
                cwd="/",
                start_new_session=True,  # a terminal's Ctrl-C is for the host to act on
            )
        except OSError:
            self._let_go()
            raise
        finally:
            inside.close()
        self.pid = self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def complaint(self) -> str:
        """What it last wrote to standard error, as the end of a message."""
        self._listen()
        return f"; its {self._role} said: {self._said}" if self._said else ""

    def answer(
        self,
        expected: str | None = None,
        channel: Channel | None = None,
        advice: Callable[[str, int], str | None] = hint,
    ) -> tuple[tuple, list[int]]:
        """The next answer and its descriptors, on its own channel or that of a process below it.

        advice: step and errno to the hint. Raises SandboxError for a reported failure.
        """
        answer, descriptors = (channel or self.channel).receive()
        if answer[0] == "error":
            _, step, number, reason = answer
            code = f"[Errno {number}] " if number else ""
            raise SandboxError(f"the sandbox could not {step}: {code}{reason}", hint=advice(step, number))
        if expected is not None and answer[0] != expected:
            raise SandboxError(f"the sandbox said {answer[0]!r} where {expected!r} was due{self.complaint}")
        return answer, descriptors

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """Hang up, on which it ends with everything it started; kill it when it does not."""
        if self._complaints is None:
            return
        self.channel.hang_up()
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._let_go()

    def disown(self) -> None:
        """In a forked copy of the host: let go of what belongs to the original."""
        self._let_go()
        self._process.returncode = 0  # not a child of this process, so nothing to wait for

    def _listen(self) -> None:
        if self._complaints is not None:
            start = max(0, os.fstat(self._complaints).st_size - 2000)
            self._said = os.pread(self._complaints, 2000, start).decode("utf-8", "replace").strip()

    def _let_go(self) -> None:
        self._listen()
        self.channel.close()
        if self._complaints is not None:
            os.close(self._complaints)
            self._complaints = None
