"""Requests that delete, rotate, reset or roll back change everything or nothing, whatever happens on the way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import httpx2 as httpx
import pytest
from sqlalchemy import Engine, text

from shared.settings import StoreSettings
from tests.services.gateway.conftest import Gateway
from tests.services.gateway.workers import claim, complete
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.servers import url_as
from tests.support.wait import until

AUDIT = "audit_log"
#: What the requests could change; without the moments that each request with a key notes.
_STATE = {
    "api_keys": "to_jsonb(t) - 'last_used_at'",
    **dict.fromkeys(
        ("audit_log", "collections", "conversations", "dropped_collections", "files", "job_events", "jobs", "messages",
         "model_chains", "model_endpoints", "model_vendors", "prompt_gates", "prompt_labels", "prompt_versions",
         "tenant_deletions", "tenant_limits", "tenant_models", "webhook_secrets"),
        "to_jsonb(t)",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Request:
    """One destructive request; ``make`` brings about what it destroys and returns its path."""

    method: str
    make: Callable[[httpx.Client], str]
    body: dict[str, object] | None = None
    last: str = AUDIT  #: table that its transaction writes last
    damaged: dict[str, object] = field(default_factory=lambda: {"nonsense": 1})

    def send(self, client: httpx.Client, path: str, body: dict[str, object] | None = None) -> httpx.Response:
        return client.request(self.method, path, json=self.body if body is None else body)


def _key(client: httpx.Client) -> str:
    made = client.post("/v1/keys", json={"tenant": "acme", "name": "made", "scopes": ["read"]}).json()
    return f"/v1/keys/{made['id']}"


def _job(client: httpx.Client) -> str:
    body = {"kind": "execute", "input": {"language": "python", "code": "1"}}
    return f"/v1/jobs/{client.post('/v1/jobs', json=body).json()['id']}"


def _file(client: httpx.Client) -> str:
    return f"/v1/files/{client.post('/v1/files', files={'file': ('a.txt', b'a')}).json()['id']}"


def _collection(client: httpx.Client) -> str:
    client.post("/v1/collections", json={"name": "made", "tables": {"t": {"fields": {"year": "integer"}}}})
    return "/v1/collections/made"


def _chain(client: httpx.Client) -> None:
    chain = {"chain": [{"provider": "groq", "model": "openai/gpt-oss-20b"}]}
    assert client.put("/v1/models/flows.edit", json=chain).status_code == 200


def _chains(client: httpx.Client) -> str:
    _chain(client)
    return "/v1/models/reset"


def _role(client: httpx.Client) -> str:
    _chain(client)
    return "/v1/models/flows.edit/reset"


def _prompt(step: str) -> Callable[[httpx.Client], str]:
    def make(client: httpx.Client) -> str:
        key = "flows.edit"
        read = client.get(f"/v1/prompts/{key}").json()
        assert client.put(f"/v1/prompts/{key}", json={"text": read["text"] + "\nBe brief."}).status_code == 200
        return f"/v1/prompts/{key}{step}"

    return make


def _limits(client: httpx.Client) -> str:
    client.put("/v1/tenants/spare/limits", json={"queued_jobs": 7})
    return "/v1/tenants/spare/limits"


def _tenant_models(client: httpx.Client) -> str:
    client.put("/v1/tenants/spare/models", json={"models": ["groq/*"]})
    return "/v1/tenants/spare/models"


def _endpoint(client: httpx.Client) -> str:
    made = client.put("/v1/endpoints/groq", json={"model": "openai/gpt-oss-20b"})
    assert made.status_code == 200, made.text
    return "/v1/endpoints/groq"


def _tenant(client: httpx.Client) -> str:
    client.post("/v1/keys", json={"tenant": "leaving", "name": "k", "scopes": ["read"]})
    return "/v1/tenants/leaving"


REQUESTS = {
    "revoke a key": Request("DELETE", _key),
    "rotate a key": Request("POST", lambda client: _key(client) + "/rotate", {"overlap_seconds": 0}),
    "reset all models": Request("POST", _chains),
    "reset a role": Request("POST", _role),
    "set a chain": Request("PUT", lambda client: "/v1/models/flows.edit",
                           {"chain": [{"provider": "groq", "model": "openai/gpt-oss-120b"}]}),
    "roll a prompt back": Request("POST", _prompt("/rollback"), {"version": 1}),
    "reset a prompt": Request("POST", _prompt("/reset")),
    "label a prompt": Request("POST", _prompt("/labels"), {"label": "stable", "version": 1}),
    "set limits": Request("PUT", _limits, {"queued_jobs": 9}),
    "reset a tenant's models": Request("DELETE", _tenant_models),
    "remove an endpoint": Request("DELETE", _endpoint),
    "delete a tenant": Request("DELETE", _tenant),
    "delete a file": Request("DELETE", _file, last="files"),
    "delete a collection": Request("DELETE", _collection, last="collections"),
    "cancel a job": Request("POST", lambda client: _job(client) + "/cancel", last="jobs"),
}  # fmt: skip


def state(engine: Engine) -> dict[str, str | None]:
    """Return a digest of each table."""
    with engine.connect() as connection:
        return {
            table: connection.execute(
                text(f"SELECT md5(string_agg(({row})::text, '' ORDER BY ({row})::text)) FROM {table} t")
            ).scalar_one()
            for table, row in _STATE.items()
        }


@contextmanager
def striking(engine: Engine, table: str, body: str) -> Iterator[None]:
    """Let Postgres do this when the table is written."""
    with engine.begin() as connection:
        connection.execute(text(f"CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$"))
        connection.execute(
            text(
                f"CREATE TRIGGER a_strike BEFORE INSERT OR UPDATE OR DELETE ON {table} FOR EACH STATEMENT "
                "EXECUTE FUNCTION strike()"
            )
        )
    try:
        yield
    finally:
        with engine.begin() as connection:
            connection.execute(text("DROP FUNCTION strike CASCADE"))


FULL = "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';"
LOST = "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL;"
FAULTS = {"full disk": (FULL, 507), "lost server": (LOST, 503)}


@pytest.fixture(autouse=True)
def _stored_prompts(gateway: Gateway, admin: httpx.Client) -> None:
    """The gateway stores the shipped prompts when it first needs them: no request of a test is to do it."""
    until(lambda: admin.get("/v1/prompts").status_code == 200 and state(gateway.engine)["prompt_labels"], "the prompts")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_without_space_or_server_changes_nothing(
    gateway: Gateway, admin: httpx.Client, name: str, fault: str
) -> None:
    request, (body, status) = REQUESTS[name], FAULTS[fault]
    path = request.make(admin)
    before = state(gateway.engine)
    with striking(gateway.engine, request.last, body):
        refused = request.send(admin, path)
    assert refused.status_code == status, refused.text
    assert state(gateway.engine) == before
    until(lambda: admin.get("/v1/session").status_code == 200, "connections are new")
    done = request.send(admin, path)
    assert done.status_code < 300, done.text
    assert state(gateway.engine) != before


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_with_damaged_input_changes_nothing(gateway: Gateway, admin: httpx.Client, name: str) -> None:
    request = REQUESTS[name]
    path = request.make(admin)
    before = state(gateway.engine)
    if request.method != "DELETE":
        assert request.send(admin, path, request.damaged).status_code == 422
        broken = admin.request(request.method, path, content=b'{"a": ', headers={"Content-Type": "application/json"})
        assert broken.status_code == 400
    else:
        assert admin.delete(path + "%00").status_code in (404, 422)
    assert state(gateway.engine) == before


@pytest.fixture(scope="module")
def platform(stores: StoreSettings) -> Iterator[Platform]:
    """Gateways as processes, with the rights of theirs."""
    made = Platform(stores)
    made.environment["DATABASE_URL"] = url_as("gateway", stores.database_url)
    yield made
    made.stop()


@pytest.mark.slow
def test_a_gateway_that_is_killed_in_a_request_has_changed_nothing(
    gateway: Gateway, admin: httpx.Client, platform: Platform
) -> None:
    """Each request waits in its transaction for the table that it writes last, and is killed there."""
    paths = {name: request.make(admin) for name, request in REQUESTS.items() if name != "set a chain"}
    port = free_port()
    process = platform.gateway(port)
    before = state(gateway.engine)
    for name, path in paths.items():
        request = REQUESTS[name]
        with gateway.engine.begin() as connection:
            connection.execute(text(f"LOCK TABLE {request.last} IN SHARE ROW EXCLUSIVE MODE"))

            def send(request: Request = request, path: str = path) -> None:
                with (
                    suppress(httpx.HTTPError),
                    httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=admin.headers, timeout=30) as client,
                ):
                    request.send(client, path)

            sending = threading.Thread(target=send)
            sending.start()
            until(lambda: _waits(gateway.engine), f"{name} waits")
            process.send_signal(signal.SIGKILL)
            process.wait(10)
            sending.join(30)
        until(lambda: not _waits(gateway.engine), "the session has ended")
        assert state(gateway.engine) == before, name
        process = platform.gateway(port)


def _waits(engine: Engine) -> bool:
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = 'assay_gateway'"
    with engine.connect() as connection:
        return bool(connection.execute(text(query)).scalar_one())


def test_a_job_that_ended_is_deleted_whole_or_not(gateway: Gateway, admin: httpx.Client) -> None:
    _job(admin)
    id, fence = claim(gateway.engine)
    complete(gateway.engine, id, fence, {"verdict": "ok"})
    before = state(gateway.engine)
    for body, status in FAULTS.values():
        with striking(gateway.engine, "jobs", body):
            assert admin.delete(f"/v1/jobs/{id}").status_code == status
        assert state(gateway.engine) == before
        until(lambda: admin.get("/v1/session").status_code == 200, "connections are new")
    assert admin.delete(f"/v1/jobs/{id}").status_code == 204
