"""Receiver operating characteristics, and a picture of them that needs no library."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_SIDE, _LEFT, _TOP = 360, 56, 16  # pixels
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # told apart without colour vision (Okabe and Ito)


@dataclass(frozen=True)
class Curve:
    name: str
    positives: Sequence[float]  #: scores of what should score high
    negatives: Sequence[float]

    @property
    def area(self) -> float:
        """The chance that a positive scores higher than a negative; equal scores count half (Mann-Whitney)."""
        ranked = sorted(self.negatives)
        below = sum(bisect_left(ranked, score) + bisect_right(ranked, score) for score in self.positives)
        return below / 2 / len(self.positives) / len(ranked)

    @property
    def points(self) -> list[tuple[float, float]]:
        """Shares of the negatives and of the positives at or above each score, from the highest score down."""
        positives, negatives = sorted(self.positives), sorted(self.negatives)
        scores = sorted({*positives, *negatives}, reverse=True)
        return [(0.0, 0.0), *((_share(negatives, score), _share(positives, score)) for score in scores)]


def picture(curves: Sequence[Curve], what: str) -> str:
    """An SVG for light and dark pages."""
    lines = "".join(_line(curve, colour) for curve, colour in zip(curves, _COLOURS, strict=False))
    names = "".join(
        f'<text x="{_LEFT + 150}" y="{_TOP + _SIDE - 16 - 20 * row}" fill="{colour}">{curve.area:.2f}  '
        f"{escape(curve.name)}</text>"
        for row, (curve, colour) in enumerate(zip(curves, _COLOURS, strict=False))
    )
    width, height = _LEFT + _SIDE + 16, _TOP + _SIDE + 48
    frame = f'<rect x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#888"/>'
    chance = f'<path d="M{_LEFT} {_TOP + _SIDE}L{_LEFT + _SIDE} {_TOP}" stroke="#888" stroke-dasharray="4"/>'
    below = f'<text x="{_LEFT + _SIDE / 2}" y="{height - 14}" text-anchor="middle">near misses {escape(what)}</text>'
    turned = f"rotate(-90 20 {_TOP + _SIDE / 2})"
    beside = (
        f'<text x="20" y="{_TOP + _SIDE / 2}" text-anchor="middle" transform="{turned}">answers {escape(what)}</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<g font-family="system-ui,sans-serif" font-size="14">{frame}{chance}{lines}{names}'
        f'<g fill="#777">{below}{beside}</g></g></svg>\n'
    )


def _line(curve: Curve, colour: str) -> str:
    every = [(_LEFT + x * _SIDE, _TOP + (1 - y) * _SIDE) for x, y in curve.points]
    step = max(1, len(every) // 200)
    path = "L".join(f"{x:.0f} {y:.0f}" for x, y in [*every[::step], every[-1]])
    return f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _share(ranked: Sequence[float], score: float) -> float:
    return (len(ranked) - bisect_left(ranked, score)) / len(ranked)
