"""What is found out about a project without running any of it."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import zipfile

import pytest

from redtogreen.errors import TaskError, UsageError
from redtogreen.execution.environments import archives, open_project

TEST = "def test_a(): pass\n"


def test_a_flat_project(write, tmp_path):
    root = write(
        {
            "pyproject.toml": """
                [project]
                name = "Thing.Box"
                version = "2.1"
                license = "MIT"
                dependencies = ["attrs>=20"]
                [project.optional-dependencies]
                test = ["freezegun"]
                docs = ["sphinx"]
                [project.scripts]
                thing = "thing:main"
            """,
            "thing/__init__.py": "def main(): pass\n",
            "thing/core.py": "X = 1\n",
            "thing/_vendor/six.py": "X = 1\n",
            "thing/_version.py": "X = 1\n",
            "thing/tests/test_core.py": TEST,
            "thing/tests/__init__.py": "",
            "thing/conftest.py": "",
            "docs/conf.py": "X = 1\n",
            "docs/__init__.py": "",
            "setup.py": "raise SystemExit('never run')\n",
            "noxfile.py": "",
            "build/lib/thing/core.py": "X = 1\n",
            ".hidden/x.py": "X = 1\n",
        }
    )
    project = open_project(root, tmp_path / "work")
    assert (project.name, project.version, project.license, project.origin) == ("thing-box", "2.1", "MIT", "folder")
    assert project.import_roots == ["."]
    assert project.packages == ["thing"]
    assert project.test_paths == ["thing/tests"]
    assert project.source_files == ["thing/__init__.py", "thing/core.py"]
    assert project.requirements == ["attrs>=20"]
    assert project.test_requirements == ["freezegun"]
    assert project.entry_points == {"console_scripts": {"thing": "thing:main"}}


def test_a_src_project_with_a_module_and_configured_tests(write, tmp_path):
    root = write(
        {
            "setup.cfg": "[metadata]\nname = one\n[options]\npackage_dir =\n    = src\ninstall_requires =\n    six\n"
            "[options.extras_require]\ntests =\n    mock>=1\n",
            "tox.ini": "[pytest]\ntestpaths = checks\npython_files = check_*.py\n",
            "src/one/__init__.py": "__version__ = '3.4.5'\n",
            "src/two.py": "X = 1\n",
            "checks/check_one.py": TEST,
            "other/test_no.py": TEST,
            "helper/__init__.py": "",
        }
    )
    project = open_project(root, tmp_path / "work")
    assert project.import_roots == ["src", "."]
    assert project.packages == ["one", "two"]
    assert project.source_files == ["src/one/__init__.py", "src/two.py"]
    assert project.test_paths == ["checks/check_one.py"]
    assert (project.version, project.requirements, project.test_requirements) == ("3.4.5", ["six"], ["mock>=1"])


def test_setup_py_is_read_but_never_run(write, tmp_path):
    root = write(
        {
            "setup.py": f"""
                import pathlib
                from setuptools import setup
                pathlib.Path({str(tmp_path / "ran")!r}).write_text("x")
                setup(name="old", version="0.9", install_requires=["six"], package_dir={{"": "lib"}}, packages=find())
            """,
            "lib/old/__init__.py": "X = 1\n",
            "tests/test_old.py": TEST,
        }
    )
    project = open_project(root, tmp_path / "work")
    assert (project.name, project.version, project.requirements) == ("old", "0.9", ["six"])
    assert project.import_roots == ["lib", "."]
    assert not (tmp_path / "ran").exists()


def test_pkg_info_gives_what_pyproject_leaves_open(write, tmp_path):
    root = write(
        {
            "pyproject.toml": '[project]\nname = "thing"\ndynamic = ["version"]\n',
            "PKG-INFO": "Metadata-Version: 2.1\nName: thing\nVersion: 7.0\nLicense: BSD\nRequires-Dist: six\n"
            "Requires-Dist: mock; extra == 'test'\nRequires-Dist: old; python_version < '3'\n\ntext\n",
            "thing.py": "X = 1\n",
            "test_thing.py": TEST,
        }
    )
    project = open_project(root, tmp_path / "work")
    assert (project.version, project.license, project.packages) == ("7.0", "BSD", ["thing"])
    assert (project.requirements, project.test_requirements) == (["six"], ["mock"])


def test_groups_files_and_own_extras_are_followed(write, tmp_path):
    root = write(
        {
            "pyproject.toml": """
                [project]
                name = "thing"
                [project.optional-dependencies]
                testing = ["thing[extra]", "pytest"]
                extra = ["thing[testing]", "mock"]
                [dependency-groups]
                tests = [{include-group = "base"}, "freezegun", "tox", "pytest-cov", "bad requirement !!"]
                base = ["six ; python_version >= '3'", {include-group = "tests"}]
            """,
            "requirements/test.txt": "-r more.txt\n-e .\nparameterized  # why\n",
            "requirements/more.txt": "pretend==1.0 --hash=sha256:00\n-r ../../../outside.txt\n",
            "thing.py": "X = 1\n",
            "test_thing.py": TEST,
        }
    )
    (tmp_path / "outside.txt").write_text("leaked\n")
    project = open_project(root, tmp_path / "work")
    assert sorted(project.test_requirements) == [
        "freezegun",
        "mock",
        "parameterized",
        "pretend==1.0",
        "pytest",
        "six",
    ]
    assert any("bad requirement" in note for note in project.notes)


def test_without_tests_or_package_it_is_refused(write, tmp_path):
    with pytest.raises(TaskError, match=r"has no tests"):
        open_project(write({"thing.py": "X = 1\n", "tests/helper.py": "X = 1\n"}), tmp_path / "work")
    with pytest.raises(TaskError, match="no Python package"):
        open_project(write({"readme.txt": "hello"}, "empty"), tmp_path / "work")
    with pytest.raises(UsageError, match="does not exist"):
        open_project(tmp_path / "nowhere", tmp_path / "work")
    with pytest.raises(UsageError, match="neither a folder nor"):
        open_project(write({"a.txt": ""}, "file") / "a.txt", tmp_path / "work")
    with pytest.raises(TaskError, match="not valid TOML"):
        open_project(write({"pyproject.toml": "[["}, "toml"), tmp_path / "work")


def test_files_that_are_not_text_or_not_python_do_not_stop_it(write, tmp_path):
    root = write({"thing/__init__.py": "X = 1\n", "thing/broken.py": "def (:\n", "tests/test_thing.py": TEST})
    (root / "thing/latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nX = '\xe9'\n")
    (root / "setup.py").write_bytes(b"\xff\xfe\x00")
    (root / "loop").symlink_to(root)
    project = open_project(root, tmp_path / "work")
    assert project.source_files == ["thing/__init__.py", "thing/broken.py", "thing/latin.py"]


# ---- git


def git(root, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def test_of_a_git_checkout_only_tracked_files_count(write, tmp_path):
    root = write({"thing.py": "X = 1\n", "tests/test_thing.py": TEST, "gone.py": "X = 1\n"}, "checkout")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    write({"scratch.py": "X = 1\n", "thing.py": "X = 2\n", "test_mine.py": TEST}, "checkout")
    (root / "gone.py").unlink()
    project = open_project(root, tmp_path / "work")
    assert project.origin == "git"
    assert project.root != root
    assert project.source_files == ["thing.py"]
    assert project.test_paths == ["tests"]
    assert (project.root / "thing.py").read_text() == "X = 2\n"
    assert not (project.root / ".git").exists()


def test_the_configuration_of_a_git_checkout_runs_nothing(write, tmp_path):
    root = write({"thing.py": "X = 1\n", "test_thing.py": TEST}, "checkout")
    git(root, "init", "-q")
    git(root, "add", "-A")
    marker = tmp_path / "marker"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "filter.x.clean", "diff.external"):
        git(root, "config", key, str(program))
    marker.unlink(missing_ok=True)
    assert open_project(root, tmp_path / "work").origin == "git"
    assert not marker.exists()


# ---- archives


def tar_of(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, tuple):
                member.type, member.linkname = content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return path


SDIST = {"thing-1.0/thing.py": b"X = 1\n", "thing-1.0/tests/test_thing.py": TEST.encode()}


def test_a_source_archive(tmp_path):
    project = open_project(tar_of(tmp_path / "thing-1.0.tar.gz", SDIST), tmp_path / "work")
    assert (project.origin, project.name, project.source_files) == ("sdist", "thing", ["thing.py"])
    again = open_project(tmp_path / "thing-1.0.tar.gz", tmp_path / "work")
    assert again.root == project.root


def test_a_tar_cannot_write_outside(tmp_path):
    members = {
        **SDIST,
        "../outside.txt": b"x",
        "/thing-1.0/absolute.txt": b"x",
        "thing-1.0/link": (tarfile.SYMTYPE, "../../outside"),
        "thing-1.0/link/deep.txt": b"x",
        "thing-1.0/fifo": (tarfile.FIFOTYPE, ""),
    }
    project = open_project(tar_of(tmp_path / "thing-1.0.tar.gz", members), tmp_path / "work")
    assert not (tmp_path / "outside.txt").exists()
    assert not (tmp_path / "outside").exists()
    assert not os.path.exists("/thing-1.0/absolute.txt")
    assert not os.path.lexists(project.root / "fifo")
    assert len(project.notes) == 3


def test_a_zip_cannot_write_outside(tmp_path):
    with zipfile.ZipFile(tmp_path / "thing-1.0.zip", "w") as archive:
        for name, content in SDIST.items():
            archive.writestr(name, content)
        archive.writestr("../outside.txt", "x")
        link = zipfile.ZipInfo("thing-1.0/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc")
    project = open_project(tmp_path / "thing-1.0.zip", tmp_path / "work")
    assert not (tmp_path / "outside.txt").exists()
    assert not os.path.lexists(project.root / "link")
    assert len(project.notes) == 2


def test_damaged_and_huge_archives_are_refused(tmp_path, monkeypatch):
    whole = tar_of(tmp_path / "thing-1.0.tar.gz", {**SDIST, "thing-1.0/noise": os.urandom(50_000)}).read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[:2000])
    (tmp_path / "noise.zip").write_bytes(b"no zip")
    for name in ("cut.tar.gz", "noise.zip"):
        with pytest.raises(TaskError, match="cannot be unpacked"):
            open_project(tmp_path / name, tmp_path / "work")
    monkeypatch.setattr(archives, "LARGEST", 40_000)
    with pytest.raises(TaskError, match="unpacks to more than"):
        open_project(tmp_path / "thing-1.0.tar.gz", tmp_path / "work")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("thing/bomb", b"0" * 1_000_000)
    with pytest.raises(TaskError, match="unpacks to more than"):
        open_project(tmp_path / "bomb.zip", tmp_path / "work")
