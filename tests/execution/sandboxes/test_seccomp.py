"""The system call filter, interpreted here for both processors: only one of them can be run on any machine."""

from __future__ import annotations

import errno
import struct

import pytest

from redtogreen.execution.sandboxes.namespace import seccomp

ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW = 0x7FFF0000


def interpret(program: bytes, number: int, arch: int, arguments: tuple[int, ...] = ()) -> int:
    """Run a classic BPF program on a struct seccomp_data; returns the filter's answer."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=iIQ6Q", number, arch, 0, *padded)
    instructions = list(struct.iter_unpack("HBBI", program))
    accumulator = position = 0
    while True:
        code, if_true, if_false, value = instructions[position]
        position += 1
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == 0x06:
            return value
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            position += if_true if holds else if_false


def refused(number: int) -> int:
    return 0x00050000 | number


@pytest.mark.parametrize("machine", ARCHES)
def test_exactly_the_listed_calls_are_refused(machine):
    program, column = seccomp.build_filter(machine), list(ARCHES).index(machine)
    listed = {numbers[column] for numbers in seccomp._DENIED.values()} - {None}
    special = {numbers[column] for numbers in (seccomp._CLONE, seccomp._CLONE3, seccomp._SOCKET, seccomp._SOCKETPAIR)}
    assert not listed & special
    for number in range(500):
        answer = interpret(program, number, ARCHES[machine], (1,))
        if number in listed:
            assert answer == refused(errno.EPERM), number
        elif number == seccomp._CLONE3[column]:
            assert answer == refused(errno.ENOSYS)
        else:
            assert answer == ALLOW, number


@pytest.mark.parametrize("machine", ARCHES)
def test_arguments_decide_on_clone_sockets_and_ioctl(machine):
    program, column = seccomp.build_filter(machine), list(ARCHES).index(machine)

    def ask(numbers, *arguments):
        return interpret(program, numbers[column], ARCHES[machine], arguments)

    assert ask(seccomp._CLONE, 0x11) == ask(seccomp._CLONE, 0x3D0F00) == ALLOW  # fork, thread
    for flag in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert ask(seccomp._CLONE, flag | 0x11) == refused(errno.EPERM)
    for call in (seccomp._SOCKET, seccomp._SOCKETPAIR):
        assert {family for family in range(50) if ask(call, family, 1, 0) == ALLOW} == {1, 2, 10, 16}
        assert ask(call, 40, 1, 0) == refused(errno.EAFNOSUPPORT)
        assert ask(call, 16, 3, 9) == refused(errno.EPROTONOSUPPORT)
    assert ask(seccomp._IOCTL, 0, 0x5412) == ask(seccomp._IOCTL, 0, 0x541C) == refused(errno.EPERM)
    assert ask(seccomp._IOCTL, 0, 0x5412 | 1 << 32) == refused(errno.EPERM), "the kernel looks at 32 bits only"
    assert ask(seccomp._IOCTL, 0, 0x5413) == ALLOW


@pytest.mark.parametrize("machine", ARCHES)
def test_other_instruction_sets_are_shut_out(machine):
    program = seccomp.build_filter(machine)
    assert interpret(program, 1, 0x40000003) == refused(errno.ENOSYS)
    if machine == "x86_64":
        assert interpret(program, 0x40000000 + 1, ARCHES[machine]) == refused(errno.ENOSYS)


def test_an_unknown_processor_is_an_error():
    with pytest.raises(OSError, match="riscv64"):
        seccomp.build_filter("riscv64")
