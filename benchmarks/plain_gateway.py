"""The peer of the gateway: FastAPI, one psycopg insert, and Celery's ``apply_async`` in a thread."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from psycopg_pool import AsyncConnectionPool
from uuid_utils import uuid7

from benchmarks import bare_celery


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncConnectionPool(os.environ["DATABASE_URL"], min_size=4, max_size=10) as pool:
        app.state.pool = pool
        app.state.noop = bare_celery.task()
        yield


app = FastAPI(lifespan=_lifespan)


@app.post("/v1/jobs", status_code=202)
async def submit(request: Request) -> dict[str, Any]:
    body = await request.json()
    job_id = str(uuid7())
    async with request.app.state.pool.connection() as connection:
        await connection.execute(
            "INSERT INTO plain_jobs (id, kind, input) VALUES (%s, %s, %s)",
            (job_id, body["kind"], json.dumps(body["input"])),
        )
    await asyncio.to_thread(request.app.state.noop.apply_async, (job_id,))
    return {"id": job_id, "state": "queued"}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["ASSAY_PORT"]), log_level="warning", access_log=False)
