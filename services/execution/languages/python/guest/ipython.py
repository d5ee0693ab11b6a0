"""``IPython.display`` and ``get_ipython``, as notebooks use them, without IPython.

Objects say what they are by the methods that IPython knows (``_repr_html_`` and so on); ``Displays`` reads these.
https://ipython.readthedocs.io/en/stable/api/generated/IPython.display.html
"""

from __future__ import annotations

import base64
import html
import json
import sys
import types
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from services.execution.languages.python.guest.magics import SETUP_MAGICS
from services.execution.sandbox.guest.displays import Displays, Form, rendered

_stage: list[Displays] = []  #: where displays go; set once, when the kernel starts
_PICTURES = {"png": "image/png", "jpeg": "image/jpeg", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
_SUFFIXES = {
    "text/html": ".html", "image/svg+xml": ".svg", "image/png": ".png", "image/jpeg": ".jpg", "text/latex": ".tex",
    "text/markdown": ".md", "application/json": ".json", "text/plain": ".txt",
}  # fmt: skip
#: On stdout: what stood before it is taken back; the second one once something follows.
_CLEARED, _CLEARED_BEFORE_MORE = "\x1b[2J", "\x1b[2J\x1b[s"


# -- functions ---------------------------------------------------------------------------------------------------------


class DisplayHandle:
    """A display that can be shown again in its own place."""

    def __init__(self, display_id: str | None = None) -> None:
        self.display_id = display_id or uuid.uuid4().hex

    def display(self, obj: object, **_options: object) -> None:
        display(obj, display_id=self.display_id)

    def update(self, obj: object, **_options: object) -> None:
        update_display(obj, display_id=self.display_id)


def display(
    *values: object, display_id: str | bool | None = None, raw: bool = False, update: bool = False, **_options: object
) -> DisplayHandle | None:
    """Show values: tables as HTML, figures and images as pictures, the rest as text."""
    handle = None if display_id is None else DisplayHandle(display_id if isinstance(display_id, str) else None)
    for value in values:
        form = _of_bundle(value) if raw and isinstance(value, dict) else None
        own = None if isinstance(value, type) else getattr(value, "_ipython_display_", None)
        if callable(own) and form is None:
            own()
        else:
            _stage[0].show(form or rendered(value), "" if handle is None else handle.display_id, update=update)
    return handle


def update_display(value: object, *, display_id: str, **_options: object) -> None:
    """Show a value in the place of the display with this id."""
    display(value, display_id=display_id, update=True)


def clear_output(wait: bool = False) -> None:
    """Take back what the cell has shown and printed so far; with ``wait``, once there is something else."""
    sys.stdout.write(_CLEARED_BEFORE_MORE if wait else _CLEARED)
    _stage[0].clear(wait=wait)


def publish_display_data(data: dict[str, Any], metadata: object = None, **_options: object) -> None:
    """Show a bundle of media types."""
    display(data, raw=True)


def _of_bundle(data: dict[str, Any]) -> Form | None:
    """Return the richest form of a bundle."""
    for media_type, suffix in _SUFFIXES.items():
        content = data.get(media_type)
        if isinstance(content, (str, bytes)):
            return media_type, content, suffix
        if media_type == "application/json" and content is not None:
            return media_type, json.dumps(content), suffix
    return None


def _shown_as(kind: str) -> Callable[..., None]:
    """Return IPython's ``display_html`` and the like: what they are given is shown as that type, if it is a text."""

    def shown(*values: object, raw: bool = False, **_options: object) -> None:
        for value in values:
            display({kind: value} if raw and isinstance(value, (str, bytes)) else value, raw=raw)

    return shown


# -- objects -----------------------------------------------------------------------------------------------------------


class DisplayObject:
    """An object that shows itself: by its data, or by those of a file of the work folder."""

    _read_flags = "r"

    def __init__(
        self, data: Any = None, url: str | None = None, filename: str | None = None, metadata: object = None
    ) -> None:
        if isinstance(data, Path):
            data = str(data)
        if url is None and isinstance(data, str) and data.startswith(("https://", "http://")) and self._takes_urls:
            data, url = None, data
        if filename is None and isinstance(data, str) and self._is_path(data):
            data, filename = None, data
        self.data, self.url, self.filename, self.metadata = (
            data,
            url,
            None if filename is None else str(filename),
            metadata,
        )
        self.reload()

    _takes_urls = False

    def _is_path(self, data: str) -> bool:
        return False

    def reload(self) -> None:
        """Read the file again."""
        if self.filename is not None:
            path = Path(self.filename)
            self.data = path.read_bytes() if self._read_flags == "rb" else path.read_text(encoding="utf-8")

    def __repr__(self) -> str:
        return f"<IPython.core.display.{type(self).__name__} object>"


class TextDisplayObject(DisplayObject):
    pass


class HTML(TextDisplayObject):
    def _repr_html_(self) -> str:
        return str(self.data)

    def __html__(self) -> str:
        return self._repr_html_()


class Markdown(TextDisplayObject):
    def _repr_markdown_(self) -> str:
        return str(self.data)


class Latex(TextDisplayObject):
    def _repr_latex_(self) -> str:
        return str(self.data)


class Math(TextDisplayObject):
    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {str(self.data).strip('$')}$"


class SVG(DisplayObject):
    def _is_path(self, data: str) -> bool:
        return "<" not in data and data.lower().endswith(".svg")

    def _repr_svg_(self) -> str:
        data = self.data.decode("utf-8", "replace") if isinstance(self.data, bytes) else str(self.data)
        begin = data.find("<svg")
        return data[begin:] if begin > 0 else data


class JSON(DisplayObject):
    def __init__(
        self, data: Any = None, url: str | None = None, filename: str | None = None, **_options: object
    ) -> None:
        super().__init__(data, url, filename)

    def _repr_json_(self) -> Any:
        return json.loads(self.data) if isinstance(self.data, (str, bytes)) else self.data


class GeoJSON(JSON):
    pass


class Pretty(TextDisplayObject):
    def __repr__(self) -> str:
        return str(self.data)


class Code(TextDisplayObject):
    """Source text."""

    def __init__(
        self, data: Any = None, url: str | None = None, filename: str | None = None, language: str | None = None
    ) -> None:
        self.language = language
        super().__init__(data, url, filename)

    def _repr_html_(self) -> str:
        return f"<pre><code>{html.escape(str(self.data))}</code></pre>"

    def __repr__(self) -> str:
        return str(self.data)


class Javascript(TextDisplayObject):
    """A script for a browser: pages of Assay run none, so that there is nothing to show."""

    def __init__(
        self, data: Any = None, url: str | None = None, filename: str | None = None, **_options: object
    ) -> None:
        super().__init__(data, url, filename)


class Image(DisplayObject):
    """A picture: bytes, a file of the work folder, or an address, which becomes a link as pages fetch nothing."""

    _read_flags = "rb"
    _takes_urls = True

    def __init__(
        self,
        data: Any = None,
        url: str | None = None,
        filename: str | None = None,
        format: str | None = None,
        embed: bool | None = None,
        width: float | None = None,
        height: float | None = None,
        **options: Any,
    ) -> None:
        del embed
        self.width, self.height, self.alt = width, height, options.get("alt")
        super().__init__(data, url, filename, options.get("metadata"))
        self.format = (format or self._format()).lower()

    def _is_path(self, data: str) -> bool:
        return len(data) < 4096 and "<" not in data

    def _format(self) -> str:
        content = self.data if isinstance(self.data, bytes) else b""
        begins = {b"\x89PNG": "png", b"\xff\xd8": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}
        known = next((kind for mark, kind in begins.items() if content.startswith(mark)), None)
        return known or (Path(self.filename).suffix[1:] if self.filename else "png")

    def _repr_html_(self) -> str | None:
        if self.data is None:
            return f'<a href="{html.escape(str(self.url))}">{html.escape(self.alt or str(self.url))}</a>'
        media_type = "image/svg+xml" if self.format == "svg" else _PICTURES.get(self.format)
        if media_type is None:
            return None
        if media_type in ("image/png", "image/jpeg", "image/svg+xml") and not (self.width or self.height or self.alt):
            return None  # a picture in its own form is better
        content = self.data.encode() if isinstance(self.data, str) else bytes(self.data)
        named = (("width", self.width), ("height", self.height), ("alt", self.alt))
        more = "".join(f' {name}="{html.escape(str(value))}"' for name, value in named if value)
        return f'<img src="data:{media_type};base64,{base64.b64encode(content).decode()}"{more}>'

    def _repr_png_(self) -> bytes | None:
        return bytes(self.data) if self.format == "png" and self.data is not None else None

    def _repr_jpeg_(self) -> bytes | None:
        return bytes(self.data) if self.format in ("jpeg", "jpg") and self.data is not None else None

    def _repr_svg_(self) -> str | None:
        if self.format != "svg" or self.data is None:
            return None
        return SVG(self.data)._repr_svg_()


class _Linked(DisplayObject):
    """What a page of Assay cannot play or frame: a link to it, or its name."""

    def __init__(
        self, data: Any = None, *_size: object, url: str | None = None, filename: str | None = None, **_options: object
    ) -> None:
        self.target = url or filename or (data if isinstance(data, (str, Path)) else "")
        self.data = None

    def _address(self) -> str:
        return str(self.target)

    def _repr_html_(self) -> str:
        address = html.escape(self._address())
        word = type(self).__name__
        if address.startswith(("https://", "http://")):
            return f'<p>{word}: <a href="{address}">{address}</a></p>'
        return f"<p>{word}{': ' if address else ''}{address}</p>"


class Audio(_Linked):
    pass


class Video(_Linked):
    pass


class IFrame(_Linked):
    pass


class FileLink(_Linked):
    pass


class FileLinks(FileLink):
    pass


class YouTubeVideo(_Linked):
    def _address(self) -> str:
        return f"https://www.youtube.com/watch?v={self.target}"


class VimeoVideo(_Linked):
    def _address(self) -> str:
        return f"https://vimeo.com/{self.target}"


class ProgressBar(DisplayObject):
    """A bar that is shown at its last state."""

    def __init__(self, total: int) -> None:
        self.total, self._progress, self._handle = total, 0, DisplayHandle()
        self.data = None

    def display(self) -> None:
        self._handle.display(Pretty(repr(self)))

    def update(self) -> None:
        self._handle.update(Pretty(repr(self)))

    @property
    def progress(self) -> int:
        return self._progress

    @progress.setter
    def progress(self, value: int) -> None:
        self._progress = value
        self.update()

    def __repr__(self) -> str:
        return f"{self._progress}/{self.total}"

    def __iter__(self) -> ProgressBar:
        self.display()
        self._progress = -1
        return self

    def __next__(self) -> int:
        self.progress += 1
        if self.progress < self.total:
            return self.progress
        raise StopIteration


# -- get_ipython -------------------------------------------------------------------------------------------------------


class UsageError(Exception):
    pass


class _Events:
    def register(self, event: str, function: object) -> None:
        """Accept a function, which nothing calls: there is no loop of cells here."""

    def unregister(self, event: str, function: object) -> None:
        """Accept the end of a registration."""


class InteractiveShell:
    """What code finds as ``get_ipython()``."""

    ast_node_interactivity = "last_expr"

    def __init__(self) -> None:
        self.events = _Events()
        self.config: dict[str, object] = {}

    @classmethod
    def instance(cls) -> InteractiveShell:
        return _shell

    def run_line_magic(self, name: str, line: str, **_options: object) -> None:
        """Accept the magics that only set IPython up. Raises: UsageError for others."""
        if name not in SETUP_MAGICS:
            raise UsageError(f"The magic %{name} does not run here.")

    def run_cell_magic(self, name: str, line: str, cell: str) -> None:
        """Raises: UsageError."""
        raise UsageError(f"The magic %%{name} does not run here.")

    def magic(self, text: str) -> None:
        name, _, line = text.lstrip("%").partition(" ")
        self.run_line_magic(name, line)

    def system(self, command: str) -> None:
        """Raises: UsageError."""
        raise UsageError("There are no shell commands here.")

    getoutput = system

    def enable_gui(self, gui: object = None) -> None:
        """Accept it: figures are shown when the code ends."""


_shell = InteractiveShell()


# -- modules -----------------------------------------------------------------------------------------------------------

_CLASSES = (
    DisplayHandle, DisplayObject, TextDisplayObject, HTML, Markdown, Latex, Math, SVG, JSON, GeoJSON, Pretty, Code,
    Javascript, Image, Audio, Video, IFrame, FileLink, FileLinks, YouTubeVideo, VimeoVideo, ProgressBar,
)  # fmt: skip
_TYPED = {
    "display_html": "text/html", "display_markdown": "text/markdown", "display_latex": "text/latex",
    "display_svg": "image/svg+xml", "display_png": "image/png", "display_jpeg": "image/jpeg",
    "display_json": "application/json", "display_pretty": "text/plain",
}  # fmt: skip


def _nothing(*_arguments: object, **_options: object) -> None:
    """Accept what only sets up pictures of a notebook."""


def install(displays: Displays) -> InteractiveShell:
    """Make ``IPython`` and its modules importable, and return what ``get_ipython()`` is."""
    _stage[:] = [displays]
    shown: dict[str, object] = {each.__name__: each for each in _CLASSES}
    shown.update({name: _shown_as(kind) for name, kind in _TYPED.items()})
    shown.update(
        display=display, update_display=update_display, clear_output=clear_output,
        publish_display_data=publish_display_data, set_matplotlib_formats=_nothing, set_matplotlib_close=_nothing,
    )  # fmt: skip
    for each in _CLASSES:
        each.__module__ = "IPython.core.display"
    shell: dict[str, object] = {"get_ipython": lambda: _shell, "InteractiveShell": InteractiveShell}
    contents: dict[str, dict[str, object]] = {
        "IPython": {
            **shell, "__version__": "9.0.0", "version_info": (9, 0, 0, ""), "start_ipython": _nothing,
        },
        "IPython.display": shown,
        "IPython.core": {},
        "IPython.core.display": shown,
        "IPython.core.display_functions": shown,
        "IPython.core.getipython": shell,
        "IPython.core.interactiveshell": shell,
        "IPython.core.error": {"UsageError": UsageError},
        "IPython.core.magic": {},
        "IPython.core.pylabtools": {"backend2gui": {}},
        "matplotlib_inline": {},
        "matplotlib_inline.backend_inline": {"set_matplotlib_formats": _nothing, "set_matplotlib_close": _nothing},
    }  # fmt: skip
    for name, held in contents.items():
        module = types.ModuleType(name, "A small part of IPython, for code that runs in Assay.")
        module.__dict__.update(held)
        module.__path__ = []  # so that it counts as a package
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)
    return _shell
