"""The pictures of the guide's chapter on speed, from the tables beside this file: ``python -m tests.bench._pictures``."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from html import escape
from itertools import groupby
from pathlib import Path

TABLES = Path(__file__).parent
PICTURES = TABLES.parents[1] / "src" / "tdqsim" / "guide" / "pictures"
WIDTH, LEFT, LINE = 880, 330, 26
COLOURS = ("#5c6bc0", "#26897f", "#c0703a", "#8e5ba6", "#5d7a2e", "#b0475c")
TEXT = 'font-size="13" fill="#777"'


def rows(name: str) -> list[list[str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t"))[1:]


def picture(title: str, height: int, parts: Iterable[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" role="img">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>", ""])


def bars(title: str, found: list[tuple[str, float]], *, logarithmic: bool = False) -> str:
    """Bars with their figures; on a logarithmic scale they begin at a hundredth."""
    parts = []
    most = max(value for _, value in found)
    for at, (name, value) in enumerate(found):
        share = math.log(value / 0.01) / math.log(most / 0.01) if logarithmic else value / most
        width, top = round(share * (WIDTH - LEFT - 70)), at * LINE
        parts += [
            f'<text x="{LEFT - 10}" y="{top + 18}" text-anchor="end" {TEXT}>{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{top + 4}" width="{width}" height="{LINE - 7}" rx="3" fill="{COLOURS[0]}"/>',
            f'<text x="{LEFT + width + 7}" y="{top + 18}" {TEXT}>{value:,g}</text>',
        ]
    return picture(title, len(found) * LINE + 6, parts)


def lines(title: str, found: list[tuple[str, list[tuple[float, float]]]]) -> str:
    """Lines over a logarithmic scale of sizes, of costs in multiples of the first."""
    bottom, right, highest, top = 330, 560, 3, 1e7

    def place(size: float, ratio: float) -> tuple[int, int]:
        x = 50 + (right - 60) * (math.log10(size) - 1) / (math.log10(top) - 1)
        return round(x), round(bottom - 40 - (bottom - 60) * ratio / highest)

    parts = []
    for power in range(1, 8):
        x, y = place(10**power, 0)
        parts.append(f'<text x="{x}" y="{y + 22}" text-anchor="middle" {TEXT}>{10**power:,}</text>')
    for ratio in range(highest + 1):
        x, y = place(10, ratio)
        parts.append(f'<path d="M{x} {y}H{place(top, 0)[0]}" stroke="#999" stroke-opacity=".3"/>')
        parts.append(f'<text x="{x - 10}" y="{y + 4}" text-anchor="end" {TEXT}>{ratio}</text>')
    for (name, points), colour in zip(found, COLOURS, strict=False):
        path = " ".join(f"{x},{y}" for x, y in (place(size, cost / points[0][1]) for size, cost in points))
        x, y = right + 30, 30 + 34 * COLOURS.index(colour)
        parts += [
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>',
            f'<path d="M{x} {y}h22" stroke="{colour}" stroke-width="4"/>',
            f'<text x="{x + 30}" y="{y + 5}" {TEXT}>{escape(name)}</text>',
        ]
    return picture(title, bottom, parts)


def pictures() -> dict[str, str]:
    """The pictures by the names of their files."""
    growth = [
        (name, [(float(size), float(cost)) for _, size, cost in points])
        for name, points in groupby(rows("growth.tsv"), key=lambda row: row[0])
    ]
    return {
        "speed-instructions.svg": bars(
            "Bytecode instructions of each command", [(name, float(count)) for name, count in rows("instructions.tsv")]
        ),
        "speed-peers.svg": bars(
            "A pair of write and read of other queues, in pairs of WRITEQ TD and READQ TD",
            [(name, float(ratio)) for name, ratio in rows("peers.tsv")],
            logarithmic=True,
        ),
        "speed-growth.svg": lines(
            "The cost of one more, in multiples of the cost among a few, by their number", growth
        ),
    }


if __name__ == "__main__":
    for name, text in pictures().items():
        (PICTURES / name).write_text(text, encoding="utf-8")
