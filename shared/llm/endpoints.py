"""The endpoints of an installation: the vendors of the table, those of a file, and those that were added by API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Literal

import yaml
from pydantic import TypeAdapter
from sqlalchemy import Engine

from shared.contracts import models as contract
from shared.contracts.models import EndpointFacts, EndpointInput
from shared.errors import Conflict, InvalidRequest, NotFound
from shared.llm.call_clock import Timeouts
from shared.llm.endpoint_address import base_url_of, check_address
from shared.llm.endpoint_store import EndpointStore, Kept
from shared.llm.endpoint_views import named_view, vendor_view
from shared.llm.health_store import States
from shared.llm.learned import Learned, published
from shared.llm.settings import CallSettings, ProviderSettings, endpoints
from shared.llm.vendors.adapter import Adapter
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.endpoint import Endpoint, own_machine
from shared.near_names import no_such
from shared.pasted import bare

NAMED_WIRE = "openai"  #: the vendor whose SDK and wire every named endpoint has
_FILE: TypeAdapter[dict[contract.EndpointName, EndpointInput]] = TypeAdapter(dict[contract.EndpointName, EndpointInput])
_MOST = 200


class EndpointRegistry(Mapping[str, Endpoint]):
    """By name; every replica follows a change within two seconds. Safe to use from many threads."""

    def __init__(
        self,
        engine: Engine | None,
        providers: ProviderSettings,
        calls: CallSettings,
        fixed: Sequence[Endpoint] | None = None,
        states: States | None = None,
    ) -> None:
        """Set up the endpoints; ``fixed`` replaces the vendors of the environment. Raises: ValueError for an invalid
        file.

        ``states``: where processes publish what they learn of endpoints.
        """
        self._states = states
        self._providers = providers
        self._calls = calls
        self._fixed = {each.name: each for each in (endpoints(providers, calls) if fixed is None else fixed)}
        self._seen: dict[str, EndpointFacts] = {}  #: what servers of the environment reported
        self._file = {} if calls.endpoints is None else read_file(calls.endpoints)
        self._shown: tuple[object, Mapping[str, Endpoint]] | None = None
        self._store = EndpointStore(engine)

    def named(self) -> dict[str, Kept]:
        """Return the servers that operators named."""
        of_file = {name: Kept(given) for name, given in self._file.items() if name not in VENDORS}
        return {**self._store.rows().named, **of_file}

    def current(self) -> Mapping[str, Endpoint]:
        """Return every endpoint in its current state, vendors first."""
        rows = self._store.rows()
        if self._shown is None or self._shown[0] is not rows:
            vendors = {name: self._limited(each, self._kept(name)) for name, each in self._fixed.items()}
            named = {name: self._endpoint(name, each) for name, each in self.named().items()}
            self._shown = (rows, {**vendors, **named})
        return self._shown[1]

    def __getitem__(self, name: str) -> Endpoint:
        return self.current()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.current())

    def __len__(self) -> int:
        return len(self.current())

    def view(self, name: str) -> contract.Endpoint:
        """Return an endpoint's view. Raises: NotFound."""
        if name in self._fixed:
            return self._with_learned(vendor_view(self[name], self._kept(name), self._facts_of(name)))
        if (kept := self.named().get(name)) is None:
            raise NotFound(no_such("endpoint", name, self.current()))
        return self._with_learned(named_view(self[name], kept, of_file=name in self._file))

    def _with_learned(self, view: contract.Endpoint) -> contract.Endpoint:
        if self._states is None:
            return view
        facts = [
            contract.LearnedFact(
                model=fact.model, what=fact.what, tokens=fact.tokens, until=datetime.fromtimestamp(fact.until, UTC)
            )
            for fact in published(self._states, self[view.name].learned_key)
        ]
        return view.model_copy(update={"learned": facts})

    def views(self) -> list[contract.Endpoint]:
        """Return all views: vendors first, then named endpoints by name."""
        return [self.view(name) for name in (*self._fixed, *sorted(self.named()))]

    def put(self, name: str, given: EndpointInput, actor: str | None) -> contract.Endpoint:
        """Add or change one, or set the limits of a vendor.

        Raises: InvalidRequest for an address that is not allowed, Conflict for a taken name and for what is fixed.
        """
        if name in self._file:
            raise Conflict(f"The endpoint {name} is defined in the file of ASSAY_LLM_ENDPOINTS: change it there.")
        if name in VENDORS:
            _check_vendor(name, given)
            self._store.limit(name, given, actor)
            return self.view(name)
        if given.url is None:
            problem = "the address of its server is missing"
            raise InvalidRequest(f"body.url: {problem}", [(["body", "url"], problem)])
        check_address(given.url, allow_private=self._calls.private_endpoints)
        if name not in self.named() and len(self.named()) >= _MOST:
            raise Conflict(f"There are {_MOST} endpoints already: remove one first.")
        self._store.put(name, given, actor)
        return self.view(name)

    def learn(self, name: str, facts: EndpointFacts) -> None:
        """Store what a test discovered; endpoints of the file keep it in memory only."""
        if name in self._fixed:
            self._store.learn_vendor(name, facts, self._fixed[name].mark)
        elif name not in self._file:
            self._store.learn(name, facts)

    def choose(self, name: str, facts: EndpointFacts) -> None:
        """Use what was found of an endpoint of the environment: its windows, its slots, and its only model."""
        models, known = tuple((model.id, model.window) for model in facts.models), self._fixed[name]
        chosen = replace(
            known, models=models, concurrency=known.concurrency or facts.slots, tokenizer=_tokenizer(facts)
        )
        unnamed = chosen.model == VENDORS[name].defaults.model
        self._fixed[name] = replace(chosen, model=models[0][0]) if unnamed and len(models) == 1 else chosen
        self._seen[name] = facts
        self._shown = None

    def own_servers(self) -> list[Endpoint]:
        """Return the environment's configured servers that are not a vendor's own."""
        return [each for each in self._fixed.values() if each.own_server and each.configured]

    def remove(self, name: str) -> None:
        """Remove an endpoint, or a vendor's settings. Raises: NotFound; Conflict for an endpoint of the file."""
        if name in self._file:
            raise Conflict(f"The endpoint {name} is defined in the file of ASSAY_LLM_ENDPOINTS: remove it there.")
        if name in VENDORS:
            self._store.free(name)
        else:
            self._store.remove(name)

    def _kept(self, vendor: str) -> Kept | None:
        """Return a vendor's settings from file or API, with the facts discovered of the server that replaces it."""
        kept = self._store.rows().vendors.get(vendor)
        if (given := self._file.get(vendor)) is None:
            return kept
        return Kept(given, kept.facts, kept.address) if kept else Kept(given)

    def _facts_of(self, vendor: str) -> EndpointFacts | None:
        """Return what the vendor's replacement server reported here, merged with any process's test results."""
        seen, kept = self._seen.get(vendor), self._kept(vendor)
        tested = kept.facts if kept is not None and kept.address == self._fixed[vendor].mark else None
        if seen is None or tested is None:
            return seen or tested
        same = (seen.server, seen.version) == (tested.server, tested.version)
        return seen.model_copy(update={"probed": tested.probed, "tested_at": tested.tested_at}) if same else seen

    def _limited(self, vendor: Endpoint, kept: Kept | None) -> Endpoint:
        """Return the environment's vendor with the operator's settings applied."""
        facts = self._facts_of(vendor.name)
        vendor = replace(vendor, probed=_probed(facts))
        if kept is None:
            return vendor
        given = kept.given
        return replace(
            vendor,
            model=given.model or vendor.model,
            timeouts=_timeouts(given, vendor.timeouts),
            concurrency=given.concurrency or vendor.concurrency,
            window=given.window or vendor.window,
        )

    def _endpoint(self, name: str, kept: Kept) -> Endpoint:
        given, facts, _ = kept
        models = tuple((model.id, model.window) for model in facts.models) if facts else ()
        base_url = base_url_of(given.url or "")
        own = self._calls.own_timeouts if own_machine(base_url) else self._calls.timeouts
        patient = replace(own, first_token=given.total or own.total)
        return Endpoint(
            name=name,
            api_key=bare(self._providers.environment.get(given.key_env or "", "")) or None,
            base_url=base_url,
            model=given.model or (models[0][0] if len(models) == 1 else None),
            timeouts=_timeouts(given, patient),
            stream=self._calls.stream,
            needs_key=given.key_env is not None,
            vendor=NAMED_WIRE,
            models=models,
            probed=_probed(facts),
            tokenizer=_tokenizer(facts),
            concurrency=given.concurrency or (facts.slots if facts else None),
            window=given.window,
        )


