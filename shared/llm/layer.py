"""The LLM layer of one process: built once from settings, asked by many jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from threading import Timer

from sqlalchemy import Engine

from shared.contracts.models import ModelTest, ProviderState
from shared.errors import AssayError
from shared.llm.breaker import Breaker
from shared.llm.chat import ChainLink, ChatMessage, ChatRequest
from shared.llm.failover import Failover, FailoverSettings
from shared.llm.health import ProviderHealth
from shared.llm.job import JobAccount, JobLlm, OnEvent, no_event
from shared.llm.ledger import CallLedger, Owner
from shared.llm.prompts import PromptRegistry
from shared.llm.recorder import Recorder
from shared.llm.registry import Chain, ModelRegistry
from shared.llm.settings import CallSettings, ProviderSettings, endpoints
from shared.llm.states import LocalStates, SharedStates
from shared.llm.vendors.adapter import Adapter
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.endpoint import Endpoint
from shared.loop import Budget

_LOAD_AFTER = 0.5  #: seconds after the first request; the first provider's SDK is loaded by then
_WORST = ("parked", "open", "half_open", "closed")


class LlmLayer:
    """Everything about models that outlives a job; safe to use from many threads.

    ``engine`` None: nothing is recorded, and registries hold their defaults.
    ``redis_url`` None: breakers are per process.
    """

    def __init__(
        self,
        providers: ProviderSettings,
        calls: CallSettings,
        engine: Engine | None,
        redis_url: str | None,
        find_endpoints: Callable[[ProviderSettings, CallSettings], tuple[Endpoint, ...]] = endpoints,
    ) -> None:
        self._calls = calls
        self._endpoints = find_endpoints(providers, calls)
        self._adapters = {
            endpoint.name: Adapter(VENDORS[endpoint.name], endpoint)
            for endpoint in self._endpoints
            if endpoint.configured
        }
        self._states = SharedStates(redis_url) if redis_url else LocalStates()
        self._breaker = Breaker(self._states, calls.breaker)
        self._loaded: set[str] = set()
        self.ledger = CallLedger(engine)
        self.models = ModelRegistry(engine, self._endpoints)
        self.prompts = PromptRegistry(engine)

    def close(self) -> None:
        """Close every connection."""
        for provider in self._adapters.values():
            provider.close()
        self._states.close()

    def for_job(
        self,
        owner: Owner,
        budget: Budget,
        on_event: OnEvent = no_event,
        cancelled: Callable[[], bool] = lambda: False,
        selector: Sequence[str] = (),
    ) -> JobLlm:
        """The models for one job; ``selector`` holds for every request that names no models of its own.

        A request goes through these, from the outside in:

        ``JobLlm.complete``         the job's budget, deadline and selector; ``JobAccount.add`` counts each attempt
        ``Recorder.complete``       only with ``ASSAY_LLM_RECORD``: answers from recordings, keeps new answers
        ``Failover.complete``       the chain of the role, by each provider's health, until one answers
        ``Adapter.ask``             one call of one provider: its limits (``Watch``) and its faults
        ``Wire.body``, ``.answer``  the vendor's format
        ``Sdk.events``, ``.whole``  HTTP, by the vendor's own SDK
        """
        account = JobAccount(owner, self.ledger, budget, on_event)
        calls = self._calls
        failover = Failover(self._adapters, self._chain, self._breaker, calls.failover, account.add, cancelled)
        models: Failover | Recorder = failover
        if calls.record != "off" and calls.recordings is not None:
            models = Recorder(calls.recordings, calls.record, failover, account.add)
        return JobLlm(account, models, tuple(selector), self._servable)

    def configured(self, role: str | None = None) -> bool:
        """Whether a configured provider could answer for the role, or for any role; recordings can."""
        if self._calls.recordings is not None and self._calls.record in ("replay", "auto"):
            return True
        return any(self.models.configured(each) for each in ([role] if role else self.models.chains()))

    def providers(self) -> list[ProviderState]:
        """Every provider with its key, its breaker and its last error, over the models that are in use."""
        links = {(link.provider, link.model) for chain in self.models.chains().values() for link in chain}
        return [
            self._state(endpoint, sorted(m for p, m in links if p == endpoint.name)) for endpoint in self._endpoints
        ]

    def test(self, role: str, tenant: str) -> ModelTest:
        """A real call to the first configured link of the role, whatever its breaker says. Raises: NotFound."""
        chain = [link for link in self.models.chain(role) if link.provider in self._adapters]
        if not chain:
            return ModelTest(ok=False, provider=None, model=None, seconds=0, error="no_provider_configured: set a key")
        link = chain[0]
        words = (ChatMessage("user", "Answer with the single word: ready"),)
        request = ChatRequest(role, words, max_tokens=512, deadline=time.monotonic() + 30)
        account = JobAccount(Owner(tenant, None), self.ledger, Budget(seconds=30))
        ignored, at_once = Breaker(LocalStates()), FailoverSettings(patience=0)
        job = JobLlm(account, Failover(self._adapters, lambda _: [link], ignored, at_once, account.add))
        began = time.monotonic()
        error = None
        try:
            reply = job.complete(request)
        except AssayError as failed:
            attempts = failed.extra.get("attempts")
            first = attempts[0] if isinstance(attempts, list) and attempts else None
            outcome = f"{first['outcome']}: {first['detail']}" if isinstance(first, dict) else None
            error = outcome or f"{failed.code}: {failed.detail}"
        seconds = time.monotonic() - began
        model = link.model if error else reply.model
        return ModelTest(ok=error is None, provider=link.provider, model=model, seconds=seconds, error=error)

    def load(self, role: str) -> None:
        """Load the SDK of the role's first configured provider now, which takes seconds on a busy machine."""
        self._load([link.provider for link in self.models.chain(role) if link.provider in self._adapters][:1])

    def _chain(self, request: ChatRequest) -> Chain:
        """The request's links; the SDKs of those behind the first are loaded meanwhile, so that a failover is quick."""
        links = self.models.for_request(request)
        later = {link.provider for link in links if link.provider in self._adapters} - self._loaded
        if later:
            self._loaded |= later
            timer = Timer(_LOAD_AFTER, self._load, args=(sorted(later),))
            timer.daemon = True
            timer.start()
        return links

    def _servable(self, request: ChatRequest) -> list[ChainLink]:
        return [link for link in self.models.for_request(request) if link.provider in self._adapters]

    def _load(self, providers: Sequence[str]) -> None:
        with suppress(RuntimeError):  # closed meanwhile
            for name in providers:
                self._adapters[name].connect()

    def _state(self, endpoint: Endpoint, models: Sequence[str]) -> ProviderState:
        if not endpoint.configured:
            return ProviderState(name=endpoint.name, configured=False, state="unconfigured")
        now = time.time()
        seen = [seen.health for seen in self._breaker.look([endpoint.key(model) for model in models])]
        worst = min(seen, key=lambda health: _WORST.index(health.state(now)), default=ProviderHealth())
        until = worst.until(now)
        return ProviderState(
            name=endpoint.name,
            configured=True,
            state=worst.state(now),
            until=None if until is None else datetime.fromtimestamp(until, UTC),
            last_error=worst.last_error or next((health.last_error for health in seen if health.last_error), None),
        )
