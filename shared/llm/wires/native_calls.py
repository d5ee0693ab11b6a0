"""Native tool calls as they arrive: whole or in pieces, with and without index and id, by whichever form of the API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from shared.llm.chat import ToolUse
from shared.llm.faults import ToolUseFailed
from shared.llm.wires.shapes import cleaned, index_of, member, name_of, object_of

#: Where servers put a call's arguments: most of them, Llama's own form, and custom tools.
_ARGUMENTS = ("arguments", "parameters", "input")


@dataclass
class _Call:
    index: int | None
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.arguments)


@dataclass
class ToolCalls:
    """The calls of one answer, in their order."""

    _calls: list[_Call] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, parts: Sequence[Any], *, whole: bool) -> None:
        """Add pieces of calls; of a ``whole`` answer each piece is a call."""
        for part in parts:
            function = (
                object_of(part, "function") or object_of(part, "custom") or (part if isinstance(part, dict) else {})
            )
            index, id, name = index_of(part), name_of(part, "id"), name_of(function, "name")
            given = next((given for key in _ARGUMENTS if (given := member(function, key)) is not None), None)
            call = None if whole else self._continued(index, id, name, given)
            if call is None:
                call = _Call(index)
                self._calls.append(call)
            if name and call.name and name != call.name and not call.text:  # the name comes in pieces
                call.name += name
            call.id, call.name = call.id or id, call.name or name
            if isinstance(given, str):
                call.arguments.append(given)
            elif given is not None:  # Ollama's own API and some gateways send the object itself
                call.arguments = [json.dumps(given)]

    def _continued(self, index: int | None, id: str, name: str, given: object) -> _Call | None:
        """Return the call that the piece continues; None for a new one.

        Some servers number no call, some number all of them alike, and some repeat id and name in every piece.
        """
        if index is not None:
            known = [call for call in self._calls if call.index == index and (not id or call.id in ("", id))]
        elif id:
            known = [call for call in self._calls if call.id == id]
        else:
            known = self._calls if not name or (self._calls and not self._calls[-1].name) else []
        if not known:
            return None
        call = known[-1]
        began = bool(name) and bool(given) and bool(call.name)
        complete = bool(call.text.strip()) and arguments(call.text) is not None
        return None if began and complete else call  # what is complete cannot continue, so another call begins

    def complete(self, *, cut: bool) -> tuple[ToolUse, ...]:
        """Return the calls; of an answer that was ``cut``, those that are complete.

        Raises: ToolUseFailed for a call without a name, or whose arguments are not a JSON object.
        """
        uses: list[ToolUse] = []
        ids: set[str] = set()
        for number, call in enumerate(sorted(self._calls, key=lambda call: call.index or 0)):
            params = arguments(call.text)
            if params is None and cut:
                continue  # cut in the middle: only complete calls count
            if params is None:
                raise ToolUseFailed("The arguments of a tool call are not a JSON object.", "")
            if not call.name:
                raise ToolUseFailed("A tool call does not name its tool.", "")
            id = call.id if call.id and call.id not in ids else f"call_{number}"
            ids.add(id)
            uses.append(ToolUse(id, call.name, params))
        return tuple(uses)


def arguments(text: str) -> Mapping[str, JsonValue] | None:
    """Return a tool call's arguments; None when they are not a strict JSON object, also not one written as a text."""
    if not text.strip():
        return {}
    value = _strict(text)
    if isinstance(value, str):
        value = _strict(value)
    if value is None and text.strip() == "null":
        return {}
    return cleaned(value) if isinstance(value, dict) else None


def _strict(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> None:
    raise ValueError(constant)
