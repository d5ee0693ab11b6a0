"""A layer on the scripted server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pydantic import JsonValue
from sqlalchemy import Engine

from shared.llm.call_clock import Timeouts
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest
from shared.llm.layer import LlmLayer
from shared.llm.ledger import JobUsage, Owner
from shared.llm.settings import CallSettings, ProviderSettings, endpoints
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.endpoint import Endpoint
from shared.loop import Budget

PROVIDERS = tuple(VENDORS)
_SOON = Timeouts(connect=3, first_token=0.3, idle=0.3, total=0.6)
HELLO = (ChatMessage("system", "Be brief."), ChatMessage("user", "Say hello"))


class Server(Protocol):
    """A server that can be the vendors."""

    def environment(self, providers: Sequence[str], /) -> dict[str, str]: ...


@contextmanager
def layer(
    server: Server,
    providers: Sequence[str] = PROVIDERS,
    engine: Engine | None = None,
    redis_url: str | None = None,
    hasty: Sequence[str] = (),
    **calls: Any,
) -> Iterator[LlmLayer]:
    """``hasty`` providers are given up soon; on a busy machine the others are given the time that they need."""
    limits = {"first_token_seconds": 20, "idle_seconds": 20, "total_seconds": 30, **calls}

    def with_hasty(providers: ProviderSettings, calls: CallSettings) -> tuple[Endpoint, ...]:
        return tuple(
            replace(each, timeouts=_SOON) if each.name in hasty else each for each in endpoints(providers, calls)
        )

    llm = LlmLayer(
        ProviderSettings(server.environment(providers)), CallSettings(**limits), engine, redis_url, with_hasty
    )
    try:
        yield llm
    finally:
        llm.close()


@dataclass
class Asked:
    """The outcome of one request."""

    usage: JobUsage
    events: list[tuple[str, dict[str, JsonValue]]] = field(default_factory=list)
    reply: ChatReply | None = None
    warnings: list[str] = field(default_factory=list)

    def attempts(self, *names: str) -> list[tuple[JsonValue, ...]]:
        """The given fields of every call that was made."""
        return [tuple(data[name] for name in names) for type, data in self.events if type == "llm_call"]


def ask(
    llm: LlmLayer,
    *selector: str,
    budget: Budget | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    owner: Owner = Owner("tenant", "job"),  # noqa: B008
    fails: type[Exception] | None = None,
    **request: Any,
) -> Asked:
    """Send one request; ``fails`` is swallowed."""
    events: list[tuple[str, dict[str, JsonValue]]] = []

    def on_event(type: str, **data: JsonValue) -> None:
        events.append((type, data))

    job = llm.for_job(owner, budget or Budget(seconds=120), on_event, cancelled, selector)
    asked = Asked(job.usage, events)
    job = replace(job, warn=asked.warnings.append)
    try:
        asked.reply = job.complete(replace(ChatRequest("flows.edit", HELLO), **request))
    except Exception as error:
        if fails is None or not isinstance(error, fails):
            raise
    else:
        assert fails is None, f"it answered: {asked.reply}"
    return asked
