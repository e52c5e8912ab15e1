"""Exports: exact fields of TRL's prompt-completion form, our own lines, and nothing half-written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redtogreen.data.exports import export, format_names
from redtogreen.data.exports.trl_sft import prompt, shortened
from redtogreen.errors import UsageError
from redtogreen.records import Trajectory, read_strict

EXAMPLES = Path(__file__).parents[3] / "examples"


def example(name: str = "config-parser") -> Trajectory:
    (row,) = read_strict(EXAMPLES / f"{name}.jsonl", Trajectory)
    return row


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_trl_sft_writes_one_row_per_step_with_exactly_these_fields(tmp_path: Path) -> None:
    row = example()
    counts = export("trl-sft", [("train", row)], tmp_path / "out")
    assert counts == {
        "trajectories": 1,
        "rows": {"coding/train.jsonl": 2, "plan/train.jsonl": 1},
        "left_out": {"unsolved": 0},
    }
    (plan,) = lines(tmp_path / "out" / "plan" / "train.jsonl")
    _, last = lines(tmp_path / "out" / "coding" / "train.jsonl")
    assert list(plan) == list(last) == ["prompt", "completion", "tools", "task_id", "attempt", "step"]
    system, task = plan["prompt"]
    assert system["role"] == "system" and list(system) == ["role", "content"]
    assert task == {
        "role": "user",
        "content": row.task_desc + "\n\nFiles worth reading first: src/config_parser.py, tests/test_config_parser.py",
    }
    assert plan["completion"] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "type": "function",
                    "function": {
                        "name": "search_symbol",
                        "arguments": {"keyword": "parse_config", "file": "src/config_parser.py"},
                    },
                }
            ],
        }
    ]
    assert last["prompt"][:2] == [system, task]
    assert last["prompt"][2] == plan["completion"][0]
    assert last["prompt"][3] == {
        "role": "tool",
        "name": "search_symbol",
        "content": '{"feedback":{"status":"ok"},"observation":{"matches":["parse_config(line:87)"]}}',
    }
    assert [message["role"] for message in last["prompt"]] == ["system", "user", *["assistant", "tool"] * 2]
    assert last["completion"][0]["tool_calls"][0]["function"]["arguments"] == {
        "cmd": "python -m pytest tests/test_config_parser.py -q"
    }
    assert (last["task_id"], last["attempt"], last["step"]) == (row.task_id, None, 3)


def test_tools_are_function_schemas_that_cover_every_canonical_action(tmp_path: Path) -> None:
    export("trl-sft", [("train", example())], tmp_path / "out")
    tools = json.loads(lines(tmp_path / "out" / "plan" / "train.jsonl")[0]["tools"])
    assert {"list_files", "edit_file", "run_test", "submit"} <= {tool["function"]["name"] for tool in tools}
    for tool in tools:
        assert list(tool) == ["type", "function"] and tool["type"] == "function"
        assert list(tool["function"]) == ["name", "description", "parameters"]
        assert tool["function"]["parameters"]["type"] == "object"


def test_only_solved_attempts_teach_and_the_rest_is_counted(tmp_path: Path) -> None:
    rows = [("train", example()), ("eval", example("config-parser-compile-error"))]
    counts = export("trl-sft", rows, tmp_path / "a")
    assert counts["left_out"] == {"unsolved": 1} and set(counts["rows"]) == {"coding/train.jsonl", "plan/train.jsonl"}
    counts = export("trl-sft", rows, tmp_path / "b", unsolved=True)
    assert counts["trajectories"] == 2 and counts["rows"]["coding/eval.jsonl"] == 2


def test_a_prompt_stays_in_its_budget_and_keeps_task_and_latest_step(make) -> None:
    row = make.row("p/a", 0, steps=30)
    for step in row.trajectory:
        step.observation = {"text": f"{step.step}:" + "x" * 3000}
    messages = prompt(row, 29, 20_000)
    assert sum(len(json.dumps(message)) for message in messages) <= 20_500
    assert [message["role"] for message in messages[:3]] == ["system", "user", "assistant"]
    assert messages[1]["content"].startswith("mend p/a")
    assert "29:xxx" in messages[-1]["content"] and "left out" not in messages[-1]["content"]
    assert "characters left out" in messages[3]["content"]
    tiny = prompt(row, 29, 1)
    assert [message["role"] for message in tiny] == ["system", "user", "assistant", "tool"]
    assert tiny[-1] == messages[-1]


@given(st.text(max_size=200), st.integers(1, 100))
def test_shortening_keeps_both_ends_and_tells_how_much_is_gone(text: str, most: int) -> None:
    short = shortened(text, most)
    if len(text) <= most:
        assert short == text
    else:
        front, back = most - most // 2, most // 2
        assert short.startswith(text[:front]) and short.endswith(text[len(text) - back :])
        assert f"[{len(text) - most} characters left out]" in short


def test_our_own_lines_come_out_as_they_went_in(tmp_path: Path) -> None:
    rows = [("train", example()), ("eval", example("config-parser-compile-error"))]
    counts = export("redtogreen", rows, tmp_path / "out")
    assert counts == {"trajectories": 2, "rows": {"eval.jsonl": 1, "train.jsonl": 1}, "left_out": {}}
    for split, row in rows:
        assert list(read_strict(tmp_path / "out" / f"{split}.jsonl", Trajectory)) == [row]


def test_exports_are_the_same_every_time(tmp_path: Path) -> None:
    for name in "ab":
        export("trl-sft", [("train", example())], tmp_path / name)
    for path in (tmp_path / "a").rglob("*.jsonl"):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()


def test_wrong_names_lead_to_the_right_ones(tmp_path: Path) -> None:
    assert {"redtogreen", "trl-sft"} <= set(format_names())
    with pytest.raises(UsageError, match="unknown export format 'trl-stf'") as caught:
        export("trl-stf", [], tmp_path / "out")
    assert "'trl-sft'" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="no option 'budgt'") as caught:
        export("trl-sft", [], tmp_path / "out", budgt=3)
    assert "'budget'" in (caught.value.hint or "")
    assert not (tmp_path / "out").exists()


def test_a_failing_export_leaves_nothing_and_an_earlier_one_stays(tmp_path: Path) -> None:
    def rows():
        yield "train", example()
        raise RuntimeError("source went away")

    with pytest.raises(RuntimeError):
        export("redtogreen", rows(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    export("redtogreen", [("train", example())], tmp_path / "out")
    with pytest.raises(UsageError, match="exists already"):
        export("redtogreen", [], tmp_path / "out")
    assert (tmp_path / "out" / "train.jsonl").exists()


class Names:
    """A plugin in the form of `protocols.Exporter`."""

    name = "names"

    def write(self, rows, out: Path):
        written = [row.task_id for _, row in rows]
        (out / "names.txt").write_text("\n".join(written))
        return {"names.txt": len(written)}


names = Names()


def test_a_plugin_writes_like_a_built_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "exporter_under_test", sys.modules[__name__])
    counts = export("exporter_under_test:names", [("train", example())], tmp_path / "out")
    assert counts == {"trajectories": 1, "rows": {"names.txt": 1}, "left_out": {}}
    assert (tmp_path / "out" / "names.txt").read_text() == example().task_id
