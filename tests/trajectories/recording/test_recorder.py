"""Every action is checked, performed, measured and on the disk before its answer is given."""

from __future__ import annotations

import msgspec
import pytest

from redtogreen.errors import AgentError, EnvironmentUnavailable, SandboxError
from redtogreen.execution.environments import open_workspace
from redtogreen.grading.workspace import load_workspace
from redtogreen.protocols import AttemptEnded
from redtogreen.records import Step
from redtogreen.store import BlobStore
from redtogreen.trajectories.recording.journal import JournalWriter, read_journal
from redtogreen.trajectories.recording.probe import Prober
from redtogreen.trajectories.recording.recorder import RecordingWorkspace
from redtogreen.trajectories.recording.redaction import Redactor

PATH = "words/counting.py"
ID = "tests/test_counting.py::"
PASSWORD = "hunter2Xq9!zz81"


@pytest.fixture(scope="module")
def prober(material):
    return Prober(material.store)


class Bench:
    """A recorder over a real sandbox, with its journal beside it."""

    def __init__(self, material, prober, tmp_path, clock=None, **limits):
        self.task = msgspec.structs.replace(
            material.tasks[0], limits=msgspec.structs.replace(material.tasks[0].limits, **limits)
        )
        environment, lower = load_workspace(self.task, material.store)
        self.sandbox = open_workspace(environment, lower)
        self.path = tmp_path / "j.rtgj"
        self.journal = JournalWriter(self.path)
        self.blobs = BlobStore(tmp_path / "blobs")
        self.events = []
        self.workspace = RecordingWorkspace(
            self.task,
            self.sandbox,
            attempt="a",
            store=material.store,
            blobs=self.blobs,
            journal=self.journal,
            prober=prober,
            redactor=Redactor({}),
            emit=self.emit,
            **({"clock": clock} if clock else {}),
        )

    def emit(self, event):
        assert self.recorded()[-1].step == event["step"], "an event is told of after it is on the disk"
        self.events.append(event)

    def recorded(self) -> list[Step]:
        return [msgspec.convert(event["step"], Step) for event in read_journal(self.path)]

    def act(self, action, stage="coding", **params):
        return self.workspace.act(action, params, stage=stage)


