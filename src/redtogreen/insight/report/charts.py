"""Small charts as inline SVG and CSS bars: no script, no request, no font."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redtogreen.insight.texts import escape, number, share

WIDTH, HEIGHT, BOTTOM = 640, 180, 24
FEW = 12
"""Different values that get a bar each."""
WIDEST = 48


def histogram(values: Sequence[float], label: str, bins: int = 21) -> str:
    """Counts of values as an SVG that says its figures to those who cannot see it.

    A bar per value when there are few different ones, as with rewards of 0 and 1, else equal bins.
    """
    if not values:
        return "<p>No values.</p>"
    low, high = min(values), max(values)
    distinct = sorted(set(values))
    if len(distinct) <= FEW:
        named = [(number(value), values.count(value)) for value in distinct]
        marks = [(index + 0.5, "middle", name) for index, (name, _) in enumerate(named)]
    else:
        width = (high - low) / bins
        counts = [0] * bins
        for value in values:
            counts[min(int((value - low) / width), bins - 1)] += 1
        edges = [number(low + index * width) for index in range(bins + 1)]
        named = [(f"{edges[index]} to {edges[index + 1]}", count) for index, count in enumerate(counts)]
        marks = [(0, "start", edges[0]), (bins / 2, "middle", number((low + high) / 2)), (bins, "end", edges[-1])]
    top, bar = max(count for _, count in named), WIDTH / len(named)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}: {len(values)} values '
        f'from {number(low)} to {number(high)}">'
    ]
    for index, (name, count) in enumerate(named):
        height = (HEIGHT - BOTTOM - 16) * count / top
        middle, thick, y = (index + 0.5) * bar, min(bar - 2, WIDEST), HEIGHT - BOTTOM - height
        corner = f'x="{middle - thick / 2:.1f}" y="{y:.1f}" width="{thick:.1f}" height="{height:.1f}"'
        parts.append(f"<rect {corner}><title>{name}: {count}</title></rect>")
        if count:
            parts.append(f'<text x="{middle:.1f}" y="{y - 4:.1f}" text-anchor="middle">{count}</text>')
    for place, anchor, text in marks:
        parts.append(f'<text x="{place * bar:.0f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{text}</text>')
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
