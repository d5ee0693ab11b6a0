"""The LLM layer of one process: built once from settings, used by many jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event, Thread

from sqlalchemy import Engine

from shared.contracts.models import EndpointFacts, EndpointTest, ModelTest, ProviderState
from shared.errors import AssayError, NotFound
from shared.llm.breaker import Breaker, ProviderHealth
from shared.llm.chat import ChainLink, ChatMessage, ChatRequest, OnAttempt, ProviderAttempt
from shared.llm.discovery import discover
from shared.llm.endpoints import Adapters, EndpointRegistry
from shared.llm.failover import Failover, FailoverSettings
from shared.llm.faults import ProviderFault
from shared.llm.health_store import LocalStates, SharedStates
from shared.llm.job import JobAccount, JobLlm, OnEvent, no_event
from shared.llm.ledger import CallLedger, Owner
from shared.llm.probe import probe
from shared.llm.prompting import prompting_of
from shared.llm.prompts import PromptRegistry
from shared.llm.recorder import Recorder
from shared.llm.registry import Chain, ModelRegistry
from shared.llm.settings import CallSettings, ProviderSettings, endpoints
from shared.llm.slots import CallSlots, SharedCallSlots
from shared.llm.tenants import AllowedModels, DailyTokens
from shared.llm.wires.endpoint import Endpoint
from shared.loop import Budget
from shared.near_names import no_such

_LOAD_AFTER = 0.5  #: seconds after the first request; the first provider's SDK is loaded by then
_LOOK_FIRST, _LOOK_AGAIN = 15.0, 10.0  #: seconds for the first check of a server, and until the next one
_CLOSED_WITHIN = 2.0  #: seconds for threads to end; one may wait for a server that does not answer
_WORST = ("parked", "open", "half_open", "refusing", "closed")


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
        self._states = SharedStates(redis_url) if redis_url else LocalStates()
        discovered = find_endpoints(providers, calls)
        self.endpoints = EndpointRegistry(engine, providers, calls, discovered, self._states)
        self._adapters = Adapters(self.endpoints.current, self._states)
        self._closed = Event()
        self._looked: dict[str, str | None] = {}  #: the fault of the last check of a server, None when it answered
        self._threads: list[Thread] = []  #: work that runs in the background
        self._looking: list[Event] = []  #: set after the first check of a server
        for endpoint in self.endpoints.own_servers():
            self._looking.append(Event())
            self._start(self._look, endpoint, self._looking[-1])
        self._slots = SharedCallSlots(redis_url) if redis_url else CallSlots()
        self._breaker = Breaker(self._states, calls.breaker)
        self._loaded: set[str] = set()
        self.ledger = CallLedger(engine, calls.texts)
        self.models = ModelRegistry(engine, self.endpoints.current)
        self.allowed = AllowedModels(engine, calls.allowed_models)
        self._daily = DailyTokens(engine, calls.tenant_tokens_per_day)
        self.prompts = PromptRegistry(engine)

    def close(self) -> None:
        """Close every connection, and wait for background threads that use the engine: nothing opens one later."""
        self._closed.set()
        self._adapters.close()
        until = time.monotonic() + _CLOSED_WITHIN
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        self._states.close()
        self._slots.close()

    def for_job(
        self,
        owner: Owner,
        budget: Budget,
        on_event: OnEvent = no_event,
        cancelled: Callable[[], bool] = lambda: False,
        selector: Sequence[str] = (),
        on_attempt: OnAttempt = lambda attempt: None,
        counts: dict[str, int] | None = None,
    ) -> JobLlm:
        """Return the models for one job; ``selector`` applies to every request that names no models.

        ``counts`` are the recorder's, where they outlive the answer. A request goes through these, from the outside in:

        ``JobLlm.complete``         the job's budget, deadline and selector; ``JobAccount.add`` counts each attempt
        ``Recorder.complete``       only with ``ASSAY_LLM_RECORD``: answers from recordings, keeps new answers
        ``Failover.complete``       the chain of the role, by each provider's health, until one answers
        ``Adapter.ask``             one call of one provider: its limits (``Watch``) and its faults
        ``Wire.body``, ``.answer``  the vendor's format
        ``Sdk.answer``              HTTP, by the vendor's own SDK
        """
        account = JobAccount(owner, self.ledger, budget, on_event, self._counted(owner.tenant_id, on_attempt))
        calls, tenant = self._calls, owner.tenant_id
        failover = Failover(
            self._adapters,
            lambda request: self._chain(request, tenant),
            self._breaker,
            calls.failover,
            account.add,
            cancelled,
            tenant,
            self._slots,
        )
        models: Failover | Recorder = failover
        if calls.record != "off" and calls.recordings is not None:
            models = Recorder(calls.recordings, calls.record, failover, account.add, {} if counts is None else counts)
        return JobLlm(
            account,
            models,
            tuple(selector),
            lambda request: self._servable(request, tenant),
            lambda links: self._admit(tenant, links),
        )

    def check_allowed(self, role: str, tenant: str) -> None:
        """Raise ModelNotAllowed when the tenant may use none of the role's models."""
        self.allowed.among(self.models.chain(role), tenant)

    def configured(self, role: str | None = None) -> bool:
        """Return whether a configured provider, or a recording, could answer for the role, or for any role."""
        if self._calls.recordings is not None and self._calls.record in ("replay", "auto"):
            return True
        return any(self.models.configured(each) for each in ([role] if role else self.models.chains()))

    def providers(self) -> list[ProviderState]:
        """Return every provider with its key, its breaker and its last error, over the models in use."""
        links = {(link.provider, link.model) for chain in self.models.chains().values() for link in chain}
        return [
            self._state(endpoint, sorted(m for p, m in links if p == endpoint.name))
            for endpoint in self.endpoints.current().values()
        ]

    def release(self, provider: str) -> ProviderState:
        """Reset the provider's breaker so that it is called again. Raises: NotFound."""
        endpoint = self.endpoints.current().get(provider)
        if endpoint is None:
            raise NotFound(no_such("provider", provider, self.endpoints.current()))
        models = {link.model for chain in self.models.chains().values() for link in chain if link.provider == provider}
        for model in models:
            self._breaker.closed(endpoint.key(model))
        return self._state(endpoint, sorted(models))

    def unlisted(self, links: Sequence[ChainLink]) -> list[str]:
        """Return the doubts about models, with each provider's own list where it has one (a request to its server)."""
        named = {(link.provider, link.model): link for link in links}
        doubts = [self.models.doubt(link, self._listed(link.provider)) for link in named.values()]
        return [each for each in doubts if each is not None]

    def _listed(self, provider: str) -> frozenset[str]:
        return self._adapters[provider].listed() if provider in self._adapters else frozenset()

    def test(self, role: str, tenant: str, unsaved: ChainLink | None = None) -> ModelTest:
        """Make a real call to the first configured link of the role, or to ``unsaved``, regardless of its breaker.

        Raises: NotFound, ModelNotAllowed, QuotaExceeded.
        """
        self._daily.check(tenant)
        given = self.models.chain(role) if unsaved is None else (unsaved,)
        chain = [link for link in self.allowed.among(given, tenant) if link.provider in self._adapters]
        if not chain:
            return ModelTest(ok=False, provider=None, model=None, seconds=0, error="no_provider_configured: set a key")
        link = chain[0]
        words = (ChatMessage("user", "Answer with the single word: ready"),)
        seconds = self._adapters[link.provider].endpoint.timeouts.total
        request = ChatRequest(role, words, max_tokens=512, deadline=time.monotonic() + seconds)
        account = JobAccount(
            Owner(tenant, None), self.ledger, Budget(seconds=seconds), on_attempt=self._counted(tenant)
        )
        ignored, at_once = Breaker(LocalStates()), FailoverSettings(patience=0, starting=0)
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
        return ModelTest(
            ok=error is None,
            provider=link.provider,
            model=model,
            seconds=seconds,
            error=error,
            prompting=prompting_of(link, self.endpoints.current().get(link.provider)),
        )

    def discover(self, name: str) -> EndpointFacts:
        """Discover the server of an endpoint and store the facts for all replicas. Raises: NotFound, ProviderFault."""
        known, endpoint = self.endpoints.view(name).facts, self.endpoints[name]
        if not endpoint.own_server:
            raise NotFound(f"{name} is a vendor: `assay models test ROLE` calls the first model of a role's chain.")
        facts = discover(endpoint)
        if known is not None and (known.server, known.version) == (facts.server, facts.version):
            facts = facts.model_copy(update={"probed": known.probed})
        self.endpoints.learn(name, facts)
        return facts

    def test_endpoint(self, name: str) -> EndpointTest:
        """Check the server of a named endpoint, and send its model a few words. Raises: NotFound."""
        began = time.monotonic()
        facts, error = None, None
        try:
            facts = self.discover(name)
            chosen = self.endpoints[name].model
            if chosen is None:
                error = _unchosen(name, [model.id for model in facts.models])
            else:
                facts = facts.model_copy(update={"probed": probe(self._adapters[name], chosen)})
                self.endpoints.learn(name, facts)
        except KeyError:
            error = "no_key: the variable of its key is not set where the gateway runs"
        except ProviderFault as fault:
            error = f"{fault.code}: {fault.detail}"
        return EndpointTest(ok=error is None, facts=facts, seconds=time.monotonic() - began, error=error)

    def _look(self, endpoint: Endpoint, looked: Event) -> None:
        """Find out what a server of the environment is, again and again until it answers."""
        while not self._closed.is_set():
            try:
                self.endpoints.choose(endpoint.name, discover(endpoint))
            except ProviderFault as fault:
                self._looked[endpoint.name] = fault.code
                looked.set()
                self._closed.wait(_LOOK_AGAIN)
            else:
                self._looked[endpoint.name] = None
                looked.set()
                return

    def load(self, role: str) -> None:
        """Load the SDK of the role's first configured provider now, which takes seconds on a busy machine."""
        self._load([link.provider for link in self.models.chain(role) if link.provider in self._adapters][:1])

    def _counted(self, tenant: str, on_attempt: OnAttempt = lambda attempt: None) -> OnAttempt:
        """Count an attempt's tokens for the tenant's day too."""

        def count(attempt: ProviderAttempt) -> None:
            on_attempt(attempt)
            self._daily.count(tenant, attempt)

        return count

    def _admit(self, tenant: str, links: Sequence[ChainLink]) -> None:
        self._daily.check(tenant)
        self.allowed.among(links, tenant)

    def _chain(self, request: ChatRequest, tenant: str) -> Chain:
        """Return the request's links; the SDKs of later links load in the background, so that a failover is fast."""
        while self._looking:  # the first request waits a moment for what is being found out
            self._looking.pop().wait(_LOOK_FIRST)
        links = self.allowed.among(self.models.for_request(request), tenant)
        later = {link.provider for link in links if link.provider in self._adapters} - self._loaded
        if later:
            self._loaded |= later
            self._start(self._load_later, sorted(later))
        return links

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = Thread(target=work, args=arguments, name="llm-beside", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _load_later(self, providers: Sequence[str]) -> None:
        if not self._closed.wait(_LOAD_AFTER):
            self._load(providers)

    def _servable(self, request: ChatRequest, tenant: str) -> list[ChainLink]:
        links = self.allowed.among(self.models.for_request(request), tenant)
        known = self.endpoints.current()
        return [
            replace(link, prompting=prompting_of(link, known.get(link.provider)))
            for link in links
            if link.provider in self._adapters
        ]

    def _load(self, providers: Sequence[str]) -> None:
        with suppress(RuntimeError, KeyError):  # closed or removed meanwhile
            for name in providers:
                self._adapters[name].connect()

    def _state(self, endpoint: Endpoint, models: Sequence[str]) -> ProviderState:
        if not endpoint.configured:
            return ProviderState(name=endpoint.name, configured=False, state="unconfigured")
        now = time.time()
        seen = [seen.health for seen in self._breaker.look([endpoint.key(model) for model in models])]
        settings = self._calls.breaker
        worst = min(seen, key=lambda health: _WORST.index(health.shown(now, settings)), default=ProviderHealth())
        until = worst.until(now)
        return ProviderState(
            name=endpoint.name,
            configured=True,
            state=worst.shown(now, settings),
            until=None if until is None else datetime.fromtimestamp(until, UTC),
            last_error=worst.last_error
            or next((health.last_error for health in seen if health.last_error), None)
            or self._looked.get(endpoint.name),
            reachable=self._looked[endpoint.name] is None if endpoint.name in self._looked else None,
        )


def _unchosen(name: str, models: Sequence[str]) -> str:
    if not models:
        return "no_model: it serves no model: load one, then test again"
    listed = ", ".join(models[:10])
    return f"no_model_chosen: it serves {listed}: choose one with `assay endpoints add {name} URL --model MODEL`"
