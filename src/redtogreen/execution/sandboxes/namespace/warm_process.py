"""How a fork of the launcher becomes a warm server: confined like a command, but able to enter sandboxes.

It keeps the launcher's user namespace, without any capability in it, because only from there the sandboxes' own
namespaces can be entered, and only through descriptors it is given. It has its own root (the system and the
environment, read-only; no /proc, no workspace), no network, and the commands' system call filter but for setns. The
packages of an environment could therefore falsify what its own test runs report, as they can anyway, and disturb other
sandboxes of the same host process with signals, which ends them as failures of the machine; they reach nothing else.
"""

from __future__ import annotations

import os

from . import orders, staging, syscalls
from .command import FIRST_TO_DIE
from .root_filesystem import build_root
from .seccomp import Filter, build_filter

_NAMESPACES = syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWCGROUP


def become_server(plan: dict, descriptors: list[int]) -> None:
    """Turn this process into the interpreter of the plan. Never returns, but raises.

    descriptors: the socket for orders, standard input, a pipe for all output, the control groups, the trees to attach.
    """
    control, stdin, output, *rest = descriptors
    groups, trees = rest[: plan["groups"]], rest[plan["groups"] :]
    for group in groups:
        try:
            os.write(group, b"0")
        except OSError:  # a bound on its memory is a comfort, no promise
            continue
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # else the file belongs to root
    _write("/proc/self/oom_score_adj", FIRST_TO_DIE)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    staging.stage(plan, trees)
    for root in plan["roots"]:
        os.makedirs(f"{staging.WORK}/{root}", exist_ok=True)
    syscalls.unshare(_NAMESPACES)
    build_root(plan)
    syscalls.set_host_name(b"sandbox")
    syscalls.drop_capabilities()
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    os.setsid()
    os.dup2(stdin, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(control, orders.CONTROL)
    syscalls.close_from(orders.CONTROL + 1, on_exec=True)
    syscalls.disable_address_randomisation()
    syscalls.default_every_signal()
    Filter(build_filter(allowed=("setns",))).install()
    os.execve(plan["argv"][0], plan["argv"], plan["env"])


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
