"""Docs that cannot rot: generated pages are fresh, links resolve, commands parse, translations keep up."""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer

from redtogreen.cli.main import build_app

ROOT = Path(__file__).parents[1]
PAGES = [
    path
    for path in [
        ROOT / "README.md",
        ROOT / "README.zh-CN.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ]
    if path.is_file()
]
TREE = typer.main.get_command(build_app())
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.M | re.S)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def load_script():
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "scripts" / "make_docs.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE_DOCS = load_script()


def commands_in(path: Path) -> list[str]:
    """Lines of fenced blocks that call redtogreen, continuation lines joined."""
    found = []
    for block in FENCE.findall(path.read_text("utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            if line.strip().removeprefix("$ ").startswith("redtogreen "):
                found.append(line.strip().removeprefix("$ "))
    return found


def parse(line: str) -> None:
    """Parse a command line against the real command tree without running it."""
    words = shlex.split(line, comments=True)
    command, context = TREE, None
    while getattr(command, "commands", None) and len(words) > 1 and not words[1].startswith("-"):
        context = command.context_class(command, info_name=words[0], parent=context)
        name, command, _ = command.resolve_command(context, words[1:])
        words = words[1:]
    command.make_context(words[0], words[1:], parent=context)


@pytest.mark.parametrize("page", sorted(MAKE_DOCS.pages()))
def test_generated_pages_are_fresh(page: str) -> None:
    assert (ROOT / "docs" / page).read_text("utf-8") == MAKE_DOCS.pages()[page], "run `make docs`"


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_relative_links_lead_somewhere(path: Path) -> None:
    text = FENCE.sub("", path.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = (path.parent / file).resolve() if file else path
        assert place.exists(), f"{target} in {name_of(path)}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", place.read_text("utf-8"), re.M)
            assert anchor in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}, (
                target
            )


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_command_lines_parse(path: Path) -> None:
    for line in commands_in(path):
        parse(line)


def test_a_wrong_command_line_would_be_noticed() -> None:
    """The check above must be able to fail."""
    for line in (
        "redtogreen scor x",
        "redtogreen score x --recip y",
        "redtogreen score",
        "redtogreen tasks make mutat .",
    ):
        with pytest.raises(Exception, match=r"unknown|No such|Missing|argument"):
            parse(line)
    assert commands_in(ROOT / "README.md")


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_commands_named_in_sentences_exist(path: Path) -> None:
    text = FENCE.sub("", path.read_text("utf-8"))
    for line in re.findall(r"`redtogreen ([a-z][^`]*)`", text):
        command = TREE
        for word in line.split():
            if not getattr(command, "commands", None):
                break
            assert word in command.commands, f"redtogreen {line} in {name_of(path)}"
            command = command.commands[word]


def test_every_command_has_a_page_entry_and_says_what_it_does() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    for path, command in MAKE_DOCS.walk_commands(TREE, "redtogreen"):
        assert f"## {path}\n" in page
        assert command.help
        for item in command.params:
            assert item.name == "help" or item.help, f"{path}: {item.name}"
        assert any("--json" in item.opts for item in command.params), f"{path} has no --json"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


def test_the_chinese_readme_keeps_up() -> None:
    english, chinese = ((ROOT / name).read_text("utf-8") for name in ("README.md", "README.zh-CN.md"))

    def shape(text: str) -> list[int]:
        return [len(marks) for marks in re.findall(r"^(#+) ", FENCE.sub("", text), re.M)]

    assert shape(english) == shape(chinese)
    assert commands_in(ROOT / "README.md") == commands_in(ROOT / "README.zh-CN.md")


def test_every_dependency_has_its_sentence() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    names = {re.split(r"[<>=!~ \[;]", line)[0] for line in project["project"]["dependencies"]}
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \| (.+) \| (.+) \|$", page, re.M)
    assert {name for name, *_ in rows} == names
    for name, why, footprint, licence in rows:
        assert len(why) > 40 and re.search(r"\d+ MB", footprint) and licence, name
    for line in project["dependency-groups"]["dev"]:
        assert f"`{re.split('[<>=]', line)[0]}`" in page
