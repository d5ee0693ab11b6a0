"""What a running job reports: events go out as they happen; the rest waits for the completing transaction."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue
from sqlalchemy import Connection

from shared import conversations
from shared.jobs.delivery.notifier import Notifier
from shared.jobs.job import Effect
from shared.jobs.record import statements
from shared.jobs.running.leases import Lease, LeasedWriter
from shared.llm.ledger import JobUsage, totals

_NOT_LIVE = {
    "scripted": "Demo mode: scripted reply, no model called.",
    "replay": "Replayed from recordings: no model called.",
}
EVENT_BYTES = 16_000  #: no event is larger, its envelope included
_ENVELOPE = 400
_SHORTEST = 64
_CUT = " …"


@dataclass(frozen=True)
class MessagePair:
    """The pair that a job adds to its conversation."""

    user: str
    assistant: str
    tool_calls: Sequence[Mapping[str, JsonValue]] = ()


@dataclass
class JobReport:
    """What a capability reports (see ``shared.jobs.job.Report``)."""

    writer: LeasedWriter
    notifier: Notifier
    lease: Lease
    warnings: list[str] = field(default_factory=list)
    pairs: list[MessagePair] = field(default_factory=list)
    forms: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    models: JobUsage | None = None  #: the calls of this run to models; the LLM layer counts them
    earlier_runs: bool = False  #: whether an earlier run of this job may have called models

    def event(self, type: str, **data: JsonValue) -> None:
        statement = statements.append_event(self.lease.held, type, event_data(data))
        if self.writer.write(statement, self.lease) is None:
            # Fenced off: another worker has the job, or it was ended. This run is over.
            self.lease.lost.set()
            self.lease.cancelled.set()
        else:
            self.notify()

    def turn(self, number: int, proposal: JsonValue, outcome: JsonValue) -> None:
        self.event("turn_taken", number=number, proposal=proposal, outcome=outcome)

    def thinking(self, message: str, **data: JsonValue) -> None:
        self.event("thinking", message=message, **data)

    def output(self, stream: str, text: str) -> None:
        self.event("output", stream=stream, text=text)

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def remember(self, user: str, assistant: str, tool_calls: Sequence[Mapping[str, JsonValue]] = ()) -> None:
        self.pairs.append(MessagePair(user, assistant, tool_calls))

    def form(self, name: str, media_type: str, body: bytes) -> None:
        self.forms[name] = (media_type, body)

    def effect(self, apply: Effect) -> None:
        self.effects.append(apply)

    def usage(self) -> Mapping[str, JsonValue]:
        """Return the job's ``usage``; a warning names replies that no model made."""
        if self.models is None:
            return {}
        for source in sorted(self.models.sources - {"live"}):
            self.warn(_NOT_LIVE[source])
        if self.earlier_runs:
            with self.writer.autocommit.connect() as connection:
                return totals(connection, self.lease.held.tenant_id, self.lease.job_id)
        return {
            "llm_calls": self.models.llm_calls,
            "input_tokens": self.models.input_tokens,
            "output_tokens": self.models.output_tokens,
            "cost_usd": self.models.known_cost,
        }

    @property
    def outlives(self) -> bool:
        """Whether the end of the job writes more than its own row and event."""
        return bool(self.effects or self.forms or self.pairs)

    def apply(self, connection: Connection, tenant_id: str, conversation_id: str) -> None:
        """Write what outlives the job: its effects, its forms, its part of the conversation."""
        for effect in self.effects:
            if corrected := effect(connection):
                fields = cast("Mapping[str, JsonValue]", storable(dict(corrected)))
                connection.execute(statements.correct_result(self.lease.held, fields))
        if self.forms:
            connection.execute(statements.add_forms(self.lease.held, self.forms))
        for pair in self.pairs:
            connection.execute(
                conversations.add_pair(
                    tenant_id, conversation_id, self.lease.job_id, pair.user, pair.assistant, pair.tool_calls
                )
            )

    def notify(self, *, ended: bool = False) -> None:
        """Notify the gateways of a new event; they poll anyway when no notification comes."""
        self.notifier.event(self.lease.job_id, ended=ended)


def storable(value: JsonValue) -> JsonValue:
    """Return the value with what ``jsonb`` refuses made visible: NUL as U+2400, lone surrogates as U+FFFD, NaN as null.

    An integer of more than 64 bits becomes text: as a number, readers would lose digits.
    """
    if isinstance(value, str):
        return value.replace("\x00", "\u2400").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {str(storable(key)): storable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value


def event_data(data: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return the data of an event, its longest strings cut until the event fits into 16 kB."""
    fitting = cast("Mapping[str, JsonValue]", storable(dict(data)))
    longest = EVENT_BYTES
    while len(json.dumps(fitting, ensure_ascii=False).encode()) > EVENT_BYTES - _ENVELOPE:
        longest //= 2
        if longest < _SHORTEST:  # it is not the strings: too many of them
            return {"truncated": True}
        fitting = cast("Mapping[str, JsonValue]", _cut(dict(fitting), longest))
    return fitting


def _cut(value: JsonValue, longest: int) -> JsonValue:
    if isinstance(value, str):
        return value if len(value) <= longest else value[: longest - len(_CUT)] + _CUT
    if isinstance(value, dict):
        return {key: _cut(inner, longest) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cut(inner, longest) for inner in value]
    return value
