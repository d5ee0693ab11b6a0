"""The asynchronous client is the same client."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from assay import AsyncClient, JobFailed, Unavailable
from scripts import generate_sync
from tests.assay.server import RESULT, Answer, Script, event, job, ok, problem, stream


def _client(*answers: Answer) -> tuple[AsyncClient, Script]:
    script = Script(list(answers))
    return AsyncClient("http://assay.test", "ask_key", transport=script), script


def test_a_job_is_a_future() -> None:
    async def walk() -> None:
        client, script = _client(
            problem(503, "overloaded"),
            ok(job(), 202),
            stream(event(1, "job_queued"), breaks=True),
            stream(event(2, "job_succeeded")),
            ok(job(state="succeeded", result=RESULT)),
        )
        async with client:
            result = await (await client.execute("print(42)")).result(timeout=10)
        assert result.stdout == "42\n"
        assert script.requests[0].headers["idempotency-key"] == script.requests[1].headers["idempotency-key"]

    asyncio.run(walk())


def test_uploads_failures_and_errors(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b")
    info = {"id": "f1", "name": "x.csv", "size": 3, "sha256": "0", "media_type": "text/csv"}

    async def walk() -> None:
        client, script = _client(problem(500, "internal_error"), ok(info, 201))
        async with client:
            assert (await client.files.put(path)).id == "f1"
            assert script.bodies == [b"a,b", b"a,b"]
        client, _ = _client(problem(503, "no_provider_configured"))
        async with client:
            with pytest.raises(Unavailable):
                await client.transform("x", [{"a": 1}])
        client, _ = _client(ok(job(state="dead")))
        async with client:
            with pytest.raises(JobFailed):
                await (await client.job("job_1")).result()
        client, _ = _client(stream(b"ab", b"c"))
        async with client:
            assert (await client.files.save("f1", tmp_path / "out")).read_bytes() == b"abc"

    asyncio.run(walk())


@pytest.mark.slow
def test_the_synchronous_client_is_generated_from_this_one() -> None:
    assert [name for name in generate_sync.MODULES if not generate_sync.current(name)] == [], "run `make generate`"
