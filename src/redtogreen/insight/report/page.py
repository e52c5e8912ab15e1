"""The page itself: everything an agent wrote is escaped, every text cut, nothing is loaded from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from redtogreen.insight.facts import Facts
from redtogreen.insight.report import charts
from redtogreen.insight.steps import StepView, ending_lines, headline, notable_steps, outcome_name, step_views
from redtogreen.insight.summary import sentence
from redtogreen.insight.texts import escape, number, share, shorten
from redtogreen.records import Score, Trajectory
from redtogreen.store import write_atomic

STEPS_SHOWN = 40
LINES, CHARACTERS = 40, 2500
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Told to the browser: run nothing, load nothing."""


def write_report(facts: Facts, out: Path) -> Path:
    """Write the page, whole or not at all; returns its path."""
    write_atomic(Path(out), render(facts).encode("utf-8", "backslashreplace"))
    return Path(out)


def render(facts: Facts) -> str:
    """The page as one string of HTML."""
    css = (resources.files("redtogreen.insight.report") / "style.css").read_text("utf-8")
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>redtogreen: {escape(facts.title)}</title><style>{css}</style></head><body>",
        f"<header><h1>{escape(facts.title)}</h1><p>{escape(sentence(facts))}.</p></header><main>",
        _section("From candidates to rows", charts.funnel(facts.funnel)),
        _section("Outcomes by project", _outcomes("project", facts.by_project)),
    ]
    if facts.by_operator:
        parts.append(_section("Outcomes by operator", _outcomes("operator", facts.by_operator)))
    recipe = f"recipe {facts.recipe}" if facts.recipe else "as recorded"
    parts.append(
        _section(
            "Rewards",
            f"<p>{len(facts.rewards)} of {facts.attempts} attempts carry a reward, {escape(recipe)}.</p>"
            + charts.histogram(facts.rewards, "reward"),
        )
    )
    parts.append(_section("Steps per attempt", charts.histogram([float(count) for count in facts.steps], "steps")))
    for stage, counts in facts.dropped.items():
        parts.append(_section(f"Dropped at {stage}", charts.counts(counts)))
    shown = "".join(_trajectory(row, score) for row, score in facts.shown)
    note = f"<p>{len(facts.shown)} of {facts.attempts} attempts: recoveries first, a few of each outcome.</p>"
    parts.append(_section("Attempts step by step", note + shown if shown else "<p>No attempts.</p>"))
    return "".join([*parts, "</main></body></html>\n"])


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _outcomes(head: str, groups: Mapping[str, Mapping[str, int]]) -> str:
    if not groups:
        return "<p>No attempts.</p>"
    names = sorted({name for counts in groups.values() for name, count in counts.items() if count})
    rows = []
    for group, counts in groups.items():
        judged = sum(counts.get(name, 0) for name in ("solved", "failed", "tampered"))
        rate = share(counts.get("solved", 0), judged)
        rows.append([group, str(sum(counts.values())), *(str(counts.get(name, 0)) for name in names), rate])
    return _table([head, "attempts", *names, "solve rate"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _trajectory(row: Trajectory, score: Score | None) -> str:
    shown = notable_steps(row, STEPS_SHOWN)
    views = step_views(row, score, lines=LINES, characters=CHARACTERS, only=shown)
    steps = "".join(map(_step, views))
    if hidden := len(row.trajectory) - len(shown):
        steps += f"<p>{hidden} steps are left out.</p>"
    mark = "good" if outcome_name(row) == "solved" else "bad"
    return (
        f'<details><summary class="{mark}">{escape(headline(row, score))}</summary>'
        f"<h3>Task</h3><pre>{escape(shorten(row.task_desc, LINES, CHARACTERS))}</pre>"
        f"<h3>Steps</h3>{steps}"
        f"<h3>End</h3><pre>{escape(chr(10).join(ending_lines(row, score)))}</pre>"
        + (f"<h3>Final patch</h3>{_diff(shorten(row.final_state.patch, 120, 8000))}" if row.final_state.patch else "")
        + "</details>"
    )


def _step(view: StepView) -> str:
    reward = ""
    if view.reward is not None:
        mark = "good" if view.reward > 0 else "bad" if view.reward < 0 else "soft"
        reward = f'<span class="{mark} mono">{view.reward:+.4g}</span>'
    parts = [
        '<div class="step"><div class="head">',
        f'<span class="mono">{number(view.number)}</span><span class="tag">{escape(view.stage)}</span>',
        f"<strong{' class=bad' if view.broken else ''}>{escape(view.action)}</strong>",
        f'<span class="mono what">{escape(view.what)}</span>{reward}</div>',
    ]
    for name, text in view.blocks:
        parts.append(f'<div class="label">{escape(name)}</div><pre>{escape(text)}</pre>')
    if view.diff:
        parts.append(f'<div class="label">diff</div>{_diff(view.diff)}')
    if view.feedback:
        parts.append(f'<div class="label">feedback: {escape(view.feedback)}</div>')
    if view.probe:
        parts.append(f'<div class="label">probe: {escape(view.probe)}</div>')
    return "".join([*parts, "</div>"])


def _diff(text: str) -> str:
    lines = []
    for line in text.split("\n"):
        kind = {"+": "plus", "-": "minus", "@": "at"}.get(line[:1])
        lines.append(f'<span class="{kind}">{escape(line)}</span>' if kind else escape(line))
    return "<pre>" + "\n".join(lines) + "</pre>"
