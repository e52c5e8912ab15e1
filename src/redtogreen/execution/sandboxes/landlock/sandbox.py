"""The sandbox made without namespaces: the host's side."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redtogreen.errors import SandboxError

from ..base import ServedSandbox
from ..contract import Changes, Limits, Mount, Preload, ProcessResult
from ..namespace.hints import hint
from ..requests import Facts, Opening, check_opening, judge, wait_status
from ..trusted import GRACE_SECONDS, SETUP_SECONDS, TrustedInterpreter
from .places import Places
from .promises import promised

_ADVICE = {
    "Landlock": "Linux 5.19 or newer is needed, with Landlock switched on (lsm=landlock,... on its command line)",
    "show ": "keep it where every user may read and enter, outside the home of root",
}


def open_sandbox(
    lower: Path,
    *,
    mounts: Sequence[Mount] = (),
    covered: Sequence[str] = (),
    changes: Changes | None = None,
    limits: Limits | None = None,
    env: dict[str, str] | None = None,
    preload: Preload | None = None,
) -> LandlockSandbox:
    """Copy the directory `lower` for a new sandbox, with `changes` applied.

    There is no mount namespace, so /work, /tmp and the targets of mounts do not exist inside: `paths` says where they
    really lie, and the words, variables and folder of every command are rewritten to that.
    covered: absolute paths inside that can neither be listed nor read. preload: not used, every command starts cold.
    env: added to the fixed environment of every command.
    Raises SandboxError, with the step that failed, when isolation cannot be set up; never falls back to less.
    """
    opening = check_opening(lower, mounts, covered, changes, limits, env)
    _check_paths(mounts, covered)
    return LandlockSandbox(opening)


class LandlockSandbox(ServedSandbox):
    """See `ServedSandbox`. `worker_process` is a pid on the host; `paths` says where a promised path really lies."""

    def __init__(self, opening: Opening):
        super().__init__(opening)
        shown = {target: os.path.realpath(source) for source, target in opening.mounts}
        with self._coming_up():
            self._trusted = TrustedInterpreter(f"{__package__}.worker", "worker")
            self._channel, self.worker_process = self._trusted.channel, self._trusted.pid
            self._channel.set_timeout(10 * SETUP_SECONDS)
            self._channel.send(("open", _plan(opening, shown)))
            (_, version, own_user, room), _ = self._answer("ready")
            self.guarantees, self.reasons = promised(own_user=own_user, version=version)
            self.paths = {"/work": f"{room}/work", "/tmp": f"{room}/tmp", **shown}
            self._places = Places(self.paths)
            self._probe()
            if opening.changes:
                self.write(opening.changes)

    def _run(self, request: dict[str, Any], warm: Preload | None) -> ProcessResult:
        request = {
            **request,
            "argv": [self._places.inside(word) for word in request["argv"]],
            "env": {name: self._places.inside(value) for name, value in request["env"].items()},
            "cwd": self._places.inside(request["cwd"]),
        }
        _, facts, streams = self._ask("run", request, request["seconds"] + GRACE_SECONDS)
        code, signal = wait_status(facts["status"])
        known = Facts(
            code=code,
            signal=signal,
            reason=facts["reason"],
            failure=facts["failure"],
            crowded=facts["crowded"],
            full=facts["full"],
            strays=facts["strays"],
            seconds=facts["seconds"],
            cpu_seconds=facts["cpu_seconds"],
        )
        return judge(known, *streams)

    def _probe(self) -> None:
        """Nothing has been promised before a command has run once, in the workspace."""
        result = self.run(["/bin/sh", "-c", ":"], seconds=SETUP_SECONDS)
        if result.verdict != "ok":
            text = result.stderr.text.strip()[-500:]
            raise SandboxError(
                f"no command starts in the workspace {self.paths['/work']}: {text or result.verdict}",
                "set TMPDIR to a folder that every user may enter",
            )

    @staticmethod
    def _advice(step: str, number: int) -> str | None:
        return next((text for word, text in _ADVICE.items() if word in step), None) or hint(step, number)

    def _end(self) -> None:
        if self._trusted is not None:
            self._trusted.end()


def _plan(opening: Opening, shown: dict[str, str]) -> dict[str, Any]:
    outside = Places(shown)
    return {
        **opening.plan(),
        "folder": os.path.realpath(tempfile.gettempdir()),
        "shown": list(shown.values()),
        "covered": [outside.inside(path) for path in opening.covered],
    }


def _check_paths(mounts: Sequence[Mount], covered: Sequence[str]) -> None:
    for mount in mounts:
        if mount.target.startswith(("/usr/", "/etc/")) and str(mount.source) != mount.target:
            raise SandboxError(f"cannot mount {mount.source} at {mount.target}", hint="choose a path such as /env")
    for path in covered:
        if os.path.isfile(path):
            raise SandboxError(f"cannot cover {path}: it is no directory")
