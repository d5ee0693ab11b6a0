"""What each process loads before its first job: memory that an idle installation holds for as long as it runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


@pytest.mark.slow
@pytest.mark.parametrize(
    "service", ["broker", "execution", "flows", "gateway", "host", "reconciler", "search", "stacks"]
)
def test_a_process_starts_without_the_large_libraries_of_others(service: str) -> None:
    program = f"import sys, services.{service}.__main__\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    superfluous = (_NOBODYS | {name for name, users in _USERS.items() if service not in users}) & {
        *loaded.stdout.split()
    }

    assert not superfluous
