"""The language ``calc``, for tests: a plugin for ``ASSAY_PLUGINS``. Lines are ``name = sum`` or a sum."""

from __future__ import annotations

import re

from services.execution.sandbox.language import EVERYTHING, Analysis, Codec, Guest, LanguageSpec, names_by_pattern
from shared.languages import LANGUAGES, Language

_GUEST = f"{__name__}.guest"
SPEC = LanguageSpec(
    name="calc",
    versions=lambda: "1.0",
    install="nothing",
    guest=Guest(packages=(_GUEST,), module=f"{_GUEST}.kernel"),
    codec=Codec(),
    warm=(f"{_GUEST}.kernel",),
    analysis=Analysis(
        names=names_by_pattern(re.compile(r"^\s*(\w+)\s*=", re.M), lambda _code: frozenset([EVERYTHING]))
    ),
)


def register() -> None:
    row = Language(name="calc", title="Calc", extensions=(".calc",), runtime=f"{__name__}:SPEC", aliases=("sums",))
    LANGUAGES.register(row)
