"""What each process loads before its first job: memory that an idle installation holds for as long as it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import forks

_ROOT = Path(__file__).resolve().parents[2]
_NOBODYS = {
    *("anthropic", "boto3", "botocore", "duckdb", "grpc", "IPython", "matplotlib", "networkx", "onnxruntime"),
    *("openai", "pandas", "PIL", "polars", "pyarrow", "qdrant_client", "scipy", "sklearn", "tokenizers"),
}
#: Large ones that some have.
_USERS = {
    "celery": {"execution", "search", "flows", "stacks"},
    "fastapi": {"gateway"},
    "numpy": {"search"},
    "uvicorn": {"gateway"},
}
#: What the processes import in common: none of the large ones, or every test would fail.
_OF_ALL = ("shared.db", "shared.kinds", "shared.jobs.delivery.notifications", "shared.jobs.record.statements")


@pytest.mark.slow
@pytest.mark.parametrize(
    "service", ["broker", "execution", "flows", "gateway", "host", "reconciler", "search", "stacks"]
)
def test_a_process_starts_without_the_large_libraries_of_others(service: str) -> None:
    loaded = forks.run("tests.services.loaded", [f"services.{service}.__main__"], os.environ, _ROOT, imports=_OF_ALL)
    assert loaded.status == 0, loaded.talk
    superfluous = (_NOBODYS | {name for name, users in _USERS.items() if service not in users}) & {*loaded.out.split()}

    assert not superfluous


def _loaded_by(program: str) -> set[str]:
    """Return the modules that a new interpreter has after the program."""
    program += "; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=_ROOT, capture_output=True, text=True, check=True)
    return {*done.stdout.split()}


def test_the_supervisor_leaves_the_database_to_the_process_that_prepares_it() -> None:
    loaded = _loaded_by("import services.host.supervisor, services.host.__main__")

    assert not {"alembic", "celery", "opentelemetry", "psycopg", "redis", "sqlalchemy"} & loaded


@pytest.mark.slow
def test_what_all_processes_are_forked_from_has_what_several_need_and_nothing_for_a_terminal() -> None:
    worker = "app.Worker.start = lambda self: None; celery_app.run_worker(app, ['flow'], 'flows@host', 1)"
    loaded = _loaded_by(
        "from services.host import prefork_process as prefork; prefork.import_common(['groq']);"
        "import sys, threading; before = {*sys.modules}; assert threading.active_count() == 1;"
        "from shared.jobs import celery_app; from shared.settings import CelerySettings;"
        "app = celery_app.celery_app(CelerySettings(redis_url='redis://127.0.0.1:1'), 'flows');"
        f"{worker}; print('later', *({{*sys.modules}} - before), 'end')"
    )

    assert {"groq", "httpx", "httpx2", "shared.flows.session", "shared.jobs.worker"} <= loaded
    assert not {"alembic", "celery.bin", "prompt_toolkit", "pygments", "rich"} & loaded
