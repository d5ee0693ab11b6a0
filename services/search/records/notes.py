"""What an ingest reports about values that it read otherwise than they are written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import JsonValue

_MAX_NOTES = 100
_MAX_SHOWN = 60  #: characters of a value


@dataclass
class Notes:
    """Notes in the order in which they arose; equal ones are counted."""

    _texts: dict[str, None] = field(default_factory=dict)
    _read_as: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)

    def add(self, text: str) -> None:
        self._texts[text] = None

    def add_all(self, texts: Iterable[str]) -> None:
        self._texts.update(dict.fromkeys(texts))

    def read_as(self, name: str, before: JsonValue, after: JsonValue) -> None:
        """Count a value that was taken for another one."""
        kind = (name[:100], f"{type(before).__name__} {type(after).__name__}")
        count, example = self._read_as.get(kind, (0, ""))
        self._read_as[kind] = (count + 1, example or f"{_shown(before)} read as {_shown(after)}")

    def texts(self) -> list[str]:
        counted = [
            f"{name}: {f'{count:,} values such as ' * (count > 1)}{example}"
            for (name, _), (count, example) in self._read_as.items()
        ]
        return [*self._texts, *counted][:_MAX_NOTES]


def _shown(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"
