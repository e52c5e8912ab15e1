"""The host's side of a sandbox, as far as all backends share it: its lifetime, its calls, the talk with its worker."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any, Self

from redtogreen.errors import SandboxError

from .contract import Changes, FileChange, Preload, ProcessResult, check_changes
from .namespace.channel import Channel, Closed
from .namespace.hints import hint
from .requests import Opening, check_command, packed
from .trusted import SETUP_SECONDS, TrustedInterpreter


class BaseSandbox:
    """One sandbox. Commands run one at a time; calls from several threads wait for each other.

    `reasons` says why a guarantee is not enforced.
    """

    guarantees: dict[str, str]
    reasons: dict[str, str]

    def __init__(self, opening: Opening):
        self.limits, self.env = opening.limits, opening.env
        self.preload: Preload | None = None
        self.skipped: list[str] = []
        self._lock = threading.RLock()
        self._host = os.getpid()
        self._broken: str | None = None

    def run(
        self,
        argv: list[str],
        *,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        seconds: float | None = None,
        report: bool = False,
        cwd: str = "/work",
        warm: Preload | None = None,
    ) -> ProcessResult:
        """Run one command to its end, and the end of everything it started.

        seconds: wall clock, the limit's by default. report: give it something to write to as descriptor 3.
        warm: it is this interpreter with a script, and may be forked from one that has these modules loaded, where the
        backend can do that.
        Raises SandboxError when the sandbox is closed, has died before, or does not answer; UsageError for a command
        that cannot be one.
        """
        seconds = self.limits.seconds if seconds is None else seconds
        environment = {**self.env, **(env or {})}
        check_command(argv, environment, cwd, seconds)
        request = {
            "argv": list(argv),
            "env": environment,
            "stdin": bytes(stdin),
            "seconds": float(seconds),
            "report": report,
            "cwd": cwd,
        }
        with self._lock:
            self._check_usable()
            return self._run(request, warm)

    def close(self) -> None:
        """End the sandbox. When this returns nothing of it lives. (A forked copy of the host ends nothing.)"""
        if os.getpid() != self._host:
            return
        with self._lock:
            self._end()
            self._broken = self._broken or "it is closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _check_usable(self) -> None:
        if self._broken:
            raise SandboxError(f"the sandbox cannot be used any more: {self._broken}", hint="open a new sandbox")

    def _run(self, request: dict[str, Any], warm: Preload | None) -> ProcessResult:
        raise NotImplementedError

    def _end(self) -> None:
        """Leave nothing alive. Called more than once."""
        raise NotImplementedError


class ServedSandbox(BaseSandbox):
    """A sandbox whose files and processes are handled by a trusted worker of its own."""

    _channel: Channel
    """To the worker."""
    _trusted: TrustedInterpreter | None = None
    """The worker, or what it was forked from."""
    _advice = staticmethod(hint)

    def changes(self) -> Changes:
        """Every file and link in which the workspace differs from the lower tree. Sets `skipped`."""
        _, found, self.skipped = self._ask("changes", None)
        return {path: FileChange(*change) for path, change in found.items()}

    def write(self, changes: Changes) -> None:
        """Write into the workspace from outside. Raises SandboxError for a path that leads through a link."""
        check_changes(changes)
        self._ask("write", packed(changes))

    @contextlib.contextmanager
    def _coming_up(self) -> Iterator[None]:
        """For the block that opens the sandbox: when it fails, nothing is left."""
        try:
            yield
        except BaseException as error:
            self._end()
            if isinstance(error, (Closed, OSError)):
                reason = f"{type(error).__name__}: {error}{self._complaint}"
                raise SandboxError(f"the sandbox's worker did not come up: {reason}") from error
            raise

    def _ask(self, order: str, argument: Any, seconds: float | None = None, descriptors: tuple[int, ...] = ()) -> tuple:
        with self._lock:
            self._check_usable()
            try:
                self._channel.set_timeout(seconds or 10 * SETUP_SECONDS)
                self._channel.send((order, argument), descriptors)
                return self._answer()[0]
            except SandboxError:
                raise
            except BaseException as error:
                self._broken = f"{type(error).__name__} during {order!r}"
                self._end()
                if isinstance(error, (Closed, OSError)):
                    raise SandboxError(f"the sandbox failed: {self._broken}{self._complaint}") from error
                raise

    def _answer(self, expected: str | None = None) -> tuple[tuple, list[int]]:
        assert self._trusted is not None
        return self._trusted.answer(expected, self._channel, self._advice)

    @property
    def _complaint(self) -> str:
        return "" if self._trusted is None else self._trusted.complaint
