"""Making hostile text safe to look at: what an agent printed must not steer a terminal, a browser or a reader's eye."""

from __future__ import annotations

import html
import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad"  # control characters but tab and newline, soft hyphen
    "\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible or turning text round
    "\ud800-\udfff\U000e0000-\U000e007f]"  # lone surrogates, tag characters
)


def visible(text: str) -> str:
    r"""The text with every control, invisible or direction-changing character written out, such as `\x1b`."""
    return _HIDDEN.sub(_written_out, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 100) -> str:
    """The text on one line of at most `limit` characters, safe to print."""
    flat = visible(" ".join(text.split()))
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def shorten(text: str, lines: int, characters: int) -> str:
    """Beginning and end of a long text with a note of what is left out; safe to print."""
    safe = visible(text[: 4 * characters] + text[-4 * characters :] if len(text) > 8 * characters else text)
    rows = safe.rstrip("\n").split("\n")
    if len(rows) > lines + 1:  # one line is no longer than the note that stands for it
        head, tail = (lines + 1) // 2, lines // 2
        missing = len(rows) - head - tail
        rows = [*rows[:head], f"[… {missing} lines left out …]", *(rows[-tail:] if tail else [])]
    safe = "\n".join(rows)
    if len(safe) > characters:
        half = characters // 2
        safe = f"{safe[:half]}\n[… {len(safe) - 2 * half} characters left out …]\n{safe[-half:]}"
    return safe


def escape(text: object) -> str:
    """Text for an HTML page, as content or as a quoted attribute."""
    return html.escape(visible(str(text)), quote=True)


def number(value: float | int | None) -> str:
    """A number as short as it can be read: no trailing zeros, at most four digits after the point."""
    if value is None:
        return "-"
    rounded = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if rounded in ("-0", "") else rounded


def share(part: int, whole: int) -> str:
    """A share in per cent, or `-` of nothing."""
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
