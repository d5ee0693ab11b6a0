"""``python -m services.host.first_job URL``: submit a job whose answer is known, as ``helm test`` does; else status 1.

It needs DATABASE_URL, makes a key that lasts ten minutes, and ends it. It waits for a gateway and a worker to be ready.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from shared import keys
from shared.db import connect
from shared.settings import DatabaseSettings, run

_SECONDS = 300.0
_PAUSE = 2.0
_TENANT = "first-job"
_JOB = {"kind": "execute", "input": {"language": "python", "code": "print(6 * 7)"}}


def main() -> int:
    url, database = sys.argv[1].rstrip("/"), DatabaseSettings().database_url
    deadline = time.monotonic() + float(os.environ.get("ASSAY_FIRST_JOB_SECONDS", _SECONDS))
    with _key(database) as key:
        while True:
            outcome = _attempt(url, key)
            if outcome is None:
                print(f"the job ran in its sandbox at {url} and printed 42")  # noqa: T201
                return 0
            if time.monotonic() > deadline:
                print(f"the first job did not succeed: {outcome}", file=sys.stderr)  # noqa: T201
                return 1
            print(f"not yet: {outcome}", flush=True)  # noqa: T201
            time.sleep(_PAUSE)


@contextmanager
def _key(database: str) -> Iterator[str]:
    engine = connect(database, connections=1)
    try:
        issued = keys.issue(_TENANT, "first job", ["read", "write"], datetime.now(UTC) + timedelta(minutes=10))
        with engine.begin() as connection:
            row = connection.execute(issued.statement).mappings().one()
        try:
            yield issued.key
        finally:
            with engine.begin() as connection:
                connection.execute(keys.revoke(row["id"], _TENANT))
    finally:
        engine.dispose()


def _attempt(url: str, key: str) -> str | None:
    """Submit the job and wait for its end; return what is wrong, None when the answer is right."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Prefer": "wait=30"}
    request = urllib.request.Request(f"{url}/v1/jobs", json.dumps(_JOB).encode(), headers, method="POST")  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            job = json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return f"{error.code}: {error.read(500).decode('utf-8', 'replace')}"
    except (OSError, ValueError) as error:
        return f"{url} does not answer: {error}"
    return _wrong(job)


def _wrong(job: Mapping[str, Any]) -> str | None:
    result = job.get("result") or {}
    if job["state"] == "succeeded" and result.get("verdict") == "ok" and result.get("stdout") == "42\n":
        return None
    why = (job.get("error") or {}).get("detail") or (job.get("waiting") or {}).get("detail") or result
    return f"the job is {job['state']}: {why}"


if __name__ == "__main__":
    run(lambda: sys.exit(main()))
