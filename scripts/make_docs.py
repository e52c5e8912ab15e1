"""Write the generated pages under docs/: command line, schema, configuration. `--check` only compares.

Each page is made from the code it describes; `make docs` writes them, the tests say when one is stale.
`--footprint` prints the installed size of each dependency, for docs/dependencies.md.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import tomllib
import types
import typing
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import msgspec
import typer

ROOT = Path(__file__).resolve().parents[1]
MADE = "<!-- made by scripts/make_docs.py: change the code, then run `make docs` -->"


def pages() -> dict[str, str]:
    """File name under docs/ -> its text."""
    return {
        "command-line.md": command_line_page(),
        "schema.md": schema_page(),
        "configuration.md": configuration_page(),
        "exports.md": exports_page(),
    }


def command_line_page() -> str:
    """Every command with its arguments and options, from the command tree."""
    from redtogreen.cli.main import build_app

    root = typer.main.get_command(build_app())
    parts = [
        MADE,
        "# Command line",
        "Every command takes `--json`: one JSON object on stdout, also for an error (`error`, `hint`). Results go to "
        "stdout, progress and remarks to stderr; `NO_COLOR` is obeyed.",
        table(
            ["exit code", "meaning"],
            [
                ["0", "success"],
                ["1", "what the command checks does not hold, or an input is broken"],
                ["2", "usage error"],
                ["3", "this machine cannot do it; never the fault of an agent"],
                ["130", "stopped by Ctrl-C; what was recorded is kept"],
            ],
        ),
        "INPUT is a run folder, a dataset (`NAME` or `NAME/VERSION`), or a `FILE.jsonl`. `REDTOGREEN_TRACEBACK=1` "
        "shows the traceback of an unexpected error; all variables stand in [configuration.md](configuration.md).",
    ]
    for path, command in walk_commands(root, "redtogreen"):
        parts += command_section(path, command)
    return join(parts)


def walk_commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Each command that does something, in the order of the help."""
    names = list(getattr(command, "commands", {}))
    if not names:
        yield path, command
        return
    context = command.context_class(command)
    for name in command.list_commands(context):
        yield from walk_commands(command.commands[name], f"{path} {name}")


def command_section(path: str, command: Any) -> list[str]:
    """Heading, usage, help text, options."""
    context = command.context_class(command, info_name=path)
    arguments = [item for item in command.params if item.param_type_name == "argument"]
    options = [item for item in command.params if item.param_type_name == "option" and item.name != "help"]
    words = [path, *(f"[{_placeholder(item)}]" if not item.required else _placeholder(item) for item in arguments)]
    words += [f"{item.opts[0]} {_placeholder(item)}" for item in options if item.required]
    rows = [[f"`{_placeholder(item)}`", item.help or "", ""] for item in arguments]
    rows += [[_names(item), item.help or "", _default(item, context)] for item in options]
    usage = " ".join(words) + " [OPTIONS]"
    return [f"## {path}", f"    {usage}", inspect.cleandoc(command.help or ""), table(["", "", "default"], rows)]


def _placeholder(item: Any) -> str:
    return (item.metavar or item.name.upper()).strip("[]")


def _names(item: Any) -> str:
    text = ", ".join(f"`{name}`" for name in item.opts)
    return text if item.is_flag else f"{text} `{item.metavar or _kind(item)}`"


def _kind(item: Any) -> str:
    """What stands for the value of an option without a name of its own: its choices, or a number."""
    described = getattr(item, "type_descriptor", None) or getattr(item, "type", None)
    choices = getattr(described, "choices", None)
    return "|".join(str(getattr(choice, "value", choice)) for choice in choices) if choices else "N"


def _default(item: Any, context: Any) -> str:
    if item.required:
        return "required"
    value = item.default
    if value is None or value is False or value == [] or value == ():
        return ""
    return f"`{getattr(value, 'value', value)}`"


def schema_page() -> str:
    """Every record with its fields, types and meanings."""
    from redtogreen.records import base, grade, reward, task, trajectory, verdict
    from redtogreen.tasks import files

    parts = [
        MADE,
        "# Schema",
        "Records travel as JSON lines. Field names are a contract: an unknown field is an error that names file, line, "
        "path and the nearest known field; what is not ours goes under `extra`. Every line carries `schema`, now "
        f"{base.SCHEMA}; older files are migrated on reading, newer ones refused. A trajectory with only the fields "
        "without a default is valid.",
    ]
    for module in (trajectory, task, grade, reward, verdict, files):
        for kind in structs_of(module):
            parts += struct_section(kind)
    return join(parts)


