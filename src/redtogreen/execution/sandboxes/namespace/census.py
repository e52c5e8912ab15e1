"""Count what lives in the sandbox. Used where no control group does it, so it is a best effort."""

from __future__ import annotations

import os


def census(processes: int) -> tuple[int, int]:
    """Bytes of memory and number of threads of all processes but init, read through a descriptor of /proc.

    Anonymous memory is summed; shared memory counts once, as the largest of: what one process maps, what System V
    segments hold. Files of the workspace are counted by the caller.
    """
    anonymous = shared = threads = 0
    for name in os.listdir(processes):
        if not name.isdigit() or name == "1":
            continue
        for line in _read(processes, f"{name}/status").splitlines():
            key, _, value = line.partition(b":")
            if key == b"RssAnon":
                anonymous += int(value.split()[0]) * 1024
            elif key == b"RssShmem":
                shared = max(shared, int(value.split()[0]) * 1024)
            elif key == b"Threads":
                threads += int(value)
    rows = _read(processes, "sysvipc/shm").splitlines()[1:]
    return anonymous + max(shared, sum(int(row.split()[14]) for row in rows)), threads


def _read(processes: int, name: str) -> bytes:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=processes)
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return b""
    try:
        text = b""
        while part := os.read(descriptor, 1 << 16):
            text += part
        return text
    except ProcessLookupError:
        return b""
    finally:
        os.close(descriptor)
