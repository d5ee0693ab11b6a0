"""What each process loads before its first job: memory that an idle installation holds for as long as it runs."""

from __future__ import annotations

import os
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
