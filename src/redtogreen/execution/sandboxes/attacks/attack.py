"""What an attack is, and the words every payload begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..contract import Limits, Verdict

BAIT = "bait-of-the-host"
HOST_FOLDER = "/opt/host"
"""Where a control that may see the host's folder finds it."""

PRELUDE = """
import ctypes, errno, json, os, platform, signal, sys, time
if os.getuid() == 0 and open("/proc/self/uid_map").read().split() == ["0", "0", "4294967295"]:
    sys.exit("refusing to run outside a sandbox: this is uid 0 with the full identity map")
given = json.loads(sys.argv[1])
for kind, number in given["namespaces"].items():
    if os.stat("/proc/self/ns/" + kind).st_ino == number:
        sys.exit("refusing to run outside a sandbox: the " + kind + " namespace is the host's")

def tell(worked, seen):
    print(json.dumps({"worked": worked, "seen": seen}), flush=True)

def tried(function, *arguments):
    try:
        function(*arguments)
        return "allowed"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))

def call(numbers, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    column = ("x86_64", "aarch64").index(platform.machine())
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = libc.syscall(ctypes.c_long(numbers[column]), *words)
    return "allowed" if result >= 0 else errno.errorcode.get(ctypes.get_errno(), "?")

def victim():
    "A process to attack: one of the host, or in a control a child of this one."
    if not given["inside"]:
        return given["victim"]
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        signal.pause()
    return child
"""
"""Refuses to run outside a sandbox, whoever starts it; then what payloads share. `given` holds facts of the host."""


@dataclass(frozen=True)
class Setting:
    """How the sandbox of an attack, or of its control, differs from the usual one."""

    limits: Limits = field(default_factory=lambda: Limits(seconds=20, processes=40))
    env: Mapping[str, str] = field(default_factory=dict)
    shows_host: bool = False
    """A folder of the host is mounted, read-only, at HOST_FOLDER."""
    inside: bool = False
    """What is attacked stands inside the sandbox, in reach."""
    without: tuple[str, ...] = ()
    """Guarantees switched off, in a sandbox that is otherwise sealed."""


@dataclass(frozen=True)
class Control:
    """The same attack where the one guarantee it is made against does not stand in its way: there it must work."""

    how: str
    """What is different, in a few words."""
    setting: Setting = field(default_factory=Setting)
    payload: str | None = None
    """None: the attack's own."""


@dataclass(frozen=True)
class Attack:
    """One way to break one guarantee. The payload is Python and ends with `tell(worked, seen)`, None: cannot tell."""

    name: str
    guarantee: str
    """Key of guarantees.MEANINGS."""
    tries: str
    expected: str
    """What is seen when it is stopped."""
    payload: str
    control: Control
    setting: Setting = field(default_factory=Setting)
    after: str | None = None
    """A second command in the same sandbox, which looks for what the first one left."""
    ended_by: tuple[Verdict, ...] = ()
    """Verdicts that count as stopped when the payload was ended before it could tell."""
    exit_code: int = 0
    """What the payload really exits with; any other status was forged."""
    collects: bool = False
    """The host reads the workspace afterwards."""


def in_one_command(payload: str, after: str) -> str:
    """Payload and look in one command, with only the payload's process group killed between them."""
    return f"""
import subprocess
first = subprocess.Popen(
    [sys.executable, "-I", "-S", "-c", {PRELUDE + payload!r}, sys.argv[1]], start_new_session=True
)
first.wait()
try:
    os.killpg(first.pid, 9)
except ProcessLookupError:
    pass
{after}"""
