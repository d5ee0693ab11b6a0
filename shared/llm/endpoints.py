"""The endpoints of an installation: the vendors of the table, those of a file, and those that were added by API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from urllib.parse import urlsplit

import yaml
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Engine, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from shared import addresses
from shared.contracts import models as contract
from shared.contracts.models import EndpointFacts, EndpointInput
from shared.errors import Conflict, InvalidRequest, NotFound
from shared.llm.fresh import Fresh
from shared.llm.settings import CallSettings, ProviderSettings, endpoints
from shared.llm.tables import model_endpoints
from shared.llm.vendors.adapter import Adapter
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.endpoint import Endpoint

NAMED_WIRE = "openai"  #: the vendor whose SDK and wire every named endpoint has
_FILE: TypeAdapter[dict[contract.EndpointName, EndpointInput]] = TypeAdapter(dict[contract.EndpointName, EndpointInput])
_MOST = 200

Named = tuple[EndpointInput, EndpointFacts | None]


class EndpointRegistry(Mapping[str, Endpoint]):
    """By name; every replica follows a change within two seconds. Safe to use from many threads."""

    def __init__(
        self,
        engine: Engine | None,
        providers: ProviderSettings,
        calls: CallSettings,
        fixed: Sequence[Endpoint] | None = None,
    ) -> None:
        """``fixed``: in the place of the vendors of the environment. Raises: ValueError for a file that is none."""
        self._engine = engine
        self._providers = providers
        self._calls = calls
        self._fixed = {each.name: each for each in (endpoints(providers, calls) if fixed is None else fixed)}
        self._file = {} if calls.endpoints is None else read_file(calls.endpoints)
        self._shown: tuple[object, Mapping[str, Endpoint]] | None = None
        self._stored: Fresh[Mapping[str, Named]] = Fresh(self._read, {})

    def all(self) -> dict[str, Named]:
        """The named ones."""
        return {**self._stored.get(), **{name: (given, None) for name, given in self._file.items()}}

    def current(self) -> Mapping[str, Endpoint]:
        """Every endpoint as it is now, the vendors first."""
        stored = self._stored.get()
        if self._shown is None or self._shown[0] is not stored:
            named = {name: self._endpoint(name, *each) for name, each in self.all().items()}
            self._shown = (stored, {**self._fixed, **named})
        return self._shown[1]

    def __getitem__(self, name: str) -> Endpoint:
        return self.current()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.current())

    def __len__(self) -> int:
        return len(self.current())

    def view(self, name: str) -> contract.Endpoint:
        """Raises: NotFound."""
        named = self.all().get(name)
        if named is None and name in self._fixed:
            raise NotFound(f"{name} is a vendor: `assay models test ROLE` asks the first model of a role's chain.")
        if named is None:
            raise NotFound(f"There is no endpoint {name!r}.")
        given, facts = named
        return contract.Endpoint(
            **{**given.model_dump(), "model": self[name].model},
            name=name,
            has_key=bool(given.key_env and self._providers.environment.get(given.key_env, "").strip()),
            source="file" if name in self._file else "api",
            facts=facts,
        )

    def views(self) -> list[contract.Endpoint]:
        """The vendors, then the named ones by their names."""
        return [*map(_vendor_view, self._fixed.values()), *(self.view(name) for name in sorted(self.all()))]

    def put(self, name: str, given: EndpointInput, actor: str | None) -> contract.Endpoint:
        """Add or change one. Raises: InvalidRequest for an address that is not allowed, Conflict for a taken name."""
        self._check_name(name)
        check_address(given.url, allow_private=self._calls.private_endpoints)
        if name not in self.all() and len(self.all()) >= _MOST:
            raise Conflict(f"There are {_MOST} endpoints already: remove one first.")
        settings = given.model_dump(mode="json", exclude_none=True)
        changed = {"settings": settings, "facts": None, "actor": actor, "updated_at": func.clock_timestamp()}
        statement = insert(model_endpoints).values(name=name, settings=settings, actor=actor)
        with self._writing() as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changed))
        self._stored.expire()
        return self.view(name)

    def learn(self, name: str, facts: EndpointFacts) -> None:
        """Keep what a test found; of an endpoint of the file it is only told."""
        if name in self._file:
            return
        told = facts.model_dump(mode="json")
        with self._writing() as connection:
            connection.execute(update(model_endpoints).where(model_endpoints.c.name == name).values(facts=told))
        self._stored.expire()

    def choose(self, name: str, facts: EndpointFacts) -> None:
        """Use what was found of an endpoint of the environment: its windows, its slots, and its only model."""
        models, known = tuple((model.id, model.window) for model in facts.models), self._fixed[name]
        found = replace(known, models=models, concurrency=known.concurrency or facts.slots)
        unnamed = found.model == VENDORS[name].defaults.model
        self._fixed[name] = replace(found, model=models[0][0]) if unnamed and len(models) == 1 else found
        self._shown = None

    def own_servers(self) -> list[Endpoint]:
        """Those of the environment that are no vendor's."""
        fixed = self._fixed.values()
        return [each for each in fixed if not each.needs_key and each.base_url is not None and each.configured]

    def remove(self, name: str) -> None:
        """Raises: NotFound; Conflict for one of the file."""
        if name in self._file:
            raise Conflict(f"The endpoint {name} stands in the file of ASSAY_LLM_ENDPOINTS: remove it there.")
        with self._writing() as connection:
            if connection.execute(delete(model_endpoints).where(model_endpoints.c.name == name)).rowcount != 1:
                raise NotFound(f"There is no endpoint {name!r}.")
        self._stored.expire()

    def _check_name(self, name: str) -> None:
        if name in VENDORS:
            raise Conflict(f"{name} is the name of a vendor: choose another one.")
        if name in self._file:
            raise Conflict(f"The endpoint {name} stands in the file of ASSAY_LLM_ENDPOINTS: change it there.")

    def _endpoint(self, name: str, given: EndpointInput, facts: EndpointFacts | None) -> Endpoint:
        calls = self._calls.timeouts
        total = given.total or calls.total
        models = tuple((model.id, model.window) for model in facts.models) if facts else ()
        return Endpoint(
            name=name,
            api_key=self._providers.environment.get(given.key_env or "", "").strip() or None,
            base_url=base_url_of(given.url),
            model=given.model or (models[0][0] if len(models) == 1 else None),
            # A server of one's own may have one slot: before the first token come the answers to others.
            timeouts=replace(calls, first_token=given.first_token or total, idle=given.idle or calls.idle, total=total),
            stream=self._calls.stream,
            needs_key=given.key_env is not None,
            vendor=NAMED_WIRE,
            models=models,
            refuses=frozenset(part for part, taken in facts.probed.items() if not taken) if facts else frozenset(),
            concurrency=given.concurrency or (facts.slots if facts else None),
            window=given.window,
        )

    def _read(self) -> Mapping[str, Named]:
        if self._engine is None:
            return {}
        table = model_endpoints.c
        with self._engine.connect() as connection:
            rows = connection.execute(select(table.name, table.settings, table.facts).order_by(table.name)).all()
        return {name: (_given(settings), _facts(facts)) for name, settings, facts in rows}

    def _writing(self) -> AbstractContextManager[Connection]:
        if self._engine is None:
            raise RuntimeError("a registry without a database cannot be changed")
        return self._engine.begin()


