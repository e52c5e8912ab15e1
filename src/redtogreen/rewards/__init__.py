"""Trajectory -> numbers: named components, recipes that weigh them, and credit placed at steps.

Everything is computed from the stored trajectory; no agent, test or sandbox is run.
"""

from redtogreen.rewards.checking import RecipeCheck, check_recipe
from redtogreen.rewards.components import component_names, find_component
from redtogreen.rewards.measurement import Component, Measurement
from redtogreen.rewards.recipe import Recipe, RecipeComponent, list_recipes, load_recipe
from redtogreen.rewards.scoring import score

__all__ = [
    "Component",
    "Measurement",
    "Recipe",
    "RecipeCheck",
    "RecipeComponent",
    "check_recipe",
    "component_names",
    "find_component",
    "list_recipes",
    "load_recipe",
    "score",
]
