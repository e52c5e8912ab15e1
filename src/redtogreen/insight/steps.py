"""One trajectory as a person reads it: per step the action, the answer, the feedback, the probe and the reward."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from redtogreen.insight.texts import number, one_line, shorten
from redtogreen.records import Feedback, Probe, Score, Step, Trajectory, views

_LONG = ("new_content", "content", "text", "old_content")
"""Parameters shown as blocks below the step, not in its headline."""


@dataclass(frozen=True)
class StepView:
    """A step prepared for reading. All texts are safe to print."""

    number: int
    stage: str
    action: str
    what: str
    """Its short parameters on one line."""
    blocks: list[tuple[str, str]]
    """Long parameters and the parts of the observation: (name, text)."""
    feedback: str
    probe: str
    """Summary of the hidden measurement; empty: none was taken."""
    reward: float | None
    """Reward placed at this step; None: none is placed."""
    diff: str
    broken: bool
    """Whether the step went wrong: an error, a failing test run, code that does not parse."""


def step_views(
    trajectory: Trajectory, score: Score | None, *, lines: int, characters: int, only: Collection[int] | None = None
) -> list[StepView]:
    """The steps of a trajectory, all or at some positions, each text cut to so many lines and characters."""
    steps = trajectory.trajectory
    rewards: Sequence[float | None] = score.steps if score and score.steps else [None] * len(steps)
    return [
        _view(steps[index], rewards[index], lines, characters)
        for index in range(len(steps))
        if only is None or index in only
    ]


def notable_steps(trajectory: Trajectory, limit: int) -> set[int]:
    """Positions worth showing when there is room for `limit` only: the first, the last, and where something changed."""
    steps = trajectory.trajectory
    if len(steps) <= limit:
        return set(range(len(steps)))
    changes = [index for index, step in enumerate(steps) if views.is_edit(step) or views.is_test_run(step)]
    chosen = {0, len(steps) - 1, *changes[-(limit - 2) :]}
    for index in range(len(steps)):
        if len(chosen) >= limit:
            break
        chosen.add(index)
    return chosen


def _view(step: Step, reward: float | None, lines: int, characters: int) -> StepView:
    short = {name: value for name, value in step.params.items() if name not in _LONG and value is not None}
    blocks = [(name, _block(step.params[name], lines, characters)) for name in _LONG if step.params.get(name)]
    answer = {name: value for name, value in step.observation.items() if step.params.get(name) != value}
    blocks += [(name, _block(value, lines, characters)) for name, value in answer.items() if _says(value)]
    return StepView(
        number=step.step,
        stage=step.stage,
        action=step.action,
        what=_short_params(short),
        blocks=blocks,
        feedback=feedback_line(step.feedback),
        probe=probe_line(step.probe) if step.probe else "",
        reward=reward,
        diff=shorten(step.diff, 3 * lines, 2 * characters) if step.diff else "",
        broken=_broken(step),
    )


def feedback_line(feedback: Feedback) -> str:
    """The typed verdict on a step in a few words."""
    parts: list[str] = [feedback.status or ""]
    if feedback.applied is not None:
        parts.append("applied" if feedback.applied else "not applied")
    if feedback.passed is not None or feedback.failed is not None:
        parts.append(f"{feedback.passed or 0} passed, {feedback.failed or 0} failed")
    if feedback.compile_error:
        parts.append("does not compile")
    return ", ".join(part for part in parts if part)


def probe_line(probe: Probe) -> str:
    """A hidden measurement in a few words."""
    counts = Counter(probe.tests.values())
    parts = [f"{count} {status}" for status, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    if probe.parse_errors:
        parts.append(f"{probe.parse_errors} files do not parse")
    if probe.lint:
        parts.append(f"{probe.lint} new lint findings")
    if probe.failure_stage not in (None, "pass"):
        parts.append(f"breaks at {probe.failure_stage}")
    if probe.exceptions:
        parts.append(one_line(", ".join(probe.exceptions), 60))
    return ", ".join(parts)


def trajectory_text(trajectory: Trajectory, score: Score | None, *, lines: int = 8, characters: int = 1200) -> str:
    """A whole trajectory for a terminal."""
    rows = [headline(trajectory, score), ""]
    for line in shorten(trajectory.task_desc, 40, 4000).split("\n"):
        rows += [f"  {line}"] if line.startswith(" ") else _wrapped(line)
    for view in step_views(trajectory, score, lines=lines, characters=characters):
        reward = "" if view.reward is None else f"   reward {view.reward:+.4g}"
        rows += ["", f"{view.number:>3}  {view.stage:<6} {view.action}  {view.what}".rstrip() + reward]
        for name, text in view.blocks:
            rows += _named(name, text)
        rows += _named("diff", view.diff) if view.diff else []
        rows += [f"     feedback: {view.feedback}"] if view.feedback else []
        rows += [f"     probe: {view.probe}"] if view.probe else []
    rows += ["", *ending_lines(trajectory, score)]
    return "\n".join(rows)


def headline(trajectory: Trajectory, score: Score | None) -> str:
    """Attempt, outcome, reward and length on one line."""
    name = one_line(trajectory.attempt or trajectory.task_id, 160)
    return f"{name}: {outcome_name(trajectory)}, reward {reward_text(trajectory, score)}, {_steps(trajectory)}"


def ending_lines(trajectory: Trajectory, score: Score | None) -> list[str]:
    """How it ended: outcome, tests, reward by component, what went wrong."""
    rows = [f"outcome: {outcome_name(trajectory)}" + (f" ({trajectory.ending})" if trajectory.ending else "")]
    if summary := trajectory.final_state.test_summary:
        rows.append(f"reward tests: {summary.passed} passed, {summary.failed} failed")
    if trajectory.metadata.error:
        rows += ["error: " + shorten(trajectory.metadata.error, 6, 800)]
    grade = trajectory.metadata.grade
    rows += [
        f"finding: {item.kind} {item.status}: {one_line(item.evidence)}" for item in (grade.findings if grade else [])
    ]
    if score is None:
        return rows
    rows.append(f"reward: {reward_text(trajectory, score)}  (recipe {score.recipe})")
    if score.reason:
        rows.append(f"  no reward: {one_line(score.reason)}")
    for part in score.components:
        why = one_line(part.evidence[0].text, 80) if part.evidence else ""
        rows.append(f"  {part.name:<18} {number(part.value):>8} x {number(part.weight):<6} {why}".rstrip())
    return rows


def outcome_name(trajectory: Trajectory) -> str:
    """The outcome, or what `success` says of rows from elsewhere."""
    if trajectory.outcome:
        return trajectory.outcome
    return {True: "solved", False: "failed", None: "unknown"}[trajectory.success]


def reward_text(trajectory: Trajectory, score: Score | None) -> str:
    value = score.reward if score else trajectory.reward
    return "none" if value is None else number(value)


def _steps(trajectory: Trajectory) -> str:
    count = len(trajectory.trajectory)
    return f"{count} step" + ("" if count == 1 else "s")


def _wrapped(line: str) -> list[str]:
    indent = "    " if line.startswith("- ") else "  "
    return textwrap.wrap(line, 100, initial_indent="  ", subsequent_indent=indent, break_on_hyphens=False) or [""]


def _short_params(params: dict[str, Any]) -> str:
    if "path" in params and "start_line" in params:
        rest = {name: value for name, value in params.items() if name not in ("path", "start_line", "end_line")}
        place = f"{params['path']}:{params['start_line']}-{params.get('end_line', '')}".rstrip("-")
        return one_line(" ".join([place, _short_params(rest)]).strip(), 140)
    if len(params) == 1 and isinstance(value := next(iter(params.values())), str):
        return one_line(value, 140)
    return one_line(", ".join(f"{name}={_flat(value)}" for name, value in params.items()), 140)


def _flat(value: Any) -> str:
    if isinstance(value, list) and len(value) > 2:
        return f"[{_flat(value[0])}, … {len(value)} in all]"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _says(value: Any) -> bool:
    return value not in (None, "", [], {})


def _block(value: Any, lines: int, characters: int) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = "\n".join(value)
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
        value = value if len(value) < 100 else json.dumps(json.loads(value), ensure_ascii=False, indent=1)
    return shorten(value, lines, characters)


def _named(name: str, text: str) -> list[str]:
    name = one_line(name, 40)
    return [f"     {name}: {text}"] if "\n" not in text else [f"     {name}:", *_indent(text, "       ")]


def _indent(text: str, space: str) -> list[str]:
    return [f"{space}{line}".rstrip() for line in text.split("\n")]


def _broken(step: Step) -> bool:
    return step.feedback.status in ("error", "refused", "timeout") or bool(
        step.feedback.failed or views.compile_error(step)
    )
