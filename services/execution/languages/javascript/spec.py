"""JavaScript: a Node.js process of its own; tables are lists of records there."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from services.execution.languages.javascript.codec import JavascriptCodec
from services.execution.sandbox.analysis import Analysis, names_by_pattern
from services.execution.sandbox.language import Guest, LanguageSpec, path_inside, version_of
from shared.languages import LANGUAGES

_NODE = Path("/usr/bin/node")
_GUEST = "services.execution.languages.javascript.guest"
_SETS = re.compile(
    r"\b(?:let|const|var|function\*?|class)\s+([A-Za-z_$][\w$]*)|(?:^|[;{\n])\s*([A-Za-z_$][\w$]*)(?:[.\[][^\n=]*?)?\s*[-+*/]?=(?![=>])"
)

JAVASCRIPT = LanguageSpec(
    language=LANGUAGES["javascript"],
    versions=partial(version_of, _NODE),
    install="Node.js (Debian: apt-get install nodejs)",
    guest=Guest(packages=(_GUEST,), command=(str(_NODE), path_inside(_GUEST, "kernel.js")), threads=16),
    codec=JavascriptCodec(),
    frames="written",
    analysis=Analysis(
        names=names_by_pattern(_SETS),
        exact=frozenset(
            (
                *(
                    "null",
                    "undefined",
                    "boolean",
                    "number",
                    "string",
                    "bigint",
                    "Array",
                    "Object",
                    "Date",
                    "Map",
                    "Set",
                ),
                "Uint8Array",
            )
        ),
    ),
)
