"""`clean`, `dataset` and `export`: from attempts to what a trainer loads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from redtogreen.cli.options import DEFAULT_DATASETS, Datasets, Input, Json, Lenient, Seed, among, tell_reading
from redtogreen.cli.output import emit, lead, say

Name = Annotated[str, typer.Argument(metavar="DATASET", help="NAME/VERSION, or NAME for its newest version.")]


def add_to(app: typer.Typer, group: Callable[[str], typer.Typer]) -> None:
    app.command("clean")(clean)
    datasets = group("Datasets: immutable versions with everything needed to make them again.")
    for name, command in (("build", build), ("show", show), ("diff", diff), ("rebuild", rebuild), ("card", card)):
        datasets.command(name)(command)
    app.add_typer(datasets, name="dataset")
    app.command("export")(export)


def clean(
    source: Input,
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder for what is kept and what is rejected.")],
    recipe: Annotated[str, typer.Option(metavar="NAME|FILE", help="Cleaning recipe.")] = "default",
    reward_recipe: Annotated[str, typer.Option(metavar="NAME|FILE", help="Reward recipe the rules ask.")] = "default",
    datasets: Datasets = DEFAULT_DATASETS,
    lenient: Lenient = False,
    as_json: Json = False,
) -> None:
    """Keep or drop each row with a reason; rejects are kept apart."""
    from redtogreen import pipeline
    from redtogreen.insight.tables import table

    reading = pipeline.Reading(lenient=lenient)
    result = pipeline.clean(source, out, recipe=recipe, reward_recipe=reward_recipe, datasets=datasets, reading=reading)
    tell_reading(reading.moved, reading.broken)
    data = {
        "total": result.total,
        "kept": len(result.kept),
        "drop_rate": result.drop_rate,
        "dropped": result.dropped,
        "out": out,
    }

    def text() -> str:
        rows = [(rule, came, came - left, left) for rule, came, left in result.funnel]
        parts = [table(["rule", "rows in", "dropped", "rows out"], rows), result.summary()]
        if result.rejected:
            parts.append(f"dropped rows lie whole in {out}/rejected, why each went in {out}/verdicts.jsonl")
        return "\n\n".join(parts)

    emit(data, as_json, text)
    if result.total:
        lead(as_json, f"dataset build {out} --name NAME" if result.kept else f"score {source} --recipe {reward_recipe}")


def build(
    cleaned: Annotated[Path, typer.Argument(metavar="CLEANED", help="A folder written by `redtogreen clean`.")],
    name: Annotated[str, typer.Option(metavar="N", help="Name of the dataset.")],
    datasets: Datasets = DEFAULT_DATASETS,
    eval_share: Annotated[float, typer.Option(help="Share of the rows held out, by whole projects; in [0, 1).")] = 0.2,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Make an immutable dataset version from cleaned rows."""
    from redtogreen import pipeline

    made = pipeline.build_dataset(cleaned, name, datasets, eval_share=eval_share, seed=seed)
    for note in made.notes:
        say(f"note: {note}")
    data = {"name": made.name, "version": made.version, "hash": made.hash, "rows": made.rows, "reused": made.reused}

    def text() -> str:
        rows = ", ".join(f"{count} {split}" for split, count in made.rows.items())
        again = "  (this content was there already)" if made.reused else ""
        return f"{made.ref}: {rows}{again}\n{made.hash}"

    emit(data, as_json, text)
    where = among(datasets)
    lead(as_json, f"dataset show {made.ref}{where}", f"export trl-sft {made.ref}{where} --out {made.name}-trl")


def show(dataset: Name, datasets: Datasets = DEFAULT_DATASETS, as_json: Json = False) -> None:
    """What a dataset version holds and where it comes from."""
    from redtogreen.data.datasets import load_dataset
    from redtogreen.insight.datasets import manifest_text

    manifest = load_dataset(dataset, datasets).manifest
    emit(manifest, as_json, lambda: manifest_text(manifest))
    where = among(datasets)
    lead(as_json, f"show {manifest.ref} 1{where}", f"export trl-sft {manifest.ref}{where} --out {manifest.name}-trl")


def diff(first: Name, second: Name, datasets: Datasets = DEFAULT_DATASETS, as_json: Json = False) -> None:
    """What changed from one version to another. Exit 1: something did."""
    from redtogreen.data.datasets import diff as compare
    from redtogreen.insight.datasets import diff_text

    found = compare(first, second, datasets)
    emit(found, as_json, lambda: diff_text(found))
    if not found.same:
        raise typer.Exit(1)


def rebuild(dataset: Name, datasets: Datasets = DEFAULT_DATASETS, as_json: Json = False) -> None:
    """Make a version again from its manifest and compare it byte for byte. Exit 1: it differs."""
    from redtogreen.data.datasets import rebuild as again
    from redtogreen.insight.datasets import comparison_text

    found = again(dataset, datasets)
    emit(found, as_json, lambda: comparison_text(found))
    if not found.same:
        raise typer.Exit(1)
    lead(as_json, f"dataset show {found.ref}{among(datasets)}")


def card(dataset: Name, datasets: Datasets = DEFAULT_DATASETS, as_json: Json = False) -> None:
    """The dataset card, as Markdown."""
    from redtogreen.data.datasets import load_dataset

    text = load_dataset(dataset, datasets).card()
    emit({"dataset": dataset, "card": text}, as_json, lambda: text)
    lead(as_json, f"export trl-sft {dataset}{among(datasets)} --out DIR")


def export(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help="Format: see `redtogreen list exports`.")],
    dataset: Name,
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder for the files.")],
    datasets: Datasets = DEFAULT_DATASETS,
    as_json: Json = False,
) -> None:
    """Write a dataset as a trainer loads it."""
    from redtogreen import pipeline
    from redtogreen.insight.tables import table

    made = pipeline.export(form, dataset, out, datasets)
    data = {"format": form, "dataset": dataset, "out": out, **made}

    def text() -> str:
        left_out = [f"left out, {reason}: {count}" for reason, count in made.get("left_out", {}).items() if count]
        return "\n".join([table(["file", "rows"], list(made["rows"].items()), limit=120), *left_out, "", f"in {out}"])

    emit(data, as_json, text)
    lead(as_json, "list exports    (how a trainer loads each: docs/exports.md)")
