"""The catalog on a real Postgres."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import JsonValue
from sqlalchemy import Engine, select, text
from uuid_utils import uuid7

from services.search.tables.catalog import Rewrite, SqlCatalog, TableStatistics
from shared import collections
from shared.collections import search_attempts
from shared.contracts.search import CollectionInput
from shared.db import connect
from shared.errors import UnknownCollection
from shared.jobs.record import submission
from tests.support.rows import job_row


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url)
    yield engine
    engine.dispose()


def declared(engine: Engine, name: str, tenant: str = "t") -> str:
    wanted = CollectionInput.model_validate({"name": name, "tables": {"talks": {"facets": {"topic": 2}}}})
    with engine.begin() as connection:
        return str(connection.execute(collections.create(tenant, wanted)).mappings().one()["id"])


def test_a_collection_is_found_by_its_tenant_only(engine: Engine) -> None:
    catalog = SqlCatalog(engine)
    identity = declared(engine, "mine")
    info = catalog.find("t", "mine")
    assert (info.id, info.tables["talks"].facets, info.statistics) == (identity, {"topic": 2}, {})
    with pytest.raises(UnknownCollection):
        catalog.find("other", "mine")


def test_what_an_ingest_learnt_is_kept_and_replaced(engine: Engine) -> None:
    catalog = SqlCatalog(engine)
    identity = declared(engine, "learned")
    for records in (3, 4):
        learned = TableStatistics("model/1", {"master": 0.4}, records)
        with engine.begin() as connection:
            catalog.save_statistics("t", identity, "talks", learned)(connection)
        assert catalog.find("t", "learned").statistics == {"talks": learned}


def test_learning_about_a_deleted_collection_changes_nothing_and_fails_nothing(engine: Engine) -> None:
    catalog = SqlCatalog(engine)
    with engine.begin() as connection:
        catalog.save_statistics("t", "gone", "talks", TableStatistics("m", {}, 1))(connection)
        catalog.save_rewrite("t", "gone", Rewrite("talks", "a", "b"))(connection)
        assert (
            connection.execute(text("SELECT count(*) FROM collection_tables WHERE collection_id='gone'")).scalar() == 0
        )


def test_a_deleted_collection_waits_for_the_sweeper(engine: Engine) -> None:
    catalog = SqlCatalog(engine)
    identity = declared(engine, "doomed")
    with engine.begin() as connection:
        catalog.save_rewrite("t", identity, Rewrite("talks", "a", "b"))(connection)
        assert connection.execute(collections.drop("t", "doomed")).scalar_one() == identity
    assert identity in catalog.dropped()
    catalog.mark_swept(identity)
    assert identity not in catalog.dropped()


def test_rewrites_are_remembered_newest_first_and_once_per_wording(engine: Engine) -> None:
    catalog = SqlCatalog(engine)
    identity = declared(engine, "rewrites")
    for wording, rewritten in (("k8s", "x"), ("ml", "machine learning"), ("k8s", "y")):
        with engine.begin() as connection:
            catalog.save_rewrite("t", identity, Rewrite("talks", wording, rewritten))(connection)
    assert catalog.rewrites("t", identity) == [Rewrite("talks", "k8s", "y"), Rewrite("talks", "ml", "machine learning")]


def test_the_attempts_of_a_job_are_kept_with_it(engine: Engine) -> None:
    catalog = SqlCatalog(engine)
    job = str(uuid7())
    attempt: dict[str, JsonValue] = {
        "job_id": job,
        "number": 1,
        "tenant_id": "t",
        "collection_id": "c",
        "strategy": "initial",
        "reasoning": "",
        "user_message": "",
        "queries": [{"table": "talks", "hits": 0}],
        "gain": 0,
    }
    with engine.begin() as connection:
        connection.execute(submission.submit(job_row(id=job, kind="search")))
        catalog.save_attempts([attempt, {**attempt, "number": 2, "strategy": "rewrite"}])(connection)
    with engine.connect() as connection:
        rows = connection.execute(select(search_attempts.c.strategy).order_by(search_attempts.c.number)).scalars().all()
    assert rows == ["initial", "rewrite"]
