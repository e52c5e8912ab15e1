"""Small charts as inline SVG and CSS bars: no script, no request, no font."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redtogreen.insight.texts import escape, number, share

WIDTH, HEIGHT, BOTTOM = 640, 180, 24


def histogram(values: Sequence[float], label: str, bins: int = 21) -> str:
    """Counts of values in equal bins, as an SVG that says its figures to those who cannot see it."""
    if not values:
        return "<p>No values.</p>"
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 0.5, high + 0.5
    width = (high - low) / bins
    counts = [0] * bins
    for value in values:
        counts[min(int((value - low) / width), bins - 1)] += 1
    top, bar = max(counts), WIDTH / bins
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}: {len(values)} values '
        f'from {number(min(values))} to {number(max(values))}">'
    ]
    for index, count in enumerate(counts):
        height = (HEIGHT - BOTTOM - 16) * count / top
        x, y = index * bar, HEIGHT - BOTTOM - height
        title = f"{number(low + index * width)} to {number(low + (index + 1) * width)}: {count}"
        corner = f'x="{x + 1:.1f}" y="{y:.1f}" width="{bar - 2:.1f}" height="{height:.1f}"'
        parts.append(f"<rect {corner}><title>{title}</title></rect>")
        if count:
            parts.append(f'<text x="{x + bar / 2:.1f}" y="{y - 4:.1f}" text-anchor="middle">{count}</text>')
    for place, anchor, value in ((0, "start", low), (WIDTH / 2, "middle", (low + high) / 2), (WIDTH, "end", high)):
        parts.append(f'<text x="{place:.0f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{number(value)}</text>')
    return "".join([*parts, "</svg>"])


def funnel(stages: Sequence[tuple[str, int]]) -> str:
    """A bar per stage, as wide as its share of the widest."""
    most = max((count for _, count in stages), default=0)
    rows = [_bar(name, count, 100 * count / most if most else 0.0, str(count)) for name, count in stages]
    return f'<div class="bars">{"".join(rows)}</div>'


def counts(named: Mapping[str, int]) -> str:
    """A bar per name, largest first."""
    whole = sum(named.values())
    rows = [
        _bar(name, count, 100 * count / whole, f"{count} ({share(count, whole)})")
        for name, count in sorted(named.items(), key=lambda item: (-item[1], item[0]))
        if count
    ]
    return f'<div class="bars">{"".join(rows)}</div>' if rows else "<p>None.</p>"


def _bar(name: str, count: int, percent: float, text: str) -> str:
    return (
        f'<span class="name">{escape(name)}</span>'
        f'<span class="track"><span class="bar" style="width:{percent:.2f}%"></span></span>'
        f'<span class="figure">{escape(text)}</span>'
    )
