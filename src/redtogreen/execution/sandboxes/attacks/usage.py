"""Attacks that use up a machine: processes, memory, disk, time, output."""

from __future__ import annotations

from ..contract import Limits
from .attack import Attack, Control, Setting

_MB = 2**20
_SMALL = Limits(seconds=20, processes=40, memory=128 * _MB, disk=16 * _MB, inodes=500)
_LARGE = Limits(seconds=20, processes=300, memory=1024 * _MB, disk=128 * _MB, inodes=20_000)

_BOMB = """
count, refused = 0, None
try:
    for _ in range(100):
        if os.fork() == 0:
            signal.alarm(10)
            signal.pause()
        count += 1
except OSError as error:
    refused = errno.errorcode[error.errno]
tell(refused is None, f"{count} of 100 forks, then {refused or 'no refusal'}")
"""

_MEMORY = """
def touch(megabytes):
    held = []
    for _ in range(megabytes // 10):
        held.append(bytearray(b"x") * (10 << 20))
        time.sleep(0.005)
    time.sleep(0.3)
    os._exit(0)
"""

_ONE = (
    _MEMORY
    + """
child = os.fork()
if child == 0:
    touch(200)
status = os.waitpid(child, 0)[1]
tell(status == 0, "the process was killed" if status else "200 MB were held")
"""
)

_TREE = (
    _MEMORY
    + """
for _ in range(5):
    if os.fork() == 0:
        touch(40)
killed = sum(os.wait()[1] != 0 for _ in range(5))
tell(killed == 0, f"{killed} of 5 processes were killed")
"""
)

_BYTES = """
seen, worked = [], False
for folder in ("/work", "/tmp", "/dev/shm"):
    written, code = 0, "no refusal"
    try:
        with open(folder + "/big", "wb", buffering=0) as file:
            while written < 32 << 20:
                written += file.write(bytes(1 << 16))
    except OSError as error:
        code = errno.errorcode[error.errno]
    worked |= code == "no refusal"
    seen.append(f"{folder} {written >> 20} MiB, {code}")
    if os.path.exists(folder + "/big"):
        os.remove(folder + "/big")
tell(worked, "; ".join(seen))
"""

_INODES = """
made, code = 0, "no refusal"
try:
    for number in range(5000):
        os.close(os.open(f"/work/file{number}", os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError as error:
    code = errno.errorcode[error.errno]
tell(code == "no refusal", f"{made} of 5000 files, then {code}")
"""

_DEAF = """
for number in range(1, 65):
    if number not in (9, 19, 32, 33):
        signal.signal(number, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for _ in range(40):
                time.sleep(0.05)
        os._exit(0)
time.sleep(2)
tell(True, "it ran for the 2 s it wanted")
"""

ALIVE = """
others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]
tell(bool(others), f"{len(others)} processes alive afterwards")
"""

_FLOOD = """
target = os.open("/dev/null", os.O_WRONLY) if given["inside"] else 1
for _ in range(1600):
    os.write(target, bytes(65536))
tell(True, "all of its 100 MiB were written")
"""

ATTACKS = (
    Attack(
        "fork bomb",
        "process_count",
        "100 forks under a limit of 40 processes",
        "EAGAIN before the limit",
        _BOMB,
        Control("limit of 300 processes", Setting(_LARGE)),
        ended_by=("processes",),
    ),
    Attack(
        "memory of a process",
        "memory",
        "one process touches 200 MB under a limit of 128 MiB",
        "the process, or all of them, killed",
        _ONE,
        Control("limit of 1 GiB", Setting(_LARGE)),
        Setting(_SMALL),
        ended_by=("memory",),
    ),
    Attack(
        "memory of a tree",
        "memory",
        "5 processes touch 40 MB each under a limit of 128 MiB",
        "some of them, or all, killed",
        _TREE,
        Control("limit of 1 GiB", Setting(_LARGE)),
        Setting(_SMALL),
        ended_by=("memory",),
    ),
    Attack(
        "bytes",
        "disk",
        "32 MiB into /work, /tmp and /dev/shm under a limit of 16 MiB",
        "ENOSPC in each place",
        _BYTES,
        Control("limit of 128 MiB", Setting(_LARGE)),
        Setting(_SMALL),
        ended_by=("disk", "memory"),
    ),
    Attack(
        "inodes",
        "disk",
        "5000 empty files under a limit of 500",
        "ENOSPC before the limit",
        _INODES,
        Control("limit of 20,000 files", Setting(_LARGE)),
        Setting(_SMALL),
        ended_by=("disk",),
    ),
    Attack(
        "deaf to signals",
        "time",
        "processes in sessions of their own that ignore every signal, under a limit of 0.7 s",
        "ended with verdict timeout, nothing alive afterwards",
        _DEAF,
        Control("limit of 20 s", Setting()),
        Setting(Limits(seconds=0.7)),
        after=ALIVE,
        ended_by=("timeout",),
    ),
    Attack(
        "output flood",
        "output",
        "100 MiB on stdout",
        "ended with verdict output after 64 MiB; the host's memory does not grow",
        _FLOOD,
        Control("into /dev/null, where nobody has to keep it", Setting(inside=True)),
        ended_by=("output",),
    ),
)
