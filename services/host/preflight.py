"""What is checked before anything is started: settings that fit, and given servers that answer."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from services.host.installation import HostSettings, ServerSettings, plain_scheme
from shared.disk import disk_of
from shared.flows.settings import FlowSettings
from shared.llm.settings import CallSettings, ProviderSettings
from shared.redis_urls import client
from shared.settings import JobSettings, PluginSettings, explained

#: Read by several processes; what only one reads, it checks itself (``preforker.run``).
_SHARED: tuple[Callable[[], object], ...] = (
    HostSettings, ServerSettings, PluginSettings, JobSettings, ProviderSettings, CallSettings, FlowSettings,
)  # fmt: skip
_SECONDS = 3.0
#: Postgres makes 66 MB of files and log before the first job.
_NEW_BYTES = 150_000_000


def wrong_settings() -> str | None:
    """Return which variables of the environment are invalid, and why; None when all are valid."""
    for settings in _SHARED:
        try:
            settings()
        except ValidationError as error:
            return explained(error) or str(error)
    return None


def no_space(home: Path) -> str | None:
    """Return why a new installation does not fit on the disk of its folder; None when it does."""
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    free = disk_of(there).free
    if free >= _NEW_BYTES:
        return None
    return (
        f"The disk of {home} has {free // 1_000_000} MB free, and a new installation needs "
        f"{_NEW_BYTES // 1_000_000} MB: free some, or name another folder by ASSAY_HOME."
    )


def unreachable_redis(url: str | None) -> str | None:
    """Return why the given Redis server cannot be used; None when it answers, or when none was given."""
    if url is None:
        return None
    from redis.exceptions import RedisError  # noqa: PLC0415 - only for a server that is given

    try:
        with closing(client(url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS, retry=None)) as redis:
            if redis.info("cluster").get("cluster_enabled"):
                return "REDIS_URL: this is a Redis Cluster, and Celery needs one server: use Sentinel for a standby."
    except ValueError as error:
        return f"REDIS_URL: {error}"
    except (RedisError, OSError) as error:
        parts = urlsplit(url)
        where = parts.path if parts.scheme == "unix" else f"{parts.hostname}:{parts.port or 6379}"
        return f"REDIS_URL: Redis at {where} does not answer ({_cause(error)}). Start it, or unset REDIS_URL."
    return None


def unreachable_postgres(url: str | None) -> str | None:
    """Return why the given Postgres server cannot be used; a missing database is created later."""
    if url is None:
        return None
    import psycopg  # noqa: PLC0415 - only for a server that is given

    try:
        psycopg.connect(plain_scheme(url), connect_timeout=round(_SECONDS)).close()
    except psycopg.Error as error:
        if re.search('database ".+" does not exist', str(error)) is None:  # a role or a local user may be missing too
            return f"DATABASE_URL: Postgres does not answer: {str(error).strip()}"
    return None


def _cause(error: Exception) -> str:
    inner = error.__cause__ or error.__context__ or error
    number = inner.errno if isinstance(inner, OSError) else None
    return os.strerror(number).lower() if number else type(error).__name__
