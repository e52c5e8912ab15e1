"""What a warm interpreter of an environment holds: the modules, and the code, that collecting the tests loads."""

from __future__ import annotations

import marshal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import zstandard

from redtogreen import __version__
from redtogreen.execution.sandboxes import Preload, Sandbox
from redtogreen.execution.testruns.run import CODES_MODULE, DRIVER_MODULES, INTERPRETER, PROGRAMS, trace_loading
from redtogreen.records.canonical import canonical_json, digest
from redtogreen.store import home, write_atomic


class _Kept(msgspec.Struct, array_like=True):
    modules: list[str]
    codes: list[tuple[str, str, str, bytes]]


_known: dict[str, Preload | None] = {}
_lock = threading.Lock()


def preload_of(environment: str, roots: Sequence[str], open_cold: Callable[[], Sandbox]) -> Preload | None:
    """What to keep loaded for the environment with this hash; None when it is not known yet, or cannot be found out.

    It is found out when it is asked for a second time, by one collection in the sandbox that `open_cold` opens over a
    project as it was admitted: never over files an agent wrote. Kept in the cache folder, `preload/`. roots: the
    environment's import roots.
    """
    with _lock:
        if environment not in _known:
            kept = _file(environment)
            _known[environment] = _read(kept, roots) if kept.exists() else None
            return _known[environment]
        if _known[environment] is None:
            _known[environment] = _trace(environment, roots, open_cold)
        return _known[environment]


def _trace(environment: str, roots: Sequence[str], open_cold: Callable[[], Sandbox]) -> Preload | None:
    with open_cold() as sandbox:
        loaded = trace_loading(sandbox)
    kept = _Kept(loaded.modules, [(*key, code) for key, code in loaded.codes.items()])
    if loaded.whole:  # a broken start state shows too little to be kept for others
        write_atomic(_file(environment), zstandard.compress(msgspec.msgpack.encode(kept)))
    return _preload(kept, roots)


def _read(path: Path, roots: Sequence[str]) -> Preload | None:
    try:
        return _preload(msgspec.msgpack.decode(zstandard.decompress(path.read_bytes()), type=_Kept), roots)
    except (zstandard.ZstdError, msgspec.MsgspecError):
        return None  # damaged: found out and written again


def _preload(kept: _Kept, roots: Sequence[str]) -> Preload:
    codes = {(path, source, variant): code for path, source, variant, code in kept.codes}
    return Preload(
        interpreter=INTERPRETER,
        modules=(*kept.modules, *DRIVER_MODULES),
        folder=PROGRAMS,
        roots=tuple(roots),
        prepare=(CODES_MODULE, marshal.dumps(codes, 2)),
    )


def _file(environment: str) -> Path:
    return home() / "preload" / f"{digest(canonical_json([environment, __version__]))[7:39]}.zst"
