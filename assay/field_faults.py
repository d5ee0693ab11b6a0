"""What is wrong with a field, as a sentence about it: validators' messages in plain words."""

from __future__ import annotations

import re

#: Messages of pydantic, and what follows the field's name instead.
_AFTER_NAME = (
    (re.compile(r"Input should be less than or equal to (\S+)"), r"must be at most \1"),
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"must be at least \1"),
    (re.compile(r"Input should be less than (\S+)"), r"must be below \1"),
    (re.compile(r"Input should be greater than (\S+)"), r"must be above \1"),
    (re.compile(r"Input should be (?:one of )?('.*)"), r"must be one of \1"),
    (re.compile(r"Input should be a valid (?:integer|int).*"), "must be a whole number"),
    (re.compile(r"Input should be a valid (\w+).*"), r"must be a \1"),
    (re.compile(r"Field required"), "is missing"),
    (re.compile(r"Extra inputs are not permitted"), "is not known"),
)


def field_fault(field: str, message: str) -> str:
    """Return ``input is missing`` or, for a message that is not known, ``input: the message``."""
    message = message.removeprefix("Value error, ")
    for pattern, words in _AFTER_NAME:
        if match := pattern.fullmatch(message):
            return f"{field} {match.expand(words)}".strip()
    return f"{field}: {message}" if field else message
