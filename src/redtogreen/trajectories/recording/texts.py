"""Long texts of an observation: stored whole, shown shortened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redtogreen.store import BlobStore
from redtogreen.trajectories.recording.redaction import Redactor

MAX_TEXT = 16_000
"""Characters of one text that an observation shows."""


def shorten(text: str, limit: int = MAX_TEXT) -> str:
    """At most about `limit` characters: the beginning and the end, with the number of characters left out."""
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]}\n[... {len(text) - 2 * head} characters cut ...]\n{text[-head:]}"


def shortened(value: Any, place: str = "", full: dict[str, str] | None = None) -> Any:
    """A JSON value with its long texts shortened; `full` collects place -> whole text."""
    if isinstance(value, str):
        if len(value) > MAX_TEXT and full is not None:
            full[place] = value
        return shorten(value)
    if isinstance(value, dict):
        return {key: shortened(item, f"{place}.{key}".lstrip("."), full) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(item, f"{place}[{number}]", full) for number, item in enumerate(value)]
    return value


def recorded_observation(
    observation: Mapping[str, Any], whole: Mapping[str, bytes], redactor: Redactor, blobs: BlobStore
) -> dict[str, Any]:
    """An observation as it is written down: redacted, shortened, with `full` naming the blob of each whole text.

    `whole`: field -> complete text, for fields that were cut before. It is redacted before it is cut, so that no half
    of a secret is left at a cut.
    """
    full: dict[str, bytes] = {}
    said = dict(observation)
    for field, content in whole.items():
        text = content.decode("utf-8", "replace")
        clean = redactor.text(text)
        full[field] = content if clean == text else clean.encode()
        shown = said.get(field)
        if clean != text and isinstance(shown, str):
            said[field] = clean[-len(shown) :] if text.endswith(shown) else shorten(clean, max(len(shown), 200))
    cut: dict[str, str] = {}
    said = shortened(redactor.value(said), full=cut)
    full |= {place: text.encode("utf-8", "replace") for place, text in cut.items()}
    if full:
        said["full"] = {field: blobs.put(content) for field, content in sorted(full.items())}
    return said
