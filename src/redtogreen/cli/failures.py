"""Errors of the command line: what a person reads, and the exit code a script reads."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import typer

from redtogreen.errors import RedToGreenError, UsageError, nearest

CommandLineError = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""Base of what the parser raises; looked up because not every version of typer says where it lives."""

INTERRUPTED = 130
PIPE_CLOSED = 141
"""What a shell reports for a program whose reader went away."""


class PipeClosed(Exception):
    """Whoever read our output went away. Not a BrokenPipeError: the parser would end the program with code 1."""


class Interrupted(Exception):
    """Ctrl-C in a command that knows what is kept and how to go on."""

    def __init__(self, kept: str, hint: str | None):
        super().__init__(kept)
        self.kept, self.hint = kept, hint


@contextlib.contextmanager
def keeps(kept: str, hint: str | None = None) -> Iterator[None]:
    """Say on Ctrl-C what is kept and what to type to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(kept, hint) from None


def report(error: BaseException, as_json: bool) -> int:
    """Tell the user about an error; returns the exit code."""
    if isinstance(error, PipeClosed | BrokenPipeError):
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return PIPE_CLOSED
    message, hint, code = _explain(error)
    if os.environ.get("REDTOGREEN_TRACEBACK") and not isinstance(error, CommandLineError):
        traceback.print_exception(error)
    say_error(message, hint, label="interrupted" if code == INTERRUPTED else "error")
    if as_json:
        print(json.dumps({"error": message, "hint": hint}), flush=True)
    return code


def say_error(message: str, hint: str | None, *, label: str = "error") -> None:
    """`error: ...`, a blank line, `hint: ...` on stderr."""
    from redtogreen.insight.texts import visible

    bold, plain = ("\x1b[1;31m", "\x1b[0m") if coloured() else ("", "")
    text = f"{bold}{label}:{plain} {visible(message)}\n"
    if hint:
        text += f"\nhint: {visible(hint)}\n"
    with contextlib.suppress(BrokenPipeError):
        sys.stderr.write(text)
        sys.stderr.flush()


def coloured() -> bool:
    """Whether stderr may hold colour."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def unknown_command(name: str, known: list[str], path: str) -> UsageError:
    """The error for a word that is no command of `path`."""
    close = nearest(name, known)
    return UsageError(
        f"unknown command {name!r}",
        (f"did you mean `{path} {close}`? " if close else "") + f"See: {path} --help",
    )


def _explain(error: BaseException) -> tuple[str, str | None, int]:
    if isinstance(error, Interrupted):
        return error.kept, error.hint, INTERRUPTED
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "stopped by Ctrl-C", None, INTERRUPTED
    if isinstance(error, RedToGreenError):
        return error.message, error.hint, error.exit_code
    if isinstance(error, CommandLineError):
        return *_parser_error(error), 2
    if isinstance(error, MemoryError):
        return "not enough memory", "use fewer --workers, or smaller files", 3
    if isinstance(error, OSError) and error.strerror:
        place = error.filename2 if error.filename2 is not None else error.filename
        where = f"{os.fsdecode(place)}: " if isinstance(place, str | bytes | os.PathLike) else ""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
        hint = "free some space, or choose another place with --out" if full else None
        return f"{where}{error.strerror.lower()}", hint, 3 if full else 1
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (
        f"something went wrong inside redtogreen: {text}",
        "set REDTOGREEN_TRACEBACK=1 and run it again to see the traceback; please report it with that text",
        1,
    )


def _parser_error(error: Any) -> tuple[str, str]:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "redtogreen"
    see = f"See: {path} --help"
    if option := getattr(error, "option_name", None):
        known = [name for parameter in context.command.params for name in parameter.opts] if context else []
        close = nearest(option, [name for name in known if name.startswith("-")])
        if type(error).__name__ == "NoSuchOption":
            return f"unknown option {option}", (f"did you mean {close}? " if close else "") + see
    message = re.sub(r"\s+", " ", error.format_message()).strip().rstrip(".")
    return message[:1].lower() + message[1:], see
