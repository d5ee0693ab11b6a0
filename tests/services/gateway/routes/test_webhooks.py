"""A tenant reads and rotates the secrets of its webhooks, and no other tenant sees them."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2 as httpx
import pytest
from sqlalchemy import text

from services.gateway.jobs import checks
from tests.services.gateway.conftest import Gateway

PATH = "/v1/webhooks/secrets"


@pytest.fixture
def acme(gateway: Gateway) -> Iterator[httpx.Client]:
    with gateway.client("hooks") as client:
        for secret in client.get(PATH).json()["items"]:
            client.delete(f"{PATH}/{secret['id']}")
        yield client


def test_a_secret_is_rotated_by_adding_the_new_one_and_deleting_the_old_one(acme: httpx.Client) -> None:
    old = acme.post(PATH).json()
    assert old["secret"].startswith("whsec_")
    new = acme.post(PATH, json={}).json()
    assert [each["id"] for each in acme.get(PATH).json()["items"]] == [old["id"], new["id"]]
    refused = acme.post(PATH)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert acme.delete(f"{PATH}/{old['id']}").status_code == 204
    assert acme.get(PATH).json()["items"] == [new]
    assert acme.delete(f"{PATH}/{old['id']}").status_code == 404


def test_a_secret_of_ones_own_is_taken_when_it_is_strong_enough(acme: httpx.Client) -> None:
    given = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="  # not a secret
    assert acme.post(PATH, json={"secret": given}).json()["secret"] == given
    for weak in ("whsec_c2hvcnQ=", "secret", "whsec_!!", "whsec_"):
        assert acme.post(PATH, json={"secret": weak}).status_code == 422, weak


def test_other_tenants_and_keys_that_only_read_see_no_secret(gateway: Gateway, acme: httpx.Client) -> None:
    made = acme.post(PATH).json()
    with gateway.client("other") as other, gateway.client("hooks", "read") as reader:
        assert other.get(PATH).json()["items"] == []
        assert other.delete(f"{PATH}/{made['id']}").status_code == 404
        assert reader.get(PATH).status_code == 403


def test_a_repeated_request_is_answered_without_the_secret(acme: httpx.Client) -> None:
    headers = {"Idempotency-Key": "rotate"}
    first, again = (acme.post(PATH, headers=headers) for _ in range(2))
    assert "secret" in first.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert "secret" not in again.json()


def test_the_log_of_deliveries_is_the_tenants_own(gateway: Gateway, acme: httpx.Client) -> None:
    submit = {"kind": "execute", "input": {"language": "python", "code": "1"}}
    public = {"url": "https://example.com/hook", "events": ["job.finished"]}
    job = acme.post("/v1/jobs", json={**submit, "webhook": public}).json()["id"]
    log = acme.get(f"/v1/jobs/{job}/deliveries").json()
    assert log == {"url": "https://example.com/hook", "pending": True, "next_at": None, "items": []}
    assert acme.post(f"/v1/jobs/{job}/deliveries/none/redeliver").status_code == 404
    with gateway.client("other") as other:
        assert other.get(f"/v1/jobs/{job}/deliveries").status_code == 404


@pytest.mark.parametrize("url", ["http://example.com/hook", "https://127.0.0.1/hook", "https://db.internal/hook"])
def test_a_refused_address_names_the_setting_that_allows_it(acme: httpx.Client, url: str) -> None:
    webhook = {"url": url, "events": ["job.finished"]}
    submit = {"kind": "execute", "input": {"language": "python", "code": "1"}, "webhook": webhook}
    answer = acme.post("/v1/jobs", json=submit)
    assert answer.status_code == 422
    assert "ASSAY_WEBHOOK_PRIVATE" in answer.json()["detail"]


@pytest.mark.parametrize(
    "url", ["https://user:pw@example.com/hook", "https://user@a.example/", "https://:pw@a.example/"]
)
@pytest.mark.parametrize("allow_private", [True, False])
def test_a_user_in_the_url_is_refused_whatever_addresses_are_allowed(
    acme: httpx.Client, gateway: Gateway, monkeypatch: pytest.MonkeyPatch, url: str, allow_private: bool
) -> None:
    checked = checks._not_callable
    monkeypatch.setattr(checks, "_not_callable", lambda url, **_: checked(url, allow_private=allow_private))
    submit = {"kind": "execute", "input": {"language": "python", "code": "1"}, "webhook": {"url": url}}
    before = len(acme.get("/v1/jobs").json()["items"])
    answer = acme.post("/v1/jobs", json=submit)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == ["body", "webhook", "url"]
    assert "pw" not in answer.text
    assert len(acme.get("/v1/jobs").json()["items"]) == before


def test_a_password_that_an_older_version_kept_is_not_shown(gateway: Gateway, acme: httpx.Client) -> None:
    submit = {"kind": "execute", "input": {"language": "python", "code": "1"}}
    job = acme.post("/v1/jobs", json={**submit, "webhook": {"url": "https://example.com/hook?a=b"}}).json()["id"]
    kept = "https://user:pw@example.com/hook?a=b"
    with gateway.engine.begin() as connection:
        changed = "UPDATE jobs SET webhook = jsonb_set(webhook, '{url}', to_jsonb(CAST(:url AS text))) WHERE id = :id"
        connection.execute(text(changed), {"url": kept, "id": job})
    assert acme.get(f"/v1/jobs/{job}/deliveries").json()["url"] == "https://example.com/hook?a=b"
