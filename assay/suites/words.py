"""A validator's messages about a field, in the words of who wrote it."""

from __future__ import annotations

import re

#: What follows the field's name.
_MESSAGES = (
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


def said_of_a_field(message: str) -> str:
    """Return what follows the field's name; a message that is not known stays as it is."""
    message = message.removeprefix("Value error, ")
    for pattern, words in _MESSAGES:
        if match := pattern.fullmatch(message):
            return match.expand(words)
    return message
