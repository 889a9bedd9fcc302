"""Plots as inline SVG: lines and bars, nothing loaded from anywhere, readable in light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

__all__ = ["bars", "lines"]

WIDTH: Final = 760
HEIGHT: Final = 260
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 12, 44
COLOURS: Final = ("#2266aa", "#cc6622", "#338844", "#884499", "#aa3344", "#667700")


def _ticks(top: float, most: int = 5) -> list[float]:
    """Round numbers from 0 to at least the greatest value."""
    if top <= 0:
        return [0.0, 1.0]
    step = 10.0 ** len(str(int(top / most)))
    for finer in (0.1, 0.2, 0.25, 0.5):
        if top / (step * finer) <= most and (step * finer >= 1 or top < most):
            step *= finer
            break
    count = int(-(-top // step))
    return [step * number for number in range(count + 1)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def _frame(
    ticks: Sequence[float], label_x: str, label_y: str, inside: str, x_texts: Sequence[tuple[float, str]]
) -> str:
    base, room = HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label_y)} by {escape(label_x)}">']
    for tick in ticks:
        y = base - room * tick / ticks[-1]
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    parts += [f'<text x="{x:.1f}" y="{base + 16}" text-anchor="middle">{escape(text)}</text>' for x, text in x_texts]
    parts.append(inside)
    middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
    parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(label_x)}</text>')
    parts.append(
        f'<text transform="translate(12 {TOP + room / 2:.1f}) rotate(-90)" text-anchor="middle">'
        f"{escape(label_y)}</text>"
    )
    parts.append("</svg>")
    return "".join(parts)


def lines(series: Sequence[tuple[str, Sequence[tuple[float, float]]]], label_x: str, label_y: str) -> str:
    """Lines with a legend beneath.

    Args:
        series: name and points (x, y) of each, at most as many as there are colours.
        label_x: what the axis along is.
        label_y: what the upright axis is.
    """
    shown = [(name, points) for name, points in series[: len(COLOURS)] if points]
    if not shown:
        return '<p class="none">nothing to show</p>'
    low = min(x for _, points in shown for x, _ in points)
    high = max(x for _, points in shown for x, _ in points)
    ticks = _ticks(max(y for _, points in shown for _, y in points))
    base, room, wide = HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP, WIDTH - LEFT - RIGHT

    def place(x: float, y: float) -> str:
        across = LEFT + wide * ((x - low) / (high - low) if high > low else 0.5)
        return f"{across:.1f},{base - room * y / ticks[-1]:.1f}"

    drawn = []
    for (name, points), colour in zip(shown, COLOURS, strict=False):
        path = " ".join(place(x, y) for x, y in points)
        title = f"<title>{escape(name)}</title>"
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5">{title}</polyline>')
    texts = [(LEFT + wide * part, _number(round(low + (high - low) * part))) for part in (0, 0.25, 0.5, 0.75, 1)]
    legend = "".join(
        f'<span><i style="background:{colour}"></i>{escape(name)}</span>'
        for (name, _), colour in zip(shown, COLOURS, strict=False)
    )
    return _frame(ticks, label_x, label_y, "".join(drawn), texts) + f'<div class="legend">{legend}</div>'


def bars(values: Sequence[tuple[str, float]], label_x: str, label_y: str) -> str:
    """A bar for each name, in the order given."""
    if not values:
        return '<p class="none">nothing to show</p>'
    ticks = _ticks(max(value for _, value in values))
    base, room = HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP
    each = (WIDTH - LEFT - RIGHT) / len(values)
    drawn, texts = [], []
    skip = -(-len(values) * 8 * max(len(name) for name, _ in values) // (WIDTH - LEFT - RIGHT)) or 1
    for at, (name, value) in enumerate(values):
        tall = room * value / ticks[-1]
        x = LEFT + each * at
        title = f"<title>{escape(name)}: {_number(value)}</title>"
        drawn.append(
            f'<rect x="{x + each * 0.1:.1f}" y="{base - tall:.1f}" width="{max(each * 0.8, 1):.1f}" '
            f'height="{max(tall, 0.5 if value else 0):.1f}" fill="{COLOURS[0]}">{title}</rect>'
        )
        if at % skip == 0:
            texts.append((x + each / 2, name))
    return _frame(ticks, label_x, label_y, "".join(drawn), texts)
