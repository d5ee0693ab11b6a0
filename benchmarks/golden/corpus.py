"""A real public table that every development install has: what ruff knows, and what the standard library is.

``rules`` and ``settings`` are ruff's own documentation (MIT), printed by the pinned ``ruff``; ``modules`` are the
docstrings of the standard library (PSF licence), ``numpy_functions`` and ``pandas_functions`` those of numpy and pandas
(BSD). Nothing is copied into this repository.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

RUFF = Path(sys.executable).with_name("ruff")
TABLES: dict[str, dict[str, Any]] = {
    "rules": {
        "facets": {"what_it_does": 1.5, "why_is_this_bad": 1.0, "message": 1.2},
        "fields": {"linter": "keyword", "category": "keyword", "fix": "keyword", "preview": "bool"},
    },
    "settings": {
        "facets": {"purpose": 1.5, "example": 0.5},
        "fields": {"section": "keyword", "value_type": "text", "deprecated": "bool"},
    },
    "modules": {"facets": {"purpose": 1.0}, "fields": {"package": "bool"}},
}
Record = dict[str, Any]


def tables() -> dict[str, list[Record]]:
    """Return every record of every table."""
    return {"rules": list(rules()), "settings": list(settings()), "modules": list(modules())}


def rules() -> Iterator[Record]:
    for rule in _printed("rule", "--all"):
        if isinstance(rule["status"], dict) and "Removed" in rule["status"]:
            continue
        parts = _sections(rule["explanation"])
        what, why = parts.get("What it does", ""), parts.get("Why is this bad?", "")
        facets = {"what_it_does": what, "why_is_this_bad": why, "message": _without_marks(rule["summary"])}
        yield {
            "id": rule["code"] or rule["name"],
            "name": rule["name"].replace("-", " "),
            "text": f"{_without_marks(rule['summary'])}\n{what}\n{why}"[:4000],
            "facets": {key: text for key, text in facets.items() if text},
            "fields": {
                "linter": rule["linter"] or "ruff",
                "category": rule["category"],
                "fix": rule["fix_availability"],
                "preview": rule["preview"],
            },
        }


def settings() -> Iterator[Record]:
    for name, setting in _printed("config").items():
        example = _without_marks(setting["example"] or "")
        yield {
            "id": name,
            "name": name.rpartition(".")[2].replace("-", " "),
            "text": _without_marks(setting["doc"])[:4000],
            "facets": {"purpose": _without_marks(setting["doc"])[:1000]} | ({"example": example} if example else {}),
            "fields": {
                "section": name.rpartition(".")[0] or "top",
                "value_type": setting["value_type"],
                "deprecated": setting["deprecated"] is not None,
            },
        }


def modules() -> Iterator[Record]:
    folder = Path(sysconfig.get_path("stdlib"))
    for name in sorted(sys.stdlib_module_names):
        if name.startswith("_") or name in ("antigravity", "this", "idlelib", "lib2to3"):
            continue
        package = (folder / name / "__init__.py").is_file()
        file = folder / name / "__init__.py" if package else folder / f"{name}.py"
        if not file.is_file():
            continue
        said = ast.get_docstring(ast.parse(file.read_bytes()))
        if said:
            purpose = {"purpose": _without_marks(said)[:500]}
            yield {
                "id": name,
                "name": name,
                "text": _without_marks(said)[:2000],
                "facets": purpose,
                "fields": {"package": package},
            }


def numpy_functions() -> Iterator[Record]:
    return _documented(np, np.linalg, np.random, np.ma)


def pandas_functions() -> Iterator[Record]:
    return _documented(pd, pd.DataFrame, pd.Series, pd.Index, pd.DatetimeIndex)


def _documented(*owners: ModuleType | type) -> Iterator[Record]:
    """Functions and classes by the summary of their documentation and what comes after it; each text once."""
    seen: set[str] = set()
    for owner in owners:
        for name in dir(owner):
            said = inspect.getdoc(getattr(owner, name)) if not name.startswith("_") else None
            # The first line of a function of an engine in C is its signature.
            parts = [part for part in (said or "").split("\n\n") if not re.match(r"\w+\(.*\)", part)]
            summary, rest = _without_marks(parts[0]) if parts else "", _without_marks(" ".join(parts[1:]))[:2000]
            if 15 < len(summary) < 200 and len(rest) > 80 and summary not in seen:
                seen.add(summary)
                yield {"id": f"{owner.__name__}.{name}", "summary": summary, "rest": rest}


def _printed(*arguments: str) -> Any:  # noqa: ANN401 - whatever ruff prints
    done = subprocess.run([RUFF, *arguments, "--output-format", "json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def _sections(markdown: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", markdown, flags=re.MULTILINE)
    return {title.strip(): _without_marks(body) for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def _without_marks(text: str) -> str:
    """Without code blocks, links and marks."""
    text = re.sub(r"```.*?```", " ", text, flags=re.DOTALL)
    text = re.sub(r"\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])?", r"\1", text)
    return " ".join(text.replace("`", "").split())
