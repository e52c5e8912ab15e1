"""What a project says about itself in pyproject.toml, PKG-INFO, setup.cfg and setup.py; none of it is run."""

from __future__ import annotations

import ast
import configparser
import email
import email.policy
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redtogreen.errors import TaskError

LARGEST = 4 * 2**20
"""Bytes of a metadata file beyond which it is not read."""


@dataclass
class Declared:
    """Metadata of one project. Lists hold requirement strings as written."""

    name: str | None = None
    version: str | None = None
    license: str | None = None
    dependencies: list[str] = field(default_factory=list)
    extras: dict[str, list[str]] = field(default_factory=dict)
    groups: dict[str, list[Any]] = field(default_factory=dict)
    """PEP 735 dependency groups: strings, or {"include-group": name}."""
    entry_points: dict[str, dict[str, str]] = field(default_factory=dict)
    package_roots: list[str] = field(default_factory=list)
    """Folders that setuptools looks for packages in, besides the usual ones."""
    pytest: dict[str, Any] = field(default_factory=dict)
    """pytest's settings: `testpaths` and `python_files` are used."""


def read_declared(root: Path) -> Declared:
    """Collect the metadata; the first source that says something wins. Raises TaskError for a file that cannot be read.

    Order: pyproject.toml, PKG-INFO (what a build once found out), setup.cfg, setup.py.
    """
    declared = Declared()
    _read_pyproject(_toml(root / "pyproject.toml"), declared)
    _read_pkg_info(root, declared)
    configuration = _ini(root / "setup.cfg")
    _read_setup_cfg(configuration, declared)
    _read_setup_py(root / "setup.py", declared)
    _read_pytest(root, configuration, declared)
    return declared


def text_of(path: Path) -> str | None:
    """A small text file, or None when it is missing, too large, or not UTF-8."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return None
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None


def _toml(path: Path) -> dict[str, Any]:
    text = text_of(path)
    if text is None:
        return {}
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{path} is not valid TOML: {error}") from None


def _ini(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text_of(path) or "", str(path))
    except configparser.Error as error:
        raise TaskError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None
    return parser


def _table(value: Any, *names: str) -> dict[str, Any]:
    for name in names:
        value = value.get(name, {}) if isinstance(value, dict) else {}
    return value if isinstance(value, dict) else {}


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


def _read_pyproject(data: dict[str, Any], declared: Declared) -> None:
    project, poetry = _table(data, "project"), _table(data, "tool", "poetry")
    name, version = project.get("name", poetry.get("name")), project.get("version", poetry.get("version"))
    declared.name = name if isinstance(name, str) else None
    declared.version = version if isinstance(version, str) else None
    license_ = project.get("license", poetry.get("license"))
    if isinstance(license_, dict):
        license_ = license_.get("text")
    declared.license = _license(license_) or _license_of_classifiers(_strings(project.get("classifiers")))
    declared.dependencies = _strings(project.get("dependencies")) or _poetry(_table(poetry, "dependencies"))
    for extra, requirements in _table(project, "optional-dependencies").items():
        declared.extras[extra] = _strings(requirements)
    for group, requirements in _table(data, "dependency-groups").items():
        declared.groups[group] = requirements if isinstance(requirements, list) else []
    for group, content in _table(poetry, "group").items():
        declared.groups.setdefault(group, list(_poetry(_table(content, "dependencies"))))
    for group, key in (("console_scripts", "scripts"), ("gui_scripts", "gui-scripts")):
        if scripts := {name: value for name, value in _table(project, key).items() if isinstance(value, str)}:
            declared.entry_points[group] = scripts
    for group, points in _table(project, "entry-points").items():
        declared.entry_points[group] = {name: value for name, value in _table(points).items() if isinstance(value, str)}
    setuptools = _table(data, "tool", "setuptools")
    where = _strings(_table(setuptools, "packages", "find").get("where"))
    base = _table(setuptools, "package-dir").get("")
    declared.package_roots = where + ([base] if isinstance(base, str) else [])
    tool = _table(data, "tool", "pytest")
    declared.pytest = {
        **{key: value for key, value in tool.items() if key != "ini_options"},
        **_table(tool, "ini_options"),
    }


def _poetry(table: dict[str, Any]) -> list[str]:
    """Poetry's dependencies by name; its version syntax is its own, so the newest is taken."""
    return [
        name
        for name, value in table.items()
        if name != "python" and not (isinstance(value, dict) and value.get("optional"))
    ]


