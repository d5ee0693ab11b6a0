"""The language ``calc``, for tests: a plugin for ``ASSAY_PLUGINS``. Lines are ``name = sum`` or a sum."""

from __future__ import annotations

import re

from services.execution.languages.table import LANGUAGE_SPECS
from services.execution.sandbox.language import Analysis, Codec, Guest, LanguageSpec, names_by_pattern
from shared.languages import LANGUAGES, Language

_GUEST = f"{__name__}.guest"
LANGUAGE = Language(name="calc", title="Calc", extensions=(".calc",), aliases=("sums",))
SPEC = LanguageSpec(
    language=LANGUAGE,
    versions=lambda: "1.0",
    install="nothing",
    guest=Guest(packages=(_GUEST,), module=f"{_GUEST}.kernel"),
    codec=Codec(),
    warm=(f"{_GUEST}.kernel",),
    analysis=Analysis(names=names_by_pattern(re.compile(r"^\s*(\w+)\s*=", re.M))),
)


def register() -> None:
    LANGUAGES.register(LANGUAGE)
    LANGUAGE_SPECS.register(SPEC)
