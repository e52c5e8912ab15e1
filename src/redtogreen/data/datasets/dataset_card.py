"""The README.md of a dataset version: a Hugging Face dataset card with every figure of the manifest."""

from __future__ import annotations

import json

from redtogreen.data.datasets.manifest import SHARDS, Manifest

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def render_card(manifest: Manifest) -> str:
    """The card as text: a YAML header, then sections."""
    return _header(manifest) + "\n" + _body(manifest)


def _header(manifest: Manifest) -> str:
    total = sum(manifest.rows.values())
    size = next((name for limit, name in _SIZES if total < limit), "n>1M")
    licences = [licence.lower() for licence in manifest.licences if licence != "not stated"] or ["unknown"]
    lines = [
        "---",
        f"pretty_name: {json.dumps(manifest.name)}",
        "license:",
        *(f"- {json.dumps(licence)}" for licence in licences),
        "language:",
        "- en",
        "- code",
        "task_categories:",
        "- reinforcement-learning",
        "- text-generation",
        "size_categories:",
        f"- {size}",
        "tags:",
        "- agent-traces",
        "- coding-agent",
        "- tool-use",
        "- redtogreen",
        "configs:",
        "- config_name: default",
        "  data_files:",
    ]
    for split, part in manifest.splits.items():
        if part.selection:
            lines += [f"  - split: {split}", "    path:"]
            lines += [f"    - ../../{SHARDS}/{selection.shard}.parquet" for selection in part.selection]
    return "\n".join([*lines, "---", ""])


def _body(manifest: Manifest) -> str:
    lines = [
        f"# {manifest.ref}",
        "",
        f"Attempts of coding agents, step by step, with rewards. Hash `{manifest.hash}`.",
        "",
    ]
    lines += _table(
        "Splits",
        ("split", "rows", "tasks", "projects"),
        [(name, part.rows, part.tasks, ", ".join(part.projects) or "-") for name, part in manifest.splits.items()],
    )
    lines += ["A project stands in one split only.", ""]
    lines += _table("Counts", ("what", "number"), manifest.counts.items())
    lines += _table("Outcomes", ("outcome", "rows"), manifest.outcomes.items())
    lines += _table(
        "Statistics",
        ("quantity", "mean", "min", "max"),
        [
            (name, *(_figure(values[key]) for key in ("mean", "min", "max")))
            for name, values in manifest.statistics.items()
        ],
    )
    lines += _table("Licences of the code in the rows", ("licence", "rows"), manifest.licences.items())
    lines += _table(
        "Cleaning funnel", ("rule", "in", "out"), [(s.rule, s.rows_in, s.rows_out) for s in manifest.funnel]
    )
    lines += _table(
        "Recipes",
        ("use", "recipe", "version", "copy"),
        [(use, r.name, r.version, f"[{r.file}]({r.file})") for use, r in manifest.recipes.items()],
    )
    lines += _table("Sources", ("path", "rows", "hash"), [(s.path, s.rows, s.hash or "-") for s in manifest.sources])
    if manifest.notes:
        lines += ["## Notes", "", *(f"- {note}" for note in manifest.notes), ""]
    code = ", ".join(f"{name} {version}" for name, version in manifest.code.items())
    lines += [
        "## Make it again",
        "",
        f"Made by {code}, eval share {manifest.eval_share:g}, seed {manifest.seed}, from `{manifest.built_from.path}` "
        "(relative to the datasets folder).",
        "",
        "```",
        f"redtogreen dataset rebuild {manifest.ref} --datasets PATH/OF/DATASETS",
        "```",
        "",
    ]
    return "\n".join(lines)


def _table(title: str, head: tuple[str, ...], rows) -> list[str]:
    rows = list(rows)
    if not rows:
        return []
    cells = [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return [
        f"## {title}",
        "",
        "| " + " | ".join(head) + " |",
        "|" + " --- |" * len(head),
        *("| " + " | ".join(row) + " |" for row in cells),
        "",
    ]


def _figure(number: float | None) -> str:
    return "-" if number is None else f"{number:.4g}"
