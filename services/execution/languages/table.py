"""The languages that code runs in: a new one is a folder beside this file, a row here, and a row in ``shared``."""

from __future__ import annotations

from services.execution.languages.javascript.spec import JAVASCRIPT
from services.execution.languages.python.spec import PYTHON
from services.execution.languages.r.spec import R
from services.execution.languages.sql.spec import SQL
from services.execution.sandbox.language import Analysis, CodeNames, LanguageSpec, SyntaxFault
from shared.specs import SpecTable

LANGUAGE_SPECS: SpecTable[LanguageSpec] = SpecTable("language", [PYTHON, R, JAVASCRIPT, SQL])

_LONGEST = 200_000  #: characters of code that is looked through for names


def analysis_of(language: str) -> Analysis:
    """Of a language that has no row nothing is known."""
    spec = LANGUAGE_SPECS.get(language)
    return Analysis() if spec is None else spec.analysis


def names_of(language: str, code: str) -> CodeNames:
    return analysis_of(language).names(code) if len(code) <= _LONGEST else CodeNames()


def fault_of(language: str, code: str) -> SyntaxFault | None:
    """The first syntax error; ``None`` also where the language's syntax is not checked."""
    return analysis_of(language).fault(code) if len(code) <= _LONGEST else None
