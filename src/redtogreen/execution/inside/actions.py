"""File actions of an agent, carried out inside the sandbox: request as JSON on stdin, answer as JSON on descriptor 3.

It runs where the files lie, so links, FIFOs and devices that hostile code has made reach nothing but the sandbox.
Standard library only; started by act.py, with `python -I -S`: nothing in the workspace can get between.
"""

from __future__ import annotations

import ast
import difflib
import fnmatch
import json
import os
import re
import stat
import sys
import warnings

ROOT = "/work"
MAX_FILE = 2 * 2**20
MAX_ANSWER = 2**20
MAX_TEXT = 15_000
MAX_MATCHES = 200
MAX_SYMBOLS = 1_000
MAX_LINE = 400
AROUND = 3
SKIPPED = {".git", ".hg", "__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis", ".mypy_cache", "node_modules"}


class Refusal(Exception):
    """An action that cannot be done; the message goes to the agent."""


def main() -> None:
    warnings.simplefilter("ignore")
    request = json.load(sys.stdin)
    try:
        answer = ACTIONS[request["action"]](ROOT, request["params"])
    except Refusal as refusal:
        answer = {"error": str(refusal)}
    except (OSError, RecursionError, MemoryError) as error:
        answer = {"error": f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}"}
    raw = json.dumps(answer).encode()
    if len(raw) > MAX_ANSWER:
        raw = json.dumps({"error": f"the answer has {len(raw)} bytes; ask for less"}).encode()
    with os.fdopen(3, "wb") as report:
        report.write(raw)


def place(root: str, path: str) -> tuple[str, str]:
    """(absolute real path, path relative to the workspace). Refuses what leads outside."""
    relative = path.removeprefix(root).lstrip("/") if path.startswith(root + "/") else path
    full = os.path.realpath(os.path.join(root, relative))
    if full != root and not full.startswith(root + "/"):
        raise Refusal(f"{path} leads out of the workspace; use a path relative to it")
    return full, os.path.relpath(full, root)


def all_files(root: str, folder: str = "") -> list[str]:
    """Relative paths of all ordinary files, sorted; links are not followed."""
    found = []
    for current, folders, files in os.walk(os.path.join(root, folder)):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.endswith(".egg-info"))
        for name in sorted(files):
            path = os.path.join(current, name)
            if not name.endswith(".pyc") and stat.S_ISREG(os.lstat(path).st_mode):
                found.append(os.path.relpath(path, root))
        if len(found) > 20_000:
            break
    return [path for path in found if path.isprintable()]


def nearest(root: str, path: str) -> str:
    known = all_files(root)
    known += sorted({os.path.dirname(other) for other in known} - {""})
    same_name = [other for other in known if os.path.basename(other) == os.path.basename(path)]
    close = same_name[:1] or difflib.get_close_matches(path, known, n=1, cutoff=0.4)
    return f"; the nearest path is {close[0]}" if close else ""


def read(root: str, path: str) -> tuple[str, str, str]:
    """(full path, relative path, text). Never blocks on a FIFO, never reads a device."""
    full, relative = place(root, path)
    try:
        handle = os.open(full, os.O_RDONLY | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        raise Refusal(f"no such file: {path}{nearest(root, relative)}") from None
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise Refusal(f"{path} is a folder; list_files shows what is in it")
        if not stat.S_ISREG(status.st_mode):
            raise Refusal(f"{path} is not an ordinary file")
        if status.st_size > MAX_FILE:
            raise Refusal(f"{path} has {status.st_size} bytes, more than {MAX_FILE}")
        with open(handle, "rb", closefd=False) as file:
            content = file.read(MAX_FILE + 1)
    finally:
        os.close(handle)
    try:
        return full, relative, content.decode("utf-8")
    except UnicodeDecodeError:
        raise Refusal(f"{path} is not a text file (not UTF-8)") from None


def numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{first + index:>5}  {line[:MAX_LINE]}" for index, line in enumerate(lines))


def parse_errors(path: str, text: str) -> tuple[int, str | None]:
    """(number of syntax errors, what the first one is); only Python files have any."""
    if not path.endswith(".py"):
        return 0, None
    try:
        compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        return 1, f"{type(error).__name__}: {error.msg} (line {error.lineno})"
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return 1, f"{type(error).__name__}: {error}"
    return 0, None


def list_files(root: str, params: dict) -> dict:
    full, relative = place(root, params.get("path") or ".")
    if not os.path.isdir(full):
        raise Refusal(f"no such folder: {params['path']}{nearest(root, relative)}")
    files = all_files(root, "" if relative == "." else relative)
    if params.get("pattern"):
        files = [path for path in files if fnmatch.fnmatchcase(path, params["pattern"])]
    return {"files": files[:1000], "count": len(files)}


def search_text(root: str, params: dict) -> dict:
    try:
        pattern = re.compile(params["pattern"] if params.get("regex") else re.escape(params["pattern"]))
    except re.error as error:
        raise Refusal(f"not a regular expression: {error}") from None
    matches: list[str] = []
    count = 0
    for path in chosen(root, params.get("path")):
        try:
            text = read(root, path)[2]
        except (Refusal, OSError):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line[: 10 * MAX_LINE]):
                count += 1
                if len(matches) < MAX_MATCHES:
                    matches.append(f"{path}:{number}: {line.strip()[:MAX_LINE]}")
    return {"matches": matches, "count": count}


