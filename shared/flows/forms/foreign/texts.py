"""The text of an import: what Markdown wraps is unwrapped, and other notations are refused by name."""

from __future__ import annotations

import re

from shared.contracts.flow_routes import ImportWarning
from shared.errors import InvalidRequest

_FENCE = re.compile(
    r"^(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)(?:^(?P=mark)[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_DRAW = "Draw it as Mermaid, or send `nodes` and `edges` as JSON."
#: Notations by how they begin, each with its name and what to do.
_OTHERS = (
    (r"(?:<\?xml[^>]*>\s*)?<mx(?:file|GraphModel)\b", "a draw.io file", _DRAW),
    (r"<\?xml[^>]*>\s*(?:<!--.*?-->\s*)*<(?:\w+:)?definitions\b|<(?:\w+:)?definitions\b", "a BPMN model", _DRAW),
    (r"(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE[^>]*>\s*)?<svg\b", "an SVG picture", _DRAW),
    (r"(?:<\?xml[^>]*>\s*)?<(?:graphml|gexf)\b", "a GraphML or GEXF file", _DRAW),
    (r"<\?xml|<!DOCTYPE|<[A-Za-z]\w*[\s>]", "XML or HTML", _DRAW),
    (
        r"(?:strict[ \t]+)?(?:di)?graph\b[ \t]*(?:\w+|\"[^\"\n]*\")?[ \t]*\{|digraph\b|strict\b",
        "a Graphviz (DOT) file",
        _DRAW,
    ),
    (r"@start\w+", "a PlantUML diagram", _DRAW),
)
_JSON = (r"[{\[]", "JSON", "Send it with `format` `json`.")
_MERMAID = (
    r"(?:---\s|%%|flowchart\b|graph\b|\w+Diagram\b|gantt\b|pie\b|mindmap\b)", "Mermaid",
    "Send it with `format` `mermaid`.",
)  # fmt: skip
_YAML = (r"[A-Za-z_][\w-]*:[ \t]*(?:\S[^\n]*)?(?:\n|\Z)", "YAML", "Convert it to JSON.")


def unwrapped(form: str, text: str) -> tuple[str, list[ImportWarning]]:
    """Return a text without what Markdown has around it, in the lines where it was.

    Raises: InvalidRequest for another notation, by its name.
    """
    text = text.removeprefix("\ufeff")
    warnings: list[ImportWarning] = []
    if blocks := [match for match in _FENCE.finditer(text) if match["language"] in ("", form)]:
        first = next((match for match in blocks if match["language"] == form), blocks[0])
        lines = text.count("\n", 0, first.start("body"))
        others = [match for match in blocks if match["language"] == form and match is not first]
        warnings = [
            ImportWarning(line=text.count("\n", 0, other.start()) + 1, text="a further diagram was left out")
            for other in others
        ]
        text = "\n" * lines + first["body"]
    others_of_form = (*_OTHERS, _JSON) if form == "mermaid" else (*_OTHERS, _MERMAID, _YAML)
    for begins, name, remedy in others_of_form:
        if re.match(begins, text.lstrip(), re.IGNORECASE | re.DOTALL):
            reason = f"This is {name}, which is not {'Mermaid' if form == 'mermaid' else 'JSON'}. {remedy}"
            raise InvalidRequest(f"The text cannot be read. {reason}", [(["body", "text"], reason)])
    return text, warnings
