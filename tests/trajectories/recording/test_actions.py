"""The canonical actions in a real sandbox: right answers, helpful errors, and no way from inside to the host."""

from __future__ import annotations

import json
import sys

import pytest

from redtogreen.execution.environments import open_workspace
from redtogreen.grading.workspace import load_workspace
from redtogreen.trajectories.recording.actions import Actions

PATH = "words/counting.py"
ID = "tests/test_counting.py::"


@pytest.fixture
def actions(material):
    """Actions over the task whose counts are wrong."""
    task = material.tasks[0]
    environment, lower = load_workspace(task, material.store)
    with open_workspace(environment, lower) as sandbox:
        yield Actions(sandbox, task.view())


def shell(actions: Actions, command: str) -> str:
    result = actions.perform("run_command", {"cmd": command})
    assert result.observation["exit_code"] == 0, result.observation
    return result.observation["stdout_tail"]


def refused(actions: Actions, action: str, params: dict, status: str = "error") -> str:
    result = actions.perform(action, params)
    assert result.feedback.status == status, result.observation
    return result.observation["error"]


def test_files_are_listed_sorted_and_by_pattern(actions):
    found = actions.perform("list_files", {}).observation
    assert found["files"] == sorted(found["files"]) and PATH in found["files"]
    assert actions.perform("list_files", {"pattern": "*counting.py"}).observation["files"] == [
        "tests/test_counting.py",
        PATH,
    ]
    assert "nearest path is words" in refused(actions, "list_files", {"path": "wordz"})


def test_text_is_searched_literally_or_as_a_regular_expression(actions):
    found = actions.perform("search_text", {"pattern": "get(word", "path": "words"}).observation
    assert found == {"matches": [f"{PATH}:8: result[word] = result.get(word, 0) + 2"], "count": 1}
    found = actions.perform("search_text", {"pattern": r"^def \w+", "regex": True, "path": "*/counting.py"}).observation
    assert found["count"] == 2
    assert "not a regular expression" in refused(actions, "search_text", {"pattern": "(", "regex": True})


def test_symbols_are_definitions_with_their_lines(actions):
    found = actions.perform("search_symbol", {"keyword": "COUNT", "file": PATH}).observation
    assert found["matches"] == ["count(line:4)"], "locals of functions are no definitions"
    found = actions.perform("search_symbol", {"keyword": "most"}).observation["matches"]
    assert f"{PATH}: most(line:12)" in found


def test_a_range_of_lines_is_shown_with_numbers(actions):
    found = actions.perform("open_file", {"path": PATH, "start_line": 4, "end_line": 5}).observation
    assert found["content"].split("\n")[0] == "    4  def count(text):"
    assert (found["start_line"], found["end_line"], found["total_lines"]) == (4, 5, 14)
    assert "14 lines" in refused(actions, "open_file", {"path": PATH, "start_line": 40})
    assert f"nearest path is {PATH}" in refused(actions, "open_file", {"path": "src/counting.py"})


def test_a_long_file_is_shown_in_parts_that_fit(actions):
    actions.perform(
        "create_file", {"path": "long.txt", "content": "x" * 60 + "\n" + "y" * 70 + "\n" * 1 + "z\n" * 9000}
    )
    shown = actions.perform("open_file", {"path": "long.txt"}).observation
    assert len(shown["content"]) <= 16_000 and shown["end_line"] < shown["total_lines"] == 9002
    more = actions.perform("open_file", {"path": "long.txt", "start_line": shown["end_line"] + 1}).observation
    assert more["start_line"] == shown["end_line"] + 1


@pytest.mark.parametrize(
    ("start", "end", "new", "wanted"),
    [
        (2, 2, "B\n", "a\nB\nc\n"),
        (2, 2, "B", "a\nB\nc\n"),
        (2, 3, "", "a\n"),
        (2, 1, "x\ny\n", "a\nx\ny\nb\nc\n"),
        (4, 3, "d\n", "a\nb\nc\nd\n"),
        (1, 3, "only\n", "only\n"),
    ],
)
def test_an_edit_replaces_inserts_or_removes_lines(actions, start, end, new, wanted):
    actions.perform("create_file", {"path": "n.txt", "content": "a\nb\nc\n"})
    params = {"path": "n.txt", "start_line": start, "end_line": end, "new_content": new}
    result = actions.perform("edit_file", params)
    assert result.feedback.applied and result.observation["applied"]
    assert shell(actions, "cat n.txt") == wanted


