"""How each language of the table in ``shared`` runs and what is known of its code."""

from __future__ import annotations

import pkgutil

from services.execution.sandbox.language import Analysis, CodeNames, LanguageSpec, LanguageSpecs, SyntaxFault
from shared.languages import LANGUAGES

MAX_ANALYZED = 200_000  #: characters of code that is searched for names


def language_specs() -> LanguageSpecs:
    """Import the runtime of every language."""
    return {name: _spec(name) for name in LANGUAGES}


def analysis_of(language: str) -> Analysis:
    """Return what is known of the language's code: nothing of a language that has no row."""
    return _spec(language).analysis if language in LANGUAGES else Analysis()


def names_of(language: str, code: str) -> CodeNames:
    return analysis_of(language).names(code) if len(code) <= MAX_ANALYZED else CodeNames()


def fault_of(language: str, code: str) -> SyntaxFault | None:
    """Return the first syntax error; ``None`` also where the language's syntax is not checked."""
    return analysis_of(language).fault(code) if len(code) <= MAX_ANALYZED else None


def _spec(language: str) -> LanguageSpec:
    spec: LanguageSpec = pkgutil.resolve_name(LANGUAGES[language].runtime)
    return spec
