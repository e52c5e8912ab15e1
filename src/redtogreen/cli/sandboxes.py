"""`exec`, `shell` and `doctor`: the sandbox in a person's hands, and what it is worth on this machine."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redtogreen.cli.options import Json
from redtogreen.cli.output import emit, say
from redtogreen.errors import RecordError, SandboxError, UsageError

if TYPE_CHECKING:
    from redtogreen.execution.opening import LineShell
    from redtogreen.execution.sandboxes import Output, ProcessResult, Sandbox

KEPT = 16 * 2**20
"""Bytes of each stream that `exec` passes on; of more the first and the last half."""
LEAST = 2**20
WORDS_OF_ITS_OWN = {"allow_interspersed_args": False}

TaskName = Annotated[str | None, typer.Option(metavar="G.jsonl#ID", help="The start state of a task at /work.")]
Workspace = Annotated[
    Path | None, typer.Option(metavar="DIR", help="A copy of this folder at /work; the folder itself is never changed.")
]
Backend = Annotated[
    str | None, typer.Option(metavar="NAME", help="namespace, bubblewrap or docker. Default: namespace.")
]
Seconds = Annotated[
    float | None, typer.Option(min=0.01, max=1e6, help="Wall clock of a command. Default: the task's, else 60.")
]
Memory = Annotated[str | None, typer.Option(metavar="SIZE", help="Such as 512M. Default: the task's, else 512M.")]
Processes = Annotated[int | None, typer.Option(min=1, max=30_000, help="Alive at once. Default: 64.")]
Disk = Annotated[str | None, typer.Option(metavar="SIZE", help="Such as 1G, for all that is written. Default: 256M.")]


def add_to(app: typer.Typer) -> None:
    app.command("exec", context_settings=WORDS_OF_ITS_OWN)(execute)
    app.command("shell")(shell)
    app.command("doctor")(doctor)
    app.command("gc")(collect_garbage)


def execute(
    command: Annotated[list[str], typer.Argument(metavar="CMD...", help="The command and its words, after `--`.")],
    task: TaskName = None,
    workspace: Workspace = None,
    backend: Backend = None,
    seconds: Seconds = None,
    memory: Memory = None,
    processes: Processes = None,
    disk: Disk = None,
    as_json: Json = False,
) -> None:
    """Run one command in a sandbox and pass on its output and exit code (128 + N for signal N). Its stdin is empty.

    Without --task and --workspace /work is empty. What the command writes is gone afterwards.
    """
    limits = _limits(seconds, memory, processes, disk)
    with _opened(task, workspace, backend, {**limits, "output": KEPT}) as box:
        result = box.run(command)
        guarantees = dict(box.guarantees)
    code = _exit_code(result)
    if as_json:
        data = {
            "exit_code": result.exit_code,
            "signal": result.signal,
            "stdout": result.stdout.text,
            "stderr": result.stderr.text,
            "verdict": result.verdict,
            "strays": result.strays,
            "seconds": result.seconds,
            "guarantees": guarantees,
        }
        emit(data, True, str)
    else:
        _pass_on(result)
    if code:
        raise typer.Exit(code)


def shell(
    task: Annotated[str, typer.Option(metavar="G.jsonl#ID", help="The start state of this task at /work.")],
    backend: Backend = None,
    seconds: Seconds = None,
    memory: Memory = None,
    processes: Processes = None,
    disk: Disk = None,
    as_json: Json = False,
) -> None:
    """A shell in a task's sandbox, line by line: each line is one `sh` command with empty stdin; the folder is kept.

    Variables and jobs do not last from line to line. `exit` or Ctrl-D ends it with the last exit code; Ctrl-C ends it
    at once. Nothing is kept.
    """
    from redtogreen.execution.opening import LineShell

    limits = _limits(seconds, memory, processes, disk)
    lines = code = 0
    with _opened(task, None, backend, {**limits, "output": KEPT}) as box:
        say("note: no terminal yet: every line is a command of its own, and only the folder lasts. Ctrl-D ends it.")
        typed = LineShell(box)
        for line in _lines(typed):
            words = line.split()
            if words[:1] == ["exit"]:
                code = int(words[1]) & 255 if len(words) == 2 and words[1].isdigit() else code
                break
            result = typed.run(line)
            _pass_on(result, sys.stderr if as_json else sys.stdout)
            lines, code = lines + 1, _exit_code(result)
        changed = sorted(box.changes())
        guarantees = dict(box.guarantees)
    if as_json:
        emit({"lines": lines, "exit_code": code, "changed": changed, "guarantees": guarantees}, True, str)
    elif changed:
        say(f"note: {len(changed)} changed files are gone: {', '.join(changed[:5])}{' ...' if changed[5:] else ''}")
    if code:
        raise typer.Exit(code)


def collect_garbage(as_json: Json = False) -> None:
    """Remove what killed processes left on this machine: temporary folders, control groups, containers."""
    from redtogreen.execution.leftovers import remove_leftovers

    removed = remove_leftovers()
    emit({"removed": removed}, as_json, lambda: "\n".join(f"{kind}: {count}" for kind, count in removed.items()))


def doctor(
    self_test: Annotated[
        bool, typer.Option("--self-test", help="Show every attack, each with a control where nothing stops it.")
    ] = False,
    backend: Backend = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --self-test: also write the table as Markdown.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Which guarantees a sandbox keeps here, each tried by a harmless attack inside one; about 10 s of processor time.

    Exit 1: an attack was not stopped, or its control failed; 3: no sandbox starts on this machine.
    """
    from redtogreen.execution.doctor import diagnose
    from redtogreen.insight.sandboxes import attacks_page, doctor_data, doctor_text

    if out is not None and not self_test:
        raise UsageError("--out writes the table of attacks", "add --self-test")
    found = diagnose(backend, controls=self_test, on_event=None if as_json else _progress)
    if out is not None and found.attacks:
        out.write_text(attacks_page(found), "utf-8")
        say(f"wrote {out}")
    emit(doctor_data(found, self_test), as_json, lambda: doctor_text(found, self_test))
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def _progress(event: dict[str, Any]) -> None:
    if sys.stderr.isatty():
        end = "\r\x1b[K" if event["number"] == event["of"] else ""
        sys.stderr.write(f"\r\x1b[K{event['number']}/{event['of']} {event['name']}{end}")
        sys.stderr.flush()


