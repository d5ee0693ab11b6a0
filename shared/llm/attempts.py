"""The attempts of one request at its providers: numbered, told to whoever listens, and named when none answered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from uuid import uuid4

from shared.llm.call_clock import Watch
from shared.llm.chat import SKIPPED, ChainLink, ChatReply, ChatRequest, OnAttempt, ProviderAttempt, Reason
from shared.llm.faults import EmptyAnswer, PromptTooLong, ProviderFault
from shared.llm.unanswered import no_answer
from shared.llm.wires.endpoint import SCRIPTED_HEADER


@dataclass
class Attempts:
    """Safe to add to from threads: of a hedged request two go on at once."""

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
        """The prompt does not fit into the link's window, so it was not sent."""
        self.overflows.append(overflow)
        self._too_small.append(link)
        self.skipped(link, overflow.detail)

    def abandoned(self, link: ChainLink, watch: Watch, reason: Reason) -> None:
        self._add(self._ended(link, watch, reason, "abandoned"))

    def answered(self, link: ChainLink, watch: Watch, reason: Reason, reply: ChatReply) -> None:
        self._add(replace(self._ended(link, watch, reason, "ok"), reply=reply))

    def failed(self, link: ChainLink, watch: Watch, reason: Reason, fault: ProviderFault) -> None:
        if isinstance(fault, PromptTooLong):
            self.overflows.append(fault)
        attempt = self._ended(link, watch, reason, fault.code)
        if isinstance(fault, EmptyAnswer):
            attempt = replace(attempt, usage=fault.usage, finish=fault.finish)
        self._add(replace(attempt, http_status=fault.http_status, detail=fault.detail))

    def last_of(self, link: ChainLink) -> str | None:
        """What came of the last attempt at it."""
        return next((attempt.outcome for attempt in reversed(self.made) if attempt.link == link), None)

    def skipped_of(self, links: Sequence[ChainLink]) -> list[ChainLink]:
        """Those that were passed over, and may be asked after all."""
        return [link for link in links if self.last_of(link) == SKIPPED and link not in self._too_small]

    def not_skipped_of(self, links: Sequence[ChainLink]) -> list[ChainLink]:
        return [link for link in links if self.last_of(link) != SKIPPED]

    def failure(self) -> Exception:
        """What to raise when there is nobody left to ask."""
        return no_answer(self.made, self.overflows)

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
