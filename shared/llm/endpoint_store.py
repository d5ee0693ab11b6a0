"""What operators have set of endpoints by API, in Postgres: named servers, and the limits of the vendors' rows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, Engine, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from shared.contracts.models import EndpointFacts, EndpointInput
from shared.db import writing
from shared.errors import NotFound
from shared.llm.cached_value import Fresh
from shared.llm.tables import model_endpoints, model_vendors
from shared.near_names import no_such


class Kept(NamedTuple):
    """A row: what was set, and what its server was found to be."""

    given: EndpointInput
    facts: EndpointFacts | None = None
    address: str | None = None  #: of a vendor's row: the mark of the address where the facts were found


@dataclass(frozen=True)
class Rows:
    named: Mapping[str, Kept] = field(default_factory=dict)
    vendors: Mapping[str, Kept] = field(default_factory=dict)


class EndpointStore:
    """Every replica follows a change within two seconds. Safe to use from many threads.

    ``engine`` None holds nothing.
    """

    def __init__(self, engine: Engine | None) -> None:
        self._engine = engine
        self._rows: Fresh[Rows] = Fresh(self._read, Rows())

    def rows(self) -> Rows:
        """Return the rows; the same object until a change or for one second."""
        return self._rows.get()

    def put(self, name: str, given: EndpointInput, actor: str | None) -> None:
        settings = given.model_dump(mode="json", exclude_none=True)
        changed = {"settings": settings, "facts": None, "actor": actor, "updated_at": func.clock_timestamp()}
        statement = insert(model_endpoints).values(name=name, settings=settings, actor=actor)
        with self._writing() as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changed))
        self._rows.expire()

    def limit(self, vendor: str, given: EndpointInput, actor: str | None) -> None:
        """Store a vendor's settings; what was discovered of its server is kept."""
        settings = given.model_dump(mode="json", exclude_none=True)
        changed = {"settings": settings, "actor": actor, "updated_at": func.clock_timestamp()}
        statement = insert(model_vendors).values(name=vendor, settings=settings, actor=actor)
        with self._writing() as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changed))
        self._rows.expire()

    def learn(self, name: str, facts: EndpointFacts) -> None:
        fields = facts.model_dump(mode="json")
        with self._writing() as connection:
            connection.execute(update(model_endpoints).where(model_endpoints.c.name == name).values(facts=fields))
        self._rows.expire()

    def learn_vendor(self, name: str, facts: EndpointFacts, address: str) -> None:
        """Store what was discovered of the self-hosted server that replaces a vendor's."""
        fields = {"facts": facts.model_dump(mode="json"), "address": address}
        statement = insert(model_vendors).values(name=name, settings={}, **fields)
        with self._writing() as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=fields))
        self._rows.expire()

    def remove(self, name: str) -> None:
        """Delete an endpoint. Raises: NotFound."""
        with self._writing() as connection:
            if connection.execute(delete(model_endpoints).where(model_endpoints.c.name == name)).rowcount != 1:
                raise NotFound(no_such("endpoint", name, self.rows().named))
        self._rows.expire()

    def free(self, vendor: str) -> None:
        """Give the vendor its own limits again. Raises: NotFound."""
        with self._writing() as connection:
            if connection.execute(delete(model_vendors).where(model_vendors.c.name == vendor)).rowcount != 1:
                raise NotFound(f"{vendor} is a vendor, and nothing of it was set here.")
        self._rows.expire()

    def _read(self) -> Rows:
        if self._engine is None:
            return Rows()
        named, vendors = model_endpoints.c, model_vendors.c
        with self._engine.connect() as connection:
            servers = connection.execute(select(named.name, named.settings, named.facts).order_by(named.name)).all()
            limited = connection.execute(select(vendors.name, vendors.settings, vendors.facts, vendors.address)).all()
        return Rows(
            {name: Kept(_given(settings), _facts(facts)) for name, settings, facts in servers},
            {name: Kept(_given(settings), _facts(facts), address) for name, settings, facts, address in limited},
        )

    def _writing(self) -> AbstractContextManager[Connection]:
        if self._engine is None:
            raise RuntimeError("a registry without a database cannot be changed")
        return writing(self._engine)


def _given(settings: Mapping[str, object]) -> EndpointInput:
    """Members of a later version are left out."""
    return EndpointInput.model_validate(
        {name: settings[name] for name in EndpointInput.model_fields if name in settings}
    )


def _facts(stored: object) -> EndpointFacts | None:
    return None if stored is None else EndpointFacts.model_validate(stored)
