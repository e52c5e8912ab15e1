"""The workspace of an attempt, kept file by file: the final one to be judged again, that of a step to go on from.

It is one blob of the run: a MessagePack list of `KeptChange`, sorted by path, by-products included. Secrets are
replaced before it is written; what the grader would not take for its size is kept as its size alone.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec

from redtogreen.errors import RecordError
from redtogreen.execution.sandboxes.contract import Changes, FileChange
from redtogreen.grading.overlay import MAX_FILE
from redtogreen.store import BlobStore
from redtogreen.trajectories.recording.redaction import Redactor


class KeptChange(msgspec.Struct, array_like=True, frozen=True):
    """One changed path, against the start state."""

    path: str
    kind: Literal["file", "link", "deleted"]
    content: bytes
    """Bytes of a file, target of a link; empty for a file of more than `MAX_FILE` bytes, and where `blob` is set."""
    executable: bool
    size: int
    """Bytes of the content in the workspace."""
    redacted: bool
    """Whether a secret was replaced in the content or in the path."""
    blob: str = ""
    """Name of the blob that holds the content: a file that many steps leave as it is, is stored once."""


APART = 32 * 2**10
"""Bytes; a larger content is a blob of its own."""


def keep_changes(changes: Changes, clean: Collection[str], redactor: Redactor, blobs: BlobStore) -> str:
    """Store the changes; returns the name of the blob. `clean`: paths that are known to have gained no secret."""
    kept = []
    for path, change in sorted(changes.items()):
        before = redactor.count
        content, name = change.content, redactor.text(path)
        if len(content) > MAX_FILE:
            content = b""
        elif path not in clean:
            content = redactor.text(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        redacted = redactor.count > before
        blob = blobs.put(content) if len(content) > APART else ""
        inline = b"" if blob else content
        kept.append(KeptChange(name, change.kind, inline, change.executable, len(change.content), redacted, blob))
    return blobs.put(msgspec.msgpack.encode(kept))


def load_changes(name: str, blobs: BlobStore) -> tuple[Changes, list[str]]:
    """The changes of a blob, and the paths whose content is not the workspace's because secrets were replaced in it.

    Raises RecordError when the blob is missing or holds something else.
    """
    try:
        kept = msgspec.msgpack.decode(blobs.get(name), type=list[KeptChange])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RecordError(f"blob {name} holds no changes of a workspace: {error}", "restore it from a copy") from None
    changes = {}
    for one in kept:
        content = blobs.get(one.blob) if one.blob else one.content
        changes[one.path] = FileChange(one.kind, content if one.size <= MAX_FILE else bytes(one.size), one.executable)
    return changes, [one.path for one in kept if one.redacted]
