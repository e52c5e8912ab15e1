"""Warm servers: interpreters that hold an environment's modules and fork a command straight into a sandbox.

A server has loaded what the pinned environment holds and nothing of any workspace: it cannot even see one. For each
order a fork of it enters the sandbox's namespaces, drops every capability, and forks twice; the first of the two ends
at once, so that the second becomes a child of the sandbox's init like any other command, which init waits for, judges
and kills. A program under test finds its process as a cold start would have made it, with modules loaded before.

This file runs in the environment's own interpreter.
"""

from __future__ import annotations

import _socket
import gc
import marshal
import os
import struct
import sys
import warnings
from types import CodeType

from . import command, syscalls
from .orders import CONTROL, OPENED_FILES, READY
from .seccomp import Filter, build_filter

_HIGHEST = 256


def serve() -> tuple[CodeType, dict[str, object]]:
    """Load the modules that standard input names and take orders. Returns in every fork: the program it is to become,
    and the globals of its `__main__`."""
    with os.fdopen(0, "rb", closefd=False) as stdin:
        modules, folder, interpreter = marshal.loads(stdin.read())
    _load(modules, folder)
    sys.stdout.flush()
    sys.stderr.flush()
    rules = Filter(build_filter())
    syscalls.ignore_children()
    gc.collect()
    gc.freeze()
    control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, fileno=CONTROL)
    sys.path_importer_cache.clear()  # it remembers the empty workspace
    control.sendall(OPENED_FILES if _strangers() else READY)
    while True:
        message, ancillary, _, _ = control.recvmsg(1, 256, _socket.MSG_CMSG_CLOEXEC)
        if not message:
            os._exit(0)
        descriptors = struct.unpack(f"={len(ancillary[0][2]) // 4}i", ancillary[0][2])
        if os.fork() == 0:
            control.detach()
            words, prepared = _arrive(list(descriptors), rules)
            if prepared is not None and words["prepare"] in sys.modules:
                sys.modules[words["prepare"]].install(prepared)
            return _program(words["argv"], interpreter)
        for descriptor in descriptors:
            os.close(descriptor)


def _program(argv: list[str], interpreter: int) -> tuple[CodeType, dict[str, object]]:
    """The script as a fresh interpreter would run it. interpreter: how many words come before it."""
    script = argv[interpreter]
    sys.path[:] = [folder for folder in sys.path if not folder.startswith("/work") or os.path.isdir(folder)]
    sys.argv[:], sys.orig_argv[:] = argv[interpreter:], argv
    for name in [name for name in sys.modules if name.partition(".")[0] == "sandbox"]:
        del sys.modules[name]
    if "numpy.random" in sys.modules:  # unlike Python's own generator it does not notice a fork
        sys.modules["numpy.random"].seed()
    main = sys.modules["__main__"] = type(sys)("__main__")
    main.__dict__.update(__file__=script, __cached__=None, __builtins__=__builtins__)
    with open(script, "rb") as file:
        return compile(file.read(), script, "exec", dont_inherit=True), main.__dict__


def _load(modules: list[str], folder: str) -> None:
    os.chdir("/work")  # a module may remember where it was loaded
    sys.path.insert(0, folder)
    with warnings.catch_warnings():  # as under pytest, which undoes what modules change while it collects
        for name in modules:
            try:  # noqa: SIM105 - one that fails here fails where a run imports it, or is not wanted there
                __import__(name)
            except BaseException:
                pass
    sys.path.remove(folder)


def _strangers() -> list[int]:
    """Descriptors that loading opened: a fork would lose them."""
    found = []
    for number in range(CONTROL + 1, _HIGHEST):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found


def _arrive(descriptors: list[int], rules: Filter) -> tuple[dict, bytes | None]:
    """The order, and what its module is to install."""
    words = marshal.loads(os.read(descriptors.pop(0), 1 << 20))
    spaces, groups, streams, (announce, failure), papers = (
        [descriptors.pop(0) for _ in range(count)] for count in words["parts"]
    )
    step = "enter the sandbox"
    try:
        for space in spaces:
            syscalls.enter(space)
        syscalls.drop_capabilities()
        step = "fork into the sandbox"
        if os.fork():
            os._exit(0)
        child = os.fork()
        if child:
            _announce(child, announce)
        step = "join the sandbox's control groups"
        for group in groups:
            os.write(group, b"0")
        step = "start a command"
        os.setsid()
        command.place(streams)
        if len(streams) <= CONTROL:
            os.close(CONTROL)
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
        step = "set resource limits"
        command.limit(words, words["seconds"])
        _enter_folder(words["cwd"])
        syscalls.default_signals(syscalls.SIGCHLD)
        while os.getppid() != 1:
            os.sched_yield()
        step = "install the system call filter"
        rules.install()
    except BaseException as error:
        os.write(failure, f"{step}: {error}".encode())
        os._exit(125)
    prepared = os.pread(papers[0], os.fstat(papers[0]).st_size, 0) if papers else None
    syscalls.close_from(CONTROL + 1)
    return words, prepared


def _enter_folder(folder: str) -> None:
    """Ends as a cold start does where an earlier command has closed the folder."""
    try:
        os.chdir(folder)
    except OSError as error:
        os.write(2, f"cannot run in {folder}: {error}\n".encode("utf-8", "replace"))
        os._exit(126)


def _announce(child: int, announce: int) -> None:
    """Tell init who arrived, and end, which makes it init's child."""
    try:
        os.write(announce, str(child).encode())
    except OSError:  # init has stopped waiting
        os.kill(child, syscalls.SIGKILL)
    finally:
        os._exit(0)
