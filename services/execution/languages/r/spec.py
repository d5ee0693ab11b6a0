"""R: a process of its own; it has no Arrow in Debian, so tables are columns of plain binary."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from services.execution.languages.r.codec import RCodec
from services.execution.sandbox.analysis import Analysis, names_by_pattern
from services.execution.sandbox.language import Guest, LanguageSpec, path_inside, version_of
from shared.languages import LANGUAGES

_R = Path("/usr/lib/R/bin/R")
_GUEST = "services.execution.languages.r.guest"
_SETS = re.compile(r"(?:^|[;{\n])\s*([A-Za-z.][\w.]*)(?:[$\[][^\n=]*?)?\s*(?:<<?-|=(?!=))")

R = LanguageSpec(
    language=LANGUAGES["r"],
    versions=partial(version_of, _R),
    install="R with dplyr, tidyr and ggplot2 (Debian: r-base-core r-cran-dplyr r-cran-tidyr r-cran-ggplot2)",
    guest=Guest(
        packages=(_GUEST,),
        command=(str(_R), "--vanilla", "--no-echo", "-f", path_inside(_GUEST, "kernel.R")),
        threads=7,
    ),
    codec=RCodec(),
    frames="written",
    analysis=Analysis(
        names=names_by_pattern(_SETS),
        exact=frozenset(
            (
                *("NULL", "logical", "integer", "numeric", "character", "complex", "raw", "factor", "ordered", "list"),
                *("AsIs", "Date", "POSIXct", "difftime", "data.frame"),
            )
        ),
    ),
)
