"""A project made ready to be measured: its environment, and the tree that sandboxes show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from redtogreen.execution.environments import Environment, Project, build_environment, open_project
from redtogreen.execution.trees import checkout, save_tree, scan_folder
from redtogreen.store import BlobStore


@dataclass(frozen=True)
class Opened:
    project: Project
    environment: Environment
    lower: Path


def opened(path: Path, folder: Path) -> Opened:
    """Build what a folder or source archive needs; `folder` keeps the work."""
    project = open_project(path, folder / f"work-{path.name}")
    store = BlobStore(folder / "blobs")
    tree, _ = scan_folder(project.root, store)
    return Opened(project, build_environment(project), checkout(save_tree(tree, store), store))
