"""Dataset versions: immutable, the same content has the same hash, made again bit for bit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from redtogreen.data.datasets import build_dataset, card, dataset_names, diff, load_dataset, rebuild, versions
from redtogreen.data.datasets.manifest import read_manifest
from redtogreen.errors import RecordError, RedToGreenError, UsageError
from redtogreen.records import encode


def some_rows(make, **changes):
    rows = [
        make.row(f"{project}/t{task}", n) for project in ("alpha", "beta", "gamma") for task in (1, 2) for n in (0, 1)
    ]
    rows += [make.row("alpha/t1", 5, "failed"), make.row("beta/t2", 5, "tampered")]
    for row in rows:
        for name, value in changes.items():
            setattr(row.metadata, name, value)
    return rows


@pytest.fixture
def built(make, tmp_path: Path):
    cleaned = make.cleaned(tmp_path / "cleaned", some_rows(make))
    return cleaned, tmp_path / "datasets", build_dataset(cleaned, "demo", tmp_path / "datasets")


def test_a_version_holds_every_row_once_and_no_project_twice(make, built) -> None:
    cleaned, root, manifest = built
    assert manifest.ref == "demo/v1" and sum(manifest.rows.values()) == 14 and manifest.rows["eval"] > 0
    dataset = load_dataset("demo/v1", root)
    by_split = {split: {row.task_id.split("/")[0] for row in dataset.rows(split)} for split in manifest.splits}
    assert not by_split["train"] & by_split["eval"] and by_split["train"] | by_split["eval"] == {
        "alpha",
        "beta",
        "gamma",
    }
    kept = sorted((cleaned / "kept.jsonl").read_bytes().splitlines())
    assert sorted(encode(row) for row in dataset.rows()) == kept


def test_shards_are_named_by_their_bytes_and_hold_columns_to_filter_by(built) -> None:
    _, root, manifest = built
    for shard in manifest.shards:
        path = root / "shards" / f"{shard}.parquet"
        table = pq.read_table(path)
        assert {"row_id", "task_id", "outcome", "reward", "steps", "row"} <= set(table.column_names)
        assert table.num_rows == manifest.shards[shard].rows and path.stat().st_size == manifest.shards[shard].bytes
        assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"


def test_the_hash_ignores_clocks_and_durations_and_the_order_of_rows(make, tmp_path: Path, built) -> None:
    _, _, manifest = built
    rows = some_rows(make, started="2031-05-05", seconds=77.0, sandbox={"tier": 1}, recorder="9.9")
    for row in rows:
        for step in row.trajectory:
            step.seconds = 12.5
    again = build_dataset(make.cleaned(tmp_path / "c2", rows[::-1]), "demo", tmp_path / "other")
    assert again.hash == manifest.hash


def test_another_action_reward_or_split_is_another_hash(make, tmp_path: Path, built) -> None:
    cleaned, root, manifest = built
    rows = some_rows(make)
    rows[0].trajectory[0].params["new_content"] += "!"
    hashes = {
        manifest.hash,
        build_dataset(make.cleaned(tmp_path / "c2", rows), "demo", root).hash,
        build_dataset(cleaned, "demo", root, eval_share=0.0).hash,
    }
    assert len(hashes) == 3 and versions(root, "demo") == ["v1", "v2", "v3"]


def test_the_same_content_is_the_same_version(built) -> None:
    cleaned, root, manifest = built
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    again = build_dataset(cleaned, "demo", root)
    assert again.reused and again.ref == manifest.ref and again.hash == manifest.hash
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_versions_count_up_and_never_change(make, tmp_path: Path, built) -> None:
    _, root, _ = built
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    for number in range(2, 12):
        rows = [make.row("alpha/t1", n) for n in range(number)]
        assert build_dataset(make.cleaned(tmp_path / f"c{number}", rows), "demo", root).version == f"v{number}"
    assert load_dataset("demo", root).manifest.version == "v11"
    assert all(path.read_bytes() == content for path, content in before.items())


def test_tasks_marked_for_evaluation_pull_their_whole_project_out_of_train(make, tmp_path: Path) -> None:
    rows = some_rows(make)
    rows[0].extra = {"use": "eval"}
    manifest = build_dataset(make.cleaned(tmp_path / "c", rows), "demo", tmp_path / "d")
    assert "alpha" in manifest.splits["eval"].projects and "alpha" not in manifest.splits["train"].projects


def test_the_manifest_and_the_card_say_where_everything_comes_from(make, tmp_path: Path) -> None:
    rows = some_rows(make)
    for row in rows[:3]:
        row.extra = {"license": "BSD-3-Clause"}
    root = tmp_path / "d"
    build_dataset(make.cleaned(tmp_path / "c", rows), "demo", root)
    manifest = read_manifest(root / "demo" / "v1")
    assert manifest.licences == {"BSD-3-Clause": 3, "not stated": 11}
    assert manifest.outcomes == {"failed": 1, "solved": 12, "tampered": 1}
    assert manifest.counts["rows"] == 14 and manifest.counts["solved"] == 12 and manifest.counts["coding_steps"] == 42
    assert manifest.statistics["reward"] == {"mean": 12 / 14, "min": 0.0, "max": 1.0}
    assert manifest.funnel[0].rows_in == 14 and manifest.sources[0].path == "in.jsonl"
    assert manifest.built_from.path == "../c"
    for use in ("cleaning", "reward"):
        assert (root / "demo" / "v1" / manifest.recipes[use].file).is_file()
    text = card("demo/v1", root)
    head, body = text.split("---\n")[1:3]
    assert 'license:\n- "bsd-3-clause"\n' in head and "- n<1K" in head
    for path in (line.split("- ")[1] for line in head.splitlines() if ".parquet" in line):
        assert (root / "demo" / "v1" / path).is_file()
    for word in (manifest.hash, "| train |", "BSD-3-Clause", "failures_share", "redtogreen dataset rebuild demo/v1"):
        assert word in body


def test_rebuilding_gives_the_same_bytes(built) -> None:
    _, root, manifest = built
    result = rebuild("demo/v1", root)
    assert (result.how, result.same, result.found_hash) == ("rebuilt", True, manifest.hash)
    assert set(result.shards.values()) == {"same"} and result.notes == []
    assert sorted(path.name for path in root.iterdir()) == ["demo", "shards"]


def test_a_moved_datasets_folder_is_still_checked(tmp_path: Path, built) -> None:
    """The cleaned rows are gone: the stored files are checked, and the result says that this is all."""
    cleaned, root, _ = built
    shutil.rmtree(cleaned)
    result = rebuild("demo/v1", root)
    assert (result.how, result.same, result.found_hash) == ("verified", True, None)
    assert "is gone" in result.notes[0]


def test_changed_cleaned_rows_are_noticed(built) -> None:
    cleaned, root, _ = built
    with open(cleaned / "kept.jsonl", "ab") as file:
        file.write(b"\n")
    result = rebuild("demo/v1", root)
    assert result.how == "verified" and "not what the version was made of" in result.notes[0]


@pytest.mark.parametrize("harm", ["missing", "damaged"])
def test_a_harmed_shard_is_named_by_rebuild_and_by_reading(built, harm: str) -> None:
    _, root, manifest = built
    shard = manifest.splits["train"].selection[0].shard
    path = root / "shards" / f"{shard}.parquet"
    content = path.read_bytes()
    path.unlink()
    if harm == "damaged":
        path.write_bytes(content[: len(content) // 2])
    result = rebuild("demo/v1", root)
    assert not result.same and result.shards[shard] == harm
    with pytest.raises(RecordError, match=f"{shard}.parquet is {harm}"):
        list(load_dataset("demo/v1", root).rows())


def test_one_flipped_bit_in_a_shard_is_noticed(built) -> None:
    _, root, manifest = built
    shard = manifest.splits["train"].selection[0].shard
    path = root / "shards" / f"{shard}.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)
    result = rebuild("demo/v1", root)
    assert not result.same and result.shards[shard] == "damaged"


@pytest.mark.parametrize("field", ["outcomes", "licences", "notes", "counts", "built_from", "sources", "seed"])
def test_a_manifest_changed_by_hand_is_refused_and_rebuild_names_the_field(built, field: str) -> None:
    _, root, manifest = built
    path = root / "demo" / "v1" / "manifest.json"
    raw = json.loads(path.read_text())
    path.write_text(json.dumps(raw, indent=4))
    assert load_dataset("demo/v1", root).manifest == manifest, "another layout is the same manifest"
    changed = {"notes": ["all licences were checked"], "sources": [], "seed": 5}.get(field)
    changed = (
        changed
        if changed is not None
        else {**raw[field], next(iter(raw[field])): type(next(iter(raw[field].values())))()}
    )
    path.write_text(json.dumps(raw | {field: changed}))
    with pytest.raises(RecordError, match=r"manifest.json was changed after it was written"):
        load_dataset("demo/v1", root)
    result = rebuild("demo/v1", root)
    assert not result.same and "was changed" in result.notes[0]
    raw.pop("digest")
    path.write_text(json.dumps(raw | {field: changed}))
    if field not in ("built_from", "seed"):
        result = rebuild("demo/v1", root)
        assert not result.same and result.notes == [f"`{field}` in manifest.json is not what comes out again"]


def test_a_split_that_is_no_name_is_an_error_that_names_the_file(built) -> None:
    _, root, _ = built
    path = root / "demo" / "v1" / "manifest.json"
    raw = json.loads(path.read_text())
    raw["splits"]["a\0b"] = raw["splits"].pop("train")
    path.write_text(json.dumps(raw))
    with pytest.raises(RecordError, match=r"manifest.json: splits: 'a\\x00b' cannot name a split"):
        load_dataset("demo/v1", root)


def test_cleaned_rows_changed_by_hand_are_not_built_from(make, tmp_path: Path) -> None:
    cleaned = make.cleaned(tmp_path / "c", some_rows(make))
    for name, old, new in (
        ("kept.jsonl", b'"reward":1.0', b'"reward":9.0'),
        ("cleaning.json", b'"total": 14', b'"total": 15'),
    ):
        before = (cleaned / name).read_bytes()
        assert old in before
        (cleaned / name).write_bytes(before.replace(old, new))
        with pytest.raises(RedToGreenError, match=f"{name} (was )?changed after"):
            build_dataset(cleaned, "demo", tmp_path / "d")
        (cleaned / name).write_bytes(before)
    assert build_dataset(cleaned, "demo", tmp_path / "d").version == "v1"


def test_diff_names_what_came_went_changed_and_moved(make, tmp_path: Path) -> None:
    root = tmp_path / "d"
    rows = some_rows(make)
    build_dataset(make.cleaned(tmp_path / "c1", rows), "demo", root)
    changed = rows[1:]
    changed[0].trajectory[0].params["new_content"] = "other"
    changed.append(make.row("alpha/t9", 0))
    build_dataset(make.cleaned(tmp_path / "c2", changed), "demo", root)
    found = diff("demo/v1", "demo/v2", root)
    assert not found.same and found.settings == {} and found.moved == []
    assert found.added == ["alpha/t9 alpha/t9#0"] and found.removed == ["alpha/t1 alpha/t1#0"]
    assert found.changed == ["alpha/t1 alpha/t1#1"]
    build_dataset(tmp_path / "c2", "demo", root, eval_share=0.0)
    moved = diff("demo/v2", "demo/v3", root)
    assert len(moved.moved) == moved.rows["eval"][0] and moved.rows["eval"][1] == 0
    assert moved.settings == {"eval_share": [0.2, 0.0]}
    assert diff("demo/v2", "demo/v2", root).same


def test_wrong_names_lead_to_the_right_ones(built) -> None:
    cleaned, root, _ = built
    assert dataset_names(root) == ["demo"]
    with pytest.raises(UsageError, match="no dataset 'dmo'") as caught:
        load_dataset("dmo", root)
    assert "'demo'" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="no version 'v7'") as caught:
        load_dataset("demo/v7", root)
    assert "v1" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="no split 'trian'") as caught:
        list(load_dataset("demo", root).rows("trian"))
    assert "'train'" in (caught.value.hint or "")
    for bad in ("", "../x", "shards", "a/b", ".hidden"):
        with pytest.raises(UsageError, match="cannot name a dataset"):
            build_dataset(cleaned, bad, root)


def test_a_folder_without_cleaned_rows_is_refused(make, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no cleaned rows"):
        build_dataset(tmp_path, "demo", tmp_path / "d")
    with pytest.raises(UsageError, match="nothing to build from"):
        build_dataset(make.cleaned(tmp_path / "c", []), "demo", tmp_path / "d")


def test_a_broken_cleaned_row_is_named_and_no_version_appears(make, tmp_path: Path) -> None:
    cleaned = make.cleaned(tmp_path / "c", [make.row("p/a", 0)])
    with open(cleaned / "kept.jsonl", "ab") as file:
        file.write(b'{"task_id": 1}\n')
    with pytest.raises(RecordError, match=r"kept.jsonl:2"):
        build_dataset(cleaned, "demo", tmp_path / "d")
    assert versions(tmp_path / "d", "demo") == []


def test_equal_rows_keep_ids_of_their_own(make, tmp_path: Path) -> None:
    cleaned = tmp_path / "c"
    cleaned.mkdir()
    line = encode(make.row("p/a", 0, attempt=None))
    (cleaned / "kept.jsonl").write_bytes(line + b"\n" + line + b"\n")
    manifest = build_dataset(cleaned, "demo", tmp_path / "d")
    assert len({row for part in manifest.splits["train"].selection for row in part.rows}) == 2
    assert len(list(load_dataset("demo", tmp_path / "d").rows())) == 2
    assert "no cleaning.json" in manifest.notes[-1]


def test_large_splits_are_cut_into_shards(make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redtogreen.data.datasets.shards.MOST_ROWS", 5)
    cleaned = make.cleaned(tmp_path / "c", [make.row("p/a", n) for n in range(12)])
    manifest = build_dataset(cleaned, "demo", tmp_path / "d")
    assert [len(part.rows) for part in manifest.splits["train"].selection] == [5, 5, 2]
    assert len(list(load_dataset("demo", tmp_path / "d").rows("train"))) == 12


def test_a_manifest_from_the_future_is_refused(built) -> None:
    _, root, _ = built
    path = root / "demo" / "v1" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 99}))
    with pytest.raises(RecordError, match="newer redtogreen"):
        load_dataset("demo/v1", root)
