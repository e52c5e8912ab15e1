"""The six projects of the corpus, admitted once for all tests of the red team."""

from __future__ import annotations

from pathlib import Path

import pytest

from redtogreen.records import Task
from redtogreen.redteam.shapes import admit_shapes
from redtogreen.store import BlobStore
from redtogreen.tasks import blobs_of


@pytest.fixture(scope="session")
def shape_folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("shapes")


@pytest.fixture(scope="session")
def shape_tasks(shape_folder) -> dict[str, Task]:
    return admit_shapes(shape_folder, workers=2)


@pytest.fixture(scope="session")
def shape_store(shape_folder, shape_tasks) -> BlobStore:
    return blobs_of(shape_folder / "shapes.jsonl")
