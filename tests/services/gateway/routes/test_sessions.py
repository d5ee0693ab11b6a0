"""Sessions: a browser's own short-lived keys."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx2 as httpx
import pytest
from sqlalchemy import text

from shared import keys
from tests.services.gateway.conftest import Gateway, serving, with_http
from tests.services.gateway.http.test_problems import assert_problem


def test_a_key_can_ask_who_it_is(gateway: Gateway) -> None:
    with gateway.client("acme", "read") as client:
        session = client.get("/v1/session").json()
    assert (session["tenant"], session["scopes"], session["name"]) == ("acme", ["read"], "test")
    assert session["expires_at"] is None
    assert session["parent_id"] is None


def test_a_session_may_do_what_its_key_may_and_no_more(gateway: Gateway) -> None:
    with gateway.client("acme", "read") as client:
        made = client.post("/v1/sessions")
        own = client.get("/v1/session").json()
    session = made.json()
    assert made.status_code == 201
    assert (session["tenant"], session["scopes"], session["parent_id"]) == ("acme", ["read"], own["key_id"])
    left = datetime.fromisoformat(session["expires_at"]) - datetime.now(UTC)
    assert timedelta(hours=11) < left <= timedelta(hours=12)
    with gateway.client_of(session["key"]) as browser:
        assert browser.get("/v1/jobs").status_code == 200
        assert browser.post("/v1/flows", json={"name": "x"}).status_code == 403


def test_a_session_ends_with_its_key(gateway: Gateway, admin: httpx.Client) -> None:
    key = gateway.key("acme")
    with gateway.client_of(key) as client:
        session = client.post("/v1/sessions").json()
    assert admin.delete(f"/v1/keys/{session['parent_id']}").status_code == 204
    with gateway.engine.connect() as connection:  # the query of another gateway, or of this one a second later
        assert connection.execute(keys.valid(session["key_id"])).first() is None


def test_a_session_of_a_session_belongs_to_the_first_key(gateway: Gateway) -> None:
    with gateway.client("acme") as client:
        first = client.post("/v1/sessions").json()
    with gateway.client_of(first["key"]) as browser:
        second = browser.post("/v1/sessions").json()
    assert second["parent_id"] == first["parent_id"]
    assert second["expires_at"] <= first["expires_at"]
    assert second["name"] == first["name"]


def test_a_session_is_ended_by_itself_and_a_key_is_not(gateway: Gateway) -> None:
    with gateway.client("acme", "read") as client:
        session = client.post("/v1/sessions").json()
        assert client.delete("/v1/session").json()["code"] == "conflict"
        assert client.get("/v1/session").status_code == 200
    with gateway.client_of(session["key"]) as browser:
        assert browser.delete("/v1/session").status_code == 204
        assert browser.get("/v1/session").status_code == 401


def test_a_code_signs_in_once(gateway: Gateway) -> None:
    with gateway.client("acme") as client:
        made = client.post("/v1/session-codes").json()
        owner = client.get("/v1/session").json()
    assert made["path"] == f"/#code={made['code']}"
    with httpx.Client(base_url=gateway.url) as browser:
        session = browser.post("/v1/sessions", json={"code": made["code"]}).json()
        again = browser.post("/v1/sessions", json={"code": made["code"]})
    assert session["parent_id"] == owner["key_id"]
    assert (again.status_code, again.json()["code"]) == (401, "not_authenticated")


def test_a_code_is_not_good_after_its_minute(gateway: Gateway) -> None:
    with gateway.client("acme") as client:
        code = client.post("/v1/session-codes").json()["code"]
        with gateway.engine.begin() as connection:
            connection.execute(text("UPDATE session_codes SET expires_at = expires_at - interval '61 seconds'"))
        assert client.post("/v1/sessions", json={"code": code}).status_code == 401


@pytest.mark.parametrize("body", [None, {}, {"code": "wrong"}, {"code": "ask_12345678_" + "x" * 32}])
def test_nobody_gets_a_session_for_nothing(gateway: Gateway, body: object) -> None:
    with httpx.Client(base_url=gateway.url) as stranger:
        assert stranger.post("/v1/sessions", json=body).status_code == 401


def test_the_key_of_a_session_is_kept_as_a_hash_only(gateway: Gateway) -> None:
    with gateway.client("acme") as client:
        session = client.post("/v1/sessions").json()
    with gateway.engine.connect() as connection:
        row = connection.execute(keys.valid(session["key_id"])).mappings().one()
    assert keys.matches(session["key"], row["hash"])
    assert session["key"].encode() not in bytes(row["hash"])


def test_guesses_at_keys_and_codes_count_against_their_address(gateway: Gateway) -> None:
    settings = with_http(gateway.settings, wrong_keys_per_minute=5, trusted_proxies="127.0.0.1")
    key = gateway.key("acme")
    with serving(settings) as url, httpx.Client(base_url=url, timeout=120) as client:

        def sign_in(address: str, key: str | None = None, code: str | None = None) -> httpx.Response:
            headers = {"X-Forwarded-For": address} | ({} if key is None else {"Authorization": f"Bearer {key}"})
            return client.post("/v1/sessions", headers=headers, json={} if code is None else {"code": code})

        for number in range(5):
            assert sign_in("203.0.113.1", f"ask_{number:08}_{'x' * 32}").status_code == 401
            assert sign_in("203.0.113.2", code=f"code{number}").status_code == 401
        assert_problem(sign_in("203.0.113.1", f"ask_{9:08}_{'x' * 32}"), 429, "rate_limited")
        assert_problem(sign_in("203.0.113.2", code="code9"), 429, "rate_limited")
        assert sign_in("203.0.113.3", key).status_code == 201
        assert sign_in("203.0.113.3", code="wrong").status_code == 401


def test_who_signs_in_is_in_the_audit_log_without_the_code(gateway: Gateway, admin: httpx.Client) -> None:
    with gateway.client("acme") as client:
        code = client.post("/v1/session-codes").json()["code"]
        session = client.post("/v1/sessions", json={"code": code}).json()
        by_key = client.post("/v1/sessions").json()
    newest, before = admin.get("/v1/audit?limit=2&action=sessions.create").json()["items"]
    assert (newest["object"], before["object"]) == (by_key["key_id"], session["key_id"])
    assert code not in str([newest, before])


def test_a_sessions_own_key_is_not_rotated(gateway: Gateway) -> None:
    with gateway.client("acme", "read", "tenant_admin") as client:
        session = client.post("/v1/sessions").json()
    with gateway.client_of(session["key"]) as browser:
        assert_problem(browser.post(f"/v1/keys/{session['key_id']}/rotate"), 409, "conflict")


def test_the_operators_key_is_not_revoked_by_a_tenants_administrator(gateway: Gateway) -> None:
    with gateway.client("acme", "read", "admin") as operator, gateway.client("acme", "tenant_admin") as tenant:
        own = operator.get("/v1/session").json()["key_id"]
        for query in ("", "?force=true"):
            assert_problem(tenant.delete(f"/v1/keys/{own}{query}"), 403, "missing_scope")
        assert operator.get("/v1/session").status_code == 200
        other = operator.post("/v1/keys", json={"tenant": "acme", "name": "x", "scopes": ["read"]}).json()["id"]
        assert tenant.delete(f"/v1/keys/{other}").status_code == 204