class Adapters(Mapping[str, Adapter]):
    """An adapter per configured endpoint, created on first use and recreated when the endpoint changes."""

    def __init__(self, current: Callable[[], Mapping[str, Endpoint]], states: States | None = None) -> None:
        self._current = current
        self._states = states
        self._made: dict[str, Adapter] = {}
        self._learned: dict[str, Learned] = {}  #: by address and key, so that a change of limits discards nothing
        self._replaced: list[Adapter] = []  #: a call may still use one
        self._lock = Lock()

    def __getitem__(self, name: str) -> Adapter:
        endpoint = self._current().get(name)
        if endpoint is None or not endpoint.configured:
            raise KeyError(name)
        with self._lock:
            made = self._made.get(name)
            if made is None or made.endpoint != endpoint:
                if made is not None:
                    self._replaced.append(made)
                key = endpoint.learned_key
                learned = self._learned.setdefault(key, Learned(self._states, key))
                made = self._made[name] = Adapter(VENDORS[endpoint.vendor or name], endpoint, learned)
            return made

    def __iter__(self) -> Iterator[str]:
        return (name for name, endpoint in self._current().items() if endpoint.configured)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def close(self) -> None:
        with self._lock:
            for adapter in (*self._made.values(), *self._replaced):
                adapter.close()


def read_file(path: Path) -> dict[str, EndpointInput]:
    """Read the endpoints of a settings file. Raises: ValueError that names what is invalid."""
    try:
        given = dict(_FILE.validate_python(yaml.safe_load(path.read_text()) or {}))
        for name, each in given.items():
            if name in VENDORS:
                _check_vendor(name, each)
            elif each.url is None:
                raise ValueError(f"{name} has no url")
    except (OSError, yaml.YAMLError, ValueError, Conflict) as error:
        raise ValueError(f"the file of ASSAY_LLM_ENDPOINTS cannot be used: {error}") from None
    return given


def _check_vendor(name: str, given: EndpointInput) -> None:
    """Raise Conflict if the settings change a vendor's address or key."""
    if given.url is not None or given.key_env is not None:
        raise Conflict(f"{name} is a vendor, whose address and key are fixed: leave out url and key_env.")


def _timeouts(given: EndpointInput, own: Timeouts) -> Timeouts:
    total = given.total or own.total
    return replace(own, first_token=given.first_token or own.first_token, idle=given.idle or own.idle, total=total)


def _tokenizer(facts: EndpointFacts | None) -> Literal["llama.cpp", "vllm"] | None:
    if facts is None or not facts.tokenizer:
        return None
    return "vllm" if facts.server == "vllm" else "llama.cpp"


def _probed(facts: EndpointFacts | None) -> tuple[tuple[str, bool], ...]:
    return tuple(sorted(facts.probed.items())) if facts else ()
