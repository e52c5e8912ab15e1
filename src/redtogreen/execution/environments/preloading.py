"""What a warm interpreter of an environment holds: the modules, and the code, that collecting the tests loads."""

from __future__ import annotations

import hashlib
import marshal
import threading
from collections import OrderedDict
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


_known: dict[str, _Kept | None] = {}
_latest: OrderedDict[tuple[str, Path], Preload] = OrderedDict()
_MOST = 8
_WORKSPACE = "/work/"
_FORMAT = 4
_lock = threading.Lock()


def preload_of(environment: str, roots: Sequence[str], lower: Path, open_cold: Callable[[], Sandbox]) -> Preload | None:
    """What to keep loaded for the environment with this hash; None when it is not known yet, or cannot be found out.

    It is found out when it is asked for a second time, by one collection in the sandbox that `open_cold` opens over a
    project as it was admitted: never over files an agent wrote. Kept in the cache folder, `preload/`. roots: the
    environment's import roots. lower: the tree of the workspace. Code is kept of the project's files, held-out tests
    and the correct version of an injected mistake among them; a workspace gets only that of files it shows itself.
    """
    with _lock:
        if environment not in _known:
            file = _file(environment)
            _known[environment] = _read(file) if file.exists() else None
        elif _known[environment] is None:
            _known[environment] = _trace(environment, open_cold)
        kept, key = _known[environment], (environment, lower)
        if kept is None:
            return None
        if key not in _latest:
            _latest[key] = _preload(kept, roots, lower)
        _latest.move_to_end(key)
        if len(_latest) > _MOST:
            _latest.popitem(last=False)
        return _latest[key]


def _trace(environment: str, open_cold: Callable[[], Sandbox]) -> _Kept:
    with open_cold() as sandbox:
        loaded = trace_loading(sandbox)
    kept = _Kept(loaded.modules, [(*key, code) for key, code in loaded.codes.items()])
    if loaded.whole:  # a broken start state shows too little to be kept for others
        write_atomic(_file(environment), zstandard.compress(msgspec.msgpack.encode(kept)))
    return kept


def _read(path: Path) -> _Kept | None:
    try:
        return msgspec.msgpack.decode(zstandard.decompress(path.read_bytes()), type=_Kept)
    except (zstandard.ZstdError, msgspec.MsgspecError):
        return None  # damaged: found out and written again


def _preload(kept: _Kept, roots: Sequence[str], lower: Path) -> Preload:
    present = _digests({path for path, *_ in kept.codes}, lower.resolve())
    codes = {
        (path, source, variant): code
        for path, source, variant, code in kept.codes
        if not path.startswith(_WORKSPACE) or present.get(path) == source  # plugins are the environment's own
    }
    return Preload(
        interpreter=INTERPRETER,
        modules=(*kept.modules, *DRIVER_MODULES, CODES_MODULE),
        folder=PROGRAMS,
        roots=tuple(roots),
        prepare=(CODES_MODULE, marshal.dumps(codes, 2)),
    )


def _digests(paths: set[str], lower: Path) -> dict[str, str]:
    """Of these files of the workspace, as the tree holds them. The names come from a sandbox: no link is followed."""
    found = {}
    for path in paths:
        place = lower / path.removeprefix(_WORKSPACE)
        if path.startswith(_WORKSPACE) and "\0" not in path and place.is_file() and place.resolve() == place:
            found[path] = hashlib.sha256(place.read_bytes()).hexdigest()
    return found


def _file(environment: str) -> Path:
    return home() / "preload" / f"{digest(canonical_json([environment, __version__, _FORMAT]))[7:39]}.zst"
