"""Format `trl-sft`: TRL's conversational prompt-completion rows, one per step.

    OUT/plan/<split>.jsonl     steps of the stage `plan`
    OUT/coding/<split>.jsonl   steps of the stage `coding`

Each row: `prompt` (system, task, earlier steps as tool calls and tool results), `completion` (one assistant message
with one tool call) and `tools` (JSON text of a list of function schemas, which TRL decodes itself), followed by
`task_id`, `attempt` and `step`, which trainers ignore. datasets 4.7 and later keep the arguments of different actions
apart; earlier ones pad them with nulls.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from redtogreen.data.cleaning.row import solved
from redtogreen.data.exports.files import JsonLinesFiles
from redtogreen.data.exports.tools import tool_schemas
from redtogreen.errors import UsageError
from redtogreen.records import ACTIONS, Step, Trajectory

LOADING = """
    from datasets import load_dataset
    from trl import SFTConfig, SFTTrainer

    rows = load_dataset("json", data_files={"train": "DIR/coding/train.jsonl", "eval": "DIR/coding/eval.jsonl"})
    trainer = SFTTrainer("MODEL", args=SFTConfig(output_dir="out"), train_dataset=rows["train"])
"""
SYSTEM = (
    "You repair and extend code in a prepared repository. First plan: read and search without changing anything. "
    "Then code: edit, run tests, and submit when the task is done. Use one tool at a time."
)
OBSERVATION = 4000
"""Characters of one tool result at most."""
OLD_OBSERVATION = 400
"""Characters of an older tool result when the prompt is over its budget."""
_VOLATILE = ("seconds", "full")


def write(
    rows: Iterable[tuple[str, Trajectory]], out: Path, *, budget: int = 32_000, unsolved: bool = False
) -> dict[str, Any]:
    """TRL prompt-completion for SFT, one row per step, plans and coding apart.

    `budget` is the size of a prompt in characters, `unsolved` takes failed attempts too. Over the budget, older tool
    results are shortened first, then the oldest steps are left out; system, task and the latest step always stay.
    """
    if budget < 1:
        raise UsageError(f"the prompt budget must be at least 1 character, found {budget}")
    tools = msgspec.json.encode(tool_schemas(set(ACTIONS) - {"other"})).decode()
    taken, left_out = 0, {"unsolved": 0}
    with JsonLinesFiles(out) as files:
        for split, trajectory in rows:
            if not unsolved and not solved(trajectory):
                left_out["unsolved"] += 1
                continue
            taken += 1
            for index, step in enumerate(trajectory.trajectory):
                row = {
                    "prompt": prompt(trajectory, index, budget),
                    "completion": [assistant(step)],
                    "tools": tools,
                    "task_id": trajectory.task_id,
                    "attempt": trajectory.attempt,
                    "step": step.step,
                }
                files.add(f"{step.stage}/{split}.jsonl", msgspec.json.encode(row))
        return {"trajectories": taken, "rows": files.counts(), "left_out": left_out}


def prompt(trajectory: Trajectory, index: int, budget: int) -> list[dict[str, Any]]:
    """The messages before step number `index` (from 0), shortened to about `budget` characters."""
    head = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": _task(trajectory)}]
    calls = [assistant(step) for step in trajectory.trajectory[:index]]
    results = [_result(step, OBSERVATION) for step in trajectory.trajectory[:index]]
    sizes = [_size(call) + _size(result) for call, result in zip(calls, results, strict=True)]
    size = sum(map(_size, head)) + sum(sizes)
    for position in range(index - 1):
        if size <= budget:
            break
        results[position] = _result(trajectory.trajectory[position], OLD_OBSERVATION)
        shorter = _size(calls[position]) + _size(results[position])
        size += shorter - sizes[position]
        sizes[position] = shorter
    first = 0
    while size > budget and first < index - 1:
        size -= sizes[first]
        first += 1
    steps = [message for pair in zip(calls[first:], results[first:], strict=True) for message in pair]
    return head + steps


def assistant(step: Step) -> dict[str, Any]:
    """One action as an assistant message with one tool call; arguments are an object, as chat templates want them."""
    function = {"name": step.action, "arguments": step.params}
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}


def shortened(text: str, most: int) -> str:
    """The beginning and the end of a text of more than `most` characters, with a note of what lies between."""
    if len(text) <= most:
        return text
    front, back = most - most // 2, most // 2
    return f"{text[:front]}\n... [{len(text) - front - back} characters left out] ...\n{text[len(text) - back :]}"


def _task(trajectory: Trajectory) -> str:
    files = trajectory.start_state.files
    return trajectory.task_desc + (f"\n\nFiles worth reading first: {', '.join(files)}" if files else "")


def _result(step: Step, most: int) -> dict[str, Any]:
    seen = {name: value for name, value in step.observation.items() if name not in _VOLATILE}
    text = msgspec.json.encode({"observation": seen, "feedback": step.feedback}, order="sorted").decode()
    return {"role": "tool", "name": step.action, "content": shortened(text, most)}


def _size(message: dict[str, Any]) -> int:
    return len(msgspec.json.encode(message))
