"""The OpenAPI document: whole, true, and without outside assets."""

from __future__ import annotations

import re
from typing import Any

import httpx2 as httpx
import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import checks
from schemathesis.generation import GenerationMode

from services.gateway.app import create_app
from services.gateway.http.problems import by_code
from shared.settings import StoreSettings
from tests.services.gateway.conftest import Gateway, settings_of

CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
METHODS = {"get", "put", "post", "delete", "patch"}


def document() -> dict[str, Any]:
    stores = StoreSettings(database_url="postgresql://x", redis_url="redis://x", blob_url="file:///x", qdrant_url=None)
    return create_app(settings_of(stores)).openapi()


def operations(description: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, item in description["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    ]


@pytest.mark.slow
def test_every_operation_has_a_name_a_summary_and_its_errors() -> None:
    description = document()
    assert description["openapi"].startswith("3.1")
    ids = [operation["operationId"] for _, _, operation in operations(description)]
    assert len(set(ids)) == len(ids)
    for method, path, operation in operations(description):
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
            assert operation["security"] == [{"key": []}], where
            assert {"401", "403", "429"} <= set(answers), where
            if method == "post":
                assert any(each["name"] == "Idempotency-Key" for each in operation["parameters"]), where
                assert {"400", "409", "413", "415", "422"} <= set(answers), where
            if "{" in path:
                assert "404" in answers, where


@pytest.mark.slow
def test_every_reference_leads_somewhere() -> None:
    description = document()
    followed: set[str] = set()
    broken: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            if isinstance(reference := value.get("$ref"), str):
                followed.add(reference)
                target: Any = description
                for step in reference.removeprefix("#/").split("/"):
                    target = target.get(step) if isinstance(target, dict) else None
                if target is None:
                    broken.append(reference)
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(description)
    assert broken == []
    assert len(followed) > 50


@pytest.mark.slow
def test_every_example_fits_its_schema() -> None:
    description = document()
    shown = 0
    for _, path, operation in operations(description):
        for content in operation.get("requestBody", {}).get("content", {}).values():
            examples = [example["value"] for example in content.get("examples", {}).values()]
            examples += [content["example"]] if "example" in content else []
            schema = {**content["schema"], "components": description["components"]}
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
def test_the_document_is_served_as_it_is(client: httpx.Client) -> None:
    assert client.get("/openapi.json").json() == document()


@pytest.fixture(scope="module")
def tester(gateway: Gateway) -> Any:
    """What calls any operation with any values, and holds the answer against the document."""
    schema = schemathesis.openapi.from_dict(document())
    key = gateway.key("fuzz", "read", "write", "admin")
    return schema, gateway.url, {"Authorization": f"Bearer {key}"}


OPERATIONS = [(method.upper(), path) for method, path, _ in operations(document()) if path.startswith("/v1/")]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["fitting", "unfitting"])
def test_whatever_is_sent_the_answer_is_one_that_was_promised(
    tester: Any, method: str, path: str, mode: GenerationMode
) -> None:
    schema, url, headers = tester
    operation = schema[path][method]

    @given(data=st.data())
    @settings(
        max_examples=6,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def run(data: st.DataObject) -> None:
        try:
            case = data.draw(operation.as_strategy(generation_mode=mode))
        except Unsatisfiable:
            return  # there is nothing that would not fit
        answer = case.call(base_url=url, headers=headers)
        assert answer.status_code != 500
        case.validate_response(answer, checks=CHECKS)

    run()
