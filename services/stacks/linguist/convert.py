"""Turn linguist's published data files into ``data.json``: ``python -m services.stacks.linguist.convert FOLDER``.

The folder holds ``languages.yml``, ``heuristics.yml``, ``vendor.yml`` and ``documentation.yml``. Its regular
expressions are written for Ruby; they are converted here, once, so that nothing is translated at run time.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

TARGET = Path(__file__).with_name("data.json")


def convert(folder: Path) -> dict[str, object]:
    def load(name: str) -> dict[str, dict[str, list[str]]]:
        loaded: dict[str, dict[str, list[str]]] = yaml.safe_load((folder / name).read_text())
        return loaded

    languages = load("languages.yml")
    paths = [python_regex(p) for p in [*load("vendor.yml"), *load("documentation.yml")]]
    return {
        "languages": {
            name: [str(language["type"]), str(language.get("group", name))] for name, language in languages.items()
        },
        "extensions": _index(languages, "extensions"),
        "filenames": _index(languages, "filenames"),
        "interpreters": _index(languages, "interpreters"),
        "heuristics": _heuristics(yaml.safe_load((folder / "heuristics.yml").read_text())),
        "vendored": paths[: len(load("vendor.yml"))],
        "documentation": paths[len(load("vendor.yml")) :],
    }


def python_regex(pattern: str) -> str:
    """Return a Ruby regular expression as Python's, with multi-line anchors (the flag is set when it is compiled)."""
    pattern = pattern.replace(r"\h", "[0-9a-fA-F]").replace(r"\z", r"\Z").replace("(?-m)", "")
    pattern = re.sub(r"\(\?<(\w+)>", r"(?P<\1>", pattern)
    late_flag = re.match(r"(.+?)\(\?i\)(.*)", pattern, re.S)
    return f"{late_flag[1]}(?i:{late_flag[2]})" if late_flag else pattern


def _index(languages: Mapping[str, Mapping[str, list[str]]], field: str) -> dict[str, list[str]]:
    index: dict[str, list[str]] = {}
    for name, language in languages.items():
        for key in language.get(field, []):
            index.setdefault(key.lower() if field == "extensions" else key, []).append(name)
    return index


def _heuristics(source: Any) -> dict[str, list[list[object]]]:  # noqa: ANN401 - YAML of any shape
    """Extension to rules; a rule is [languages, [[must match, pattern], ...]], and all its patterns have to hold."""
    named = {key: _joined(value) for key, value in source["named_patterns"].items()}

    def conditions(rule: Mapping[str, Any]) -> Iterable[list[object]]:
        if "and" in rule:
            for part in rule["and"]:
                yield from conditions(part)
        if "pattern" in rule:
            yield [True, _joined(rule["pattern"])]
        if "negative_pattern" in rule:
            yield [False, _joined(rule["negative_pattern"])]
        if "named_pattern" in rule:
            yield [True, named[str(rule["named_pattern"])]]

    table: dict[str, list[list[object]]] = {}
    for group in source["disambiguations"]:
        rules: list[list[object]] = []
        for rule in group["rules"]:
            answer = rule["language"] if isinstance(rule["language"], list) else [rule["language"]]
            checks = list(conditions(rule))
            if all(_compiles(str(pattern)) for _, pattern in checks):
                rules.append([answer, checks])
        for extension in group["extensions"]:
            table[extension.lower()] = rules
    return table


def _joined(pattern: object) -> str:
    parts = pattern if isinstance(pattern, list) else [pattern]
    return "|".join(f"(?:{python_regex(str(part))})" for part in parts)


def _compiles(pattern: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            re.compile(pattern, re.M)
    except re.error:
        return False  # a construct that only Ruby knows; the rules after it still decide
    return True


if __name__ == "__main__":
    TARGET.write_text(json.dumps(convert(Path(sys.argv[1])), separators=(",", ":"), sort_keys=True) + "\n")
