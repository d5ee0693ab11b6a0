"""Connections to Postgres: what their errors report."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError

from shared.db import connect


def test_an_error_does_not_tell_what_a_statement_was_given(database_url: str) -> None:
    engine = connect(database_url)
    with pytest.raises(DBAPIError) as refused, engine.connect() as connection:
        connection.execute(text("SELECT 1 / 0 WHERE CAST(:given AS text) <> ''"), {"given": "hunter2"})
    engine.dispose()
    assert "hunter2" not in str(refused.value)


def test_a_connection_that_comes_back_after_the_engine_was_disposed_of_is_closed(database_url: str) -> None:
    engine = connect(database_url)
    with engine.connect() as late:
        driver = late.connection.driver_connection
        assert driver is not None
        engine.dispose()
    assert driver.closed
    with engine.connect() as again:
        kept = again.connection.driver_connection
    assert kept is not None
    assert not kept.closed
    engine.dispose()
    assert kept.closed


def test_a_connection_that_was_being_opened_while_the_engine_was_disposed_of_is_closed(database_url: str) -> None:
    engine = connect(database_url)
    opening, disposed, opened = threading.Event(), threading.Event(), []

    @event.listens_for(engine, "do_connect")
    def wait(*_: object) -> None:
        opening.set()
        disposed.wait(30)

    def use() -> None:
        with engine.connect() as connection:
            opened.append(connection.connection.driver_connection)

    thread = threading.Thread(target=use)
    thread.start()
    assert opening.wait(30)
    engine.dispose()
    disposed.set()
    thread.join(30)
    assert [connection is not None and connection.closed for connection in opened] == [True]
