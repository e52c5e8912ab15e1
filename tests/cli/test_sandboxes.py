"""`exec`, `shell` and `doctor` on the real sandbox."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from redtogreen.execution.environments import build_environment, open_project
from redtogreen.execution.sandboxes.guarantees import MEANINGS
from redtogreen.execution.trees import save_tree, scan_folder
from redtogreen.records import Provenance, StartState, Task, TestSets
from redtogreen.tasks.files import blobs_of, write_tasks

SHELF = Path(__file__).parents[2] / "examples" / "projects" / "shelf"


def test_the_exit_code_and_both_streams_are_passed_on(cli) -> None:
    done = cli("exec", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
    assert cli("exec", "sh", "-c", "kill -9 $$").returncode == 137
    assert cli("exec", "--", "no-such-program").returncode == 127


def test_bytes_arrive_as_they_are(cli, tmp_path) -> None:
    with open(tmp_path / "out", "wb") as out:
        command = [sys.executable, "-m", "redtogreen.cli.main", "exec", "--", "printf", r"\377\033[31m\000"]
        subprocess.run(command, stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"\xff\x1b[31m\0"


def test_a_workspace_is_copied_and_never_changed(cli, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("alpha\n")
    (folder / "sub" / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (folder / "sub" / "run.sh").chmod(0o755)
    os.symlink("/etc/passwd", folder / "outside")
    script = "cat a.txt && sub/run.sh && echo changed > a.txt && rm -r sub && ls -A"
    done = cli("exec", "--workspace", folder, "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (0, "alpha\nran\na.txt\n"), done.stderr
    assert "outside: left out" in done.stderr
    assert (folder / "a.txt").read_text() == "alpha\n"
    assert sorted(os.listdir(folder)) == ["a.txt", "outside", "sub"]
    assert list((Path(os.environ["REDTOGREEN_HOME"]) / "scratch").iterdir()) == [], "the copy is gone"


def test_limits_are_taken_and_named(cli) -> None:
    said = json.loads(cli("exec", "--seconds", "0.5", "--json", "--", "sleep", "20").stdout)
    assert (said["verdict"], said["exit_code"], said["signal"]) == ("timeout", None, 9)
    full = cli("exec", "--disk", "4M", "--", "sh", "-c", "head -c 9000000 /dev/zero > /tmp/x")
    assert full.returncode != 0 and "verdict disk" in full.stderr
    few = cli("exec", "--processes", "4", "--", "sh", "-c", "for i in 1 2 3 4 5 6; do sleep 1 & done; wait")
    assert "verdict processes" in few.stderr
    stray = cli("exec", "--", "sh", "-c", "setsid sleep 60 & echo done")
    assert stray.stdout == "done\n" and "1 processes it left behind were killed" in stray.stderr


def test_the_promised_keys_are_there(cli) -> None:
    done = cli("exec", "--json", "--", "sh", "-c", "echo out; exit 3")
    assert done.returncode == 3
    said = json.loads(done.stdout)
    keys = {"exit_code", "stdout", "stderr", "verdict", "strays", "seconds", "guarantees"}
    assert keys <= set(said)
    assert (said["exit_code"], said["stdout"], said["verdict"], said["strays"]) == (3, "out\n", "failure", 0)
    assert set(said["guarantees"]) == set(MEANINGS)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--memory", "1"], "--memory 1 is out of range"),
        (["--memory", "lots"], "--memory: not a size: 'lots'"),
        (["--disk", "0"], "--disk 0 is out of range"),
        (["--backend", "namespce"], "did you mean 'namespace'?"),
        (["--workspace", "/nowhere"], "/nowhere is no folder"),
        (["--task", "x.jsonl#y", "--workspace", "."], "exclude each other"),
        (["--task", "x.jsonl#y"], "there is no tasks file x.jsonl"),
        (["--seconds", "0"], "--seconds"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(cli, words, message) -> None:
    done = cli("exec", *words, "--", "true")
    assert done.returncode == 2
    assert message in done.stderr and done.stdout == ""


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> str:
    root = tmp_path_factory.mktemp("task")
    file = root / "tasks.jsonl"
    store = blobs_of(file)
    tree, _ = scan_folder(SHELF, store)
    environment = build_environment(open_project(SHELF, root / "work"))
    store.put(environment.spec)
    made = Task(
        task_id="shelf-1.0/hand/aaaaaa",
        kind="fix",
        source="folder",
        task_desc="Nothing is wrong.",
        provenance=Provenance(project="shelf"),
        start_state=StartState(tree=save_tree(tree, store)),
        environment=environment.hash,
        tests=TestSets(),
    )
    write_tasks(file, [made])
    return f"{file}#aaaaaa"


def test_a_task_has_its_environment(cli, task: str) -> None:
    done = cli(
        "exec", "--task", task, "--seconds", "60", "--", "python", "-m", "pytest", "-q", "tests/test_versions.py"
    )
    assert done.returncode == 0, done.stderr
    assert " passed" in done.stdout


def test_a_shell_keeps_the_folder_from_line_to_line(task: str, tmp_path) -> None:
    lines = "ls\ncd shelf; exit 4\npwd\nif\necho x > new; rm -f no\ncd /nowhere\npwd\ncd / && false\n"
    done = subprocess.run(
        [sys.executable, "-m", "redtogreen.cli.main", "shell", "--task", task],
        input=lines,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    said = done.stdout.splitlines()
    assert "pyproject.toml" in said
    assert said.count("/work/shelf") == 2, "an exit, an error and a missing folder do not lose the place"
    assert done.returncode == 1
    assert "every line is a command of its own" in done.stderr
    assert "1 changed files are gone: shelf/new" in done.stderr


def test_a_shell_shows_no_name_that_could_steer_the_terminal(task: str, tmp_path) -> None:
    """A folder of hostile code may be called anything; the prompt writes it out."""
    leader, follower = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "redtogreen.cli.main", "shell", "--task", task],
        stdin=follower,
        stdout=follower,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    ) as shell:
        os.close(follower)
        timer = threading.Timer(60, shell.kill)
        timer.start()
        os.write(leader, b'd=$(printf \'x\\033]0;title\\007\') && mkdir "$d" && cd "$d"\npwd\nexit\n')
        said = b""
        with contextlib.suppress(OSError):  # the other end is gone
            while part := os.read(leader, 4096):
                said += part
        os.close(leader)
        shell.wait()
        timer.cancel()
    assert shell.returncode == 0
    assert said.count(b"/work/x\\x1b]0;title\\x07") == 3, said
    assert b"\x1b]0;" not in said


def test_a_shell_survives_bytes_that_are_no_text(task: str, tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "redtogreen.cli.main", "shell", "--task", task],
        input=b"echo \xff\necho a\0b\necho end\n",
        capture_output=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(b"\nend\n") and b"a line cannot hold NUL" in done.stderr


def test_a_shell_ends_with_exit(task: str, tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "redtogreen.cli.main", "shell", "--task", task, "--json"],
        input="echo hello\nexit 5\necho never\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    said = json.loads(done.stdout)
    assert done.returncode == said["exit_code"] == 5
    assert said["lines"] == 1 and "hello" in done.stderr and "never" not in done.stderr


def test_doctor_reports_every_guarantee(cli) -> None:
    done = cli("doctor", "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 0, done.stdout
    assert said["tier"] in ("namespaces+cgroup", "namespaces+watchdog")
    assert set(said["guarantees"]) == set(MEANINGS)
    for name, level in said["guarantees"].items():
        assert set(level) == {"level", "reason", "remedy"}
        assert level["level"] in ("enforced", "best effort"), name
        assert level["level"] == "enforced" or (level["reason"] and level["remedy"])
    assert said["backends"]["namespace"] == {"starts": True, "reason": None}
    assert "untested" in said["machine"]["cgroups"]


def test_a_page_needs_a_self_test(cli) -> None:
    done = cli("doctor", "--out", "attacks.md")
    assert done.returncode == 2 and "add --self-test" in done.stderr


def test_a_collection_can_require_guarantees(cli) -> None:
    done = cli("collect", "g.jsonl", "--agent", "noop", "--out", "run", "--require", "netwrok")
    assert done.returncode == 2 and "did you mean 'network'?" in done.stderr
