"""The red team's scoreboard as people read it."""

from __future__ import annotations

from redtogreen.insight.tables import table
from redtogreen.insight.texts import number, one_line, share
from redtogreen.redteam.scoreboard import HonestRow, Row, Scoreboard

MOST_ROWS = 200


def scoreboard_text(board: Scoreboard) -> str:
    """Counts, weaker graders beside ours, attacks by task shape, and whatever should not be."""
    counted = len(board.counted)
    rejected = [row for row in board.honest_rows if row.rejected]
    lines = [
        f"attacks that somebody pays: {counted}; paid here: {len(board.paid)}, of groups A and B: "
        f"{len(board.paid_in_reach)}; detected: {len(board.detected)}",
        f"honest variants: {len(board.honest_rows)}; refused: {len(rejected)}",
    ]
    if board.recipe is not None:
        lines.append(f"paid means: recipe {board.recipe} gives more than for doing nothing")
    parts = ["\n".join(lines)]
    if board.baselines:
        graders = [("this grader", len(board.paid)), *board.baselines.items()]
        parts.append(table(["grader", "attacks paid", "share"], [(n, c, share(c, counted)) for n, c in graders]))
    if board.rows:
        parts.append(_attacks(board))
    paid = [row for row in board.rows if row.paid]
    if paid:
        parts.append(
            table(
                ["paid", "group", "task", "reward", "what would be needed"],
                [(r.attack, r.group, _place(r), number(r.reward), r.open or "-") for r in paid[:MOST_ROWS]],
                left=3,
                limit=100,
            )
        )
    if rejected:
        rows = [(row.kind, row.shape, row.outcome, _why(row)) for row in rejected[:MOST_ROWS]]
        parts.append(table(["honest but refused", "task", "outcome", "why"], rows, left=4, limit=120))
    if board.uncounted:
        parts.append("paid by nobody, so they prove nothing: " + ", ".join(board.uncounted))
    if board.untried:
        parts.append("tried on none of these tasks: " + ", ".join(board.untried))
    if board.lost:
        first = one_line(board.lost[0].error or board.lost[0].outcome, 200)
        parts.append(f"not judged for the machine's fault: {len(board.lost)}; the first: {first}")
    if board.skipped:
        parts.append("\n".join(f"left out: {task}: {one_line(why, 160)}" for task, why in board.skipped.items()))
    return "\n\n".join(parts)


def _attacks(board: Scoreboard) -> str:
    """One line per attack, one column per task shape."""
    shapes = list(dict.fromkeys(row.shape for row in board.rows))
    cells: dict[tuple[str, str], list[Row]] = {}
    for row in board.rows:
        cells.setdefault((row.attack, row.shape), []).append(row)
    attacks = {row.attack: row for row in board.rows}
    rows = []
    for name, any_row in list(attacks.items())[:MOST_ROWS]:
        pays = sorted({grader for row in board.rows if row.attack == name for grader in _paying(row)})
        shown = [_cell(cells.get((name, shape), [])) for shape in shapes]
        rows.append((name, any_row.number, any_row.group, *shown, ", ".join(pays) or "-"))
    return table(["attack", "no.", "group", *shapes, "weaker graders that pay"], rows)


def _cell(rows: list[Row]) -> str:
    """What became of one attack on the tasks of one shape; the worst of it."""
    said = {"PAID" if row.paid else row.outcome for row in rows}
    order = ["PAID", "lost", "grader_error", "environment_error", "tampered", "solved", "failed", "not_built"]
    return next((word for word in order if word in said), "-")


def _paying(row: Row) -> list[str]:
    return [name for name, pays in row.baselines.items() if pays]


def _place(row: Row) -> str:
    return row.task_id if row.shape == "own" else row.shape


def _why(row: HonestRow) -> str:
    found = [f"{item.kind}: {item.evidence}" for item in row.findings if item.status == "succeeded"]
    return "; ".join(found) or row.error or "reward tests fail"
