"""Options of chunks in one vocabulary, whether Quarto, knitr or MyST spells them; with the document's own defaults.

Names and values are Quarto's: https://quarto.org/docs/reference/cells/cells-jupyter.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from services.execution.documents.parse.magics import foreign_cell, has_magics, is_captured
from services.execution.documents.parse.nodes import Chunk, DocumentNode, walk
from shared import plain_yaml
from shared.declarations.documents import front_matter, front_matter_values

Options = Mapping[str, str]
_MAX_VALUES, _MAX_INCHES = 500, 30
_USUAL = (7.0, 5.0)  #: inches of a figure of which only one side is set, as of knitr
#: Those that a document may set for all its chunks.
_SHARED = frozenset(
    "eval echo include output error warning message code-fold code-summary fig-width fig-height fig-asp".split()  # noqa: SIM905
)
_WORDS = {"TRUE": "true", "T": "true", "True": "true", "yes": "true", "on": "true", "FALSE": "false", "F": "false"}
_WORDS |= {"False": "false", "no": "false", "off": "false"}
#: knitr's ``results``.
_RESULTS = {"hide": "false", "asis": "asis", "markup": "true", "hold": "true"}
#: Tags of cells: https://jupyterbook.org/en/stable/interactive/hiding.html, and others by which notebooks say the same.
_TAGS: Mapping[str, Options] = {
    "remove-cell": {"include": "false"},
    "remove-input": {"echo": "false"},
    "remove-output": {"output": "false"},
    "remove-outputs": {"output": "false"},
    "remove-stdout": {"stdout": "false"},
    "remove-stderr": {"warning": "false", "message": "false"},
    "hide-cell": {"code-fold": "true", "output-fold": "true"},
    "hide-input": {"code-fold": "true"},
    "hide-output": {"output-fold": "true"},
    "hide-outputs": {"output-fold": "true"},
    "raises-exception": {"error": "true"},
    "skip-execution": {"eval": "false"},
    "remove-code": {"echo": "false"},
    "hide-code": {"echo": "false"},
    "no-execute": {"eval": "false"},
    "output-scroll": {},
    "exclude": {"include": "false"},
    "exclude-input": {"echo": "false"},
    "exclude-output": {"output": "false"},
}
_RENDERING = ("mystnb", "render")  #: https://myst-nb.readthedocs.io/en/latest/render/format_code_cells.html
_OF_FIGURES: Mapping[str, Options] = {
    "image": {"width": "width", "alt": "fig-alt"},
    "figure": {"name": "label", "caption": "fig-cap", "caption_before": "fig-cap-location"},
}
_CODE_FOLDING = {"hide": "true", "show": "show", "none": "false"}
_TAG = re.compile(r"[A-Za-z][\w-]*")
_SET_ALL = re.compile(r"\bopts_chunk\s*\$\s*set\s*\(")
_ARGUMENT = re.compile(r"([A-Za-z][\w.]*)\s*=\s*(\"[^\"]{0,300}\"|'[^']{0,300}'|[\w.+-]+)")


def canonical(options: Options) -> dict[str, str]:
    """Return options by Quarto's names, with what tags say."""
    named: dict[str, str] = {}
    for name, value in options.items():
        key = name.replace(".", "-") if "." in name.strip(".") else name
        named[key] = _WORDS.get(value, value)
    if (results := named.pop("results", None)) is not None:
        named.setdefault("output", _RESULTS.get(results, "true"))
    if (caption := named.pop("tab-cap", None)) is not None:
        named.setdefault("tbl-cap", caption)
    if named.get("eval") == "never":
        named["eval"] = "false"
    for tag in _TAG.findall(named.get("tags", "")):
        named.update(_TAGS.get(tag.replace("_", "-"), {}))
    return named


def figure_size(options: Options) -> tuple[float, float] | None:
    """Return width and height in inches that ``fig-width``, ``fig-height`` and ``fig-asp`` set; else ``None``."""
    width, height, ratio = (_inches(options.get(name, "")) for name in ("fig-width", "fig-height", "fig-asp"))
    if width is None and height is None and ratio is None:
        return None
    wide = width or _USUAL[0]
    return wide, height or (wide * ratio if ratio else _USUAL[1])


def _inches(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number <= _MAX_INCHES else None


def of_lines(text: str) -> dict[str, str] | None:
    """Return the options of a YAML text; ``None`` if it is not YAML."""
    try:
        values = next(plain_yaml.documents(text, most=_MAX_VALUES), None)
    except plain_yaml.NotPlain:
        return None
    if not isinstance(values, dict):
        return None
    named = {str(name): _as_text(value) for name, value in values.items() if name not in _RENDERING}
    rendering = [values.get(name) for name in _RENDERING]
    return {**named, **{name: text for each in rendering if isinstance(each, dict) for name, text in _figure(each)}}


def _figure(rendering: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """Yield what MyST-NB's metadata says of the figure that a cell shows."""
    for part, names in _OF_FIGURES.items():
        values = rendering.get(part)
        for name, own in names.items():
            if isinstance(values, dict) and values.get(name) is not None:
                yield own, _as_text(values[name])


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_as_text, value))}]"
    return "" if value is None else " ".join(str(value).split()) if isinstance(value, str) else str(value)


def defaults_of(lines: Sequence[str]) -> dict[str, str]:
    """Return the options for all chunks that a document's front matter sets."""
    end = front_matter([line.rstrip("\n") for line in lines[:1000]])
    values = front_matter_values("".join(lines[1 : end - 1])) if end else {}
    return canonical(dict(_defaults(values)))


def _defaults(values: Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    yield from _shared(values)
    for key in ("format", "output"):
        formats = values.get(key)
        for each in formats.values() if isinstance(formats, dict) else ():
            if isinstance(each, dict):
                yield from _shared(each)
                if (folding := _CODE_FOLDING.get(str(each.get("code_folding")))) is not None:
                    yield "code-fold", folding
    for holder in (values.get("knitr"), values):
        for key in ("execute", "opts_chunk"):
            held = holder.get(key) if isinstance(holder, dict) else None
            if isinstance(held, dict):
                yield from _shared(held)
                if "enabled" in held:
                    yield "eval", _as_text(held["enabled"])


def _shared(values: Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if (name in _SHARED or name == "results") and not isinstance(value, (dict, list)) and value is not None:
            yield name, _as_text(value)


def apply_defaults(nodes: Sequence[DocumentNode], defaults: Options) -> None:
    """Give every chunk the document's options that it does not set itself, with those that knitr's code sets."""
    shared = dict(defaults)
    for node in walk(nodes):
        if not isinstance(node, Chunk):
            continue
        own = canonical(node.options)
        if "%" in node.code and has_magics(node.language):
            if is_captured(node.code):
                own["output"] = "false"
            if (foreign := foreign_cell(node.code)) is not None:
                node.language, node.code = foreign
        node.options = {**shared, **own}
        if "opts_chunk" in node.code and node.options.get("eval") != "false":
            shared.update(_set_by_code(node.code))


def _set_by_code(code: str) -> dict[str, str]:
    """Return what ``opts_chunk$set(...)`` sets by plain values."""
    options: dict[str, str] = {}
    for match in _SET_ALL.finditer(code):
        arguments = code[match.end() : match.end() + 2000].partition(")")[0]
        options.update((name, value.strip("\"'")) for name, value in _ARGUMENT.findall(arguments))
    return {name: value for name, value in canonical(options).items() if name in _SHARED}
