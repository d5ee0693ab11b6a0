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
_LIVE = "(interactive: only its text is kept)"
_RICH = (
    ("_repr_html_", "text/html", ".html"),
    ("_repr_svg_", "image/svg+xml", ".svg"),
    ("_repr_png_", "image/png", ".png"),
    ("_repr_jpeg_", "image/jpeg", ".jpg"),
    ("_repr_latex_", "text/latex", ".tex"),
    ("_repr_markdown_", "text/markdown", ".md"),
)


Form = tuple[str, str | bytes, str]  #: media type, content, suffix of a file for it


class Displays:
    """Sends displays out, in order, within a cap."""

    def __init__(self, announce: Callable[[Message], None], printed: Callable[[], list[int]]) -> None:
        """``printed``: how many bytes each stream has so far."""
        self._announce, self._printed = announce, printed
        self._printed_before = [0, 0]  #: the call
        self._count = self._cleared = 0
        self._clears_next = False
        self.with_options: Callable[..., object] | None = None  #: what shows values where options are given

    def begin(self) -> None:
        """Restart the count for a new call; the displays of the last one have been fetched."""
        self._count = self._cleared = 0
        self._clears_next = False
        self._printed_before = self._printed()

    def display(self, *values: object, **options: object) -> object:
        """Show values: tables as HTML, figures and images as pictures, the rest as text."""
        if options and self.with_options is not None:
            return self.with_options(*values, **options)
        for value in values:
            if not _shows_itself(value):
                self.show(rendered(value))
        return None

    def show(self, form: Form, display_id: str = "", *, update: bool = False, is_value: bool = False) -> None:
        """Send one form out; an update takes the place of the display with its id."""
        if self._clears_next:
            self.clear()
        self._count += 1
        shown = self._count - self._cleared
        if shown > _MOST and not update:
            if shown == _MOST + 1:
                self._announce({"t": "unshown"})
            return
        media_type, content, suffix = form
        printed = [now - before for now, before in zip(self._printed(), self._printed_before, strict=True)]
        more: Message = {"id": display_id, "update": update, "value": is_value, "printed": printed}
        if isinstance(content, str) and len(content) <= _LONGEST_TEXT:
            self._announce({"t": "display", "media_type": media_type, "text": content, **more})
            return
        name = f"display-{self._count}{suffix}"
        with open(new_file(os.path.join(OUT, name)), "wb") as handle:
            handle.write(content.encode() if isinstance(content, str) else content)
        self._announce({"t": "display", "media_type": media_type, "file": name, **more})

    def show_value(self, value: object) -> bool:
        """Show what an expression is worth where it has a form beyond text; return whether its text is still wanted."""
        figure = figure_of(value)
        if figure is not None and figure is not value:
            return False  # axes and lines are shown with their figure
        if _shows_itself(value):
            return False
        if figure is not None:
            self.show(("image/png", picture(figure), ".png"), is_value=True)
            _close(figure)
        elif (form := rich_form(value)) is not None:
            self.show(form, is_value=True)
        return True

    def clear(self, *, wait: bool = False) -> None:
        """Take back what the call has shown so far; with ``wait``, once something else is shown."""
        self._clears_next = wait
        if not wait:
            self._cleared = self._count
            self._announce({"t": "clear"})

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


def rich_form(value: object) -> Form | None:
    """Return the richest form that the value offers by itself; ``None`` where that is its text."""
    if isinstance(value, type):
        return None
    bundle = _offered(value, "_repr_mimebundle_", include=None, exclude=None) or _offered(value, "_repr_mimebundle_")
    for method, media_type, suffix in _RICH:
        made = bundle.get(media_type) if isinstance(bundle, dict) else None
        made = _offered(value, method) if made is None else made
        if isinstance(made, (str, bytes)):
            return media_type, made, suffix
    made = bundle.get("application/json") if isinstance(bundle, dict) else None
    made = _offered(value, "_repr_json_") if made is None else made
    if made is not None:
        return _as_json(made)
    return _still(bundle) if isinstance(bundle, dict) else None


def _still(bundle: dict[str, object]) -> Form | None:
    """Return the text of what only a notebook with a live kernel shows, such as a widget, and say that it is one."""
    text = bundle.get("text/plain")
    if not isinstance(text, str):
        return None
    is_live = any(str(kind).startswith(("application/vnd.", "application/javascript")) for kind in bundle)
    return "text/plain", f"{text}\n{_LIVE}" if is_live else text, ".txt"


def _as_json(value: object) -> Form | None:
    try:
        return "application/json", json.dumps(value, allow_nan=False), ".json"
    except (TypeError, ValueError, RecursionError):
        return None


def _shows_itself(value: object) -> bool:
    """Let a value show itself, if it is of the kind that does."""
    if isinstance(value, type) or not callable(show := getattr(value, "_ipython_display_", None)):
        return False
    show()
    return True


def _close(figure: Any) -> None:
    """Close a figure of pyplot, so that the end of the code does not show it again."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and getattr(figure, "number", None) in pyplot.get_fignums():
        pyplot.close(figure)


def rendered(value: object) -> Form:
    """Return the richest form of the value."""
    matplotlib = sys.modules.get("matplotlib.figure")
    if matplotlib is not None and isinstance(value, matplotlib.FigureBase):
        return "image/png", picture(value), ".png"
    if (form := rich_form(value)) is not None:
        return form
    if isinstance(value, str):
        return "text/plain", value, ".txt"
    if isinstance(value, (dict, list)) and (form := _as_json(value)) is not None:
        return form
    return "text/plain", repr(value), ".txt"


def _offered(value: object, method: str, **options: object) -> object:
    try:
        made = getattr(value, method, None)
        made = made(**options) if callable(made) else None
    except Exception:
        return None
    return made[0] if isinstance(made, tuple) and made else made
