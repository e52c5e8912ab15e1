"""What every sandbox promises: limits in, changes and results out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from redtogreen.errors import SandboxError

Verdict = Literal["ok", "failure", "timeout", "memory", "processes", "disk", "output", "sandbox"]

FLOOD = 64 * 2**20
"""Bytes of one output stream after which a command is ended with the verdict `output`."""


BASE_ENVIRONMENT = {
    "PATH": "/env/bin:/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "SOURCE_DATE_EPOCH": "1704067200",
}
"""What every command sees, in every backend; `run` and the one who opens a sandbox add to it."""


@dataclass(frozen=True)
class Limits:
    """What one sandbox may use. All of it holds for the whole tree of processes, whatever they fork."""

    seconds: float = 60.0
    """Wall clock of one command, in seconds."""
    memory: int = 512 * 2**20
    """Bytes, files in the workspace, /tmp and /dev/shm included."""
    processes: int = 64
    """Processes and threads alive at once."""
    disk: int = 256 * 2**20
    """Bytes by which the workspace, /tmp and /dev/shm together may grow."""
    inodes: int = 20_000
    """Files and directories that may be created or changed."""
    output: int = 64 * 2**10
    """Bytes kept of each stream: the first half and the last half."""
    report: int = 32 * 2**20
    """Bytes accepted on the report channel; a command that writes more is ended with the verdict `output`."""


@dataclass(frozen=True)
class Mount:
    """A directory (or file) of the host, shown read-only inside."""

    source: Path
    """Where it lies on the host."""
    target: str
    """Absolute path inside; not under /work, /tmp, /dev or /proc."""


@dataclass(frozen=True)
class Preload:
    """An interpreter of the environment with modules that a backend may keep loaded. It never holds a workspace's."""

    interpreter: tuple[str, ...]
    """How the commands that profit from it begin, flags included: such as ("/env/bin/python", "-P", "-s", "-B")."""
    modules: tuple[str, ...]
    """In the order in which they are imported; one that cannot be imported is left out."""
    folder: str = "/"
    """Where some of the modules lie that the interpreter does not find by itself."""
    roots: tuple[str, ...] = ()
    """Folders of the workspace that the interpreter puts on its path when it starts, if they are there."""
    prepare: tuple[str, bytes] | None = None
    """A module, loaded like the others, whose `install` is called with these bytes as each command starts. They belong
    to one workspace: no other gets to see them."""


@dataclass(frozen=True)
class FileChange:
    """What a workspace holds at a path, compared with its lower tree."""

    kind: Literal["file", "link", "deleted"]
    content: bytes = b""
    """The bytes of a file, or the target of a link."""
    executable: bool = False


Changes = dict[str, FileChange]
"""POSIX path relative to the workspace -> change. Directories are implied by the files in them."""


@dataclass(frozen=True)
class Output:
    """One stream of a command: its first and last bytes, and how many there were."""

    head: bytes
    tail: bytes
    size: int
    """Bytes produced, kept or not."""

    @property
    def cut(self) -> bool:
        return self.size > len(self.head) + len(self.tail)

    @property
    def text(self) -> str:
        """UTF-8 with replacement characters; a line names the number of bytes left out."""
        if not self.cut:
            return (self.head + self.tail).decode("utf-8", "replace")
        missing = self.size - len(self.head) - len(self.tail)
        head, tail = (part.decode("utf-8", "replace") for part in (self.head, self.tail))
        return f"{head}\n[... {missing} bytes cut ...]\n{tail}"


@dataclass(frozen=True)
class ProcessResult:
    """How one command ended. Status and counts come from the sandbox's own init, never from the command."""

    exit_code: int | None
    """None when a signal ended it. 127: not found, 126: found but cannot be executed."""
    signal: int | None
    stdout: Output
    stderr: Output
    verdict: Verdict
    """Why it ended like this. A limit that was hit is named even when the command then exited with 0.

    timeout, output: init ended it. memory: the kernel (with a control group) or the 50 ms watch killed a process.
    processes: a fork was refused, or without a control group as many as allowed were seen alive.
    disk: no block or no inode was free when it ended. sandbox: the machine failed, which is never the command's fault.
    """
    strays: int
    """Processes the command left behind; they were killed."""
    seconds: float
    cpu_seconds: float
    """User and system time of the command and everything it started."""
    report: bytes
    """What the command wrote to file descriptor 3; empty unless asked for."""
    warm: bool = False
    """Whether it was forked from an interpreter that had modules loaded before."""


class Sandbox(Protocol):
    """An isolated workspace in which commands run one after the other."""

    guarantees: dict[str, str]
    """Name of a guarantee -> "enforced", "best effort" or "absent"."""
    preload: Preload | None
    """What test runs may find loaded; None: they start cold."""
    skipped: list[str]
    """Paths the last `changes` could not represent, each with the reason in brackets."""

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
    ) -> ProcessResult: ...

    def changes(self) -> Changes: ...

    def write(self, changes: Changes) -> None: ...

    def close(self) -> None: ...

    def __enter__(self) -> Sandbox: ...

    def __exit__(self, *error: object) -> None: ...


def check_changes(changes: Mapping[str, FileChange]) -> None:
    """Refuse paths that are not plain relative POSIX paths. Raises SandboxError naming the path."""
    for path, change in changes.items():
        parts = path.split("/")
        if "\0" in path or any(part in ("", ".", "..") for part in parts):
            raise SandboxError(
                f"cannot write {path!r} into a workspace",
                hint="use a relative path such as src/module.py, without empty parts, '.', '..' or NUL",
            )
        if change.kind == "link" and (not change.content or b"\0" in change.content):
            raise SandboxError(f"the link {path!r} has no usable target", hint="give its target as non-empty content")
