"""What `assay detect --fail-on` refuses among the findings of a detection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.commands.session import UsageError

Finding = Mapping[str, Any]
RULES = ("eol", "conflict", "unpinned", "secret-file")


def named(text: str) -> frozenset[str]:
    """The rules of a comma list. Raises: UsageError for none, or one that does not exist."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in RULES]
    if unknown or not names:
        what = f"there is no check {', '.join(unknown)}" if unknown else "it names no check"
        raise UsageError(f"--fail-on: {what}; those there are: {', '.join(RULES)}")
    return frozenset(names)


def among(result: Mapping[str, Any], rules: frozenset[str]) -> Iterator[Finding]:
    return (finding for finding in result.get("findings") or [] if finding["rule"] in rules)


def told(finding: Finding) -> str:
    """One line, as compilers write it: file, line, rule, message."""
    place = finding["file"] or finding["service"] or "."
    line = f":{finding['line']}" if finding["line"] else ""
    return f"{place}{line}: {finding['rule']}: {finding['message']}"
