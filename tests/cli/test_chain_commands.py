"""The whole chain through the command line, on a bundled project, in real sandboxes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "examples" / "projects" / "shelf"


def call(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "redtogreen.cli.main", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        stdin=subprocess.DEVNULL,
    )


def ask(folder: Path, *words: object, code: int = 0) -> dict:
    """The JSON object a command prints."""
    done = call(folder, *words, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with admitted tasks in `g.jsonl` and an oracle's run on them."""
    folder = tmp_path_factory.mktemp("chain")
    made = ask(folder, "tasks", "make", "mutate", PROJECT, "--candidates", "2", "--out", "f.jsonl")
    assert (made["candidates"], made["written"], made["dropped"]) == (2, 2, {})
    admitted = ask(folder, "tasks", "admit", "f.jsonl", "--out", "g.jsonl")
    assert admitted["candidates"] == 2
    assert admitted["admitted"] + sum(admitted["dropped"].values()) == 2
    assert admitted["admitted"] >= 1
    assert admitted["cpu_seconds"] > 0
    said = ask(folder, "collect", "g.jsonl", "--agent", "oracle", "--attempts", "1", "--out", "oracle")
    assert said["attempts"] == admitted["admitted"]
    assert said["outcomes"] == {"solved": said["attempts"]}
    assert (folder / said["run"]).resolve() == (folder / "oracle").resolve()
    return folder


@pytest.fixture(scope="module")
def task(place: Path) -> dict:
    return ask(place, "tasks", "list", "g.jsonl")["tasks"][0]


def test_tasks_are_listed_and_shown_whole(place: Path, task: dict) -> None:
    assert task["admitted"] is True
    assert task["f2p"] >= 1
    shown = call(place, "tasks", "show", f"g.jsonl#{task['task_id']}")
    assert "diff --git" in shown.stdout
    assert "evaluation, never seen by an agent" in shown.stdout
    listed = call(place, "tasks", "list", "g.jsonl")
    assert task["task_id"] in listed.stdout
    assert listed.stderr == f"next: redtogreen tasks show g.jsonl#{task['task_id']}\n"


def test_an_unknown_task_names_the_nearest(place: Path, task: dict) -> None:
    done = call(place, "tasks", "show", f"g.jsonl#{task['task_id'][:-1]}~")
    assert done.returncode == 2
    assert task["task_id"] in done.stderr


def test_the_start_state_can_be_unpacked_once(place: Path, task: dict) -> None:
    said = ask(place, "tasks", "unpack", f"g.jsonl#{task['task_id']}", "--out", "start")
    assert said["files"] == sum(path.is_file() for path in (place / "start").rglob("*"))
    again = call(place, "tasks", "unpack", f"g.jsonl#{task['task_id']}", "--out", "start")
    assert again.returncode == 1
    assert "not empty" in again.stderr


def test_a_fix_is_graded_solved_and_the_untouched_start_is_not(place: Path, task: dict) -> None:
    name = f"g.jsonl#{task['task_id']}"
    patch = ask(place, "tasks", "show", name)["task"]["reference"]["patch"]
    (place / "fix.diff").write_text(patch)
    said = ask(place, "grade", "--task", name, "--patch", "fix.diff")
    assert said["outcome"] == "solved"
    assert said["resolved"] is True
    assert set(said["tests"].values()) == {"passed"}
    assert {"made", "betrayed"} <= set(said["twins"])
    assert said["findings"] == []
    ask(place, "tasks", "unpack", name, "--out", "untouched")
    failed = call(place, "grade", "--task", name, "--workspace", "untouched")
    assert failed.returncode == 1
    assert failed.stdout.startswith(f"{task['task_id']}: failed")
    (place / "wrong.diff").write_text("not a patch at all\n")
    rejected = call(place, "grade", "--task", name, "--patch", "wrong.diff")
    assert rejected.returncode == 1
    assert rejected.stdout.startswith(f"{task['task_id']}: failed: the patch does not apply")
    assert "absent" not in rejected.stdout
    early = call(place, "grade", "--task", name.replace("g.jsonl", "f.jsonl"), "--patch", "fix.diff")
    assert early.returncode == 2
    assert "never admitted" in early.stderr
    assert "redtogreen tasks admit" in early.stderr


def test_a_run_is_graded_again_with_the_same_outcome(place: Path) -> None:
    said = ask(place, "grade", "oracle")
    assert set(said["outcomes"]) == {"solved"}


def test_scores_of_a_run_are_kept_in_it(place: Path) -> None:
    said = ask(place, "score", "oracle", "--recipe", "outcome")
    assert {row["reward"] for row in said["rewards"]} == {1.0}
    assert all(row["attempt"] for row in said["rewards"])
    text = call(place, "score", "oracle", "--recipe", "outcome")
    assert "next: redtogreen clean oracle --reward-recipe outcome --out DIR" in text.stderr
    tasks = call(place, "score", "g.jsonl")
    assert tasks.returncode == 2
    assert "g.jsonl holds tasks, not trajectories" in tasks.stderr
    assert "redtogreen collect g.jsonl" in tasks.stderr
    assert (place / "oracle" / "rewards" / "outcome.parquet").is_file()
    assert ask(place, "score", "oracle", "--recipe", "outcome") == said


