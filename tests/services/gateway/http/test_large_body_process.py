"""A reader of large bodies that does not start: named to the client, in readiness and by the doctor, until it does."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from services.gateway.settings import Settings
from tests.services.gateway.conftest import Gateway, serving
from tests.services.gateway.http.test_problems import assert_problem
from tests.support.wait import until

LARGE = {"kind": "execute", "input": {"language": "python", "code": "#" * 100_000}}


@pytest.mark.slow(seconds=20)
def test_a_reader_of_large_bodies_that_does_not_start_is_named_until_it_does(
    gateway: Gateway, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_long = tmp_path / ("d" * 120)  # for the address of a Unix socket
    too_long.mkdir()
    key = gateway.key("acme", "read", "write", "admin")
    headers = {"Authorization": f"Bearer {key}"}
    with serving(settings) as url, httpx.Client(base_url=url, headers=headers, timeout=120) as client:

        def reason() -> str | None:
            named = client.get("/readyz").json()["dependencies"].get("large_bodies")
            return None if named is None else str(named["reason"])

        assert reason() is None
        monkeypatch.setattr(tempfile, "tempdir", str(too_long))
        problem = assert_problem(client.post("/v1/jobs", json=LARGE), 503, "overloaded")
        assert "their reader does not start" in str(problem["detail"])
        assert "does not start" in until(reason, "readiness names it")
        checks: list[dict[str, Any]] = client.get("/v1/doctor").json()["items"]
        [check] = [each for each in checks if each["name"] == "large_bodies"]
        assert (check["ok"], bool(check["remedy"])) == (False, True)
        assert client.get("/readyz").json()["status"] == "degraded"
        small = {"kind": "execute", "input": {"language": "python", "code": "1"}}
        assert client.post("/v1/jobs", json=small).status_code == 202
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        until(lambda: reason() is None, "it starts again by itself", 60)
        assert client.post("/v1/jobs", json=LARGE).status_code == 202
