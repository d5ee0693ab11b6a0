"""Every form of a CSS colour is a colour, and nothing else is."""

from __future__ import annotations

import pytest

from shared.flows.colors import is_color, is_paint

COLORS = (
    """
red|RebeccaPurple|transparent|currentColor|#fff|#FFFF|#a1b2c3|#a1b2c3d4|rgb(1,2,3)|rgb(1, 2, 3, 0.5)|rgba(1,2,3,.5)
rgb(10% 20% 30% / 50%)|rgb(1 2 3)|rgb(none 2 3)|hsl(120, 50, 50)|hsl(120, 50%, 50%)|hsla(120deg, 50%, 50%, 0.3)
hsl(0.5turn 50% 50% / .5)|hwb(120 10% 20%)|lab(50% 20 -30)|lch(50% 30 120deg)|oklab(0.5 0.1 -0.1)|oklch(60% .2 30)
color(display-p3 1 0.5 0)|color(srgb 1 0 0 / 50%)|color-mix(in srgb, red 30%, blue)|light-dark(white, #000)|Canvas
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

PAINTS = [
    "linear-gradient(180deg, #0f0a1a 0%, #1a0f2e 100%)",
    "linear-gradient(to right bottom, red, rgba(1, 2, 3, 0.5) 20%, 30%, blue)",
    "linear-gradient(red, blue)",
    "radial-gradient(circle at center, red 0, blue 40px)",
    "radial-gradient(circle closest-side at 20px 30%, red, blue)",
    "radial-gradient(at top left, red, blue)",
    "conic-gradient(from 45deg at 50% 50%, red 0deg, blue 360deg)",
    "repeating-linear-gradient(45deg, red 0 10px, blue 10px 20px)",
]

NEITHER = [
    "",
    "reddish",
    "#ff",
    "#fffff",
    "#ggg",
    "rgb(1,2)",
    "rgb(1,2,3,4,5)",
    "rgb(1 2, 3)",
    "hsl(red, 1%, 1%)",
    "hwb(120, 10%, 20%)",
    "url(https://evil.example/x.png)",
    "red; background: url(x)",
    "expression(alert(1))",
    "var(--x)",
    "rgb(1,2,3)) url(x",
    "rgb(1,2,3",
    "rgb(1 2 3/**/)",
    "\\72 ed",
    "color()",
    "color-mix()",
    "#fff\n",
    "ｒｅｄ",
    "r" * 5000,
    "color(mars 1 1 1)",
    "color-mix(in srgb, red)",
    "linear-gradient()",
    "linear-gradient(red)",
    "linear-gradient(red, url(x))",
    "linear-gradient(to nowhere, red, blue)",
    "linear-gradient(90deg, red, blue); color: red",
    "linear-gradient(90deg, 10%, red, blue)",
    "linear-gradient(red, blue)) , url(x",
    "image-set(red, blue)",
    "linear-gradient(" * 60,
]


@pytest.mark.parametrize("text", COLORS)
def test_a_colour_is_accepted_wherever_one_may_stand(text: str) -> None:
    assert is_color(text)
    assert is_paint(text)


@pytest.mark.parametrize("text", PAINTS)
def test_a_gradient_is_a_paint_but_no_colour(text: str) -> None:
    assert is_paint(text)
    assert not is_color(text)


@pytest.mark.parametrize("text", [text for text in NEITHER if text != "#fff\n"])
def test_anything_else_is_refused(text: str) -> None:
    assert not is_paint(text)
    assert not is_color(text)