def configuration_page() -> str:
    """run.toml, table by table."""
    from redtogreen import config

    where = {
        "ChainSettings": "top level",
        "TaskSettings": "`[[tasks]]`, one per source",
        "CollectSettings": "`[collect]`",
        "RewardSettings": "`[reward]`",
        "CleanSettings": "`[clean]`",
        "DatasetSettings": "`[dataset]`",
    }
    parts = [
        MADE,
        "# Configuration",
        "`redtogreen run run.toml` does a whole run as one file describes it. The settings are saved, resolved, in the "
        "run folder, and run again from there.",
        inspect.cleandoc(config.__doc__ or ""),
    ]
    whole, *others = structs_of(config)
    for kind in (whole, *reversed(others)):
        parts += struct_section(kind, where.get(kind.__name__))
    parts += [
        "## Environment variables",
        table(["variable", "meaning"], [[f"`{name}`", meaning] for name, meaning in config.VARIABLES.items()]),
    ]
    return join(parts)


def exports_page() -> str:
    """Every format `redtogreen export` writes, from the docstring of its module."""
    from redtogreen.data.exports.exporting import BUILT_IN

    parts = [
        MADE,
        "# Export formats",
        "`redtogreen export FORMAT DATASET --out DIR` writes one version of a dataset into a new folder, whole or not "
        "at all; `redtogreen list exports` names the formats, those of installed plugins included. Splits stay apart: "
        "a project whose rows are held out never stands in the files of another split. Secrets and e-mail addresses "
        "were replaced while recording.",
    ]
    for name, write in sorted(BUILT_IN.items()):
        module = sys.modules[write.__module__]
        title, _, rest = inspect.cleandoc(module.__doc__ or "").partition("\n\n")
        about = title.partition(": ")[2]
        parts += [f"## {name}", about[:1].upper() + about[1:], rest, inspect.cleandoc(write.__doc__ or "")]
        if shown := getattr(module, "LOADING", None):
            parts += ["Loaded with:", f"```python\n{inspect.cleandoc(shown)}\n```"]
    return join(parts)


def structs_of(module: types.ModuleType) -> list[type[msgspec.Struct]]:
    """Records a module defines, the last one first: what holds others before what it holds."""
    values = [value for value in vars(module).values() if isinstance(value, type)]
    return [
        value for value in reversed(values) if issubclass(value, msgspec.Struct) and value.__module__ == module.__name__
    ]


def struct_section(kind: type[msgspec.Struct], title: str | None = None) -> list[str]:
    """Heading, docstring, one row per field."""
    says = field_docs(kind)
    hints = typing.get_type_hints(kind)
    rows = []
    for item in msgspec.structs.fields(kind):
        default = "required" if item.required else _value(item)
        rows.append([f"`{item.encode_name}`", f"`{type_name(hints[item.name])}`", default, says.get(item.name, "")])
    heading = f"## {title}" if title else f"## {kind.__name__}"
    return [heading, inspect.cleandoc(kind.__doc__ or ""), table(["field", "type", "default", "meaning"], rows)]


def _value(item: Any) -> str:
    value = item.default if item.default is not msgspec.NODEFAULT else item.default_factory()
    if isinstance(value, msgspec.Struct):
        return "its own defaults"
    return f"`{json.dumps(value)}`"


def field_docs(kind: type) -> dict[str, str]:
    """Field -> the string literal below it, on one line."""
    body = ast.parse(inspect.cleandoc("\n" + inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            found[statement.target.id] = re.sub(r"\bNone\b", "null", " ".join(following.value.value.split()))
    return found


def type_name(annotation: Any) -> str:
    """A type as a JSON reader thinks of it."""
    if isinstance(annotation, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        annotation = annotation.__value__
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return type_name(arguments[0])
    if origin is typing.Literal:
        return " | ".join(f'"{value}"' for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(type_name(argument) for argument in arguments)
    if origin in (list, tuple):
        return f"list of {type_name(arguments[0])}"
    if origin is dict:
        return f"object of {type_name(arguments[1])}" if arguments[1] is not Any else "object"
    plain = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", Any: "any"}
    return plain.get(annotation) or getattr(annotation, "__name__", str(annotation))


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def join(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def footprint() -> Iterator[tuple[str, float]]:
    """Required dependencies with their installed size in megabytes, what they pull in left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for requirement in project["dependencies"]:
        name = re.split(r"[<>=!~ \[;]", requirement)[0]
        places = [Path(str(file.locate())) for file in distribution(name).files or []]
        yield name, sum(place.stat().st_size for place in places if place.is_file()) / 1e6


def main() -> int:
    if sys.argv[1:] == ["--footprint"]:
        for name, megabytes in footprint():
            print(f"{megabytes:7.1f} MB  {name}")
        return 0
    check = sys.argv[1:] == ["--check"]
    stale = []
    for name, text in pages().items():
        path = ROOT / "docs" / name
        if check:
            stale += [name] if not path.is_file() or path.read_text("utf-8") != text else []
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"wrote docs/{name}")
    for name in stale:
        print(f"docs/{name} is stale: run `make docs`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
