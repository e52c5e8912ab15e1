"""The project's modules compiled once: code kept by the digest of its source, so that it can never be stale.

pytest rewrites the assertions of every test file anew in each run, and nothing here writes byte code beside sources;
with small suites that is half of a run. A warm interpreter looks code up instead. The code comes from one run over the
project as it was admitted; a file that has been edited since has another digest and is compiled as ever.
"""

from __future__ import annotations

import hashlib
import marshal
from importlib.machinery import SourceFileLoader
from types import CodeType

import _pytest.assertion.rewrite as rewrite

PLAIN, REWRITTEN, WITH_HOOK = "plain", "rewritten", "rewritten with pytest_assertion_pass"
LARGEST = 16 * 2**20
"""Bytes of code kept in all."""
_compile, _rewrite = SourceFileLoader.source_to_code, rewrite._rewrite_test
Key = tuple[str, str, str]


def record(root: str) -> list[tuple[Key, bytes]]:
    """Remember from now on what is compiled from files below `root`, and the plugins that pytest rewrites:
    ((path, digest, variant), code), in order."""
    found: list[tuple[Key, bytes]] = []

    def keep(key: Key, code: CodeType) -> CodeType:
        content = marshal.dumps(code)
        wanted = key[0].startswith(root) or key[2] != PLAIN
        if wanted and sum(len(other) for _, other in found) + len(content) <= LARGEST:
            found.append((key, content))
        return code

    _wrap(keep, lambda key: None)
    return found


def install(data: bytes) -> None:
    """Use recorded code, a marshalled dictionary of `record`'s pairs, wherever path, source and variant agree."""
    known: dict[Key, bytes] = marshal.loads(data)
    _wrap(lambda key, code: code, lambda key: known.get(key))


def _wrap(keep, look) -> None:
    def source_to_code(self, data, path, **options):
        if not isinstance(data, bytes) or not isinstance(path, str):
            return _compile(self, data, path, **options)
        key = (path, _digest(data), PLAIN)
        code = look(key)
        return marshal.loads(code) if code else keep(key, _compile(self, data, path, **options))

    def rewrite_test(file, config):
        __tracebackhide__ = True
        hook = config.getini("enable_assertion_pass_hook")
        key = (str(file), _digest(file.read_bytes()), WITH_HOOK if hook else REWRITTEN)
        code = look(key)
        if code:
            return file.stat(), marshal.loads(code)
        status, made = _rewrite(file, config)
        return status, keep(key, made)

    # Python leaves its own importing frames out of the traceback of a syntax error: this one has to count as one.
    frozen = _compile.__code__.co_filename
    source_to_code.__code__ = source_to_code.__code__.replace(co_filename=frozen)
    setattr(SourceFileLoader, "source_to_code", source_to_code)  # noqa: B010 - a method, which mypy guards
    rewrite._rewrite_test = rewrite_test


def _digest(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()
