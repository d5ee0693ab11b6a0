"""The attempts of one request at its providers: numbered, reported to listeners, and listed in the final error."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from uuid import uuid4

from pydantic import JsonValue

from shared.errors import ContextTooLong, ProvidersFailed
from shared.llm.call_clock import Watch
from shared.llm.chat import SKIPPED, ChainLink, ChatReply, ChatRequest, OnAttempt, ProviderAttempt, Reason
from shared.llm.faults import PromptTooLong, ProviderFault
from shared.llm.wires.endpoint import SCRIPTED_HEADER


@dataclass
class Attempts:
    """Safe for concurrent use: a hedged request runs two attempts at once."""

    request: ChatRequest
    on_attempt: OnAttempt
    made: list[ProviderAttempt] = field(default_factory=list)
    request_id: str = field(default_factory=lambda: str(uuid4()))
    overflows: list[PromptTooLong] = field(default_factory=list)
    _too_small: list[ChainLink] = field(default_factory=list)  #: models whose window the prompt does not fit into
    _lock: Lock = field(default_factory=Lock)

    def skipped(self, link: ChainLink, why: str) -> None:
        self._add(ProviderAttempt(0, self.request, link, "primary", SKIPPED, detail=why))

    def too_long(self, link: ChainLink, overflow: PromptTooLong) -> None:
        """Record that the prompt does not fit the link's window, so no request was sent."""
        self.overflows.append(overflow)
        self._too_small.append(link)
        self.skipped(link, overflow.detail)

    def abandoned(self, link: ChainLink, watch: Watch, reason: Reason) -> None:
        self._add(self._ended(link, watch, reason, "abandoned"))

    def answered(self, link: ChainLink, watch: Watch, reason: Reason, reply: ChatReply) -> None:
        attempt = replace(self._ended(link, watch, reason, "ok"), reply=reply)
        self._add(replace(attempt, http_status=reply.http_status, detail=reply.note))

    def failed(self, link: ChainLink, watch: Watch, reason: Reason, fault: ProviderFault) -> None:
        if isinstance(fault, PromptTooLong):
            self.overflows.append(fault)
        attempt = replace(self._ended(link, watch, reason, fault.code), usage=fault.usage, finish=fault.finish)
        self._add(replace(attempt, http_status=fault.http_status, detail=fault.detail))

    def last_of(self, link: ChainLink) -> str | None:
        """Return the outcome of the last attempt at the link."""
        return next((attempt.outcome for attempt in reversed(self.made) if attempt.link == link), None)

    def skipped_of(self, links: Sequence[ChainLink]) -> list[ChainLink]:
        """Return the links that were skipped but may still be called."""
        return [link for link in links if self.last_of(link) == SKIPPED and link not in self._too_small]

    def not_skipped_of(self, links: Sequence[ChainLink]) -> list[ChainLink]:
        return [link for link in links if self.last_of(link) != SKIPPED]

    def failure(self) -> Exception:
        """Return the error to raise when no provider is left to call."""
        return _no_answer(self.made, self.overflows)

    def _ended(self, link: ChainLink, watch: Watch, reason: Reason, outcome: str) -> ProviderAttempt:
        return ProviderAttempt(
            number=0,
            request=self.request,
            link=link,
            reason=reason,
            outcome=outcome,
            seconds=time.monotonic() - watch.began,
            first_token=watch.first_token,
            queued=watch.queued,
            scripted=SCRIPTED_HEADER in watch.headers,
        )

    def _add(self, attempt: ProviderAttempt) -> None:
        with self._lock:
            attempt = replace(attempt, number=len(self.made) + 1, request_id=self.request_id)
            if self.made:
                before = self.made[-1]
                reason: Reason = "failover" if attempt.outcome == SKIPPED else attempt.reason
                attempt = replace(attempt, reason=reason, before=before.link, cause=before.outcome)
            self.made.append(attempt)
        self.on_attempt(attempt)


def _no_answer(made: Sequence[ProviderAttempt], overflows: Sequence[PromptTooLong]) -> ProvidersFailed:
    attempts: list[JsonValue] = [
        {
            "provider": attempt.link.provider,
            "model": attempt.link.model,
            "outcome": attempt.outcome,
            "http_status": attempt.http_status,
            "detail": attempt.detail,
            "seconds": round(attempt.seconds, 3),
        }
        for attempt in made
    ]
    if not attempts:
        return ProvidersFailed("No time was left to call a model.", attempts=attempts)
    tried = {(a.link.provider, a.link.model, a.outcome): a for a in made}
    named = "; ".join(
        f"{who} ({model}): {outcome} after {last.seconds:.1f} s, {last.detail}"
        for (who, model, outcome), last in tried.items()
    )
    if overflows:
        largest = max(overflows, key=lambda fault: fault.window or 0)
        facts = {"window": largest.window, "prompt_tokens": largest.prompt}
        return ContextTooLong(f"The prompt is too long. {named}", attempts=attempts, **facts)
    return ProvidersFailed(f"No model provider answered. {named}", attempts=attempts)
