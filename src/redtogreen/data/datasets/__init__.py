"""Immutable, content-addressed dataset versions: built, read, compared, made again."""

from redtogreen.data.datasets.building import build_dataset
from redtogreen.data.datasets.comparing import Comparison, DatasetDiff, diff, rebuild
from redtogreen.data.datasets.manifest import Manifest, dataset_names, versions
from redtogreen.data.datasets.reading import Dataset, card, load_dataset

__all__ = [
    "Comparison",
    "Dataset",
    "DatasetDiff",
    "Manifest",
    "build_dataset",
    "card",
    "dataset_names",
    "diff",
    "load_dataset",
    "rebuild",
    "versions",
]