def chosen(root: str, path: str | None) -> list[str]:
    """The files a search looks at: one file, everything in a folder, or what a glob matches."""
    if not path:
        return all_files(root)
    if any(letter in path for letter in "*?["):
        return [known for known in all_files(root) if fnmatch.fnmatchcase(known, path)]
    full, relative = place(root, path)
    if os.path.isdir(full):
        return all_files(root, "" if relative == "." else relative)
    if not os.path.lexists(full):
        raise Refusal(f"no such file: {path}{nearest(root, relative)}")
    return [relative]


def search_symbol(root: str, params: dict) -> dict:
    keyword, several = params["keyword"], params.get("file") is None
    matches: list[str] = []
    count = 0
    for path in chosen(root, params.get("file")):
        if not path.endswith((".py", ".pyi")):
            continue
        try:
            found = definitions(read(root, path)[2])
        except (Refusal, OSError, SyntaxError, ValueError, RecursionError):
            continue
        for name, line in found:
            if keyword.lower() in name.lower():
                count += 1
                if len(matches) < MAX_SYMBOLS:
                    matches.append(f"{path}: {name}(line:{line})" if several else f"{name}(line:{line})")
    return {"matches": matches, "count": count}


def definitions(text: str) -> list[tuple[str, int]]:
    """Qualified name and line of every function, every class, and every name assigned outside functions."""
    found: list[tuple[str, int]] = []

    def visit(body: list[ast.stmt], prefix: str, inside: bool = False) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.append((prefix + node.name, node.lineno))
                visit(node.body, f"{prefix}{node.name}.", not isinstance(node, ast.ClassDef))
            elif isinstance(node, ast.Assign | ast.AnnAssign) and not inside:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.extend((prefix + name.id, node.lineno) for name in targets if isinstance(name, ast.Name))
            elif isinstance(node, ast.If | ast.Try | ast.With):
                for part in ("body", "orelse", "finalbody"):
                    visit(getattr(node, part, []), prefix, inside)

    visit(ast.parse(text).body, "")
    return found


def open_file(root: str, params: dict) -> dict:
    _, relative, text = read(root, params["path"])
    lines = text.splitlines()
    first = max(1, params.get("start_line") or 1)
    last = min(len(lines), params.get("end_line") or len(lines))
    if lines and (first > len(lines) or last < first):
        raise Refusal(f"{relative} has {len(lines)} lines; there are none from {first} to {params.get('end_line')}")
    shown, size = first - 1, 0
    while shown < last and (size := size + min(len(lines[shown]), MAX_LINE) + 8) <= MAX_TEXT:
        shown += 1
    answer = {"path": relative, "start_line": first, "end_line": shown, "total_lines": len(lines)}
    return answer | {"content": numbered(lines[first - 1 : shown], first)}


def edit_file(root: str, params: dict) -> dict:
    full, relative, text = read(root, params["path"])
    lines = text.splitlines(keepends=True)
    first, last, new = params["start_line"], params["end_line"], params["new_content"]
    if not 1 <= first <= len(lines) + 1 or not first - 1 <= last <= len(lines):
        raise Refusal(
            f"{relative} has {len(lines)} lines; {first} to {last} is no range in it "
            f"(to insert before line N, give start_line N and end_line N-1)"
        )
    ending = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    fresh = [line + ending for line in new.splitlines()]
    if fresh and last == len(lines) and lines and not lines[-1].endswith(("\n", "\r")) and not new.endswith("\n"):
        fresh[-1] = fresh[-1].removesuffix(ending)
    if first > 1 and not lines[first - 2].endswith(("\n", "\r")):
        lines[first - 2] += ending
    changed = "".join([*lines[: first - 1], *fresh, *lines[last:]])
    if changed != text:
        write(full, changed)
    shown = changed.splitlines()
    start, end = max(1, first - AROUND), min(len(shown), first + min(len(fresh), 40) + AROUND - 1)
    return verdict(relative, changed, changed != text) | {"context": numbered(shown[start - 1 : end], start)}


def create_file(root: str, params: dict) -> dict:
    full, relative = place(root, params["path"])
    if os.path.lexists(os.path.join(root, relative)):
        raise Refusal(f"{relative} exists; use edit_file to change it")
    try:
        os.makedirs(os.path.dirname(full), exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise Refusal(f"a part of {relative} is a file, not a folder") from None
    write(full, params["content"], os.O_CREAT | os.O_EXCL)
    return verdict(relative, params["content"], True)


def delete_file(root: str, params: dict) -> dict:
    parent, _ = place(root, os.path.dirname(params["path"]) or ".")
    full = os.path.join(parent, os.path.basename(params["path"]))
    relative = os.path.relpath(full, root)
    if not os.path.lexists(full):
        raise Refusal(f"no such file: {params['path']}{nearest(root, relative)}")
    if os.path.isdir(full) and not os.path.islink(full):
        raise Refusal(f"{relative} is a folder; delete its files one by one")
    os.unlink(full)
    return {"path": relative, "applied": True}


def write(full: str, text: str, flags: int = os.O_TRUNC) -> None:
    handle = os.open(full, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | flags, 0o644)
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode("utf-8", "surrogatepass"))


def verdict(path: str, text: str, applied: bool) -> dict:
    count, first = parse_errors(path, text)
    answer = {"path": path, "applied": applied, "parse_errors": count, "total_lines": len(text.splitlines())}
    return answer if first is None else answer | {"parse_error": first}


ACTIONS = {
    "list_files": list_files,
    "search_text": search_text,
    "search_symbol": search_symbol,
    "open_file": open_file,
    "edit_file": edit_file,
    "create_file": create_file,
    "delete_file": delete_file,
}