@pytest.fixture
def bench(material, prober, tmp_path):
    made = []

    def make(**options):
        made.append(Bench(material, prober, tmp_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.sandbox.close()
        one.journal.close()


def test_a_step_is_on_the_disk_before_its_answer_with_diff_tree_and_probe(bench):
    b = bench()
    b.act("open_file", stage="plan", path=PATH)
    assert b.recorded()[0].tree == b.task.start_state.tree and b.recorded()[0].diff is None
    answer = b.act("edit_file", path=PATH, start_line=8, end_line=8, new_content="        result[word] = 1")
    step = b.recorded()[1]
    assert answer.feedback.applied is True and step.feedback == answer.feedback
    assert step.diff.startswith(f"diff --git a/{PATH} b/{PATH}\n") and "+        result[word] = 1\n" in step.diff
    assert step.tree != b.task.start_state.tree and step.stage_source == "declared" and step.seconds >= 0
    assert step.probe.tests == {
        ID + "test_count": "failed",
        ID + "test_count_one": "passed",
        ID + "test_most": "failed",
        ID + "test_most_of_nothing": "passed",
    }
    assert step.probe.failure_stage == "assertion" and step.probe.exceptions == ["AssertionError"]
    assert "probe" not in answer.observation and [event["step"] for event in b.events] == [1, 2]


def test_undoing_an_edit_comes_back_to_the_same_tree_and_costs_no_probe(bench, monkeypatch):
    b = bench()
    good = "        result[word] = result.get(word, 0) + 3"
    bad = "        result[word] = result.get(word, 0) + 2"
    b.act("edit_file", path=PATH, start_line=8, end_line=8, new_content=good)
    b.act("edit_file", path=PATH, start_line=8, end_line=8, new_content=bad)
    first, second = b.recorded()
    assert second.tree == b.task.start_state.tree and second.diff and second.probe.tests[ID + "test_count"] == "failed"
    began = [step.probe for step in (first, second)]
    monkeypatch.setattr("redtogreen.trajectories.recording.probe.open_workspace", None)  # a new measurement would break
    b.act("edit_file", path=PATH, start_line=8, end_line=8, new_content=good)
    b.act("edit_file", path=PATH, start_line=8, end_line=8, new_content=bad)
    assert [step.probe for step in b.recorded()[2:]] == began


def test_syntax_errors_show_in_feedback_and_probe(bench):
    b = bench()
    answer = b.act("edit_file", path=PATH, start_line=8, end_line=8, new_content="        result[word] = (")
    assert answer.feedback.compile_error is True and answer.observation["parse_errors"] == 1
    probe = b.recorded()[0].probe
    assert probe.parse_errors == 1 and probe.failure_stage == "syntax" and set(probe.tests.values()) == {"absent"}


def test_new_lint_findings_are_counted_not_old_ones(bench):
    b = bench()
    b.act("create_file", path="words/extra.py", content="import os\nimport sys\n")
    assert b.recorded()[0].probe.lint == 2
    b.act("edit_file", path=PATH, start_line=1, end_line=1, new_content='"""Counting."""')
    assert b.recorded()[1].probe.lint == 2


def test_a_command_that_changes_files_is_seen_and_by_products_are_not(bench):
    b = bench()
    b.act("run_command", cmd="echo hello > notes.txt; mkdir -p .pytest_cache __pycache__; echo x > .pytest_cache/x")
    step = b.recorded()[0]
    assert "notes.txt" in step.diff and ".pytest_cache" not in step.diff and step.probe is not None
    b.act("run_command", cmd="true")
    assert b.recorded()[1].diff is None and b.recorded()[1].probe is None and b.recorded()[1].tree == step.tree


@pytest.mark.parametrize("action", ["edit_file", "create_file", "delete_file", "run_command", "run_test", "run_lint"])
def test_a_plan_changes_and_executes_nothing(bench, action):
    b = bench()
    answer = b.act(action, stage="plan", path="x", content="y", cmd="touch /work/x")
    assert answer.feedback.status == "refused" and "coding stage" in answer.observation["refused"]
    assert b.sandbox.changes() == {} and b.recorded()[0].feedback.status == "refused"


def test_actions_that_are_not_allowed_or_do_not_exist_are_refused_and_recorded(bench):
    b = bench(actions=["open_file"])
    assert "not allowed" in b.act("run_test").observation["refused"]
    assert "did you mean 'open_file'" in b.act("open_fil", path=PATH).observation["refused"]
    first, second = b.recorded()
    assert second.action == "other" and second.call == {"name": "open_fil", "params": {"path": PATH}}
    assert b.act("open_file", path=PATH).feedback.status == "ok"
    with pytest.raises(AttemptEnded):
        b.act("submit")


def test_submit_ends_the_attempt(bench):
    b = bench()
    with pytest.raises(AttemptEnded) as ended:
        b.act("submit")
    assert ended.value.ending == "submitted" and b.recorded()[-1].action == "submit"
    with pytest.raises(AttemptEnded):
        b.act("open_file", path=PATH)
    assert len(b.recorded()) == 1


def test_the_limit_of_steps(bench):
    b = bench(steps=2)
    b.act("list_files")
    b.act("list_files")
    assert b.workspace.steps_left == 0
    with pytest.raises(AttemptEnded) as ended:
        b.act("list_files")
    assert ended.value.ending == "limit_steps" and len(b.recorded()) == 2


def test_the_limit_of_seconds_counts_the_agents_time_only(bench):
    now = [0.0]
    b = bench(clock=lambda: now[0], seconds=100)
    b.act("list_files")
    now[0] = 99.0
    b.act("list_files")
    now[0] = 100.0
    with pytest.raises(AttemptEnded) as ended:
        b.act("list_files")
    assert ended.value.ending == "limit_seconds"


def test_time_spent_probing_is_not_the_agents(bench, monkeypatch):
    now = [0.0]
    b = bench(clock=lambda: now[0], seconds=100)
    measured = b.workspace._prober.probe

    def slow(*arguments):
        now[0] += 500
        return measured(*arguments)

    monkeypatch.setattr(b.workspace._prober, "probe", slow)
    b.act("create_file", path="a.txt", content="x")
    assert b.workspace.seconds_left == 100


def test_long_output_is_stored_whole_and_shown_shortened(bench):
    b = bench()
    answer = b.act("run_command", cmd="seq 1 20000")
    step = b.recorded()[0]
    assert len(answer.observation["stdout_tail"]) < 20_000 and "full" not in answer.observation
    whole = b.blobs.get(step.observation["full"]["stdout_tail"])
    assert whole.startswith(b"1\n2\n") and whole.rstrip().endswith(b"20000")


def test_secrets_reach_the_agent_but_never_the_disk(bench, tmp_path):
    b = bench()
    b.act("create_file", path="config.py", content=f"PASSWORD = '{PASSWORD}'\n")
    answer = b.act("run_command", cmd=f"cat config.py; seq 1 9000; echo {PASSWORD}; echo AKIAQ3EGRZ7ABCDEFG2H")
    assert PASSWORD in answer.observation["stdout_tail"]
    patch = b.workspace.final_patch()
    text = (
        repr(b.recorded()) + patch + "".join(b.blobs.get(name).decode("utf-8", "replace") for name in b.blobs.names())
    )
    assert PASSWORD not in text and "AKIAQ3EGRZ7ABCDEFG2H" not in text
    assert "PASSWORD = '<SECRET:password:1>'" in patch and "<SECRET:aws-access-key:1>" in text
    assert b.workspace.redacted_files == {"config.py"} and b.workspace.redactions > 3
    assert b.sandbox.changes()["config.py"].content == f"PASSWORD = '{PASSWORD}'\n".encode(), "the work stays real"


def test_parameters_that_are_no_json_are_the_agents_fault(bench):
    b = bench()
    with pytest.raises(AgentError, match="not JSON"):
        b.act("create_file", path="x", content=object())
    with pytest.raises(AgentError, match="stage"):
        b.act("list_files", stage="thinking")
    assert b.recorded() == [] and b.act("list_files").feedback.status == "ok"


def test_a_broken_sandbox_is_an_error_of_the_machine_that_no_agent_can_swallow(bench):
    b = bench()
    b.act("list_files")
    b.sandbox.close()
    with pytest.raises(SandboxError):
        b.act("list_files")
    with pytest.raises(SandboxError):
        b.act("list_files")
    assert isinstance(b.workspace.failure, SandboxError) and len(b.recorded()) == 1


def test_a_full_disk_stops_before_the_answer(bench):
    b = bench()
    b.journal.close()
    with pytest.raises(EnvironmentUnavailable, match="journal"):
        b.act("list_files")
    assert b.events == []


def test_huge_and_odd_files_are_named_in_the_diff_not_shown(bench):
    b = bench()
    b.act("run_command", cmd="head -c 3000000 /dev/zero | tr '\\0' 'a' > big.txt; printf '\\377\\376' > raw.bin")
    diff = b.recorded()[0].diff
    assert "Binary files a/big.txt and b/big.txt differ" in diff and "raw.bin" in diff and len(diff) < 2000
