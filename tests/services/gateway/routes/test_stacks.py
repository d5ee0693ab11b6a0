"""Definitions and proposals over HTTP: versions per tenant, faults by line, and a person who decides."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import httpx2 as httpx
import pytest

from shared.contracts.definitions import SightedFile
from shared.stacks.proposals import Seen, record
from tests.services.gateway.conftest import Gateway
from tests.support.rows import job_row

PATH = "/v1/stacks/definitions"
YAML = "# ours\ndefinitions:\n  - id: blorb\n    kind: build_system\n    name: Blorb\n    files: [Blorbfile]\n"
OTHER = YAML.replace("blorb", "zorp")


@pytest.fixture
def tenant() -> str:
    return f"t{uuid.uuid4().hex[:12]}"


@pytest.fixture
def mine(gateway: Gateway, tenant: str) -> Iterator[httpx.Client]:
    """A client of a tenant that was never used before."""
    with gateway.client(tenant) as client:
        yield client


def test_a_tenant_begins_with_version_0(mine: httpx.Client) -> None:
    response = mine.get(PATH)
    assert (response.status_code, response.headers["etag"]) == (200, '"0"')
    assert response.json() == {
        "version": 0, "count": 0, "created_at": None, "actor": None, "note": None, "yaml": "", "definitions": [],
    }  # fmt: skip


def test_every_change_is_a_version_that_stays(mine: httpx.Client) -> None:
    first = mine.put(PATH, json={"yaml": YAML})
    assert (first.status_code, first.json()["version"], first.json()["yaml"]) == (200, 1, YAML)
    assert first.json()["definitions"][0]["weight"] == 0.9
    listed = [{"id": "acme", "kind": "framework", "name": "Acme", "dependencies": [{"ecosystem": "npm", "name": "a"}]}]
    second = mine.put(PATH, json={"definitions": listed, "note": "of npm now"}).json()
    assert (second["version"], second["definitions"][0]["id"]) == (2, "acme")
    assert "id: acme" in second["yaml"]
    assert mine.delete(PATH).json()["version"] == 3
    assert mine.get(PATH).json()["definitions"] == []
    back = mine.post(f"{PATH}/rollback", json={"version": 1}).json()
    assert (back["version"], back["yaml"]) == (4, YAML)
    versions = mine.get(f"{PATH}/versions").json()["items"]
    assert [(it["version"], it["count"]) for it in versions] == [(4, 1), (3, 0), (2, 1), (1, 1)]
    assert [it["note"] for it in versions] == ["as version 1 was", None, "of npm now", None]
    assert (first.json()["note"], second["note"]) == (None, "of npm now")
    assert mine.get(f"{PATH}/versions/2").json()["definitions"] == second["definitions"]


def test_a_stale_change_is_refused(mine: httpx.Client) -> None:
    tag = mine.put(PATH, json={"yaml": YAML}).headers["etag"]
    assert mine.put(PATH, json={"yaml": OTHER}, headers={"If-Match": tag}).status_code == 200
    for answer in (
        mine.put(PATH, json={"yaml": YAML}, headers={"If-Match": tag}),
        mine.request("DELETE", PATH, headers={"If-Match": tag}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    assert mine.get(PATH, headers={"If-None-Match": '"2"'}).status_code == 304


def test_faults_name_their_line_and_keep_nothing(mine: httpx.Client) -> None:
    answer = mine.put(PATH, json={"yaml": YAML.replace("build_system", "tool")})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    fault = answer.json()["errors"][0]
    assert fault["loc"] == ["body", "yaml", "definitions", 0, "kind"]
    assert fault["msg"].startswith("line 4: ")
    assert mine.get(PATH).json()["version"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        {}, {"yaml": YAML, "definitions": []}, {"yaml": 3}, {"yaml": "a: [\n"}, {"yaml": "x" * (300 << 10)},
        {"definitions": [{}]}, {"definitions": [{"id": "a", "kind": "language", "name": "A", "files": ["*"]}]},
        {"surprise": 1}, [], "x",
    ],
)  # fmt: skip
def test_a_body_that_does_not_fit_is_refused(mine: httpx.Client, body: object) -> None:
    for answer in (mine.put(PATH, json=body), mine.post(f"{PATH}/check", json=body)):
        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"]


def test_a_check_keeps_nothing(mine: httpx.Client) -> None:
    answer = mine.post(f"{PATH}/check", json={"yaml": YAML.replace("Blorbfile", '"*.b"')})
    assert (answer.status_code, answer.json()["definitions"][0]["id"]) == (200, "blorb")
    assert answer.json()["warnings"]
    assert mine.get(PATH).json()["version"] == 0


def test_definitions_are_one_tenants(mine: httpx.Client, other: httpx.Client) -> None:
    mine.put(PATH, json={"yaml": YAML})
    assert all("Blorbfile" not in other.get(path).text for path in (PATH, f"{PATH}/versions"))
    assert other.get(f"{PATH}/versions/1").status_code == 404
    assert other.post(f"{PATH}/rollback", json={"version": 1}).status_code == 422


def test_reading_and_writing_need_their_scopes(gateway: Gateway, tenant: str) -> None:
    with gateway.client(tenant, "read") as reader:
        assert reader.get(PATH).status_code == 200
        assert reader.put(PATH, json={"yaml": YAML}).status_code == 403
        assert reader.post("/v1/stacks/proposals/language/a/promote").status_code == 403


def test_a_job_names_a_version_that_there_is(mine: httpx.Client) -> None:
    mine.put(PATH, json={"yaml": YAML})
    input = {"source": {"git": "https://github.com/a/b"}, "mode": "static"}
    job = {"kind": "detect", "input": input}
    for version, status in ((0, 202), (1, 202), (2, 422), (-1, 422), (None, 202)):
        answer = mine.post("/v1/jobs", json={**job, "input": {**input, "definitions_version": version}})
        assert answer.status_code == status, answer.text
    refused = mine.post("/v1/jobs", json={**job, "input": {**input, "definitions_version": 7}})
    assert "no version 7" in refused.json()["errors"][0]["msg"]


def sight(gateway: Gateway, tenant: str, times: int) -> None:
    """Let that number of jobs have seen Blorb."""
    with gateway.engine.begin() as connection:
        for number in range(times):
            row = job_row(kind="detect", tenant_id=tenant)
            connection.exec_driver_sql(
                "INSERT INTO jobs (id, tenant_id, kind, state, input, conversation_id, actor)"
                " VALUES (%(id)s, %(tenant)s, 'detect', 'succeeded', '{}', 'c', 'a')",
                {"id": str(row["id"]), "tenant": tenant},
            )
            file = SightedFile(file="native/Blorbfile", line=None, pattern="Blorbfile")
            seen = Seen("build_system", "blorb", "Blorb", "native", 0.8, None, [file])
            record(tenant, str(row["id"]), f"source{number % 2}", [seen])(connection)


def test_what_recurs_is_proposed_with_its_evidence_and_promoted_by_a_person(
    gateway: Gateway, mine: httpx.Client, tenant: str
) -> None:
    sight(gateway, tenant, 2)
    assert mine.get("/v1/stacks/proposals").json()["items"] == []
    sight(gateway, tenant, 2)
    (response,) = mine.get("/v1/stacks/proposals").json()["items"]
    assert (response["id"], response["state"], response["jobs"], response["sources"]) == ("blorb", "open", 4, 2)
    assert response["definition"]["files"] == ["Blorbfile"]
    assert response["sightings"][0]["files"] == [{"file": "native/Blorbfile", "line": None, "pattern": "Blorbfile"}]
    assert mine.get(PATH).json()["version"] == 0

    mine.put(PATH, json={"yaml": OTHER})
    promoted = mine.post("/v1/stacks/proposals/build_system/blorb/promote", json={"files": ["Blorbfile", "*.blorb"]})
    assert promoted.status_code == 200, promoted.text
    assert [it["id"] for it in promoted.json()["definitions"]] == ["zorp", "blorb"]
    assert promoted.json()["definitions"][1]["files"] == ["Blorbfile", "*.blorb"]
    assert promoted.json()["yaml"].startswith("# ours")
    assert mine.get("/v1/stacks/proposals").json()["items"][0]["state"] == "promoted"
    again = mine.post("/v1/stacks/proposals/build_system/blorb/promote")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


def test_a_dismissed_proposal_stays_known(gateway: Gateway, mine: httpx.Client, tenant: str) -> None:
    sight(gateway, tenant, 3)
    (listed,) = mine.get("/v1/stacks/proposals").json()["items"]
    assert (listed["decided_by"], listed["decided_at"]) == (None, None)
    assert mine.post("/v1/stacks/proposals/build_system/blorb/dismiss").json()["state"] == "dismissed"
    (dismissed,) = mine.get("/v1/stacks/proposals", params={"at_least": 1}).json()["items"]
    assert dismissed["state"] == "dismissed"
    assert dismissed["decided_by"] == mine.get("/v1/session").json()["key_id"]
    assert dismissed["decided_at"] > listed["sightings"][0]["at"]


def test_proposals_are_one_tenants(gateway: Gateway, mine: httpx.Client, tenant: str, other: httpx.Client) -> None:
    sight(gateway, tenant, 3)
    assert "blorb" not in other.get("/v1/stacks/proposals", params={"at_least": 1}).text
    for act in ("promote", "dismiss"):
        assert other.post(f"/v1/stacks/proposals/build_system/blorb/{act}").status_code == 404
        assert mine.post(f"/v1/stacks/proposals/build_system/nothing/{act}").status_code == 404
        assert mine.post(f"/v1/stacks/proposals/tool/blorb/{act}").status_code == 422


def test_sightings_go_with_their_jobs(gateway: Gateway, mine: httpx.Client, tenant: str) -> None:
    sight(gateway, tenant, 3)
    with gateway.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM jobs WHERE tenant_id = %(t)s", {"t": tenant})
    assert mine.get("/v1/stacks/proposals", params={"at_least": 1}).json()["items"] == []
