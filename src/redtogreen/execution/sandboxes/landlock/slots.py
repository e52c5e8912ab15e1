"""A user of its own for every sandbox that root opens: what no other process runs as can be ended with one call."""

from __future__ import annotations

import _socket
import os

from ..namespace.syscalls import SetupFailure

USERS = range(60706, 61184)
"""Uids that neither distributions nor systemd hand out."""


def reserve() -> tuple[int, _socket.socket]:
    """A uid that nobody uses, and what keeps it reserved while it is open. Raises SetupFailure."""
    start = int.from_bytes(os.urandom(2), "big")
    busy = _running()
    for offset in range(len(USERS)):
        user = USERS[(start + offset) % len(USERS)]
        reservation = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            reservation.bind(f"\0redtogreen-user-{user}".encode())
        except OSError:
            reservation.close()
            continue
        if user not in busy:
            return user, reservation
        reservation.close()
    raise SetupFailure("reserve a user", f"all of uid {USERS[0]} to {USERS[-1]} are in use")


def _running() -> set[int]:
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.add(os.stat(f"/proc/{name}").st_uid)
        except FileNotFoundError:
            continue
    return found