def test_line_endings_and_a_missing_last_newline_are_kept(actions):
    actions.perform("create_file", {"path": "dos.txt", "content": "a\r\nb\r\nc"})
    actions.perform("edit_file", {"path": "dos.txt", "start_line": 2, "end_line": 2, "new_content": "B\n"})
    assert shell(actions, "od -c dos.txt | head -1").split() == ["0000000", "a", "\\r", "\\n", "B", "\\r", "\\n", "c"]
    actions.perform("edit_file", {"path": "dos.txt", "start_line": 3, "end_line": 3, "new_content": "C"})
    assert shell(actions, "tail -c 1 dos.txt") == "C"


def test_an_edit_that_breaks_the_syntax_is_applied_and_says_so(actions):
    params = {"path": PATH, "start_line": 8, "end_line": 8, "new_content": "        result[word = 1\n"}
    result = actions.perform("edit_file", params)
    assert result.observation["parse_errors"] == 1 and "line 8" in result.observation["parse_error"]
    assert result.feedback.compile_error is True and result.feedback.applied is True


def test_an_edit_that_changes_nothing_is_not_applied(actions):
    params = {"path": PATH, "start_line": 4, "end_line": 4, "new_content": "def count(text):\n"}
    assert actions.perform("edit_file", params).feedback.applied is False


def test_edits_that_cannot_be_done_change_nothing(actions):
    before = shell(actions, f"cat {PATH}")
    for start, end in ((0, 1), (3, 1), (1, 99), (17, 16)):
        result = actions.perform("edit_file", {"path": PATH, "start_line": start, "end_line": end, "new_content": "x"})
        assert result.feedback.status == "error" and result.feedback.applied is False
        assert "14 lines" in result.observation["error"]
    assert "use edit_file" in refused(actions, "create_file", {"path": PATH, "content": ""})
    assert "is a folder" in refused(actions, "delete_file", {"path": "words"})
    assert shell(actions, f"cat {PATH}") == before


def test_a_file_is_created_with_its_folders_and_deleted(actions):
    assert actions.perform("create_file", {"path": "a/b/c.py", "content": "x = 1\n"}).feedback.applied
    assert shell(actions, "cat a/b/c.py") == "x = 1\n"
    assert actions.perform("delete_file", {"path": "a/b/c.py"}).feedback.applied
    assert "no such file" in refused(actions, "delete_file", {"path": "a/b/c.py"})


def test_what_is_no_ordinary_text_file_is_named_not_read(actions):
    shell(actions, "mkfifo pipe; ln -s /etc outside; ln -s /dev/zero zero; printf '\\377\\376' > bin; mkdir d")
    assert "not an ordinary file" in refused(actions, "open_file", {"path": "pipe"})
    assert "leads out" in refused(actions, "open_file", {"path": "outside/passwd"})
    assert "leads out" in refused(actions, "open_file", {"path": "zero"})
    assert "leads out" in refused(actions, "create_file", {"path": "outside/x", "content": ""})
    assert "leads out" in refused(actions, "open_file", {"path": "../etc/passwd"})
    assert "not a text file" in refused(actions, "open_file", {"path": "bin"})
    assert "is a folder" in refused(actions, "open_file", {"path": "d"})
    assert actions.perform("search_text", {"pattern": "count"}).feedback.status == "ok", "searching passes them by"


def test_a_command_tells_its_exit_code_and_the_end_of_its_output(actions):
    result = actions.perform("run_command", {"cmd": "seq 1 5000; echo oops >&2; exit 3"})
    assert result.observation["exit_code"] == 3 and result.observation["stderr_tail"] == "oops\n"
    assert result.observation["stdout_tail"].endswith("4999\n5000\n")
    assert result.full_texts["stdout_tail"].startswith(b"1\n2\n"), "the whole text is handed on"


def test_a_command_over_its_time_is_a_timeout(actions):
    result = actions.perform("run_command", {"cmd": "sleep 30", "seconds": 0.5})
    assert result.feedback.status == "timeout" and "0.5 seconds" in result.observation["error"]