def _license(value: Any) -> str | None:
    if not isinstance(value, str) or not value.strip() or value.strip() == "UNKNOWN":
        return None
    return value.strip().splitlines()[0].strip()[:100]


def _license_of_classifiers(classifiers: list[str]) -> str | None:
    names = [text.rsplit("::", 1)[-1].strip() for text in classifiers if text.startswith("License ::")]
    return "; ".join(names) or None


def _read_pkg_info(root: Path, declared: Declared) -> None:
    folders = [root, *sorted(root.glob("*.egg-info")), *sorted(root.glob("src/*.egg-info"))]
    for folder in folders:
        text = text_of(folder / "PKG-INFO")
        if text is None:
            continue
        message = email.message_from_string(text, policy=email.policy.compat32)
        declared.name = declared.name or _header(message, "Name")
        declared.version = declared.version or _header(message, "Version")
        declared.license = (
            declared.license
            or _license(_header(message, "License-Expression"))
            or _license(_header(message, "License"))
            or _license_of_classifiers([str(value) for value in message.get_all("Classifier", [])])
        )
        requirements = [str(value) for value in message.get_all("Requires-Dist", [])]
        for requirement in requirements:
            extra = re.search(r"""extra\s*==\s*['"]([\w.-]+)['"]""", requirement)
            if extra is None and not declared.dependencies:
                declared.dependencies = [text for text in requirements if "extra" not in text.partition(";")[2]]
            elif extra is not None and requirement not in declared.extras.setdefault(extra[1], []):
                declared.extras[extra[1]].append(requirement)
        points = _ini(folder / "entry_points.txt")
        for group in points.sections():
            declared.entry_points.setdefault(group, dict(points.items(group)))


def _header(message: Any, name: str) -> str | None:
    value = message.get(name)
    return str(value).strip() or None if value is not None else None


def _read_setup_cfg(parser: configparser.ConfigParser, declared: Declared) -> None:
    def get(section: str, key: str) -> str:
        return parser.get(section, key, fallback="").strip()

    declared.name = declared.name or get("metadata", "name") or None
    version = get("metadata", "version")
    if version and not version.startswith(("attr:", "file:")):
        declared.version = declared.version or version
    declared.license = declared.license or _license(get("metadata", "license"))
    declared.dependencies = declared.dependencies or _lines(get("options", "install_requires"))
    if required := _lines(get("options", "tests_require")):
        declared.extras.setdefault("tests", required)
    if parser.has_section("options.extras_require"):
        for extra, requirements in parser.items("options.extras_require"):
            declared.extras.setdefault(extra, _lines(requirements))
    where = get("options.packages.find", "where")
    base = [
        value.strip()
        for key, _, value in (line.partition("=") for line in _lines(get("options", "package_dir")))
        if not key.strip()
    ]
    declared.package_roots += ([where] if where else []) + base


def _read_setup_py(path: Path, declared: Declared) -> None:
    """Literal keyword arguments of the call of setup(); anything computed is not known."""
    text = text_of(path)
    if text is None:
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    values: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "setup":
            for keyword in node.keywords:
                try:
                    values[keyword.arg or ""] = ast.literal_eval(keyword.value)
                except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                    continue
    for field_name in ("name", "version"):
        if getattr(declared, field_name) is None and isinstance(values.get(field_name), str):
            setattr(declared, field_name, values[field_name])
    declared.license = declared.license or _license(values.get("license"))
    declared.dependencies = declared.dependencies or _strings(values.get("install_requires"))
    if required := _strings(values.get("tests_require")):
        declared.extras.setdefault("tests", required)
    for extra, requirements in _table(values, "extras_require").items():
        declared.extras.setdefault(str(extra), _strings(requirements))
    base = _table(values, "package_dir").get("")
    declared.package_roots += [base] if isinstance(base, str) else []


def _read_pytest(root: Path, setup_cfg: configparser.ConfigParser, declared: Declared) -> None:
    """Files in the order in which pytest looks for its configuration; the first that has any counts."""
    for name in ("pytest.toml", ".pytest.toml"):
        if data := _toml(root / name):
            declared.pytest = _table(data, "pytest")
            return
    for name in ("pytest.ini", ".pytest.ini"):
        if (root / name).is_file():
            parser = _ini(root / name)
            declared.pytest = dict(parser.items("pytest")) if parser.has_section("pytest") else {}
            return
    if declared.pytest:
        return
    tox = _ini(root / "tox.ini")
    for parser, section in ((tox, "pytest"), (setup_cfg, "tool:pytest")):
        if parser.has_section(section):
            declared.pytest = dict(parser.items(section))
            return
