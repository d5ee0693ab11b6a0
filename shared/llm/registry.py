"""Which models play which role: defaults in code, changes in Postgres, every replica follows within two seconds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from pydantic import JsonValue
from sqlalchemy import Connection, Engine, delete, func, select, text, true
from sqlalchemy.dialects.postgresql import insert

from shared.contracts.capabilities import ModelState
from shared.contracts.models import ModelPrice
from shared.db import writing
from shared.errors import NotFound, PreconditionFailed
from shared.kinds import KINDS
from shared.llm.cached_value import Fresh
from shared.llm.catalog import retirement, table
from shared.llm.chat import ChainLink, ChatRequest
from shared.llm.faults import NoSuchModel, UnknownProvider
from shared.llm.tables import model_chains
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.endpoint import Endpoint
from shared.near_names import meant, no_such, some

log = logging.getLogger(__name__)

Chain = tuple[ChainLink, ...]
Effort = Literal["quick", "thorough"]


def model_roles() -> dict[str, Effort]:
    """Return every role for which a job kind calls models."""
    return {role.name: role.effort for kind in KINDS.values() for role in kind.roles}


def default_chain(role: str) -> Chain:
    """Return the vendors that have a default model for roles of this effort, in order."""
    effort = model_roles()[role]
    placed = [(getattr(vendor.defaults, effort), vendor.link) for vendor in VENDORS.values()]
    return tuple(link for place, link in sorted(placed, key=lambda pair: pair[0] or 0) if place is not None)


class ModelRegistry:
    """Thread-safe registry of chains; without a database (``engine`` is None) the defaults apply."""

    def __init__(self, engine: Engine | None, endpoints: Callable[[], Mapping[str, Endpoint]]) -> None:
        self._engine = engine
        self._current = endpoints
        self._changed: Fresh[Mapping[str, Chain]] = Fresh(self._read, {})

    @property
    def _endpoints(self) -> Mapping[str, Endpoint]:
        return self._current()

    def chain(self, role: str) -> Chain:
        """Return the role's links, including unconfigured ones. Raises: NotFound for an unknown role."""
        _check_role(role)
        return self._with_default(role, self._changed.get())

    def chains(self) -> dict[str, Chain]:
        return self._with_defaults(self._changed.get())

    def stored(self) -> dict[str, Chain]:
        """Return the chains as they are in the database now, for an editor."""
        return self._with_defaults(self._changed.latest())

    def for_request(self, request: ChatRequest) -> Chain:
        """Return the role's chain, or exactly the models that the request's selectors name.

        Raises: NoSuchModel when no configured provider has any of them.
        """
        if not request.selector:
            return self.chain(request.role)
        known = (*self.chain(request.role), *self._available())
        named: dict[tuple[str, str], ChainLink] = {}
        for selector in request.selector:
            for link in self._matching(selector, known):
                named.setdefault((link.provider, link.model), link)
        if not named:
            raise NoSuchModel(
                f"No configured provider has a model called {', '.join(request.selector)}. {self._there_are()}"
            )
        return tuple(named.values())

    def named_by(self, selector: str) -> ChainLink | None:
        """Return the model that ``provider/model`` names; None for other selectors, or without such a provider."""
        provider, _, model = selector.partition("/")
        return ChainLink(provider, model) if model and self._is_configured(provider) else None

    def doubt(self, link: ChainLink, listed: Collection[str] = ()) -> str | None:
        """Return a warning when the provider's models are known, by its list or otherwise, and this is not one."""
        known = listed or self.known(link.provider)
        if not known or link.model in known or f"{link.model}:latest" in known:
            return None
        says = "does not list" if listed else "is not known to have"
        names = meant(link.model, known) or f"Its models are {some(known)}."
        return f"{link.provider} {says} a model {link.model!r}; it is called all the same. {names}"

    def _there_are(self) -> str:
        names = {f"{link.provider}/{link.model}" for link in self._available()}
        return f"There are {some(names)}: `assay models ls --all`." if names else "No provider has a key here."

    def set_chain(
        self,
        role: str,
        links: Sequence[ChainLink],
        actor: str | None = None,
        expected: Callable[[Mapping[str, Chain]], bool] | None = None,
    ) -> list[str]:
        """Change a role's chain; the answer are warnings for a person.

        Raises: NotFound, UnknownProvider; PreconditionFailed when the stored chains are not what is ``expected``.
        """
        _check_role(role)
        for number, link in enumerate(links):
            if link.provider not in self._endpoints:
                message = no_such("provider", link.provider, self._endpoints)
                at: list[JsonValue] = ["body", "chain", number, "provider"]
                raise UnknownProvider(f"body.chain.{number}.provider: {message}", errors=[{"loc": at, "msg": message}])
        stored: list[JsonValue] = [
            {
                "provider": link.provider,
                "model": link.model,
                "parameters": dict(link.parameters),
                **({"prompting": link.prompting} if link.prompting else {}),
            }
            for link in links
        ]
        statement = insert(model_chains).values(role=role, chain=stored, actor=actor)
        changed = {"chain": stored, "actor": actor, "updated_at": func.clock_timestamp()}
        with self._writing() as connection:
            # What this process read last may be a second old: another gateway may have changed it since.
            if expected is not None and not expected(self._with_defaults(_read(connection))):
                raise PreconditionFailed("The chains have changed since you read them; read them again.")
            connection.execute(statement.on_conflict_do_update(index_elements=["role"], set_=changed))
        self._changed.expire()
        return [warning for link in links if (warning := self._warning(link))]

    def reset(self, role: str | None = None) -> None:
        """Give a role its default again, or every role. Raises: NotFound."""
        if role is not None:
            _check_role(role)
        chosen = true() if role is None else model_chains.c.role == role
        with self._writing() as connection:
            connection.execute(delete(model_chains).where(chosen))
        self._changed.expire()

    def known(self, provider: str) -> set[str]:
        """Return the names of the provider's models that need no question: priced, found out, or a default."""
        return {link.model for link in self._known() if link.provider == provider}

    def available(self) -> list[dict[str, JsonValue]]:
        """Return every model that is known by name; others may be set too."""
        return [
            {
                "provider": provider,
                "model": model,
                "configured": self._is_configured(provider),
                "retired": retirement(model),
                **self._found_out(provider, model),
            }
            for provider, model in self._names()
        ]

    def prices(self) -> list[ModelPrice]:
        """Return the price of each model, as far as the table knows it."""
        return [
            ModelPrice.model_validate({"provider": provider, "model": model} | (price.model_dump() if price else {}))
            for provider, model in self._names()
            for price in [table().price(provider, model)]
        ]

    def _names(self) -> list[tuple[str, str]]:
        links = [link for chain in self.chains().values() for link in chain]
        return sorted({(link.provider, link.model) for link in (*links, *self._known())})

    def _found_out(self, provider: str, model: str) -> dict[str, JsonValue]:
        """Return what its server reports of a model: window in tokens, accepted and refused request parts."""
        endpoint = self._endpoints.get(provider)
        if endpoint is None:
            return {"window": None, "tokenizer": False, "takes": [], "refuses": []}
        probed = endpoint.probed if model == endpoint.model else ()
        return {
            "window": endpoint.window_of(model),
            "tokenizer": endpoint.tokenizer is not None,
            "takes": [part for part, taken in probed if taken],
            "refuses": [part for part, taken in probed if not taken],
        }

    def asked(self) -> list[ModelState]:
        """Return what is known of every model that a chain names and whose provider is configured."""
        links = {(link.provider, link.model) for chain in self.chains().values() for link in chain}
        return [
            ModelState.model_validate({"provider": provider, "model": model, **self._found_out(provider, model)})
            for provider, model in sorted(links)
            if self._is_configured(provider)
        ]

    def configured(self, role: str) -> bool:
        """Return whether a provider of the role's chain is configured."""
        return any(self._is_configured(link.provider) for link in self.chain(role))

    def warnings(self) -> list[str]:
        """Return warnings for the operator about the models in use."""
        links = {(link.provider, link.model): link for chain in self.chains().values() for link in chain}
        return [warning for link in links.values() if (warning := self._warning(link))]

    def _with_defaults(self, changed: Mapping[str, Chain]) -> dict[str, Chain]:
        return {role: self._with_default(role, changed) for role in model_roles()}

    def _with_default(self, role: str, changed: Mapping[str, Chain]) -> Chain:
        return changed[role] if role in changed else self._default(role)

    def _default(self, role: str) -> Chain:
        chain = default_chain(role)
        if any(self._is_configured(link.provider) for link in chain):
            return chain
        return chain + tuple(link for link in self._vendors_own() if self._is_configured(link.provider))

    def _is_configured(self, provider: str) -> bool:
        return provider in self._endpoints and self._endpoints[provider].configured

    def _matching(self, selector: str, known: Sequence[ChainLink]) -> list[ChainLink]:
        """``provider/model`` when the first segment is a configured provider, else a part of a model's id."""
        if (named := self.named_by(selector)) is not None:
            same = [link for link in known if (link.provider, link.model) == (named.provider, named.model)]
            return same[:1] or [named]
        part = selector.lower()
        links = [link for link in known if part in link.model.lower() and self._is_configured(link.provider)]
        if not links and self._is_configured(selector):
            return [link for link in known if link.provider == selector][:1]
        return links

    def _available(self) -> Chain:
        return tuple(link for link in self._known() if self._is_configured(link.provider))

    def _known(self) -> Chain:
        priced = tuple(ChainLink(price.provider, price.model) for price in table().prices)
        served = [ChainLink(name, model) for name, each in self._endpoints.items() for model, _ in each.models]
        return (*priced, *served, *self._vendors_own())

    def _vendors_own(self) -> Chain:
        """Return the default model of each vendor and named endpoint, or the operator's choice instead."""
        endpoints = self._endpoints
        named = {name: endpoint.model for name, endpoint in endpoints.items()}
        links = [vendor.link for vendor in VENDORS.values()]
        own = [ChainLink(name, each.model) for name, each in endpoints.items() if each.vendor and each.model]
        return (*own, *(replace(link, model=named.get(link.provider) or link.model) for link in links))

    def _warning(self, link: ChainLink) -> str | None:
        ends = retirement(link.model)
        if ends is None:
            return None
        verb = "is no longer served since" if ends <= datetime.now(UTC).date().isoformat() else "is served until"
        return f"{link.model} of {link.provider} {verb} {ends}: choose another model."

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Admit one writer at a time, so that what it compares does not change before it writes."""
        if self._engine is None:
            raise RuntimeError("a registry without a database cannot be changed")
        with writing(self._engine) as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('assay.models'))"))
            yield connection

    def _read(self) -> Mapping[str, Chain]:
        if self._engine is None:
            return {}
        with self._engine.connect() as connection:
            return _read(connection)


def _check_role(role: str) -> None:
    """Raise NotFound for an unknown role."""
    roles = model_roles()
    if role not in roles:
        raise NotFound(no_such("role", role, roles))


def _read(connection: Connection) -> dict[str, Chain]:
    rows = connection.execute(select(model_chains.c.role, model_chains.c.chain)).all()
    return {role: tuple(ChainLink(**link) for link in chain) for role, chain in rows}
