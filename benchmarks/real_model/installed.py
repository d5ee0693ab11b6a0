"""An installation of its own as a person starts it: two variables and ``assay up``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from assay import Client
from assay.calls import rest
from assay.transport import find_target
from services.host.environment import python_path

ROOT = Path(__file__).resolve().parents[2]
_FOREIGN = ("ASSAY_", "DATABASE_URL", "REDIS_URL", "QDRANT_", "BLOB_URL", "ANTHROPIC_", "GROQ_", "CEREBRAS_", "OPENAI_")
#: The longest answers, by role: a small model that has begun to repeat itself repeats itself until it is cut.
_CAP = 300


@contextmanager
def installation(
    model_url: str, model: str, cap: int = _CAP, settings: Mapping[str, str] | None = None
) -> Iterator[dict[str, str]]:
    """Yield the environment of ``assay`` in an installation whose only model is this one of ``model_url``."""
    home = Path(tempfile.mkdtemp(prefix="assay-real-", dir="/tmp"))
    home.chmod(0o755)
    env = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    env |= {
        "ASSAY_HOME": str(home),
        "ASSAY_PORT": "0",
        "ASSAY_CONSOLE": "off",
        "PYTHONPATH": python_path(os.environ),
        "OPENAI_BASE_URL": model_url,
        **(settings or {}),
    }
    try:
        _assay(env, "up", "-d")
        with client_of(env) as client:
            roles = client.send(rest.models()).roles
        for role in roles:
            _assay(env, "models", "set", role, f"openai/{model}", "-p", f"max_tokens={cap}")
        yield env
    finally:
        _assay(env, "down")
        shutil.rmtree(home, ignore_errors=True)


def client_of(env: dict[str, str]) -> Client:
    target = find_target(environment=env)
    return Client(target.url, target.api_key, timeout=60)


@contextmanager
def installed(model_url: str) -> Iterator[Client]:
    """A client of an installation whose only models are those of ``model_url``."""
    with installation(model_url, "smollm2") as env, client_of(env) as client:
        yield client


def _assay(env: dict[str, str], *words: str) -> None:
    command = [sys.executable, "-P", "-m", "assay", *words]
    done = subprocess.run(command, env=env, cwd=env["ASSAY_HOME"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"assay {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
