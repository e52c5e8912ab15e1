"""The last moments of trusted code in a child of init: limits, filter, exec."""

from __future__ import annotations

import errno
import os
import resource

from . import syscalls
from .seccomp import Filter

_FILES = 4096
FIRST_TO_DIE = b"1000"
"""Value of oom_score_adj with which the kernel ends a process first when memory runs out."""
_CPU_SLACK = 10


def become(
    request: dict, plan: dict, descriptors: list[int], report_failure: int, processes: int, rules: Filter
) -> None:
    """Turn this forked child of init into the command. Never returns."""
    step = "start a command"
    try:
        os.setsid()
        place(descriptors)
        step = "close descriptors"
        syscalls.close_from(4, on_exec=True)
        step = "give itself up first when memory runs out"
        _first_to_die(processes)
        step = "set resource limits"
        limit(plan, request["seconds"])
        step = "disable address randomisation"
        syscalls.disable_address_randomisation()
        syscalls.unblock_signals()
        syscalls.default_every_signal()
        step = "install the system call filter"
        if "system_calls" not in plan["without"]:
            rules.install()
    except BaseException as error:
        os.write(report_failure, f"{step}: {error}".encode())
        os._exit(125)
    try:
        _execute(request)
    finally:
        os._exit(126)


def place(descriptors: list[int]) -> None:
    """Standard input, output, error and, where there is a fourth, the report channel."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    if len(descriptors) < 4:
        os.set_inheritable(3, False)


def _execute(request: dict) -> None:
    argv, environment = request["argv"], request["env"]
    name = argv[0]
    folders = [""] if "/" in name else [f"{folder}/" for folder in environment.get("PATH", "").split(":") if folder]
    failure: OSError | ValueError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    try:
        os.chdir(request["cwd"])
        for folder in folders:  # not os.execvpe: it imports, and here nothing trusted can be imported any more
            try:
                os.execve(folder + name, argv, environment)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except PermissionError as error:
                failure = error
    except (OSError, ValueError) as error:
        failure = error
    os.write(2, f"cannot run {name!r}: {failure}\n".encode("utf-8", "replace"))
    os._exit(127 if isinstance(failure, FileNotFoundError) else 126)


def _first_to_die(processes: int) -> None:
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # else the file belongs to root; nothing else is alive to look in
    descriptor = os.open("self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC, dir_fd=processes)
    os.write(descriptor, FIRST_TO_DIE)
    os.close(descriptor)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)


def limit(plan: dict, seconds: float) -> None:
    """Set what one process may use; the plan holds the sandbox's `process_rlimit` and the machine's `cores`."""
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_NPROC, plan["process_rlimit"]),
        (resource.RLIMIT_CPU, int(seconds * plan["cores"]) + _CPU_SLACK),  # should init itself ever fail to end it
    ):
        _, hard = resource.getrlimit(kind)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))