class Adapters(Mapping[str, Adapter]):
    """An adapter for each configured endpoint, made when it is first asked for and made anew when it changes."""

    def __init__(self, current: Callable[[], Mapping[str, Endpoint]]) -> None:
        self._current = current
        self._made: dict[str, Adapter] = {}
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
                made = self._made[name] = Adapter(VENDORS[endpoint.vendor or name], endpoint)
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
    """The endpoints of a settings file. Raises: ValueError that names what does not fit."""
    try:
        return dict(_FILE.validate_python(yaml.safe_load(path.read_text()) or {}))
    except (OSError, yaml.YAMLError, ValidationError) as error:
        raise ValueError(f"the file of ASSAY_LLM_ENDPOINTS cannot be used: {error}") from None


def base_url_of(url: str) -> str:
    """Most people leave out the version that the path of an API of OpenAI begins with."""
    url = url.rstrip("/")
    return url if urlsplit(url).path else f"{url}/v1"


def check_address(url: str, *, allow_private: bool) -> None:
    """Raises: InvalidRequest for an address that the gateway may not call."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    problem = None
    if parts.query or parts.fragment or parts.username:
        problem = "the address is no base URL: it has a query, a fragment or a user"
    elif not allow_private and parts.scheme != "https":
        problem = "only https is allowed: the operator may set ASSAY_LLM_PRIVATE_ENDPOINTS"
    else:
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            resolved = addresses.resolve(host, port, allow_private=allow_private)
            if addresses.is_link_local(resolved):
                problem = "the address is one of the machine's own services"
        except addresses.AddressPrivate:
            problem = "the address is private: the operator may set ASSAY_LLM_PRIVATE_ENDPOINTS"
        except (addresses.AddressUnknown, ValueError):
            problem = f"the host {host[:100]!r} is not known"
    if problem is not None:
        raise InvalidRequest(f"body.url: {problem}", [(["body", "url"], problem)])


def _vendor_view(endpoint: Endpoint) -> contract.Endpoint:
    """A vendor as the environment sets it, with the limits that hold for its calls."""
    vendor, limits = VENDORS[endpoint.vendor or endpoint.name], endpoint.timeouts
    served = [contract.EndpointModel(id=model, window=window) for model, window in endpoint.models]
    return contract.Endpoint(
        name=endpoint.name,
        url=vendor.address if endpoint.base_url is None else _shown(endpoint.base_url),
        key_env=vendor.variables.api_key.name,
        has_key=endpoint.api_key is not None,
        model=endpoint.model or vendor.defaults.model,
        concurrency=endpoint.concurrency,
        window=endpoint.window,
        first_token=limits.first_token,
        idle=limits.idle,
        total=limits.total,
        source="built_in" if endpoint.base_url is None else "environment",
        facts=EndpointFacts(models=served) if served else None,
    )


def _shown(url: str) -> str:
    """An address without what may be secret: user, password and query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _given(settings: Mapping[str, object]) -> EndpointInput:
    """Members of a later version are left out."""
    return EndpointInput.model_validate(
        {name: settings[name] for name in EndpointInput.model_fields if name in settings}
    )


def _facts(told: object) -> EndpointFacts | None:
    return None if told is None else EndpointFacts.model_validate(told)
