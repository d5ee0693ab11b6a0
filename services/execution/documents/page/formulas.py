"""LaTeX as MathML, which browsers draw themselves; nothing but MathML's presentation elements comes out."""

from __future__ import annotations

import html
import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field

from latex2mathml.converter import convert

from services.execution.documents.page.macros import Macros

_LONGEST, _MOST, _MAX_SECONDS = 2_000, 500, 5.0  #: characters of one; how many; for all of them
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
        "voffset",
        "linebreak",
    ]
)


@dataclass
class Formulas:
    """Those of a page: in its HTML stand marks, which are replaced when everything else has been cleaned."""

    mark: str
    made: list[str] = field(default_factory=list)
    macros: Macros = field(default_factory=Macros)
    _seconds: float = 0.0

    def __call__(self, source: str, options: Mapping[str, object]) -> str:
        """Return the renderer of markdown-it's plug-in."""
        self.made.append(self._written(source, "block" if options.get("display_mode") else "inline"))
        return f"{self.mark}-math{len(self.made) - 1}-"

    def placed(self, clean: str) -> str:
        for number, formula in enumerate(self.made):
            clean = clean.replace(f"{self.mark}-math{number}-", formula, 1)
        return clean

    def _written(self, source: str, display: str) -> str:
        began = time.monotonic()
        source = self.macros.without_definitions(source)
        if not source.strip():
            return ""
        try:
            if len(source) > _LONGEST or len(self.made) >= _MOST or self._seconds > _MAX_SECONDS:
                raise ValueError("too much of it")
            return _plain(convert(_converters(self.macros.expanded(source)), display=display))
        except Exception:  # of a formula that is none the library raises what it likes
            return f"<code>{html.escape(source)}</code>"
        finally:
            self._seconds += time.monotonic() - began


_ALIGNED = re.compile(r"\\(begin|end)\{(?:align|aligned|alignat|alignedat|flalign|split|eqnarray)\*?\}(?:\{\d+\})?")
_CENTERED = re.compile(r"\\(begin|end)\{(?:gather|gathered|multline|multlined)\*?\}")
_NO_NUMBERS = re.compile(r"\\(?:nonumber|notag|label\{[^{}]*\}|(?:begin|end)\{equation\*?\})")
_OVER_ARROW = re.compile(r"\\x((?:left|right)arrow)(?:\[[^\[\]]*\])?\{([^{}]*)\}")
_CHEMISTRY = re.compile(r"\\ce\{([^{}]*)\}")
_QUANTITY = re.compile(r"\\(?:SI|qty)\{([^{}]*)\}\{([^{}]*)\}")
_UNIT = re.compile(r"\\(?:si|unit)\{([^{}]*)\}")
_UNDER_OPERATOR = re.compile(r"\{?\\operatorname\*\{([^{}]*)\}\}?\s*_(\{[^{}]*\}|[^\s{}\\])")
_OPERATOR = re.compile(r"\\operatorname\*?\{([^{}]*)\}")
_ARROWS = {"<->": r"\leftrightarrow ", "->": r"\rightarrow ", "<-": r"\leftarrow "}


def _converters(source: str) -> str:
    """Return the formula in the words that the converter knows."""
    source = _ALIGNED.sub(r"\\\1{align*}", source)
    source = _CENTERED.sub(lambda match: r"\begin{array}{c}" if match[1] == "begin" else r"\end{array}", source)
    source = _OVER_ARROW.sub(r"\\overset{\2}{\\\1}", _NO_NUMBERS.sub("", source))
    source = _QUANTITY.sub(r"\1\\,\\mathrm{\2}", _UNIT.sub(r"\\mathrm{\1}", source))
    source = _UNDER_OPERATOR.sub(r"\\underset{\2}{\\mathrm{\1}}", source)
    source = _OPERATOR.sub(r"\\mathrm{\1}", source).replace("{dcases}", "{cases}")
    return _CHEMISTRY.sub(_chemical, source).replace(r"\middle", "").replace(r"\bm{", r"\boldsymbol{")


def _chemical(match: re.Match[str]) -> str:
    """Return a chemical formula, as mhchem writes it."""
    text = re.sub(r"(?<=[A-Za-z)\]])(\d+)", r"_{\1}", match[1])
    text = re.sub(r"\^(\d*[+-]+)", r"^{\1}", text)
    for sign, arrow in _ARROWS.items():
        text = text.replace(sign, arrow)
    return rf"\mathrm{{{text}}}"


def _plain(mathml: str) -> str:
    """Raises: ValueError for anything but presentation."""
    root = ET.fromstring(mathml)  # noqa: S314 - our own converter has just written it
    for element in root.iter():
        name = element.tag.removeprefix(f"{{{_NAMESPACE}}}")
        if name not in _ELEMENTS or not _ATTRIBUTES.issuperset(element.attrib):
            raise ValueError("no presentation")
        element.tag = name
    return ET.tostring(root, encoding="unicode", short_empty_elements=False)
