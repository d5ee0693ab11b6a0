"""``python -m services.host.passwords FOLDER``: draw the passwords of a composition once, a folder for each service.

Each service mounts its own folder and sees no other's. What is set in the environment (as ``.env`` of an installation
that had its passwords there) is taken instead; what was drawn before stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from migrations.roles import PREFIX, SERVICES, variable_of
from services.host.redis_users import EVERYTHING, rights_of

_OWN = "own"
_POSTGRES, _REDIS, _QDRANT = "POSTGRES_PASSWORD", "REDIS_PASSWORD", "QDRANT_API_KEY"


def write(folder: Path, given: Mapping[str, str]) -> None:
    """Write every file; safe to repeat."""
    of_redis = {service: f"{_REDIS}_{service.upper()}" for service in SERVICES}
    names = (_POSTGRES, _REDIS, _QDRANT, *map(variable_of, SERVICES), *of_redis.values())
    drawn = {name: _drawn(folder / _OWN / name, given.get(name)) for name in names}
    _keep(folder / "postgres" / "password", drawn[_POSTGRES])
    users = [_user("assay", drawn[_REDIS], EVERYTHING)]
    users += [_user(service, drawn[name], rights_of(service)) for service, name in of_redis.items()]
    _keep(folder / "redis" / "users.acl", "\n".join(["user default on nopass -@all +ping", *users, ""]))
    _keep(folder / "qdrant" / "config.yaml", f"service:\n  api_key: {json.dumps(drawn[_QDRANT])}\n")
    _keep(folder / "migrate" / "database_url", _url("assay", drawn[_POSTGRES]))
    for service in SERVICES:
        password = drawn[variable_of(service)]
        _keep(folder / "migrate" / service, password)
        _keep(folder / service / "database_url", _url(PREFIX + service, password))
        secret = quote(drawn[of_redis[service]], safe="")
        _keep(folder / service / "redis_url", f"redis://{service}:{secret}@redis:6379/0")
    _keep(folder / "search" / "qdrant_api_key", drawn[_QDRANT])


def _user(name: str, password: str, rules: str) -> str:
    """Return a line of Redis' file of users."""
    return f"user {name} on #{hashlib.sha256(password.encode()).hexdigest()} {rules}"


def _url(user: str, password: str) -> str:
    return f"postgresql://{user}:{quote(password, safe='')}@postgres:5432/assay"


def _drawn(file: Path, given: str | None) -> str:
    """Return what is given, else what was drawn before, else a new one."""
    password = given or (file.read_text() if file.exists() else secrets.token_hex(24))
    _keep(file, password)
    return password


def _keep(file: Path, text: str) -> None:
    """Replace the file whole; the servers that read it run as other users, in containers that see this folder only."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444), "w") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    draft.replace(file)


if __name__ == "__main__":
    write(Path(sys.argv[1]), os.environ)
