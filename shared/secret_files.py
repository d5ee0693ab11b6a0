"""Secrets from files: NAME_FILE names the file that holds NAME, as Docker's and Kubernetes' secrets are mounted.

A secret in the environment of a container is shown by its runtime and inherited by every process.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

from shared.pasted import bare

_SUFFIX = "_FILE"
_NAMES = frozenset(
    {"DATABASE_URL", "REDIS_URL", "QDRANT_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
)
_MAX_BYTES = 1 << 16


class SecretFileError(ValueError):
    """A file that NAME_FILE names cannot be used; the text holds no secret."""


def read_into(environment: MutableMapping[str, str]) -> None:
    """Set NAME for each NAME_FILE. Raises: SecretFileError."""
    for variable, path in list(environment.items()):
        name = variable.removesuffix(_SUFFIX)
        if name == variable or not path or not _is_secret(name):
            continue
        if environment.get(name):
            raise SecretFileError(f"{name} and {variable} are both set: keep one")
        environment[name] = _content(variable, Path(path))


def _is_secret(name: str) -> bool:
    return name in _NAMES or name.endswith("_API_KEY") or name.startswith("ASSAY_DATABASE_PASSWORD_")


def _content(variable: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            text = bare(file.read(_MAX_BYTES).decode())
    except OSError as error:
        raise SecretFileError(f"{variable}: {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SecretFileError(f"{variable}: {path} is not text") from None
    if not text:
        raise SecretFileError(f"{variable}: {path} is empty")
    return text
