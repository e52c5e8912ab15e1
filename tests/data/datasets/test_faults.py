"""Killed builds, full disks and builders side by side: a version is there whole or not at all."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from redtogreen.data.datasets import build_dataset, load_dataset, rebuild, versions
from redtogreen.errors import EnvironmentUnavailable

BUILD = """
import sys
from pathlib import Path
from redtogreen.data.datasets import build_dataset
manifest = build_dataset(Path(sys.argv[1]), "demo", Path(sys.argv[2]), seed=int(sys.argv[3]))
print(manifest.version, manifest.reused, flush=True)
"""


def start(cleaned: Path, root: Path, seed: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILD, str(cleaned), str(root), str(seed)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def cleaned(make, tmp_path_factory) -> Path:
    rows = [make.row(f"p{n % 4}/t{n % 7}", n, steps=30) for n in range(400)]
    return make.cleaned(tmp_path_factory.mktemp("faults") / "cleaned", rows)


def test_a_killed_build_leaves_no_version_and_the_next_one_tidies_up(cleaned: Path, tmp_path: Path) -> None:
    root = tmp_path / "d"
    draw = random.Random(1)
    caught_midway = 0
    for _ in range(6):
        process = start(cleaned, root)
        while process.poll() is None and not list((root / "demo").glob(".version.writing-*/shards")):
            time.sleep(0.001)
        time.sleep(draw.uniform(0.0, 0.05))
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        caught_midway += any((root / "demo").glob(".version.writing-*"))
        for version in versions(root, "demo"):
            assert rebuild(f"demo/{version}", root).same
    assert caught_midway, "no kill hit a build at work: the test proved nothing"
    manifest = build_dataset(cleaned, "demo", root)
    assert manifest.version == "v1" and rebuild("demo/v1", root).same
    assert sorted(path.name for path in (root / "demo").iterdir()) == ["v1"]
    assert {path.stem for path in (root / "shards").iterdir()} == set(manifest.shards)


def test_builds_side_by_side_do_not_clash(cleaned: Path, tmp_path: Path) -> None:
    """Equal builds end in one version, different ones each in their own."""
    root = tmp_path / "d"
    processes = [start(cleaned, root, seed) for seed in (0, 0, 1, 1)]
    said = [process.communicate()[0].splitlines()[-1].split() for process in processes]
    assert all(process.returncode == 0 for process in processes)
    found = versions(root, "demo")
    hashes = {load_dataset(f"demo/{version}", root).manifest.hash for version in found}
    assert len(found) == len(hashes) == len({version for version, _ in said})
    assert said[0][0] == said[1][0] and said[2][0] == said[3][0]
    assert sorted(reused for _, reused in said).count("False") == len(found)
    assert all(rebuild(f"demo/{version}", root).same for version in found)
    assert sorted(path.name for path in (root / "demo").iterdir()) == found


@pytest.mark.parametrize("limit", [1000, 20_000])
def test_a_file_too_large_for_the_disk_is_an_error_that_names_the_place(
    cleaned: Path, tmp_path: Path, limit: int
) -> None:
    root = tmp_path / "d"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
    try:
        with pytest.raises(EnvironmentUnavailable, match=str(root)):
            build_dataset(cleaned, "demo", root)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert versions(root, "demo") == [] and list((root / "demo").iterdir()) == []
    assert build_dataset(cleaned, "demo", root).version == "v1"
