"""A language is a folder and a row: with ``calc`` registered, code in it runs through HTTP and values cross."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2 as httpx
import pytest

from shared import keys
from shared.settings import StoreSettings
from tests.services.execution.languages import toy_calc
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.wait import until

pytestmark = pytest.mark.slow
_PLUGIN = {"ASSAY_PLUGINS": toy_calc.__name__}


@pytest.fixture(scope="module")
def client(stores: StoreSettings) -> Iterator[httpx.Client]:
    """A gateway and an execution worker that load the plugin."""
    platform = Platform(stores)
    port = str(free_port())
    platform.start("services.gateway", ASSAY_HOST="127.0.0.1", ASSAY_PORT=port, **_PLUGIN)
    platform.start("services.execution", **_PLUGIN)
    with platform.engine.begin() as connection:
        key = keys.create(connection, "acme", "test", ("read", "write"))[1]
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=100) as client:

        def is_ready() -> bool:
            try:
                languages = client.get("/v1/capabilities").json()["languages"]
            except httpx.TransportError:
                return False
            return bool(languages["calc"]["available"])

        until(is_ready, "a worker that has the language", 120)
        yield client
    platform.stop()


def run(client: httpx.Client, kind: str, **input: object) -> dict[str, object]:
    job = client.post("/v1/jobs", json={"kind": kind, "input": input}, headers={"Prefer": "wait=90"}).json()
    assert job["state"] == "succeeded", job
    result: dict[str, object] = job["result"]
    return result


def test_code_in_it_runs_through_http(client: httpx.Client) -> None:
    result = run(client, "execute", language="calc", code="a = 2 * 3\na + 36")

    assert (result["verdict"], result["value"]) == ("ok", {"type": "number", "shape": None, "text": "42"})


def test_its_errors_are_the_users(client: httpx.Client) -> None:
    result = run(client, "execute", language="calc", code="b + 1")

    assert result["verdict"] == "user_error"


def test_values_cross_into_it_and_out_of_it(client: httpx.Client) -> None:
    markdown = "```python exec\na = 20\n```\n\n```sums exec\nb = a * 2 + 2\n```\n\n```python exec\nprint(b + 0)\n```\n"
    result = run(client, "document", markdown=markdown)

    blocks = result["blocks"]
    assert isinstance(blocks, list)
    assert [block["language"] for block in blocks] == ["python", "calc", "python"]
    assert blocks[-1]["outputs"][0]["text"] == "42\n", blocks


def test_the_api_lists_it(client: httpx.Client) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]

    assert schemas["LanguageName"]["enum"][-1] == "calc"
    assert client.get("/v1/capabilities").json()["languages"]["calc"]["version"] == "1.0"


def test_a_language_that_nobody_registered_is_refused(client: httpx.Client) -> None:
    refused = client.post("/v1/jobs", json={"kind": "execute", "input": {"language": "cobol", "code": "x"}})

    assert refused.status_code == 422
    assert "'sql' or 'calc'" in refused.text
