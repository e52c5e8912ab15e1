"""The scoreboard counts what is paid, by whom, and never mistakes a failure of the machine for a refusal."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from types import ModuleType

import pytest

from redtogreen.cli.main import main
from redtogreen.errors import TaskError, UsageError
from redtogreen.execution.sandboxes.contract import FileChange
from redtogreen.execution.trees import difference, load_tree
from redtogreen.insight.redteam import scoreboard_text
from redtogreen.records import Finding
from redtogreen.redteam.attack import Attack
from redtogreen.redteam.honest.edits import replace_body
from redtogreen.redteam.scoreboard import HonestRow, Row, Scoreboard, run_redteam, summary
from redtogreen.redteam.shapes import load_shape
from redtogreen.redteam.targets import target_of


def attack(name, group, build, number=1) -> Attack:
    return Attack(name, number, group, "a test", "a test", build)


def changed(target, body: str):
    text = replace_body(target.files[target.source], target.function, body)
    return {target.source: FileChange("file", text.encode())}


HOOK = (
    "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    "    report = (yield).get_result()\n    report.outcome = 'passed'\n    report.longrepr = None\n"
)
EXITS = attack("early exit", "A", lambda target: changed(target, "import os\nos._exit(0)\n"))
CONFTEST = attack("hook", "B", lambda target: {"conftest.py": FileChange("file", HOOK.encode())}, 37)
HARMLESS = attack("harmless", "B", lambda target: {"notes.txt": FileChange("file", b"paid?\n")}, 35)
NOT_HERE = attack("elsewhere", "C", lambda target: None, 80)


def broken_builder(target):
    raise LookupError("no such function")


def solves(target):
    """Not an attack at all: what a hole in the grader would look like on the board."""
    shape = next(load_shape(name) for name in ("functions", "classes") if load_shape(name).source == target.source)
    return {target.source: FileChange("file", shape.solved[shape.source].encode())}


@pytest.fixture(scope="module")
def board() -> Scoreboard:
    events = []
    attacks = [EXITS, CONFTEST, HARMLESS, NOT_HERE, attack("no builder", "A", broken_builder)]
    found = run_redteam(None, "default", attacks, events.append, shapes=["functions"], honest=False)
    finished = [event for event in events if event["event"] == "case_finished"]
    assert len(finished) == 3 and {"event": "stage", "name": "attempts", "total": 3} in events
    return found


def test_what_is_refused_here_and_paid_elsewhere(board) -> None:
    rows = {row.attack: row for row in board.rows}
    assert rows["early exit"].outcome == "failed"
    assert rows["early exit"].baselines == {"exit_code": True, "parsed_log": False, "junit_report": False}
    assert rows["hook"].baselines == {"exit_code": True, "parsed_log": True, "junit_report": True}
    blocked = [finding.kind for finding in rows["hook"].findings if finding.status == "blocked"]
    assert blocked == ["test_configuration"] and "runner_hooks" in {finding.kind for finding in rows["hook"].findings}
    assert board.paid == [] and board.holds and board.lost == []
    assert board.baselines == {"exit_code": 2, "parsed_log": 1, "junit_report": 1}
    assert {row.reward for row in board.rows if row.judged} == {0.0}


def test_an_attack_that_nobody_pays_does_not_count(board) -> None:
    assert board.counted == ["early exit", "hook"]
    assert board.uncounted == ["harmless"] and set(board.untried) == {"elsewhere", "no builder"}
    outcomes = {row.attack: row.outcome for row in board.rows}
    assert outcomes["elsewhere"] == "not_applicable" and outcomes["no builder"] == "not_built"


def test_the_summary_has_the_documented_keys_and_the_text_names_all(board) -> None:
    data = summary(board)
    assert (data["attacks"], data["paid"], data["detected"]) == (2, 0, 2)
    assert (data["honest"], data["honest_rejected"]) == (0, 0)
    text = scoreboard_text(board)
    assert "early exit" in text and "harmless" in text.rpartition("paid by nobody")[2]
    assert "elsewhere" in text.rpartition("tried on none")[2]


def test_a_tasks_file_is_attacked_and_its_references_are_honest(shape_folder, shape_tasks) -> None:
    hole = replace(attack("hole", "A", solves), open="a better grader")
    found = run_redteam(shape_folder / "shapes.jsonl", "outcome", [hole], limit=1, baselines=False)
    (row,) = found.rows
    assert row.paid and row.reward == 1.0 and row.shape == "own" and row.outcome == "solved"
    assert "a better grader" in scoreboard_text(found)
    assert found.paid_in_reach == ["hole"] and not found.holds
    assert len(found.honest_rows) >= 12 and not [one for one in found.honest_rows if one.rejected]


def test_failures_of_the_machine_are_no_refusals() -> None:
    lost = HonestRow("plain", "src", "t", "grader_error", rejected=False, error="no sandbox")
    guilty = HonestRow("plain", "src", "t", "solved", True, None, [Finding(kind="k", status="succeeded", evidence="e")])
    found = Scoreboard(None, [Row("a", 1, "A", "src", "t", "lost", False, error="killed")], [lost])
    assert found.holds and len(found.lost) == 2 and found.counted == []
    assert "not judged" in scoreboard_text(found)
    assert not Scoreboard(None, [], [guilty]).holds


def test_targets_of_tasks_are_read_from_them(shape_tasks, shape_store) -> None:
    for name, task in shape_tasks.items():
        shape, target = load_shape(name), target_of(task, shape_store)
        assert (target.source, target.function, target.module) == (shape.source, shape.function, shape.module)
        assert dict(target.files) == shape.start and target.shape == "own"
        assert target.failing and set(target.failing) <= set(task.tests.visible)
        start, solved = (load_tree(tree, shape_store) for tree in (task.start_state.tree, task.reference.tree))
        assert target.source in difference(start, solved, shape_store)


def test_tasks_that_cannot_be_attacked_are_named(shape_tasks, shape_store, tmp_path) -> None:
    import copy

    from redtogreen.tasks import write_tasks

    task = copy.deepcopy(shape_tasks["src"])
    task.reference = None
    with pytest.raises(TaskError, match="no reference"):
        target_of(task, shape_store)
    write_tasks(tmp_path / "none.jsonl", [])
    with pytest.raises(UsageError, match="holds no tasks"):
        run_redteam(tmp_path / "none.jsonl", None, [EXITS])
    with pytest.raises(UsageError, match="recipe"):
        run_redteam(tmp_path / "none.jsonl", "no such recipe", [EXITS])


@pytest.mark.parametrize(("name", "code"), [("early exit", 0), ("hole", 1)])
def test_the_command_ends_with_1_when_something_is_paid(name, code, shape_folder, shape_tasks, monkeypatch, capsys):
    corpus = ModuleType("redtogreen.redteam.corpus")
    corpus.ATTACKS = (EXITS, attack("hole", "A", solves))
    monkeypatch.setitem(sys.modules, "redtogreen.redteam.corpus", corpus)
    words = ["redteam", str(shape_folder / "shapes.jsonl"), "--limit", "1", "--no-honest", "--attack", name, "--json"]
    with pytest.raises(SystemExit) as end:
        main([*words, "--workers", "1", "--no-baselines"])
    data = json.loads(capsys.readouterr().out)
    assert end.value.code == code and data["paid"] == code and data["attacks"] == 1


def test_an_unknown_attack_names_the_nearest(monkeypatch, capsys) -> None:
    corpus = ModuleType("redtogreen.redteam.corpus")
    corpus.ATTACKS = (EXITS,)
    monkeypatch.setitem(sys.modules, "redtogreen.redteam.corpus", corpus)
    with pytest.raises(SystemExit) as end:
        main(["redteam", "--attack", "early exits"])
    assert end.value.code == 2 and "early exit" in capsys.readouterr().err