def _limits(seconds: float | None, memory: str | None, processes: int | None, disk: str | None) -> dict[str, float]:
    asked = {
        "seconds": seconds,
        "memory": None if memory is None else _size("--memory", memory, 16 * LEAST),
        "processes": processes,
        "disk": None if disk is None else _size("--disk", disk, LEAST),
    }
    return {name: value for name, value in asked.items() if value is not None}


def _size(option: str, text: str, least: int) -> int:
    from redtogreen.grading.workspace import parse_size

    try:
        size = parse_size(text)
    except RecordError as error:
        raise UsageError(f"{option}: {error.message}", error.hint) from None
    if not least <= size < 2**50:
        raise UsageError(f"{option} {text} is out of range", f"give {least >> 20}M or more")
    return size


@contextlib.contextmanager
def _opened(
    task: str | None, workspace: Path | None, backend: str | None, limits: dict[str, float]
) -> Iterator[Sandbox]:
    from redtogreen.execution.opening import copied, open_lower
    from redtogreen.execution.sandboxes import Limits

    if task is not None and workspace is not None:
        raise UsageError("--task and --workspace exclude each other", "give one of them")
    if task is not None:
        from redtogreen.tasks.opening import open_task

        with open_task(task, backend=backend, limits=limits) as box:
            yield box
        return
    with copied(workspace) as (lower, notes):
        for note in notes:
            say(f"note: {note}")
        with open_lower(lower, backend=backend, limits=Limits(**limits)) as box:  # type: ignore[arg-type]
            yield box


def _lines(typed: LineShell) -> Iterator[str]:
    """What the person types, without empty lines, to the end of the input. The folder's name is the sandbox's word."""
    from redtogreen.insight.texts import one_line

    person = sys.stdin.isatty()
    if person:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - gives input() a history
    elif isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    while True:
        try:
            line = input(f"{one_line(typed.folder)}$ ") if person else sys.stdin.readline()
        except EOFError:
            return
        if not line and not person:
            return
        if "\0" in line:
            say("error: a line cannot hold NUL")
        elif line.strip():
            yield line


def _exit_code(result: ProcessResult) -> int:
    if result.verdict == "sandbox":
        said = result.stderr.text.strip().splitlines()[-1:] or ["the command's status is not known"]
        raise SandboxError(f"the sandbox failed: {said[0]}", "run it again; see: redtogreen doctor")
    return result.exit_code if result.exit_code is not None else 128 + (result.signal or 0)


def _pass_on(result: ProcessResult, stdout: Any = None) -> None:
    _write(stdout or sys.stdout, result.stdout)
    _write(sys.stderr, result.stderr)
    if result.verdict not in ("ok", "failure"):
        say(f"note: ended with verdict {result.verdict} after {result.seconds:.1f} s")
    if result.strays:
        say(f"note: {result.strays} processes it left behind were killed")


def _write(stream: Any, output: Output) -> None:
    """The very bytes into a file or pipe; on a terminal nothing that could steer it."""
    from redtogreen.insight.texts import visible

    stream.flush()
    if stream.isatty():
        stream.write(visible(output.text))
    else:
        stream.buffer.write(output.head + output.tail)
        stream.buffer.flush()
        if output.cut:
            say(f"note: {output.size - len(output.head) - len(output.tail)} bytes in the middle were left out")
    stream.flush()
