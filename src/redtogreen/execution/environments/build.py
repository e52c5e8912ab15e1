"""Make the folder of an environment from its specification. Once made it is never changed.

<home>/environments/<hash>/   bin/python pyvenv.cfg bin/{pytest,ruff,...} lib/pythonX.Y/site-packages/ spec.json
<home>/environments/base-<hash>/   the base packages, compiled; environments share these files by hard links
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from redtogreen.errors import EnvironmentUnavailable, TaskError
from redtogreen.execution.environments import distributions, wheels
from redtogreen.execution.environments.specification import Specification
from redtogreen.records.canonical import canonical_json, digest
from redtogreen.store import disk_errors, home, scratch

INSIDE = "/env"
PYTHON = f"{INSIDE}/bin/python"


def folder_of(specification: Specification, fetched: Path | None = None) -> Path:
    """The environment's folder, made first if it is not there. Raises EnvironmentUnavailable when it cannot be made.

    `fetched`: a folder into which the requirements are installed already.
    """
    place, name = home() / "environments", specification.hash.removeprefix("sha256:")
    return _once(place, name, lambda making: _fill(specification, making, place, fetched))


def _once(place: Path, name: str, fill: Callable[[Path], None]) -> Path:
    """A folder that appears complete or not at all, and is made by one process only."""
    target = place / name
    if target.exists():
        return target
    with disk_errors(target), _locked(place, name):
        if target.exists():
            return target
        for stale in place.glob(f".making-{name}-*"):  # a killed process left it; we hold the lock
            shutil.rmtree(stale)
        making = Path(tempfile.mkdtemp(dir=place, prefix=f".making-{name}-"))
        try:
            fill(making)
            os.chmod(making, 0o755)
            os.rename(making, target)
        except BaseException:
            shutil.rmtree(making, ignore_errors=True)
            raise
    return target


@contextlib.contextmanager
def _locked(place: Path, name: str) -> Iterator[None]:
    place.mkdir(parents=True, exist_ok=True)
    with open(place / f".lock-{name}", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fill(specification: Specification, making: Path, place: Path, fetched: Path | None) -> None:
    base = {"python": specification.python, "implementation": specification.implementation, "base": specification.base}
    name = "base-" + digest(canonical_json(base)).removeprefix("sha256:")[:32]
    shared = _once(place, name, lambda folder: _fill_base(specification, folder))
    _share(shared, making)
    site = _site(specification, making)
    if specification.requirements:
        with scratch() as folder:
            if fetched is None:
                pinned = [f"{name}=={version}" for name, version in specification.requirements.items()]
                wheels.install(pinned, specification.base, folder)
            _add_requirements(specification, fetched or folder, making)
    _refuse_second_copy(specification, site)
    _describe_project(specification, site, making / "bin")
    (making / "spec.json").write_bytes(specification.encode())
    os.chmod(making / "spec.json", 0o644)
    _permissions(making)


def _share(shared: Path, making: Path) -> None:
    """The same tree, by hard links where the file system has them."""
    for current, folders, files in os.walk(shared):
        target = making / os.path.relpath(current, shared)
        target.mkdir(exist_ok=True)
        for name in (*files, *(folder for folder in folders if os.path.islink(os.path.join(current, folder)))):
            source = os.path.join(current, name)
            try:
                os.link(source, target / name, follow_symlinks=False)
            except OSError as error:
                if error.errno not in (errno.EMLINK, errno.EPERM, errno.ENOTSUP, errno.EXDEV):
                    raise
                shutil.copy2(source, target / name, follow_symlinks=False)


def _site(specification: Specification, root: Path) -> Path:
    return root / "lib" / f"python{specification.python}" / "site-packages"


def _fill_base(specification: Specification, folder: Path) -> None:
    site, programs = _site(specification, folder), folder / "bin"
    site.mkdir(parents=True)
    programs.mkdir()
    own = distributions.base_versions()
    if own == specification.base:
        found = distributions.base_distributions()
        for distribution in found.values():
            distributions.copy_distribution(distribution, site, programs)
    else:
        with scratch() as fetched:
            wheels.install([f"{name}=={version}" for name, version in specification.base.items()], {}, fetched)
            found = distributions.distributions_in(fetched)
            for distribution in found.values():
                distributions.copy_distribution(distribution, site, programs)
    for distribution in found.values():
        for name, target in distributions.console_scripts(distribution).items():
            distributions.write_script(programs / name, PYTHON, target)
    executable = distributions.interpreter()
    for name in ("python", "python3", f"python{specification.python}"):
        os.symlink(executable, programs / name)
    (folder / "pyvenv.cfg").write_text(
        f"home = {executable.parent}\ninclude-system-site-packages = false\nversion = {specification.python}\n"
    )
    for name in ("sitecustomize.py", "usercustomize.py"):
        # Python imports these at every start: ours come before those in a workspace.
        (site / name).write_text("")
    compile_folder(site)
    _permissions(folder)


def _add_requirements(specification: Specification, fetched: Path, making: Path) -> None:
    site = _site(specification, making)
    for name, distribution in distributions.distributions_in(fetched).items():
        if name not in specification.requirements:
            continue  # the base has it, or it is the project itself
        distributions.copy_distribution(distribution, site, making / "bin")
        for script, target in distributions.console_scripts(distribution).items():
            if not (making / "bin" / script).exists():
                distributions.write_script(making / "bin" / script, PYTHON, target)
    compile_folder(site)


def compile_folder(site: Path) -> None:
    """Byte code that is used without a look at its source: the folder is read-only inside, and its times mean nothing.

    Files that do not compile are left alone: some packages ship templates and broken examples.
    """
    program = (
        "import compileall, py_compile, sys\n"
        "compileall.compile_dir(sys.argv[1], maxlevels=40, quiet=2, workers=0, stripdir=sys.argv[1],"
        " prependdir=sys.argv[2], invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)\n"
    )
    inside = f"{INSIDE}/lib/{site.parent.name}/site-packages"
    command = [str(distributions.interpreter()), "-I", "-S", "-c", program, str(site), inside]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    if done.returncode != 0:
        raise EnvironmentUnavailable(f"byte code for {site} cannot be made: {done.stderr.strip()[-300:]}")


def _refuse_second_copy(specification: Specification, site: Path) -> None:
    """Another copy of the project would be tested in its stead, and show the answer."""
    name = specification.project["name"]
    for package in specification.project["packages"]:
        for place in (site / f"{package}.py", site / package / "__init__.py", *site.glob(f"{package}.*.so")):
            if place.exists():
                raise TaskError(
                    f"{name} cannot be used: what its tests need brings along a second copy of {package!r}, which would"
                    " be tested instead and would show the answer",
                    "choose another project",
                )


def _describe_project(specification: Specification, site: Path, programs: Path) -> None:
    """Import path and metadata of the project; the project itself is never installed."""
    project = specification.project
    roots = ["/work" if root == "." else f"/work/{root}" for root in specification.import_roots]
    (site / "zz-redtogreen-project.pth").write_text("".join(f"{root}\n" for root in roots))
    plain = re.sub(r"[^\w.]", "_", f"{project['name']}").lower()
    folder = site / f"{plain}-{project['version']}.dist-info"
    folder.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in project["requires"]]
    (folder / "METADATA").write_text("\n".join(lines) + "\n")
    (folder / "top_level.txt").write_text("".join(f"{package}\n" for package in project["packages"]))
    points = project["entry_points"]
    text = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points[group].items()) for group in points
    )
    if text:
        (folder / "entry_points.txt").write_text(text)
    for name, target in points.get("console_scripts", {}).items():
        if ":" in target and not (programs / name).exists() and not (programs / name).is_symlink():
            distributions.write_script(programs / name, PYTHON, target)


def _permissions(root: Path) -> None:
    for current, folders, files in os.walk(root):
        for folder in folders:
            if not os.path.islink(os.path.join(current, folder)):
                os.chmod(os.path.join(current, folder), 0o755)
        for file in files:
            path = os.path.join(current, file)
            if not os.path.islink(path):
                os.chmod(path, 0o755 if os.stat(path).st_mode & 0o111 else 0o644)
