"""API keys: drawn, distinguished, and kept as hashes only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from shared import keys
from shared.db import connect


def test_a_key_is_told_by_its_shape() -> None:
    key = keys.issue("t", "n", ["read"]).key
    assert keys.key_id(key) == key.split("_")[1]
    assert keys.matches(key, keys.digest(key))
    assert not keys.matches(key + "x", keys.digest(key))
    for wrong in ("", "ask_", key + "x", key[:-1], key.replace("ask_", "pk_"), key + "\n", key.upper()):
        assert keys.key_id(wrong) is None or wrong == key


@pytest.mark.parametrize(("hours", "valid"), [(None, True), (1, True), (-1, False)])
def test_a_key_is_valid_until_it_expires_or_is_revoked(database_url: str, hours: int | None, valid: bool) -> None:
    expires = None if hours is None else datetime.now(UTC) + timedelta(hours=hours)
    engine = connect(database_url)
    with engine.begin() as connection:
        info, key = keys.create(connection, "acme", "ci", ["write", "read"], expires)
        assert (info.tenant, info.name, info.scopes) == ("acme", "ci", ["read", "write"])
        assert (connection.execute(keys.valid(info.id)).one_or_none() is not None) is valid
        assert keys.key_id(key) == info.id
        assert connection.execute(keys.revoke(info.id)).one_or_none() is not None
        assert connection.execute(keys.valid(info.id)).one_or_none() is None
        assert connection.execute(keys.revoke(info.id)).one_or_none() is None
    engine.dispose()


def test_the_last_key_with_admin_is_known(database_url: str) -> None:
    engine = connect(database_url)
    try:
        with engine.connect() as connection:
            connection.execute(text("UPDATE api_keys SET revoked_at = clock_timestamp()"))
            first, _ = keys.create(connection, "a", "first", ["admin"])
            writer, _ = keys.create(connection, "a", "writer", ["write"])
            assert connection.execute(keys.is_last_admin(first.id)).scalar_one()
            assert not connection.execute(keys.is_last_admin(writer.id)).scalar_one()
            keys.create(connection, "b", "expired", ["admin"], datetime.now(UTC) - timedelta(days=1))
            assert connection.execute(keys.is_last_admin(first.id)).scalar_one()
            second, _ = keys.create(connection, "b", "second", ["admin"])
            assert not connection.execute(keys.is_last_admin(first.id)).scalar_one()
            connection.execute(keys.revoke(second.id))
            assert connection.execute(keys.is_last_admin(first.id)).scalar_one()
    finally:
        engine.dispose()
