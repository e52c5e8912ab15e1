"""Manifests and comparisons of dataset versions, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redtogreen.insight.tables import counts_table, table
from redtogreen.insight.texts import number

if TYPE_CHECKING:
    from redtogreen.data.datasets import Comparison, DatasetDiff, Manifest


def manifest_text(manifest: Manifest) -> str:
    """Rows by split, outcomes, cleaning funnel, recipes, licences."""
    parts = [f"{manifest.ref}\n{manifest.hash}"]
    rows = [(name, part.rows, part.tasks, ", ".join(part.projects) or "-") for name, part in manifest.splits.items()]
    parts.append(table(["split", "rows", "tasks", "projects"], rows, left=1))
    parts.append(counts_table("outcome", manifest.outcomes))
    if manifest.funnel:
        funnel = [(step.rule, step.rows_in, step.rows_in - step.rows_out, step.rows_out) for step in manifest.funnel]
        parts.append(table(["rule", "rows in", "dropped", "rows out"], funnel))
    figures = [
        (name, *(number(values.get(key)) for key in ("mean", "min", "max")))
        for name, values in manifest.statistics.items()
    ]
    parts.append(table(["quantity", "mean", "min", "max"], figures))
    parts.append(counts_table("licence", manifest.licences))
    recipes = [(use, recipe.name, recipe.version, recipe.hash[:19]) for use, recipe in manifest.recipes.items()]
    if recipes:
        parts.append(table(["recipe", "name", "version", "hash"], recipes, left=2))
    parts += [f"note: {note}" for note in manifest.notes]
    return "\n\n".join(parts)


def diff_text(found: DatasetDiff) -> str:
    """Rows added, removed, changed and moved."""
    if found.same:
        return f"{found.first} and {found.second} hold the same rows"
    parts = [table(["split", found.first, found.second], [(name, *counts) for name, counts in found.rows.items()])]
    for name in ("added", "removed", "changed", "moved"):
        rows = getattr(found, name)
        if rows:
            more = [f"  and {len(rows) - 20} more; --json names all"] if len(rows) > 20 else []
            parts.append("\n".join([f"{name}: {len(rows)}", *(f"  {row}" for row in rows[:20]), *more]))
    if found.settings:
        parts.append(
            table(["setting", "first", "second"], [(name, *pair) for name, pair in found.settings.items()], left=3)
        )
    return "\n\n".join(parts)


def comparison_text(found: Comparison) -> str:
    """Whether a version came out the same."""
    verdict = (
        "the same, bit for bit" if found.same and found.how == "rebuilt" else "as stored" if found.same else "DIFFERENT"
    )
    parts = [f"{found.ref}: {found.how}, {verdict}", f"stored {found.hash}"]
    if found.found_hash:
        parts.append(f"found  {found.found_hash}")
    parts += [f"shard {shard[:16]}: {state}" for shard, state in found.shards.items() if state != "same"]
    parts += [f"note: {note}" for note in found.notes]
    return "\n".join(parts)
