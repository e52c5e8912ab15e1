"""How attacks are put into a workspace. Every payload refuses to run outside a sandbox."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from redtogreen.execution.sandboxes.contract import Changes, FileChange
from redtogreen.redteam.attack import Target
from redtogreen.redteam.honest.edits import add_import, replace_body

GUARD = """\
import os as _os, socket as _socket
if not _os.path.isdir("/opt/redtogreen") or _socket.gethostname() != "sandbox":
    raise SystemExit("only inside a sandbox")
"""
Build = Callable[[Target], Changes | None]


def guarded(code: str) -> str:
    """Python that ends itself at once where it is no sandbox it runs in."""
    return GUARD + textwrap.dedent(code).lstrip("\n")


def at_import(code: str, body: str | None = None) -> Build:
    """This runs when the source is imported; the function may get another body besides."""

    def build(target: Target) -> Changes:
        text = target.files[target.source]
        if body is not None:
            text = replace_body(text, target.function, textwrap.dedent(body).lstrip("\n"))
        return {target.source: FileChange("file", add_import(text, guarded(code)).encode())}

    return build


def in_call(body: str) -> Build:
    """This is the body of the function."""
    return at_import("", body)


def beside(files: dict[str, str], code: bool = True) -> Build:
    """These files are added; Python among them is guarded unless it is a mere setting. `{tests}` in a path is the
    folder of the tests."""

    def build(target: Target) -> Changes:
        tests = target.test_files[0].rpartition("/")[0] if target.test_files else "tests"
        changes: Changes = {}
        for path, text in files.items():
            content = guarded(text) if code and path.endswith(".py") else textwrap.dedent(text).lstrip("\n")
            changes[path.replace("{tests}/", f"{tests}/" if tests else "")] = FileChange("file", content.encode())
        return changes

    return build
