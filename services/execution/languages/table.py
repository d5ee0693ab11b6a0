"""The languages that code runs in: a new one is a folder beside this file, a row here, and a row in ``shared``."""

from __future__ import annotations

from services.execution.languages.javascript.spec import JAVASCRIPT
from services.execution.languages.python.spec import PYTHON
from services.execution.languages.r.spec import R
from services.execution.languages.sql.spec import SQL
from services.execution.sandbox.language import LanguageSpec
from shared.specs import SpecTable

LANGUAGE_SPECS: SpecTable[LanguageSpec] = SpecTable("language", [PYTHON, R, JAVASCRIPT, SQL])
