"""`score` and `recipe`: rewards from stored data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from redtogreen.cli.options import DEFAULT_DATASETS, Datasets, Input, Json, Lenient, Recipe, among, tell_reading
from redtogreen.cli.output import emit, lead, say


def add_to(app: typer.Typer, group: Callable[[str], typer.Typer]) -> None:
    app.command("score")(score)
    recipes = group("Reward recipes: which components count, and how much.")
    recipes.command("list")(list_recipes)
    recipes.command("show")(show_recipe)
    app.add_typer(recipes, name="recipe")


def score(
    source: Input,
    recipe: Recipe = "default",
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="COMPONENT", help="Leave a component out; may be given several times."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the scores as JSON lines. A run keeps them itself.")
    ] = None,
    datasets: Datasets = DEFAULT_DATASETS,
    lenient: Lenient = False,
    as_json: Json = False,
) -> None:
    """Compute rewards again, from stored data only. Exit 1: a row could not be read; the others are scored."""
    from redtogreen import pipeline
    from redtogreen.insight.scores import scores_data, scores_text

    if warning := pipeline.load_recipe(recipe).warning:
        say(f"warning: {warning}")
    reading = pipeline.Reading(lenient=lenient, go_on=True)
    scores = pipeline.score_input(source, recipe, without=without or (), out=out, datasets=datasets, reading=reading)
    tell_reading(reading.moved, reading.broken)
    emit({**scores_data(scores), "broken": len(reading.broken)}, as_json, lambda: scores_text(scores))
    if scores:
        where = among(datasets)
        lead(
            as_json,
            f"show {source} 1 --recipe {recipe}{where}",
            f"clean {source} --reward-recipe {recipe}{where} --out DIR",
        )
    if reading.broken:
        raise typer.Exit(1)


def list_recipes(as_json: Json = False) -> None:
    """Built-in reward recipes."""
    from redtogreen.insight.tables import table
    from redtogreen.rewards import list_recipes as names
    from redtogreen.rewards import load_recipe

    found = [load_recipe(name) for name in names()]
    rows = [{"name": recipe.name, "version": recipe.version, "summary": recipe.summary} for recipe in found]
    emit(
        {"recipes": rows},
        as_json,
        lambda: table(list(rows[0]), [list(row.values()) for row in rows], left=3, limit=120),
    )
    lead(as_json, "recipe show NAME")


def show_recipe(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A built-in recipe, or a .toml file.")],
    as_json: Json = False,
) -> None:
    """A reward recipe: its components with weight, range and meaning."""
    from redtogreen.insight.scores import recipe_data, recipe_text
    from redtogreen.rewards import load_recipe

    data = recipe_data(load_recipe(name))
    emit(data, as_json, lambda: recipe_text(data))
    lead(as_json, f"score INPUT --recipe {name}")
