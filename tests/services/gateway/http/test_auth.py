"""Keys: who may do what, and until when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx2 as httpx
import pytest
from sqlalchemy import text

from services.gateway.settings import Settings
from tests.services.gateway.conftest import Gateway, serving, with_http
from tests.services.gateway.http.test_problems import EXECUTE, assert_problem
from tests.support.wait import until


@pytest.mark.slow
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


def test_a_key_tells_when_it_was_last_used(gateway: Gateway, admin: httpx.Client) -> None:
    made = admin.post("/v1/keys", json={"tenant": "used", "name": "ci", "scopes": ["read"]}).json()
    assert made["last_used_at"] is None

    def last_used() -> str | None:
        return admin.get("/v1/keys?tenant=used").json()["items"][0]["last_used_at"]  # type: ignore[no-any-return]

    with gateway.client_of(made["key"]) as client:
        assert client.get("/v1/jobs").status_code == 200
        first = last_used()
        assert first is not None
        client.get("/v1/jobs")
        assert last_used() == first  # less than a minute ago
        with gateway.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE api_keys SET last_used_at = last_used_at - interval '2 minutes'")
        earlier = last_used()
        until(lambda: client.get("/v1/jobs").status_code == 200 and last_used() != earlier, "a second use")


def test_a_key_that_somebody_changes_is_answered_meanwhile(gateway: Gateway, admin: httpx.Client) -> None:
    made = admin.post("/v1/keys", json={"tenant": "held", "name": "ci", "scopes": ["read"]}).json()
    with gateway.engine.begin() as connection, gateway.client_of(made["key"]) as client:
        connection.exec_driver_sql("SELECT id FROM api_keys WHERE tenant_id = 'held' FOR UPDATE")
        assert client.get("/v1/jobs").status_code == 200


def test_a_key_is_rotated_with_an_overlap(gateway: Gateway, admin: httpx.Client) -> None:
    later = (datetime.now(UTC) + timedelta(days=10)).isoformat()
    wanted = {"tenant": "acme", "name": "ci", "scopes": ["read"], "expires_at": later}
    old = admin.post("/v1/keys", json=wanted).json()
    new = admin.post(f"/v1/keys/{old['id']}/rotate", json={"overlap_seconds": 3600}).json()
    assert (new["tenant"], new["name"], new["scopes"]) == ("acme", "ci", ["read"])
    assert new["expires_at"] > old["expires_at"]
    for key in (old["key"], new["key"]):
        with gateway.client_of(key) as client:
            assert client.get("/v1/jobs").status_code == 200
    listed = {key["id"]: key for key in admin.get("/v1/keys?tenant=acme").json()["items"]}
    left = datetime.fromisoformat(listed[old["id"]]["expires_at"]) - datetime.now(UTC)
    assert timedelta(minutes=50) < left <= timedelta(hours=1)
    assert admin.post(f"/v1/keys/{new['id']}/rotate", json={"overlap_seconds": 0}).status_code == 201
    with gateway.client_of(new["key"]) as client:
        assert_problem(client.get("/v1/jobs"), 401, "not_authenticated")
    assert_problem(admin.post(f"/v1/keys/{new['id']}/rotate"), 404, "not_found")


def test_an_administrator_of_a_tenant_looks_after_its_keys_only(gateway: Gateway, admin: httpx.Client) -> None:
    foreign = admin.post("/v1/keys", json={"tenant": "acme", "name": "f", "scopes": ["read"]}).json()
    with gateway.client("guild", "tenant_admin") as own:
        made = own.post("/v1/keys", json={"tenant": "guild", "name": "n", "scopes": ["read", "write"]})
        assert made.status_code == 201
        assert {key["tenant"] for key in own.get("/v1/keys").json()["items"]} == {"guild"}
        assert own.post(f"/v1/keys/{made.json()['id']}/rotate").status_code == 201
        for refused in (
            own.post("/v1/keys", json={"tenant": "acme", "name": "n", "scopes": ["read"]}),
            own.post("/v1/keys", json={"tenant": "guild", "name": "n", "scopes": ["admin"]}),
            own.get("/v1/keys?tenant=acme"),
            own.put("/v1/tenants/guild/limits", json={}),
            own.get("/v1/jobs"),
        ):
            assert_problem(refused, 403, "missing_scope")
        assert_problem(own.delete(f"/v1/keys/{foreign['id']}"), 404, "not_found")
        assert_problem(own.post(f"/v1/keys/{foreign['id']}/rotate"), 404, "not_found")
        assert own.delete(f"/v1/keys/{made.json()['id']}").status_code == 204


@pytest.mark.slow
def test_keys_expire_by_default_where_the_operator_wants_it(gateway: Gateway, settings: Settings) -> None:
    key = gateway.key("acme", "admin")
    with serving(with_http(settings, key_days=30)) as url:
        headers = {"Authorization": f"Bearer {key}"}
        wanted = {"tenant": "acme", "name": "n", "scopes": ["read"]}
        made = httpx.post(f"{url}/v1/keys", json=wanted, headers=headers).json()
    left = datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=29) < left <= timedelta(days=30)


@pytest.mark.slow
def test_who_guesses_keys_is_answered_without_the_database(gateway: Gateway, settings: Settings) -> None:
    def guessed(client: httpx.Client, number: int) -> httpx.Response:
        return client.get("/v1/jobs", headers={"Authorization": f"Bearer ask_{number:08}_{'x' * 32}"})

    known = gateway.key("acme")
    with serving(with_http(settings, wrong_keys_per_minute=5)) as url, httpx.Client(base_url=url) as client:
        valid = {"Authorization": f"Bearer {known}"}
        assert client.get("/v1/jobs", headers=valid).status_code == 200
        assert [guessed(client, number).status_code for number in range(5)] == [401] * 5
        with gateway.engine.begin() as connection:
            connection.execute(text("LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE"))  # a query would wait now
            refused = assert_problem(guessed(client, 5), 429, "rate_limited")
        assert "key" in str(refused["detail"])
        assert int(guessed(client, 6).headers["retry-after"]) <= 61
        until(
            lambda: client.get("/v1/jobs", headers=valid).status_code == 200,
            "a key that was valid is still asked about",
        )


def test_a_key_that_this_gateway_has_not_seen_is_admitted_while_its_address_guesses(
    gateway: Gateway, settings: Settings
) -> None:
    def sent(client: httpx.Client, key: str) -> int:
        return client.get("/v1/jobs", headers={"Authorization": f"Bearer {key}"}).status_code

    def guess(number: int) -> str:
        return f"ask_{number:08}_{'x' * 32}"

    unseen, other = gateway.key("acme"), gateway.key("acme")
    with serving(with_http(settings, wrong_keys_per_minute=5)) as url, httpx.Client(base_url=url) as client:
        assert [sent(client, guess(number)) for number in range(5)] == [401] * 5
        assert [sent(client, guess(number)) for number in range(5, 8)] == [429] * 3
        assert sent(client, unseen) == 200
        # Who knows the id of a key has as many guesses of its secret as others.
        wrong = [
            f"{other[:-2]}{ending}" for ending in ("ab", "cd", "ef", "gh", "ij", "kl", "mn") if ending != other[-2:]
        ]
        assert [sent(client, key) for key in wrong[:6]] == [401] * 5 + [429]
        assert sent(client, unseen) == 200
        assert (
            client.post("/v1/sessions", headers={"Authorization": f"Bearer {gateway.key('acme')}"}).status_code == 201
        )


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
