"""Content for a document: the values of an instruction in plain sentences, and nothing that is not in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from shared.llm.scripted.demo.query import NotUnderstood

CAN = (
    "It writes no prose of its own: it states the values of an instruction (a total of 12) and of tables, and fills "
    "answers by schema with values that the instruction names."
)
_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?\s?%?"
_FACT = re.compile(
    rf"\b(?P<noun>[^\W\d_][\w-]*(?: [^\W\d_][\w-]*){{0,2}})\s*(?:\bof\b|\bis\b|\bwas\b|\bare\b|\bwere\b|=|:)\s*"
    rf"(?P<value>{_NUMBER})(?![\w-])",
    re.I,
)
_LEADING = re.compile(
    r"^(?:(?:what|that|why|how|whether|if|of|for|the|a|an|our|my|this|its|with|and|in|sentence|one|say|explain|describe|"
    r"tell|write|about|mention|state|means?|given|where|when|is|summarize|comment|on|note)\s+)+",
    re.I,
)
_DATA = re.compile(r"<data-[\w-]+>\n?(.*?)\n?</data-[\w-]+>", re.DOTALL)
_TYPE = re.compile(r'instruction is of the type "(\w+)"')
_SCHEMA = re.compile(r"fits this JSON Schema[^\n]*\n(.*?)\n(?:Text between marks|$)", re.DOTALL)


def content(system: str, instruction: str) -> str:
    """Return the content. Raises: NotUnderstood."""
    kind = match[1] if (match := _TYPE.search(system)) else "create"
    if kind in {"edit", "fix"}:
        raise NotUnderstood("It does not change existing content.")
    facts = dict(_facts(_DATA.sub(" ", instruction)))
    if (schema := _SCHEMA.search(system)) is not None:
        return _by_schema(schema[1], facts)
    lines = [f"The {noun} is {value}." for noun, value in facts.items()]
    lines += [sentence for data in _DATA.findall(instruction) for sentence in _of_table(data)]
    if not lines:
        raise NotUnderstood("The instruction names no value to state.")
    return " ".join(lines)


def _facts(text: str) -> Iterator[tuple[str, str]]:
    for match in _FACT.finditer(text):
        noun = _LEADING.sub("", match["noun"].strip() + " ").strip()
        if noun:
            yield noun, match["value"].strip()


def _by_schema(text: str, facts: Mapping[str, str]) -> str:
    """Fill the members of a schema with values that are named like them."""
    try:
        schema = json.loads(text)
    except ValueError:
        raise NotUnderstood("It cannot read the schema of the answer.") from None
    values: dict[str, object] = {}
    for name, member in (schema.get("properties") or {}).items():
        value = next((facts[noun] for noun in facts if _same(noun, name)), None)
        if value is not None:
            values[name] = _typed(value, str(member.get("type", "string")))
    missing = [name for name in schema.get("required", schema.get("properties", ())) if name not in values]
    if missing:
        raise NotUnderstood(f"The instruction names no value for {', '.join(map(str, missing))}.")
    return json.dumps(values)


def _same(noun: str, name: str) -> bool:
    return re.sub(r"[\W_]+", "", noun).casefold() == re.sub(r"[\W_]+", "", name).casefold()


def _typed(value: str, kind: str) -> object:
    number = float(value.replace(",", "").rstrip("% "))
    if kind == "integer" and number.is_integer():
        return int(number)
    return number if kind in {"number", "integer"} else value


def _of_table(text: str) -> list[str]:
    """Describe a table in Markdown or CSV: its size, and the range and total of its columns of numbers."""
    rows = [_cells(line) for line in text.strip().splitlines() if line.strip() and not re.fullmatch(r"[\s|:+-]+", line)]
    if len(rows) < 2 or len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return []
    header, body = rows[0], rows[1:]
    sentences = [
        f"The table has {len(body)} row{'s' * (len(body) != 1)} and the columns {', '.join(filter(None, header))}."
    ]
    for place, name in enumerate(header):
        numbers = [_as_number(row[place]) for row in body]
        known = [number for number in numbers if number is not None]
        if name and len(known) == len(numbers):
            total = f"{sum(known):g}"
            sentences.append(f"The {name} goes from {min(known):g} to {max(known):g}, {total} in total.")
    return sentences


def _cells(line: str) -> Sequence[str]:
    if "|" in line:
        return [cell.strip() for cell in line.strip().strip("|").split("|")]
    return [cell.strip() for cell in re.split(r",|\t|\s{2,}", line.strip())]


def _as_number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None
