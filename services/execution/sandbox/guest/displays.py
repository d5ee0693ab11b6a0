"""What the code shows: ``display(obj)``, and the figures that are still open at its end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, cast

from services.execution.sandbox.guest.isolate import OUT, new_file
from services.execution.sandbox.protocol.wire import Message

_MOST = 50
_LONGEST_TEXT = 60_000
_RICH = (
    ("_repr_html_", "text/html", ".html"),
    ("_repr_svg_", "image/svg+xml", ".svg"),
    ("_repr_png_", "image/png", ".png"),
    ("_repr_jpeg_", "image/jpeg", ".jpg"),
    ("_repr_latex_", "text/latex", ".tex"),
    ("_repr_markdown_", "text/markdown", ".md"),
)


class Displays:
    """Sends displays out, in order, within a cap."""

    def __init__(self, announce: Callable[[Message], None]) -> None:
        self._announce = announce
        self._count = 0

    def begin(self) -> None:
        """Restart the count for a new call; the displays of the last one have been fetched."""
        self._count = 0

    def display(self, *values: object) -> None:
        """Show values: tables as HTML, figures and images as pictures, the rest as text."""
        for value in values:
            self._count += 1
            if self._count <= _MOST:
                self._show(*rendered(value))
            elif self._count == _MOST + 1:
                self._announce({"t": "unshown"})

    def _show(self, media_type: str, content: str | bytes, suffix: str) -> None:
        if isinstance(content, str) and len(content) <= _LONGEST_TEXT:
            self._announce({"t": "display", "media_type": media_type, "text": content})
            return
        name = f"display-{self._count}{suffix}"
        with open(new_file(os.path.join(OUT, name)), "wb") as handle:
            handle.write(content.encode() if isinstance(content, str) else content)
        self._announce({"t": "display", "media_type": media_type, "file": name})

    def show_open_figures(self) -> None:
        """Display the open figures, for ``plt.show()`` and at the end."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            self.display(pyplot.figure(number))
        pyplot.close("all")


def figure_of(value: object) -> Any:
    """Return the matplotlib figure that a value is, belongs to, or holds; else ``None``."""
    figure = sys.modules.get("matplotlib.figure")
    if figure is None:
        return None
    kind = type(value)  # its class as it is, not as it says: that may raise
    if issubclass(kind, figure.FigureBase):
        return value
    if issubclass(kind, (list, tuple)):
        return next((each for each in map(figure_of, cast("list[object]", value)) if each is not None), None)
    if kind.__name__ == "ndarray" and str(getattr(value, "dtype", "")) == "object":
        return figure_of(list(value.flat)[:1])  # type: ignore[attr-defined]
    owner = getattr(value, "figure", None) if kind.__module__.partition(".")[0] in _PLOTTERS else None
    return owner if isinstance(owner, figure.FigureBase) else None


_PLOTTERS = ("matplotlib", "seaborn", "pandas", "mpl_toolkits")


def picture(figure: Any) -> bytes:
    import io

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def rendered(value: object) -> tuple[str, str | bytes, str]:
    """Media type, content, suffix of the richest form that the value offers."""
    matplotlib = sys.modules.get("matplotlib.figure")
    if matplotlib is not None and isinstance(value, matplotlib.FigureBase):
        return "image/png", picture(value), ".png"
    if not isinstance(value, type):
        for method, media_type, suffix in _RICH:
            made = _offered(value, method)
            if isinstance(made, (str, bytes)):
                return media_type, made, suffix
    if isinstance(value, str):
        return "text/plain", value, ".txt"
    if isinstance(value, (dict, list)):
        try:
            return "application/json", json.dumps(value, allow_nan=False), ".json"
        except (TypeError, ValueError, RecursionError):
            pass
    return "text/plain", repr(value), ".txt"


def _offered(value: object, method: str) -> object:
    try:
        made = getattr(value, method, None)
        made = made() if callable(made) else None
    except Exception:
        return None
    return made[0] if isinstance(made, tuple) and made else made
