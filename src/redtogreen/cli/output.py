"""Writing results to stdout, as text or as one JSON object, and remarks to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from redtogreen.cli.failures import PipeClosed


def emit(data: Any, as_json: bool, text: Callable[[], str]) -> None:
    """Print a result: `data` as one JSON object, or what `text` makes. Records and paths may stand in `data`."""
    if as_json:
        import msgspec

        said = json.dumps(msgspec.to_builtins(data, enc_hook=str))
    else:
        from redtogreen.insight.texts import visible

        said = visible(text()).rstrip("\n")
    try:
        sys.stdout.write(said + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise PipeClosed from None


def lead(as_json: bool, *commands: str) -> None:
    """Say on stderr what to type next; nothing where a script reads."""
    if not as_json:
        say("\n".join(f"next: redtogreen {command}" for command in commands))


def say(text: str) -> None:
    """One remark on stderr."""
    from redtogreen.insight.texts import visible

    sys.stderr.write(visible(text).rstrip("\n") + "\n")
    sys.stderr.flush()
