"""Conversations: pairs are whole, in order, bounded for the model, and never another tenant's."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine

from shared import conversations, db


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    engine = db.connect(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def conversation(engine: Engine) -> str:
    name = uuid.uuid4().hex
    with engine.begin() as connection:
        connection.execute(conversations.start("t", name))
    return name


def say(engine: Engine, conversation: str, number: int, tenant: str = "t") -> None:
    pair = conversations.add_pair(tenant, conversation, f"job{number}", f"q{number}", f"a{number}", [{"name": "n"}])
    with engine.begin() as connection:
        connection.execute(pair)


def contents(engine: Engine, conversation: str, tenant: str = "t") -> list[str]:
    with engine.connect() as connection:
        rows = connection.execute(conversations.messages_of(tenant, conversation)).all()
    return [row[1] for row in reversed(rows)]


def test_the_model_sees_the_last_six_pairs_in_order(engine: Engine, conversation: str) -> None:
    for number in range(8):
        say(engine, conversation, number)
    with engine.connect() as connection:
        rows = connection.execute(conversations.history("t", conversation)).all()
        chat = conversations.as_chat([(row[0], row[1]) for row in rows])
    assert [message.content for message in chat] == [f"{who}{n}" for n in range(2, 8) for who in "qa"]
    assert [message.role for message in chat] == ["user", "assistant"] * 6


def test_pairs_of_concurrent_jobs_never_mix(engine: Engine, conversation: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda number: say(engine, conversation, number), range(12)))
    texts = contents(engine, conversation)
    assert len(texts) == 24
    pairs = zip(texts[::2], texts[1::2], strict=True)
    assert all(question[0] == "q" and answer == f"a{question[1:]}" for question, answer in pairs)


def test_a_transaction_that_fails_leaves_no_half_pair(engine: Engine, conversation: str) -> None:
    with engine.connect() as connection:
        connection.execute(conversations.add_pair("t", conversation, "job", "q", "a"))
        connection.rollback()
    assert contents(engine, conversation) == []


def test_another_tenant_reads_and_writes_nothing(engine: Engine, conversation: str) -> None:
    say(engine, conversation, 1)
    say(engine, conversation, 2, tenant="other")
    assert contents(engine, conversation, tenant="other") == []
    with engine.begin() as connection:
        assert connection.execute(conversations.one("other", conversation)).first() is None
        assert connection.execute(conversations.forget("other", conversation)).rowcount == 0
    assert contents(engine, conversation) == ["q1", "a1"]


def test_a_deleted_conversation_stays_deleted(engine: Engine, conversation: str) -> None:
    say(engine, conversation, 1)
    with engine.begin() as connection:
        assert connection.execute(conversations.forget("t", conversation)).rowcount == 1
    say(engine, conversation, 2)
    assert contents(engine, conversation) == [], "a job that was still running does not bring it back"


def test_the_list_is_newest_first_and_pages(engine: Engine) -> None:
    names = [uuid.uuid4().hex for _ in range(5)]
    for name in names:
        with engine.begin() as connection:
            connection.execute(conversations.start("pages", name))
    say(engine, names[0], 1, tenant="pages")
    with engine.connect() as connection:
        first = connection.execute(conversations.listing("pages", 3)).all()
        rest = connection.execute(conversations.listing("pages", 3, (first[-1][1], str(first[-1][0])))).all()
    assert [row[0] for row in [*first, *rest]] == names[::-1]
    assert rest[-1][3] == 2


def test_text_that_postgres_cannot_hold_is_made_to_fit(engine: Engine, conversation: str) -> None:
    with engine.begin() as connection:
        connection.execute(conversations.add_pair("t", conversation, "job", "nul\x00 here", "ünï ✅"))
    assert contents(engine, conversation) == ["nul here", "ünï ✅"]
