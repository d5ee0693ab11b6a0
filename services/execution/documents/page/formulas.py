"""LaTeX as MathML, which browsers draw themselves; nothing but MathML's presentation elements comes out."""

from __future__ import annotations

import html
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field

from latex2mathml.converter import convert

_LONGEST, _MOST, _MOST_SECONDS = 2_000, 500, 5.0  #: characters of one; how many; for all of them
_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
#: https://www.w3.org/TR/mathml-core/
_ELEMENTS = frozenset(
    [
        "math",
        "mi",
        "mn",
        "mo",
        "ms",
        "mtext",
        "mspace",
        "mrow",
        "mfrac",
        "msqrt",
        "mroot",
        "mstyle",
        "merror",
        "mpadded",
        "mphantom",
        "mfenced",
        "menclose",
        "msub",
        "msup",
        "msubsup",
        "munder",
        "mover",
        "munderover",
        "mmultiscripts",
        "mprescripts",
        "mtable",
        "mtr",
        "mtd",
    ]
)
_ATTRIBUTES = frozenset(
    [
        "display",
        "mathvariant",
        "stretchy",
        "fence",
        "separator",
        "form",
        "lspace",
        "rspace",
        "width",
        "height",
        "depth",
        "linethickness",
        "columnalign",
        "rowspacing",
        "columnspacing",
        "columnlines",
        "rowlines",
        "accent",
        "accentunder",
        "displaystyle",
        "scriptlevel",
        "minsize",
        "maxsize",
        "symmetric",
        "movablelimits",
        "notation",
        "open",
        "close",
        "separators",
        "mathsize",
        "mathcolor",
    ]
)


@dataclass
class Formulas:
    """Those of a page: in its HTML stand marks, which are replaced when everything else has been cleaned."""

    mark: str
    made: list[str] = field(default_factory=list)
    _seconds: float = 0.0

    def __call__(self, source: str, options: Mapping[str, object]) -> str:
        """The renderer of markdown-it's plug-in."""
        self.made.append(self._written(source, "block" if options.get("display_mode") else "inline"))
        return f"{self.mark}-math{len(self.made) - 1}-"

    def placed(self, clean: str) -> str:
        for number, formula in enumerate(self.made):
            clean = clean.replace(f"{self.mark}-math{number}-", formula, 1)
        return clean

    def _written(self, source: str, display: str) -> str:
        began = time.monotonic()
        try:
            if len(source) > _LONGEST or len(self.made) >= _MOST or self._seconds > _MOST_SECONDS:
                raise ValueError("too much of it")
            return _plain(convert(source, display=display))
        except Exception:  # of a formula that is none the library raises what it likes
            return f"<code>{html.escape(source)}</code>"
        finally:
            self._seconds += time.monotonic() - began


def _plain(mathml: str) -> str:
    """Raises: ValueError for anything but presentation."""
    root = ET.fromstring(mathml)  # noqa: S314 - our own converter has just written it
    for element in root.iter():
        name = element.tag.removeprefix(f"{{{_NAMESPACE}}}")
        if name not in _ELEMENTS or not _ATTRIBUTES.issuperset(element.attrib):
            raise ValueError("no presentation")
        element.tag = name
    return ET.tostring(root, encoding="unicode", short_empty_elements=False)
