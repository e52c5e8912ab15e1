"""Keep or drop, each with a reason: rules in the order of a recipe, rejects kept apart."""

from redtogreen.data.cleaning.recipe import CleaningRecipe, list_cleaning_recipes, load_cleaning_recipe
from redtogreen.data.cleaning.row import Row, Scorer
from redtogreen.data.cleaning.rules import Rule, make_rule, rule_names
from redtogreen.data.cleaning.running import CleaningResult, clean
from redtogreen.data.cleaning.writing import CleaningSummary, write_cleaned

__all__ = [
    "CleaningRecipe",
    "CleaningResult",
    "CleaningSummary",
    "Row",
    "Rule",
    "Scorer",
    "clean",
    "list_cleaning_recipes",
    "load_cleaning_recipe",
    "make_rule",
    "rule_names",
    "write_cleaned",
]