def test_an_attempt_is_shown_step_by_step(place: Path) -> None:
    text = call(place, "show", "oracle", "1").stdout
    assert "edit_file" in text or "create_file" in text
    assert re.search(r"^     probe: ", text, re.M)
    assert re.search(r"reward [+-]", text)
    assert "outcome: solved (submitted)" in text
    said = ask(place, "show", "oracle", "1")
    assert said["trajectory"]["outcome"] == "solved"
    assert sum(said["score"]["steps"]) == pytest.approx(said["score"]["reward"])
    missing = call(place, "show", "oracle", "nothing:like:it")
    assert missing.returncode == 2
    assert said["trajectory"]["attempt"] in missing.stderr
    assert "Traceback" not in missing.stderr


def test_a_report_is_one_page_in_the_run_folder(place: Path) -> None:
    said = ask(place, "report", "oracle")
    page = (place / said["report"]).read_text()
    assert (place / "oracle" / "report.html").read_text() == page
    assert "http://" not in page
    assert "https://" not in page
    assert said["outcomes"] == {"solved": said["attempts"]}
    assert said["by_operator"]
    assert "solve rate" in call(place, "report", "oracle", "--out", "other.html").stdout
    assert (place / "other.html").is_file()


def test_an_attempt_replays_to_the_same_answers(place: Path) -> None:
    said = ask(place, "replay", "oracle", "1", "--out", "replayed")
    assert said["same"] is True
    assert said["outcome"] == said["recorded_outcome"] == "solved"


def test_from_attempts_to_a_trainers_files(place: Path) -> None:
    cleaned = ask(place, "clean", "oracle", "--out", "cleaned")
    assert cleaned["total"] == cleaned["kept"] + sum(cleaned["dropped"].values())
    assert cleaned["drop_rate"] == pytest.approx(1 - cleaned["kept"] / cleaned["total"])
    text = call(place, "clean", "oracle", "--out", "cleaned-again")
    assert re.search(r"^total=\d+, kept=\d+, drop_rate=\d\.\d\d$", text.stdout, re.M)
    built = ask(place, "dataset", "build", "cleaned", "--name", "first")
    assert (built["name"], built["version"]) == ("first", "v1")
    assert sum(built["rows"].values()) == cleaned["kept"]
    again = ask(place, "dataset", "build", "cleaned", "--name", "first")
    assert again["hash"] == built["hash"]
    assert again["reused"] is True
    assert built["hash"] in call(place, "dataset", "show", "first").stdout
    assert call(place, "dataset", "card", "first/v1").stdout.startswith("---\n")
    assert ask(place, "dataset", "rebuild", "first/v1")["same"] is True
    assert "the same rows" in call(place, "dataset", "diff", "first/v1", "first/v1").stdout
    exported = ask(place, "export", "redtogreen", "first/v1", "--out", "exported")
    lines = sum(len((place / "exported" / file).read_text().splitlines()) for file in exported["rows"])
    assert lines == sum(exported["rows"].values()) == cleaned["kept"]
    assert len(ask(place, "score", "first/v1")["rewards"]) == cleaned["kept"]
    missing = call(place, "dataset", "show", "frist")
    assert missing.returncode == 2
    assert "first" in missing.stderr


def test_evaluation_prints_one_json_line(place: Path) -> None:
    done = call(place, "evaluate", "g.jsonl", "--agent", "oracle", "--checkpoint", "epoch-1")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert {"checkpoint", "reward", "completion", "n", "interval"} <= set(said)
    assert said["checkpoint"] == "epoch-1"
    assert said["reward"] == 1.0


def test_other_settings_in_the_same_run_are_refused(place: Path) -> None:
    done = call(place, "collect", "g.jsonl", "--agent", "oracle", "--attempts", "2", "--out", "oracle")
    assert done.returncode == 2
    assert "attempts" in done.stderr


def test_ctrl_c_keeps_what_was_recorded_and_the_same_command_goes_on(place: Path) -> None:
    words = ["collect", "g.jsonl", "--agent", "noop", "--attempts", "2", "--workers", "1", "--out", "stopped"]
    program = subprocess.Popen(
        [sys.executable, "-m", "redtogreen.cli.main", *words, "--display", "json"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=place,
        start_new_session=True,
    )
    assert program.stderr
    seen = [program.stderr.readline()]
    while '"step"' not in seen[-1]:
        seen.append(program.stderr.readline())
        assert seen[-1], "ended before the first step"
    os.kill(program.pid, signal.SIGINT)
    out, rest = program.communicate(timeout=120)
    assert program.returncode == 130
    assert "interrupted: every step recorded so far is kept in stopped" in rest
    assert "run the same command again" in rest
    assert "Traceback" not in rest
    assert out == ""
    shown = ask(place, "report", "stopped", "--out", "stopped.html")
    assert shown["attempts"] >= 1
    done = call(place, *words, "--json")
    assert done.returncode == 0, done.stderr
    total = json.loads(done.stdout)["outcomes"]
    assert total["failed"] == 2 * len(ask(place, "tasks", "list", "g.jsonl")["tasks"])