def test_a_test_run_by_command_is_counted(actions):
    result = actions.perform("run_command", {"cmd": "python -m pytest -q tests/test_counting.py"})
    assert (result.feedback.passed, result.feedback.failed) == (2, 2)


def test_a_test_run_names_failures_with_their_frames(actions):
    result = actions.perform("run_test", {"tests": [ID + "test_count", ID + "test_most"]})
    assert (result.feedback.passed, result.feedback.failed, result.feedback.status) == (1, 1, "ok")
    assert result.observation["stdout_tail"] == "1 passed, 1 failed" and result.observation["exit_code"] == 1
    (failure,) = result.observation["failures"]
    assert failure["test"] == ID + "test_count" and failure["exception"] == "AssertionError"
    assert "{'a': 4" in failure["message"] and failure["frames"][-1][0] == "tests/test_counting.py"
    assert "spectrum" not in result.observation


def test_the_whole_suite_is_run_without_names(actions):
    result = actions.perform("run_test", {"tests": None})
    assert (result.feedback.passed, result.feedback.failed) == (2, 2)


def test_coverage_counts_failing_and_passing_tests_per_line(actions):
    spectrum = actions.perform("run_test", {"coverage": True}).observation["spectrum"]
    assert list(spectrum) == [PATH]
    counts = {line: tuple(each[2:]) for each in spectrum[PATH] for line in range(each[0], each[1] + 1)}
    assert counts[8] == (2, 1), "test_most passes through the wrong line"
    assert 14 not in counts, "lines that no failing test reached are left out"


def test_a_test_that_is_not_there_counts_as_failed(actions):
    result = actions.perform("run_test", {"tests": [ID + "test_count", ID + "test_gone"]})
    assert result.feedback.failed == 2 and result.observation["absent"] == [ID + "test_gone"]


def test_a_file_that_cannot_be_imported_is_a_compile_error(actions):
    actions.perform("edit_file", {"path": PATH, "start_line": 4, "end_line": 4, "new_content": "def count(text:\n"})
    result = actions.perform("run_test", {})
    assert result.feedback.compile_error is True and result.feedback.failed >= 1
    assert result.observation["collection_errors"][0]["exception"] == "SyntaxError"


def test_a_hanging_test_is_a_timeout(actions):
    actions.perform(
        "edit_file", {"path": PATH, "start_line": 6, "end_line": 6, "new_content": "    while True: pass\n"}
    )
    result = actions.perform("run_test", {"tests": [ID + "test_count"], "seconds": 3})
    assert result.feedback.status == "timeout" and result.feedback.failed == 1


def test_lint_names_place_and_rule(actions):
    actions.perform("create_file", {"path": "words/extra.py", "content": "import os\n"})
    result = actions.perform("run_lint", {"paths": ["words/extra.py"]}).observation
    assert result["count"] == 1
    assert (result["findings"][0]["path"], result["findings"][0]["code"]) == ("words/extra.py", "F401")


def test_a_wrong_request_is_answered_with_the_right_name(actions):
    assert "did you mean 'open_file'" in refused(actions, "open_fil", {"path": PATH})
    assert "did you mean 'start_line'" in refused(actions, "open_file", {"path": PATH, "start": 1})
    assert "'path' is missing" in refused(actions, "open_file", {})
    assert "must be of type int" in refused(actions, "open_file", {"path": PATH, "start_line": "1"})
    assert "must be of type list" in refused(actions, "run_test", {"tests": [1]})


def test_the_same_action_in_the_same_state_has_the_same_answer(actions):
    for action, params in (
        ("run_test", {"coverage": True}),
        ("run_lint", {}),
        ("list_files", {}),
        ("search_symbol", {"keyword": ""}),
    ):
        first, second = (actions.perform(action, params).observation for _ in range(2))
        assert json.dumps(first) == json.dumps(second), action


def test_no_answer_names_a_place_of_the_host(actions, tmp_path):
    text = json.dumps(actions.perform("run_test", {}).observation)
    text += json.dumps(
        actions.perform("run_command", {"cmd": "pwd; python -c 'import json; json.loads(1)'"}).observation
    )
    assert str(tmp_path.parent) not in text
    assert sys.base_prefix in ("/usr", "/usr/local") or sys.base_prefix not in text
