"""What outlives a detection: definitions by version, results for all workers, custom technologies. Each is one tenant's."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sqlalchemy import Engine

from services.stacks.detect import SHARED_FROM_BYTES, Detect
from services.stacks.settings import StacksSettings
from services.stacks.store import StackStore
from shared.contracts.definitions import Definition, DefinitionSet
from shared.contracts.detect import DetectInput, DetectResult
from shared.db import connect
from shared.errors import NotFound, ProvidersFailed
from shared.jobs.job import Context
from shared.llm.chat import ChatRequest
from shared.settings import StoreSettings
from shared.stacks import definitions, proposals
from tests.services.stacks.archives import tar
from tests.services.stacks.llm.test_identifier import BLORB, NODE, ROLE, fact, said
from tests.services.stacks.trees import Files, candidate, engine, service
from tests.support.context import MemoryContext

OWN = Definition(id="acme", kind="framework", name="Acme", files=["acme.conf"])
FILES = {"package.json": {"name": "a"}, "index.js": "1\n", "acme.conf": "x\n", "data.bin": b"\0" * SHARED_FROM_BYTES}
SMALL = {"package.json": {"name": "small"}}


@pytest.fixture(scope="module")
def database(stores: StoreSettings) -> Iterator[Engine]:
    engine_of_store = connect(stores.database_url)
    yield engine_of_store
    engine_of_store.dispose()


@dataclass
class Tenant:
    """A tenant, whose jobs are completed as the platform does it."""

    database: Engine
    name: str

    def define(self, *wanted: Definition) -> int:
        with self.database.begin() as connection:
            row = connection.execute(definitions.add(self.name, "", wanted, "a", None)).mappings().one()
            return int(row["version"])

    def run(
        self, files: Files, memory: MemoryContext | None = None, detect: Detect | None = None, **input: object
    ) -> tuple[DetectResult, MemoryContext]:
        """A job, by a worker that has just started unless one is given."""
        memory = memory or MemoryContext()
        file_id = memory.files.add("x.tar", tar(files))
        request = DetectInput.model_validate({"source": {"file_id": file_id}, **input})
        context = memory.context("detect")
        context = replace(context, job=replace(context.job, id=uuid.uuid4().hex, tenant_id=self.name))
        result = (detect or worker(self.database))(context, request)
        self.complete(context, memory, result)
        return result, memory

    def complete(self, context: Context, memory: MemoryContext, result: DetectResult) -> None:
        statement = (
            "INSERT INTO jobs (id, tenant_id, kind, state, input, result, conversation_id, actor)"
            " VALUES (%(id)s, %(tenant)s, 'detect', 'succeeded', '{}', %(result)s, 'c', 'a')"
        )
        with self.database.begin() as connection:
            body = json.dumps(result.model_dump(mode="json", by_alias=True))
            connection.exec_driver_sql(statement, {"id": context.job.id, "tenant": self.name, "result": body})
            for effect in memory.report.effects:
                effect(connection)


def worker(database: Engine, version: str | None = None) -> Detect:
    store = StackStore(database.execution_options(isolation_level="AUTOCOMMIT"))
    return Detect(StacksSettings(), engine(), lambda: True, store, version)


@pytest.fixture
def tenant(database: Engine) -> Tenant:
    return Tenant(database, f"t{uuid.uuid4().hex[:12]}")


def test_a_job_uses_the_newest_definitions_and_says_which(tenant: Tenant) -> None:
    before, _ = tenant.run(FILES)
    assert (before.services[0].primary.framework, before.rules and before.rules.definitions) == (None, 0)
    assert tenant.define(OWN) == 1
    after, _ = tenant.run(FILES)
    assert (after.services[0].primary.framework, after.rules and after.rules.definitions) == ("acme", 1)
    tenant.define()
    assert tenant.run(FILES)[0].services[0].primary.framework is None


def test_a_job_may_name_a_version_or_none(tenant: Tenant) -> None:
    tenant.define(OWN)
    tenant.define()
    assert tenant.run(FILES, definitions_version=1)[0].services[0].primary.framework == "acme"
    assert tenant.run(FILES, definitions_version=0)[0].services[0].primary.framework is None
    with pytest.raises(NotFound, match="no version 9"):
        tenant.run(FILES, definitions_version=9)


def test_the_jobs_own_definitions_stand_over_the_tenants(tenant: Tenant) -> None:
    tenant.define(OWN)
    given = {**OWN.model_dump(), "name": "Acme of this job"}
    proven = candidate(service(tenant.run(FILES, definitions=[given])[0]), "framework", "acme")
    assert proven is not None
    assert proven.name == "Acme of this job"


def test_definitions_are_one_tenants(tenant: Tenant, database: Engine) -> None:
    tenant.define(OWN)
    assert StackStore(database).definitions("somebody-else", None) == definitions.EMPTY
    with pytest.raises(NotFound):
        StackStore(database).definitions("somebody-else", 1)


def known(tenant: Tenant, files: Files, **input: Any) -> bool:
    """Return whether a worker that has just started answers without a scan: a known answer stores nothing new."""
    _, memory = tenant.run(files, **input)
    return not memory.report.effects


def test_a_result_is_known_to_every_worker_until_the_rules_change(tenant: Tenant) -> None:
    first, _ = tenant.run(FILES)
    again, memory = tenant.run(FILES)
    assert not memory.report.effects
    assert again.model_dump(exclude={"stats"}) == first.model_dump(exclude={"stats"})
    assert set(memory.report.forms) == {"universalbuild", "cyclonedx", "spdx", "sarif", "dockerfile"}
    assert not known(tenant, FILES, mode="static")
    assert not known(tenant, FILES, disable=["fw.express"])
    tenant.define(OWN)
    assert not known(tenant, FILES)
    assert known(tenant, FILES)
    assert known(tenant, FILES, definitions_version=0)


def test_a_result_of_another_version_of_the_detection_is_not_served(tenant: Tenant) -> None:
    for version in ("before", "after"):
        assert tenant.run(FILES, detect=worker(tenant.database, version))[1].report.effects
    assert not tenant.run(FILES, detect=worker(tenant.database, "before"))[1].report.effects


def test_a_small_archive_is_not_worth_asking_the_others(tenant: Tenant) -> None:
    assert not tenant.run(SMALL)[1].report.effects
    assert not tenant.run(SMALL)[1].report.effects


def test_a_result_is_not_known_to_another_tenant(tenant: Tenant, database: Engine) -> None:
    tenant.run(FILES)
    assert known(tenant, FILES)
    assert not known(Tenant(database, f"{tenant.name}-other"), FILES)


def test_one_worker_keeps_tenants_apart_too(tenant: Tenant, database: Engine) -> None:
    detect = worker(database)
    other = Tenant(database, f"{tenant.name}-other")
    other.define(OWN)
    assert tenant.run(FILES, detect=detect)[0].services[0].primary.framework is None
    assert other.run(FILES, detect=detect)[0].services[0].primary.framework == "acme"


def test_what_a_model_said_or_could_not_say_is_asked_again(tenant: Tenant) -> None:
    def fail(request: ChatRequest) -> str:
        raise ProvidersFailed("all of them")

    files = {**NODE, **BLORB, "data.bin": FILES["data.bin"]}
    for script in (said(fact("language", "blorb")), fail):
        memory = MemoryContext()
        memory.llm.scripts[ROLE] = script
        tenant.run(files, memory)
        asked = MemoryContext()
        asked.llm.scripts[ROLE] = said()
        tenant.run(files, asked)
        assert asked.llm.asked(ROLE) == 1


def test_a_custom_technology_is_noted_with_the_file_names_that_prove_it(tenant: Tenant, database: Engine) -> None:
    for number in range(3):
        memory = MemoryContext()
        memory.llm.scripts[ROLE] = said(
            fact("language", "Blorb", file="native/src/main.blorb"),
            fact("build_system", "Blorb Make"),
            fact("framework", "zig", file="native/blorb.build"),
        )
        tenant.run({**NODE, **BLORB, f"docs/{number}.md": "x\n"}, memory)
    with database.connect() as connection:
        rows = connection.execute(proposals.recurring(tenant.name, 3)).mappings().all()
        keys = [(row["kind"], row["id"]) for row in rows]
        seen = connection.execute(proposals.latest(tenant.name, keys)).mappings().all()
    proposed = {
        row["id"]: proposals.view(
            row, [sighting for sighting in seen if (sighting["kind"], sighting["id"]) == (row["kind"], row["id"])]
        )
        for row in rows
    }
    assert proposed["blorb"].definition.files == ["*.blorb"]
    assert proposed["blorb-make"].definition.files == ["blorb.build"]
    assert (proposed["blorb"].jobs, proposed["blorb"].sources) == (3, 1)
    assert tenant.run(FILES)[1].report.effects  # nothing custom in it


def test_a_promoted_proposal_answers_in_place_of_the_model(tenant: Tenant) -> None:
    tenant.define(
        Definition(id="blorb", kind="language", name="Blorb", files=["*.blorb"]),
        Definition(id="blorb-make", kind="build_system", name="Blorb Make", files=["blorb.build"]),
    )
    memory = MemoryContext()
    memory.llm.scripts[ROLE] = said(fact("language", "other"))
    detected_service = service(tenant.run({**NODE, **BLORB}, memory)[0], "native")
    assert (detected_service.primary.language, detected_service.primary.build_system) == ("blorb", "blorb-make")


def test_a_set_stays_what_it_was(tenant: Tenant, database: Engine) -> None:
    store = StackStore(database)
    tenant.define(OWN)
    first = store.definitions(tenant.name, None)
    tenant.define()
    assert isinstance(first, DefinitionSet)
    assert store.definitions(tenant.name, 1) is first
    assert store.definitions(tenant.name, None).version == 2
