"""Keys: who may do what, and until when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx2 as httpx
import pytest
from sqlalchemy import text

from tests.services.gateway.conftest import Gateway
from tests.services.gateway.http.test_problems import EXECUTE, assert_problem
from tests.support.wait import until


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Basic YTpi", "Bearer nonsense", f"Bearer ask_{'a' * 8}_{'b' * 32}", "Bearer \xe9"],
)
def test_without_a_valid_key_nothing_is_answered(gateway: Gateway, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header.encode("latin-1")}
    for method, path in (("GET", "/v1/jobs"), ("POST", "/v1/jobs"), ("POST", "/v1/files"), ("GET", "/v1/jobs/x")):
        answer = httpx.request(method, gateway.url + path, headers=headers, content=b"{")  # type: ignore[arg-type]
        assert_problem(answer, 401, "not_authenticated")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_key_of_the_right_id_and_the_wrong_secret_is_wrong(gateway: Gateway) -> None:
    key = gateway.key("acme")
    wrong = key[:-1] + ("a" if key[-1] != "a" else "b")
    with gateway.client_of(wrong) as client:
        assert_problem(client.get("/v1/jobs"), 401, "not_authenticated")


def test_a_scope_that_is_missing_is_named(gateway: Gateway) -> None:
    with gateway.client("acme", "read") as reader, gateway.client("acme", "write") as writer:
        assert reader.get("/v1/jobs").status_code == 200
        assert "write" in str(assert_problem(reader.post("/v1/jobs", content=b"{"), 403, "missing_scope")["detail"])
        assert "read" in str(assert_problem(writer.get("/v1/jobs"), 403, "missing_scope")["detail"])
        assert writer.post("/v1/jobs", json=EXECUTE).status_code == 202
        for client in (reader, writer):
            assert_problem(client.get("/v1/keys"), 403, "missing_scope")
            assert_problem(client.post("/v1/keys", json={}), 403, "missing_scope")
            assert_problem(client.delete("/v1/keys/x"), 403, "missing_scope")


def test_keys_are_made_listed_and_revoked(gateway: Gateway, admin: httpx.Client) -> None:
    wanted = {"tenant": "fresh", "name": "ci", "scopes": ["write", "read", "read"]}
    answer = admin.post("/v1/keys", json=wanted)
    assert answer.status_code == 201
    made = answer.json()
    assert (made["tenant"], made["name"], made["scopes"]) == ("fresh", "ci", ["read", "write"])
    listed = admin.get("/v1/keys?tenant=fresh").json()["items"]
    assert [key["id"] for key in listed] == [made["id"]]
    assert "key" not in listed[0]
    with gateway.engine.begin() as connection:
        rows = connection.exec_driver_sql("SELECT row_to_json(api_keys)::text FROM api_keys").scalars().all()
    assert not any(made["key"] in row or made["key"][-32:] in row for row in rows)
    with gateway.client_of(made["key"]) as client:
        assert client.get("/v1/jobs").json()["items"] == []
        assert admin.delete(f"/v1/keys/{made['id']}").status_code == 204
        assert_problem(admin.delete(f"/v1/keys/{made['id']}"), 404, "not_found")
        assert_problem(client.get("/v1/jobs"), 401, "not_authenticated")
    assert admin.get("/v1/keys?tenant=fresh").json()["items"][0]["revoked_at"]


@pytest.mark.slow
def test_a_key_ends_when_it_expires(gateway: Gateway, admin: httpx.Client) -> None:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    wanted = {"tenant": "acme", "name": "brief", "scopes": ["read"], "expires_at": later}
    made = admin.post("/v1/keys", json=wanted).json()
    with gateway.client_of(made["key"]) as client:
        assert client.get("/v1/jobs").status_code == 200
        an_hour_passes = text("UPDATE api_keys SET expires_at = expires_at - interval '1 hour' WHERE id = :id")
        with gateway.engine.begin() as connection:
            connection.execute(an_hour_passes, {"id": made["id"]})
        until(lambda: client.get("/v1/jobs").status_code == 401, "the key is refused", 4)


@pytest.mark.slow
def test_a_key_ends_with_its_last_moment(gateway: Gateway, admin: httpx.Client) -> None:
    end = datetime.now(UTC) + timedelta(seconds=3)
    wanted = {"tenant": "acme", "name": "brief", "scopes": ["read"], "expires_at": end.isoformat()}
    made = admin.post("/v1/keys", json=wanted).json()
    with gateway.client_of(made["key"]) as client:
        asked = [datetime.now(UTC)]
        while client.get("/v1/jobs").status_code == 200:
            asked.append(datetime.now(UTC))
        assert asked[-2:][0] < end  # remembered for a second, it would be taken that much longer


@pytest.mark.parametrize(
    "wanted",
    [
        {"tenant": "Not A Tenant", "name": "n", "scopes": ["read"]},
        {"tenant": "t", "name": "n", "scopes": []},
        {"tenant": "t", "name": "n", "scopes": ["root"]},
        {"tenant": "t", "name": "", "scopes": ["read"]},
        {"tenant": "t", "name": "n", "scopes": ["read"], "expires_at": "tomorrow"},
        {"tenant": "t", "name": "n", "scopes": ["read"], "expires_at": "2030-01-01T00:00:00"},
        {"tenant": "t", "name": "n", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z"},
        {"tenant": "t", "name": "n", "scopes": ["read"], "expires_at": 4_000_000_000},
        {"tenant": "t", "name": "n", "scopes": ["read"], "key": "mine"},
    ],
)
def test_a_key_that_does_not_fit_is_refused(admin: httpx.Client, wanted: dict[str, object]) -> None:
    assert_problem(admin.post("/v1/keys", json=wanted), 422, "invalid_request")
