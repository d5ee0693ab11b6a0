"""The OpenAPI document: whole, true, and without outside assets."""

from __future__ import annotations

import re
from typing import Any

import httpx2 as httpx
import jsonschema_rs
import pytest

from services.gateway.http.problems import by_code
from tests.services.gateway.conftest import Gateway
from tests.shared.test_faults import patterns_of, without_words

METHODS = {"get", "put", "post", "delete", "patch"}


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    ]


@pytest.mark.slow
def test_every_operation_has_a_name_a_summary_and_its_errors(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(ids)) == len(ids)
    for method, path, operation in operations(document):
        where = f"{method} {path}"
        assert re.fullmatch(r"[a-z][a-z_]+", operation["operationId"]), where
        assert operation["summary"], where
        assert operation["tags"], where
        answers = operation["responses"]
        assert any(status.startswith("2") for status in answers), where
        assert {"500", "503"} <= set(answers), where
        for status, answer in answers.items():
            if status >= "400":
                assert list(answer["content"]) == ["application/problem+json"], (where, status)
        if path.startswith("/v1/"):
            keyless = path == "/v1/sessions"
            assert operation["security"] == [{"key": []}, *([{}] if keyless else [])], where
            assert {"401", "403", "429"} <= set(answers), where
            if method == "post" and not keyless:
                assert any(each["name"] == "Idempotency-Key" for each in operation["parameters"]), where
                assert {"400", "409", "413", "415", "422"} <= set(answers), where
            if "{" in path:
                assert "404" in answers, where


@pytest.mark.slow
def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    followed: set[str] = set()
    broken: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            if isinstance(reference := value.get("$ref"), str):
                followed.add(reference)
                target: Any = document
                for step in reference.removeprefix("#/").split("/"):
                    target = target.get(step) if isinstance(target, dict) else None
                if target is None:
                    broken.append(reference)
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(document)
    assert broken == []
    assert len(followed) > 50


@pytest.mark.slow
def test_every_example_fits_its_schema(document: dict[str, Any]) -> None:
    shown = 0
    for _, path, operation in operations(document):
        for content in operation.get("requestBody", {}).get("content", {}).values():
            examples = [example["value"] for example in content.get("examples", {}).values()]
            examples += [content["example"]] if "example" in content else []
            schema = {**content["schema"], "components": document["components"]}
            for example in examples:
                shown += 1
                errors = list(jsonschema_rs.validator_for(schema).iter_errors(example))
                assert errors == [], (path, example)
    assert shown >= 15


def test_the_pages_need_nothing_from_outside(client: httpx.Client) -> None:
    pages = {
        path: client.get(path) for path in ("/docs", "/docs/errors", "/docs/assets/docs.js", "/docs/assets/docs.css")
    }
    for path, page in pages.items():
        assert page.status_code == 200, path
        assert "http://" not in page.text, path
        assert "https://" not in page.text, path
        assert "default-src 'none'" in page.headers["content-security-policy"]
        for asset in re.findall(r'(?:src|href)="(/docs/[^"]+)"', page.text):
            assert client.get(asset).status_code == 200
    assert client.get("/docs/assets/..%2Fdocs.html").status_code == 404
    assert client.get("/docs/assets/nothing.js").status_code == 404
    for code in by_code():
        assert f'id="{code}"' in pages["/docs/errors"].text


@pytest.mark.slow
def test_the_document_is_served_as_it_is(client: httpx.Client, document: dict[str, Any]) -> None:
    assert client.get("/openapi.json").json() == document


@pytest.mark.slow(seconds=12)
@pytest.mark.parametrize("fitting", [True, False], ids=["fitting", "unfitting"])
def test_whatever_is_sent_the_answer_is_one_that_was_promised(
    gateway: Gateway, document: dict[str, Any], fitting: bool
) -> None:
    from tests.services.gateway.http.promises import broken_promises  # noqa: PLC0415  # takes seconds, in every worker

    key = gateway.key("fuzz", "read", "write", "admin")
    tried = [
        (method.upper(), path)
        for method, path, _ in operations(document)
        if path.startswith("/v1/") and path != "/v1/events"  # a stream without an end: streams/test_changes.py
    ]
    assert list(broken_promises(document, tried, gateway.url, key, fitting=fitting)) == []


def test_the_webhook_is_described_with_its_headers_and_its_body(document: dict[str, Any]) -> None:
    notice = document["webhooks"]["job.finished"]["post"]
    assert [header["name"] for header in notice["parameters"]] == [
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
    ]
    reference = notice["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    body = document["components"]["schemas"][reference.rpartition("/")[2]]
    assert {"type", "timestamp", "data"} <= set(body["properties"])


def test_an_answer_that_may_be_held_says_so(document: dict[str, Any]) -> None:
    for path, method in (("/v1/jobs", "post"), ("/v1/jobs/{id}", "get"), ("/v1/jobs/{id}/replay", "post")):
        assert "Prefer" in {each["name"] for each in document["paths"][path][method]["parameters"]}


def test_every_form_of_a_parameter_is_said_in_words(document: dict[str, Any]) -> None:
    header_of_keys = "^[!-~]+$"  # checked by a rule of its own, not by pydantic
    assert not without_words(set(patterns_of(document)) - {header_of_keys})
