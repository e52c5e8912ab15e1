"""Every wrong command line ends with what happened, the nearest valid thing, and the right exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from redtogreen.cli import failures
from redtogreen.errors import SandboxError, TaskError, UsageError

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["scor"], ["error: unknown command 'scor'", "did you mean `redtogreen score`?"]),
        (["tasks", "mak"], ["error: unknown command 'mak'", "did you mean `redtogreen tasks make`?"]),
        (["tasks", "make", "mutat", "."], ["unknown command 'mutat'", "`redtogreen tasks make mutate`"]),
        (["score", "x.jsonl", "--recip", "classic"], ["error: unknown option --recip", "did you mean --recipe?"]),
        (["score"], ["error: missing argument", "INPUT", "See: redtogreen score --help"]),
        (["collect", "t.jsonl"], ["error: missing option", "--agent", "See: redtogreen collect --help"]),
        (["list", "agent"], ["nothing to list under 'agent'", "did you mean 'agents'?"]),
        (["score", "x.jsonl", "--recipe", "clasic"], ["unknown reward recipe 'clasic'", "did you mean 'classic'?"]),
        (["show", "x.jsonl"], ["missing argument", "ATTEMPT"]),
        (["grade"], ["grade wants either a RUN, or --task", "redtogreen grade --task G.jsonl#ID --patch fix.diff"]),
        (
            ["collect", "t.jsonl", "--agent", "noop", "--out", "r", "--attempts", "0"],
            ["'--attempts'", "1"],
        ),
        (["collect", "t.jsonl", "--agent", "noop", "--out", "r", "--option", "x"], ["--option wants name=value"]),
        (["run", "nothing.toml"], ["no settings file at nothing.toml"]),
        (["demo", "--display", "colour"], ["--display", "colour"]),
    ],
)
def test_a_usage_error_names_the_nearest_thing_and_exits_2(cli, words, expected) -> None:
    done = cli(*words)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    for text in expected:
        assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr


def test_an_error_with_json_is_one_object_on_stdout_and_talk_on_stderr(cli) -> None:
    done = cli("recipe", "show", "clasic", "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 2
    assert said["error"] == "unknown reward recipe 'clasic'"
    assert "classic" in said["hint"]
    assert done.stderr.startswith("error: unknown reward recipe 'clasic'\n\nhint: ")


def test_links_that_lead_round_in_a_circle_are_no_file(cli, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").symlink_to("b.jsonl")
    (tmp_path / "b.jsonl").symlink_to("a.jsonl")
    (tmp_path / "loop").symlink_to("loop")
    for words in (
        ["tasks", "admit", "a.jsonl", "--out", "g.jsonl"],
        ["collect", "a.jsonl", "--agent", "noop", "--out", "r"],
        ["score", "loop"],
        ["dataset", "build", "loop", "--name", "n"],
        ["tasks", "make", "mutate", "loop", "--out", "f.jsonl"],
    ):
        done = cli(*words)
        assert done.returncode in (1, 2), (words, done.stderr)
        assert "inside redtogreen" not in done.stderr, done.stderr


def test_a_missing_input_is_named(cli) -> None:
    done = cli("score", "runs/nothing")
    assert done.returncode == 2
    assert "runs/nothing" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_line_names_file_line_and_nearest_field(cli, tmp_path: Path) -> None:
    row = json.loads((EXAMPLES / "config-parser.jsonl").read_text().splitlines()[0])
    row["task_idd"] = row.pop("task_id")
    (tmp_path / "broken.jsonl").write_text(f"{json.dumps(row)}\n")
    done = cli("score", "broken.jsonl", "--recipe", "outcome")
    assert done.returncode == 1
    assert "broken.jsonl:1: task_idd: unknown field `task_idd`" in done.stderr
    assert "did you mean `task_id`" in done.stderr


def test_help_is_success_and_no_arguments_show_it(cli) -> None:
    for words in (["--help"], [], ["-h"]):
        done = cli(*words)
        assert done.returncode == 0
        assert done.stdout.startswith("Usage: redtogreen")
    assert cli("--version").stdout.startswith("redtogreen ")


def test_help_loads_no_wing_that_is_slow() -> None:
    """The first thing a newcomer types must answer at once."""
    code = (
        "import sys\nfrom redtogreen.cli.main import main\ntry: main(['tasks', '--help'])\nexcept SystemExit: pass\n"
        "print('LOADED', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("LOADED")[2].split())
    assert "redtogreen.cli.main" in loaded
    assert not loaded & {
        "pyarrow",
        "duckdb",
        "numpy",
        "kingfisher_sdk",
        "msgspec",
        "rich.progress",
        "redtogreen.pipeline",
    }


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    """`redtogreen ... | head` must not end in a traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "redtogreen.cli.main", "list", "operators"],
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
    assert done.returncode == 141
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (UsageError("no such thing", "try this"), 2, "error: no such thing\n\nhint: try this\n"),
        (TaskError("no tests in x"), 1, "error: no tests in x\n"),
        (SandboxError("no namespaces"), 3, "error: no namespaces\n"),
        (KeyboardInterrupt(), 130, "interrupted: stopped by Ctrl-C\n"),
        (typer.Abort(), 130, "interrupted: stopped by Ctrl-C\n"),
        (OSError(13, "Permission denied", "/x/y"), 1, "error: /x/y: permission denied\n"),
        (MemoryError(), 3, "error: not enough memory\n"),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error, code, text, capsys) -> None:
    assert failures.report(error, as_json=False) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(text)


def test_an_unexpected_error_hides_its_traceback_until_asked(capsys, monkeypatch) -> None:
    monkeypatch.delenv("REDTOGREEN_TRACEBACK", raising=False)
    try:
        raise RuntimeError("odd")
    except RuntimeError as error:
        assert failures.report(error, as_json=False) == 1
        quiet = capsys.readouterr().err
        monkeypatch.setenv("REDTOGREEN_TRACEBACK", "1")
        failures.report(error, as_json=False)
        loud = capsys.readouterr().err
    assert "RuntimeError: odd" in quiet
    assert "REDTOGREEN_TRACEBACK=1" in quiet
    assert "Traceback" not in quiet
    assert "Traceback" in loud


def test_ctrl_c_says_what_is_kept_and_how_to_go_on(capsys) -> None:
    with pytest.raises(failures.Interrupted) as caught, failures.keeps("all is kept in RUN", "type it again"):
        raise KeyboardInterrupt
    assert failures.report(caught.value, as_json=False) == 130
    assert capsys.readouterr().err == "interrupted: all is kept in RUN\n\nhint: type it again\n"


def test_an_error_text_cannot_steer_the_terminal(capsys) -> None:
    """File names and ids come from other people's files."""
    failures.report(UsageError("bad \x1b]0;title\x07 name \u202e"), as_json=False)
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "\\x1b" in said
