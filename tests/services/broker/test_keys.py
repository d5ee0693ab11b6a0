"""The execution worker runs unreviewed code: no provider's key is in its reach."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from services.host.folder import InstallationFolder, Status, current_status
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until

pytestmark = pytest.mark.slow(seconds=15)
ROOT = Path(__file__).resolve().parents[3]
KEY = "gsk_" + "0f1e2d3c4b5a69788796a5b4c3d2e1f0"  # made up


@contextmanager
def installation(folder: Path, variables: Mapping[str, str]) -> Iterator[InstallationFolder]:
    servers = ("DATABASE_URL", "REDIS_URL", "QDRANT_URL", "BLOB_URL")
    plain = {name: value for name, value in os.environ.items() if name not in servers}
    own = {"ASSAY_HOME": str(folder), "ASSAY_PORT": "0", "ASSAY_REPLICAS": "search=0,flows=0,stacks=0,reconciler=0"}
    command = [sys.executable, "-m", "services.host", "up"]
    process = subprocess.Popen(command, cwd=ROOT, env={**plain, **own, **variables}, stdout=subprocess.DEVNULL)
    try:
        yield InstallationFolder(folder)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def ready(folder: InstallationFolder, other_than: int | None = None) -> Status:
    """The status once all is ready, with another execution worker than that one."""

    def is_ready() -> Status | None:
        status = current_status(folder)
        return status if status and status.ready and pid_of(status, "execution-1") != other_than else None

    return until(is_ready, "the installation is ready", 120)


def pid_of(status: Status, name: str) -> int:
    return next(service.pid for service in status.services if service.name == name and service.pid)


def session_of(leader: int) -> list[int]:
    """The process and what it has started, its sandboxes too."""
    sessions = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        sessions[int(entry.parent.name)] = (int(fields[1]), int(fields[3]))
    family = {leader} | {pid for pid, (_, session) in sessions.items() if session == leader}
    while more := {pid for pid, (parent, _) in sessions.items() if parent in family} - family:
        family |= more
    return sorted(family)


def holds(pid: int, secret: bytes) -> bool:
    """Whether the environment or the memory of a process holds the secret. Raises: PermissionError."""
    if secret in Path(f"/proc/{pid}/environ").read_bytes():
        return True
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            start, end = (int(part, 16) for part in span.split("-"))
            memory.seek(start)
            try:
                if secret in memory.read(end - start):
                    return True
            except (OSError, ValueError, OverflowError):
                continue  # pages of the kernel
    return False


def test_neither_environment_nor_memory_of_the_execution_worker_holds_a_key(
    servers_folder: Path, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play({"reply": "result = data"}, {"reply": "DONE"})
    variables = {"GROQ_API_KEY": KEY, "GROQ_BASE_URL": scripted_llm.base_url("groq")}
    with installation(servers_folder / "keys", variables) as folder:
        first = ready(folder)
        # The one that follows is forked when the prefork process has started those that do hold the key.
        os.kill(pid_of(first, "execution-1"), signal.SIGKILL)
        status = ready(folder, other_than=pid_of(first, "execution-1"))
        job = _transform(status)

        assert job["usage"]["llm_calls"] >= 1, job
        assert {call["outcome"] for call in _calls(status, str(job["id"]))} == {"ok"}
        try:
            assert holds(pid_of(status, "broker-1"), KEY.encode()), "this is how a key would be seen"
        except PermissionError:
            pytest.skip("the memory of other processes cannot be read here")
        worker = pid_of(status, "execution-1")
        assert not holds(worker, KEY.encode())
        assert [pid for pid in session_of(worker) if _holds_if_readable(pid)] == []


def _holds_if_readable(pid: int) -> bool:
    try:
        return holds(pid, KEY.encode())
    except (FileNotFoundError, ProcessLookupError, PermissionError):  # gone, or a sandbox that hides from this user too
        return False


def _client(status: Status) -> httpx.Client:
    return httpx.Client(base_url=status.url, headers={"Authorization": f"Bearer {status.api_key}"}, timeout=90)


def _transform(status: Status) -> dict[str, Any]:
    given = {"task": "the same", "data": [{"name": "data", "csv": "a\n1\n"}]}
    with _client(status) as client:
        submitted = client.post("/v1/jobs", json={"kind": "transform", "input": given}, headers={"Prefer": "wait=60"})
        job: dict[str, Any] = submitted.json()
    assert job["state"] in ("succeeded", "failed"), json.dumps(job)
    return job


def _calls(status: Status, job_id: str) -> list[dict[str, object]]:
    with _client(status) as client:
        items: list[dict[str, object]] = client.get(f"/v1/jobs/{job_id}/llm-calls").json()["items"]
    return items
