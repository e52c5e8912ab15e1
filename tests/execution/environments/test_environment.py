"""Environments: built from data, found again, complete inside the sandbox, and never with a copy of the project."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import stat
from pathlib import Path

import pytest

from redtogreen.errors import EnvironmentUnavailable, RecordError, TaskError
from redtogreen.execution.environments import build_environment, load_environment, open_project, open_workspace
from redtogreen.execution.sandboxes import FileChange
from redtogreen.execution.testruns import run_tests
from redtogreen.execution.trees import checkout, save_tree, scan_folder
from redtogreen.records.canonical import digest
from redtogreen.store import BlobStore

SRC = {
    "pyproject.toml": '[project]\nname = "sample"\nversion = "1.5"\n[project.scripts]\nsay = "sample:main"\n',
    "src/sample/__init__.py": "def double(n):\n    return 2 * n\n\ndef main():\n    print('said')\n",
    "tests/test_double.py": "from sample import double\n\ndef test_double():\n    assert double(3) == 6\n",
}


@pytest.fixture
def start(tmp_path, write, request):
    """start(files): (environment, lower folder) of a project of these files and one more, so that no test finds what
    an earlier one resolved."""

    def start_(files, name="project"):
        project = open_project(write({**files, "NOTES.txt": request.node.name}, name), tmp_path / "work")
        store = BlobStore(tmp_path / "blobs")
        tree, _ = scan_folder(project.root, store)
        return build_environment(project), checkout(save_tree(tree, store), store)

    return start_


def statuses(run):
    return {test: result.status for test, result in run.tests.items()}


def test_in_a_src_layout_the_tests_import_the_changed_file(start):
    """The usual fault: an installed copy is tested, and every mutant passes."""
    environment, lower = start(SRC)
    with open_workspace(environment, lower) as sandbox:
        assert statuses(run_tests(sandbox)) == {"tests/test_double.py::test_double": "passed"}
    mutant = {"src/sample/__init__.py": FileChange("file", b"def double(n):\n    return 3 * n\n")}
    with open_workspace(environment, lower, changes=mutant) as sandbox:
        assert statuses(run_tests(sandbox)) == {"tests/test_double.py::test_double": "failed"}
        found = sandbox.run(["/env/bin/python", "-c", "import sample; print(sample.__file__)"], cwd="/tmp")
        assert found.stdout.text == "/work/src/sample/__init__.py\n"


def test_an_edit_of_the_same_size_within_the_same_second_is_seen(start):
    environment, lower = start(SRC)
    with open_workspace(environment, lower) as sandbox:
        for factor, status in (("3", "failed"), ("2", "passed"), ("4", "failed")):
            text = SRC["src/sample/__init__.py"].replace("2 * n", f"{factor} * n")
            sandbox.write({"src/sample/__init__.py": FileChange("file", text.encode())})
            assert run_tests(sandbox).status("tests/test_double.py::test_double") == status


def test_metadata_and_programs_are_there_without_installing_the_project(start):
    environment, lower = start(SRC)
    site = next(environment.path.glob("lib/python*/site-packages"))
    assert not (site / "sample").exists()
    with open_workspace(environment, lower) as sandbox:
        code = "from importlib.metadata import version; print(version('sample'), version('pytest') > '8')"
        assert sandbox.run(["/env/bin/python", "-c", code]).stdout.text == "1.5 True\n"
        assert sandbox.run(["say"]).stdout.text == "said\n"
        for program in ("pytest", "ruff", "coverage"):
            assert sandbox.run([program, "--version"]).exit_code == 0, program
        assert sandbox.run(["python", "-m", "pytest", "-q"]).exit_code == 0


def test_nothing_of_the_host_can_be_imported_inside(start):
    """Site-packages of the interpreter and of redtogreen's own installation may hold the project's released version."""
    environment, lower = start(SRC)
    with open_workspace(environment, lower) as sandbox:
        for folder in environment.covered:
            assert sandbox.run(["ls", "-A", folder]).stdout.text == "", folder
        for module in ("redtogreen", "msgspec", "numpy", "pip"):
            assert sandbox.run(["/env/bin/python", "-c", f"import {module}"]).exit_code == 1, module
        assert sandbox.run(["touch", "/env/x"]).exit_code != 0


def test_byte_code_of_the_environment_is_used(start):
    environment, lower = start(SRC)
    with open_workspace(environment, lower) as sandbox:
        done = sandbox.run(["/env/bin/python", "-v", "-c", "import _pytest.config"])
    lines = done.stderr.text.splitlines()
    assert [line for line in lines if line.startswith("# code object from '/env/lib")], "read from byte code"
    assert not [line for line in lines if line.startswith("# code object from /env/lib")], "compiled from source"


def test_the_specification_is_the_same_again_and_holds_no_place_of_this_machine(start, write, tmp_path):
    environment, _ = start(SRC)
    shutil.rmtree(environment.path)
    for remembered in environment.path.parent.glob("resolved-*.json"):
        remembered.unlink()
    again, _ = start(SRC, "elsewhere")
    assert again.hash == environment.hash == digest(environment.spec)
    assert again.path == environment.path
    for place in (str(tmp_path), str(Path.home()), os.environ["REDTOGREEN_HOME"]):
        assert place.encode() not in environment.spec
    assert (again.path / "spec.json").read_bytes() == environment.spec


def test_it_comes_back_from_its_specification_alone(start):
    environment, lower = start(SRC)
    assert load_environment(environment.spec) == environment
    shutil.rmtree(environment.path)
    rebuilt = load_environment(environment.spec)
    with open_workspace(rebuilt, lower) as sandbox:
        assert statuses(run_tests(sandbox)) == {"tests/test_double.py::test_double": "passed"}


def test_what_cannot_be_loaded_says_why(start):
    environment, _ = start(SRC)
    data = json.loads(environment.spec)
    with pytest.raises(EnvironmentUnavailable, match=r"needs cpython 2\.7"):
        load_environment(json.dumps({**data, "python": "2.7"}).encode())
    with pytest.raises(RecordError, match="version 99"):
        load_environment(json.dumps({**data, "schema": 99}).encode())
    with pytest.raises(RecordError, match="not the specification"):
        load_environment(b"{}")


def test_permissions_do_not_depend_on_the_umask(start):
    before = os.umask(0o077)
    try:
        files = {**SRC, "pyproject.toml": '[project]\nname = "umask"\nversion = "1"\n'}
        environment, _ = start(files)
    finally:
        os.umask(before)
    for path in [environment.path, *environment.path.rglob("*")]:
        if not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode in ((0o755,) if path.is_dir() else (0o644, 0o755)), (path, oct(mode))


def _load(spec, home, queue):
    os.environ["REDTOGREEN_HOME"] = home
    queue.put(str(load_environment(spec).path))


def test_two_processes_may_build_it_at_once(start):
    environment, _ = start(SRC)
    shutil.rmtree(environment.path)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    workers = [
        context.Process(target=_load, args=(environment.spec, os.environ["REDTOGREEN_HOME"], queue)) for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    found = {queue.get(timeout=120) for _ in workers}
    for worker in workers:
        worker.join()
    assert found == {str(environment.path)}
    assert (environment.path / "spec.json").exists()
    assert not list(environment.path.parent.glob(".making-*"))


# ---- requirements


def needing(*requirements, test="import helper\n\ndef test_a():\n    assert helper.X == 1\n", name="sample", **files):
    listed = ", ".join(f'"{requirement}"' for requirement in requirements)
    return {
        "pyproject.toml": f'[project]\nname = "{name}"\nversion = "1"\n[dependency-groups]\ntest = [{listed}]\n',
        "sample.py": "X = 1\n",
        "tests/test_a.py": test,
    }


def test_declared_requirements_are_pinned_with_what_they_need(start, index):
    index("helper", {"helper.py": "from deeper import X\n"}, version="2.0", requires=("deeper>=1", "pytest"))
    index("deeper", {"deeper.py": "X = 1\n"}, version="1.1")
    environment, lower = start(needing("helper"))
    assert json.loads(environment.spec)["requirements"] == {"deeper": "1.1", "helper": "2.0"}
    with open_workspace(environment, lower) as sandbox:
        assert statuses(run_tests(sandbox)) == {"tests/test_a.py::test_a": "passed"}
    shutil.rmtree(environment.path)
    assert load_environment(environment.spec).hash == environment.hash


def test_modules_the_tests_miss_are_found_out(start, index):
    index("pyyaml", {"yaml/__init__.py": "X = 1\n"})
    index("helper", {"helper.py": "X = 1\n"})
    test = "import yaml\nimport helper\n\ndef test_a():\n    assert helper.X == yaml.X\n"
    environment, _ = start(needing(test=test))
    assert json.loads(environment.spec)["requirements"] == {"helper": "1.0", "pyyaml": "1.0"}
    assert any("pyyaml is added" in note for note in environment.notes)


def test_a_requirement_that_cannot_be_had_is_named(start, index):
    with pytest.raises(EnvironmentUnavailable, match="no-such-helper"):
        start(needing("no-such-helper>=3"))


def test_a_module_nobody_has_is_named(start, index):
    with pytest.raises(TaskError, match="No module named 'helper'") as caught:
        start(needing())
    assert "helper" in caught.value.hint


def test_a_file_that_cannot_be_collected_is_left_out_when_others_can(start, index):
    environment, lower = start({**needing(), "tests/test_b.py": "def test_b(): pass\n"})
    assert any("tests/test_a.py" in note for note in environment.notes)


def test_plugins_of_requirements_are_loaded_and_only_those(start, index):
    plugin = "import pytest\n\n@pytest.fixture\ndef nine():\n    return 9\n"
    index("pytest-nine", {"nine_plugin.py": plugin}, entry_points="[pytest11]\nnine = nine_plugin\n")
    environment, lower = start(needing("pytest-nine", test="def test_a(nine):\n    assert nine == 9\n"))
    assert json.loads(environment.spec)["pytest"] == {"ignore_addopts": False, "plugins": ["nine_plugin"]}
    with open_workspace(environment, lower) as sandbox:
        assert statuses(run_tests(sandbox)) == {"tests/test_a.py::test_a": "passed"}


def test_a_plugin_that_breaks_pytest_is_left_out(start, index):
    index("pytest-bad", {"bad_plugin.py": "raise RuntimeError('bad')\n"}, entry_points="[pytest11]\nbad = bad_plugin\n")
    environment, lower = start(needing("pytest-bad", test="def test_a(): pass\n"))
    assert json.loads(environment.spec)["pytest"]["plugins"] == []
    assert any("bad_plugin" in note for note in environment.notes)


def test_addopts_of_an_unknown_plugin_are_ignored(start):
    files = {**SRC, "pytest.ini": "[pytest]\naddopts = --no-such-option=1\n"}
    environment, lower = start(files)
    assert json.loads(environment.spec)["pytest"]["ignore_addopts"] is True
    with open_workspace(environment, lower) as sandbox:
        assert run_tests(sandbox).exit_status == 0


def test_a_requirement_does_not_bring_the_project_in_again(start, index):
    index("sample", {"sample.py": "X = 'installed'\n"})
    index("helper", {"helper.py": "import sample\nX = sample.X\n"}, requires=("sample",))
    environment, lower = start(needing("helper"))
    assert list(json.loads(environment.spec)["requirements"]) == ["helper"]
    assert any("brings in sample itself" in note for note in environment.notes)
    with open_workspace(environment, lower) as sandbox:
        assert statuses(run_tests(sandbox)) == {"tests/test_a.py::test_a": "passed"}


def test_a_second_copy_under_another_name_is_refused(start, index):
    index("helper", {"helper.py": "X = 1\n", "sample.py": "X = 1\n"}, version="7.0")
    with pytest.raises(TaskError, match="second copy of 'sample'"):
        start(needing("helper"))


@pytest.mark.parametrize("name", ["pytest", "pluggy", "sortedcontainers"])
def test_parts_of_the_runner_cannot_be_projects(start, name):
    with pytest.raises(TaskError, match="part of the test runner"):
        start(needing(name=name, test="def test_a(): pass\n"))


def test_a_project_that_hangs_or_dies_on_import_is_refused(start):
    with pytest.raises(TaskError, match="cannot be collected"):
        start({**SRC, "tests/test_double.py": "import os\nos._exit(3)\n"})
    with pytest.raises(TaskError, match="pytest finds no tests"):
        start({**SRC, "tests/test_double.py": "X = 1\n"}, "no-functions")
