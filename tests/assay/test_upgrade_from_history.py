"""``assay upgrade`` of an installation that an older commit of this repository started, with jobs that wait and run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from shared import VERSION
from tests.assay.terminal import ROOT, Shell, plain
from tests.support.older import unpack
from tests.support.wait import until

pytestmark = [pytest.mark.slow(seconds=20), pytest.mark.chaos, pytest.mark.timeout(300)]

_COMMIT = "e0235136555c"  #: of 2026-11-26, whose tables are those of the baseline; take a newer one when libraries part
_ENDED, _LEFT = 6, 8


@pytest.fixture
def older(servers_folder: Path) -> Iterator[Shell]:
    """A terminal next to a running installation of the older version."""
    code = servers_folder / "older"
    code.mkdir()
    unpack(code, _COMMIT)
    env = {
        **plain(),
        "PYTHONPATH": str(code),
        "ASSAY_HOME": str(servers_folder / "upgraded"),
        "ASSAY_REPLICAS": "search=0,flows=0,stacks=0",
        "ASSAY_GRACE_SECONDS": "1",
    }
    shell = Shell(code, env)
    try:
        _older(shell, "up", "-d")
        yield shell
    finally:
        _newer(shell)("down")
        shutil.rmtree(code)


def test_jobs_of_an_older_version_end_in_this_one(older: Shell) -> None:
    with _client(older) as client:
        file = client.post("/v1/files", files={"file": ("kept.txt", b"kept")}).raise_for_status().json()["id"]
        ended = [_submit(client, f"{number} * 2") for number in range(_ENDED)]
        until(lambda: all(_job(client, each)["state"] == "succeeded" for each in ended), "jobs have ended", 60)
        before = [_job(client, each)["result"] for each in ended]
        left = [_submit(client, f"import time; time.sleep(2); {number} * 2") for number in range(_LEFT)]
        until(lambda: "running" in {_job(client, each)["state"] for each in left}, "a job runs", 60)

    ran = _newer(older)("upgrade")

    assert ran.status == 0, ran.talk
    assert f"Assay {VERSION} runs, after " in ran.talk
    with _client(older) as client:
        assert [_job(client, each)["result"]["value"] for each in ended] == [each["value"] for each in before]
        states = ("succeeded", "failed", "cancelled")
        until(lambda: all(_job(client, each)["state"] in states for each in left), "the others have ended", 120)
        told = [_job(client, each) for each in left]
        assert [(each["state"], each["result"]["value"]["text"]) for each in told] == [
            ("succeeded", str(number * 2)) for number in range(_LEFT)
        ]
        listed = [each["id"] for each in client.get("/v1/jobs?limit=100").raise_for_status().json()["items"]]
        assert sorted(listed) == sorted(ended + left)
        assert client.get(f"/v1/files/{file}/content").raise_for_status().content == b"kept"


def _older(shell: Shell, *words: str) -> None:
    command = [sys.executable, "-P", "-m", "assay", *words]
    ran = subprocess.run(command, env=dict(shell.env), cwd=shell.folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def _newer(shell: Shell) -> Shell:
    return Shell(shell.folder.parent, {**shell.env, "PYTHONPATH": str(ROOT)})


def _client(shell: Shell) -> httpx.Client:
    status = _newer(shell)("status", "-o", "json").json
    return httpx.Client(base_url=status["url"], headers={"Authorization": f"Bearer {status['api_key']}"}, timeout=60)


def _submit(client: httpx.Client, code: str) -> str:
    asked = {"kind": "execute", "input": {"language": "python", "code": code}}
    return str(client.post("/v1/jobs", json=asked).raise_for_status().json()["id"])


def _job(client: httpx.Client, job: str) -> Any:
    return client.get(f"/v1/jobs/{job}").raise_for_status().json()
