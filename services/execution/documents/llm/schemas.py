"""The schema of an answer that becomes a variable: a JSON Schema from the line, the document or its files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jsonschema_rs
from pydantic import JsonValue

from shared.llm.json_text import AnswerUnreadable, parse

_MOST = 64_000
_MAX_ERRORS = 5
_SIMPLE = ("string", "integer", "number", "boolean", "array", "object")
_FENCED = re.compile(r"\A\s*(`{3,}|~{3,})[^\n]*\n(.*?)\n?[ \t]*\1[`~]*\s*\Z", re.S)


class BadSchema(Exception):
    """Says why there is no schema."""


@dataclass(frozen=True)
class AnswerSchema:
    schema: dict[str, JsonValue]

    @property
    def text(self) -> str:
        return json.dumps(self.schema, ensure_ascii=False, sort_keys=True)

    def value(self, answer: str) -> JsonValue:
        """Parse the answer as a value. Raises: AnswerUnreadable with a message for the model."""
        if self.schema == {"type": "string"}:
            return answer.strip()
        fenced = _FENCED.match(answer)
        value = parse((fenced[2] if fenced else answer).strip()).value
        try:
            errors = [f"{_place(error)}: {error.message[:300]}" for error in self._validator().iter_errors(value)]
        except ValueError as error:
            raise AnswerUnreadable(f"the schema cannot be applied: {str(error)[:300]}") from None
        if errors:
            raise AnswerUnreadable(f"the answer does not fit the schema: {'; '.join(errors[:_MAX_ERRORS])}")
        return value

    def check(self) -> None:
        """Check the schema itself. Raises: BadSchema."""
        try:
            self._validator()
        except ValueError as error:
            raise BadSchema(f"it is not a JSON Schema: {str(error).splitlines()[0][:300]}") from None

    def _validator(self) -> jsonschema_rs.Validator:
        # Patterns take linear time, and nothing is ever fetched.
        return jsonschema_rs.validator_for(
            self.schema, retriever=_never, pattern_options=jsonschema_rs.RegexOptions(), validate_formats=True
        )


def answer_schema(name: str, lines: Sequence[str], files: Mapping[str, Path]) -> AnswerSchema:
    """Return the schema that ``schema=`` names: JSON, a type, a JSON fence with that id, or a file. Raises:
    BadSchema.
    """
    if name in _SIMPLE:
        return AnswerSchema({"type": name})
    text = name if name.startswith("{") else _in_document(name, lines)
    if text is None and name in files:
        if files[name].stat().st_size > _MOST:
            raise BadSchema(f"{name[:200]} is larger than {_MOST:,} bytes")
        text = files[name].read_bytes().decode("utf-8", "replace")
    if text is None:
        raise BadSchema(f"the document has no JSON block #{name[:100]}, and its files have no {name[:100]}")
    try:
        schema = json.loads(text[:_MOST])
    except (ValueError, RecursionError):
        raise BadSchema("it is not JSON") from None
    if not isinstance(schema, dict):
        raise BadSchema("it is not a JSON object")
    parsed = AnswerSchema(schema)
    parsed.check()
    return parsed


def _in_document(name: str, lines: Sequence[str]) -> str | None:
    opening = re.compile(rf"[ \t]*(`{{3,}}|~{{3,}})[ \t]*\{{?\.?json\b[^\n]*#{re.escape(name)}(?![\w-])")
    for begin, line in enumerate(lines):
        if "json" in line and (match := opening.match(line)):
            mark = match[1]
            ends = (n for n in range(begin + 1, len(lines)) if lines[n].strip().startswith(mark))
            return "".join(lines[begin + 1 : next(ends, len(lines))])
    return None


def _place(error: jsonschema_rs.ValidationError) -> str:
    return "/".join(map(str, error.instance_path)) or "the answer"


def _never(uri: str) -> JsonValue:
    raise ValueError(f"{uri[:100]} is not fetched")
