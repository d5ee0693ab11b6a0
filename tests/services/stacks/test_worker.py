"""A detect job from its row to its result: the real worker process, Postgres and Redis."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import RowMapping, select

from shared.jobs.delivery import notifications
from shared.jobs.record import submission
from shared.jobs.record.tables import job_forms
from shared.settings import StoreSettings
from tests.support.platform import Platform
from tests.support.rows import job_row


@pytest.fixture(scope="module")
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores)
    started.start("services.stacks")
    yield started
    started.stop()


def run(platform: Platform, **input: object) -> RowMapping:
    row = job_row(kind="detect", input=input)
    with platform.engine.begin() as connection:
        connection.execute(submission.submit(row))
    notifications.notify(platform.redis, "detect", str(row["id"]))
    return platform.wait(str(row["id"]), 60)


@pytest.mark.slow
def test_a_folder_is_detected_with_every_form(platform: Platform, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"name": "web", "dependencies": {"express": "4"}}))
    (tmp_path / "index.js").write_text("app.listen(3000)\n")
    job = run(platform, source={"path": str(tmp_path)}, mode="static")
    assert job["state"] == "succeeded", job["error"]
    assert job["result"]["services"][0]["primary"]["framework"] == "express"
    assert job["result"]["services"][0]["runtime"]["copy"] == []
    with platform.engine.connect() as connection:
        forms = connection.execute(select(job_forms.c.name).where(job_forms.c.job_id == job["id"])).scalars()
        assert set(forms) == {"universalbuild", "cyclonedx", "spdx", "sarif", "dockerfile", "source"}


def test_a_source_that_cannot_be_read_fails_with_its_code(platform: Platform, tmp_path: Path) -> None:
    job = run(platform, source={"path": str(tmp_path / "nowhere")})
    assert (job["state"], job["error"]["code"], job["error"]["status"]) == ("failed", "source_unreadable", 422)
    assert str(tmp_path) not in json.dumps(job["error"])


def test_full_without_a_provider_warns(platform: Platform, tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module x\n")
    job = run(platform, source={"path": str(tmp_path)}, mode="full")
    assert job["warnings"] == ["no model provider is configured: the detection ran as static"]
