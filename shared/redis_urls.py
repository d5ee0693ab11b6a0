"""Every form of REDIS_URL: a server, with TLS or without, a unix socket, or Sentinels that know the primary.

- ``redis://user:password@host:6379/0``, ``unix:///run/redis.sock?db=0``
- ``rediss://...?ssl_ca_certs=/etc/ca.pem``: the certificate is verified, and so is its name, unless the URL says
  otherwise (``ssl_cert_reqs``, ``ssl_check_hostname``, as redis-py spells them)
- ``redis+sentinel://user:password@host-1:26379,host-2:26379/NAME/0?sentinel_password=...``, or ``rediss+sentinel://``
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

if TYPE_CHECKING:
    from redis import Redis
    from redis.asyncio import Redis as AsyncRedis

_SENTINEL_PORT = 26379
_SENTINEL = "sentinel_"


@dataclass(frozen=True)
class Sentinels:
    """Who knows the primary, and how to log in to both."""

    addresses: tuple[tuple[str, int], ...]
    name: str  #: of the group of servers
    db: int
    login: Mapping[str, str]  #: ``username`` and ``password`` for the servers
    own: Mapping[str, str]  #: for the Sentinels
    tls: Mapping[str, Any] = field(default_factory=dict)  #: for both; empty without TLS


def client(url: str, **options: Any) -> Redis:  # noqa: ANN401 - redis-py's
    """Return a client of Redis. Raises: ValueError for an invalid URL."""
    import redis  # noqa: PLC0415 - not loaded where nothing is shared
    from redis import sentinel  # noqa: PLC0415

    group = sentinels(url)
    if group is None:
        return redis.Redis.from_url(url, **options)
    own = {**options, **group.own, **group.tls}
    manager: Any = sentinel.Sentinel(group.addresses, sentinel_kwargs=own, **options, **group.login, **group.tls)  # type: ignore[no-untyped-call]
    primary: Redis = manager.master_for(group.name, db=group.db)
    return primary


def async_client(url: str, **options: Any) -> AsyncRedis:  # noqa: ANN401
    """Return an asyncio client of Redis. Raises: ValueError for an invalid URL."""
    from redis.asyncio import Redis, sentinel  # noqa: PLC0415

    group = sentinels(url)
    if group is None:
        return Redis.from_url(url, **options)
    own = {**options, **group.own, **group.tls}
    manager: Any = sentinel.Sentinel(group.addresses, sentinel_kwargs=own, **options, **group.login, **group.tls)  # type: ignore[no-untyped-call]
    primary: AsyncRedis = manager.master_for(group.name, db=group.db)
    return primary


def sentinels(url: str) -> Sentinels | None:
    """Return the Sentinels that a URL names; None for any other URL. Raises: ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("redis+sentinel", "rediss+sentinel"):
        return None
    login, _, hosts = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    name, _, db = parts.path.strip("/").partition("/")
    if not name or not hosts or not (db or "0").isdecimal():
        raise ValueError(f"{parts.scheme}:// is followed by user:password@host:port,host:port/NAME/DATABASE")
    query = dict(parse_qsl(parts.query))
    own = {key.removeprefix(_SENTINEL): value for key, value in query.items() if key.startswith(_SENTINEL)}
    tls = {"ssl": True, **_verified(query)} if parts.scheme.startswith("rediss") else {}
    names = {"username": unquote(user), "password": unquote(password)}
    return Sentinels(
        tuple(_address(host) for host in hosts.split(",")),
        name,
        int(db or 0),
        {key: value for key, value in names.items() if value},
        own,
        tls,
    )


@dataclass(frozen=True)
class Broker:
    """The same for Celery: its URL, and the settings that go with it."""

    url: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    transport: Mapping[str, Any] = field(default_factory=dict)  #: of ``broker_transport_options``


def broker(url: str) -> Broker:
    """Return Celery's broker settings for a URL. Raises: ValueError."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    group = sentinels(url)
    if group is not None:
        login = ":".join(quote(group.login.get(key, ""), safe="") for key in ("username", "password"))
        prefix = f"{login}@" if group.login else ""
        hosts = (f"sentinel://{prefix}{host}:{port}/{group.db}" for host, port in group.addresses)
        own = {**group.own, **group.tls}
        return Broker(";".join(hosts), _tls(group.tls), {"master_name": group.name, "sentinel_kwargs": own})
    if parts.scheme == "rediss":
        return Broker(parts._replace(query="").geturl(), _tls(_verified(query)))
    if parts.scheme == "unix":
        login = parts.netloc if "@" in parts.netloc else ""
        return Broker(f"redis+socket://{login}{parts.path}?virtual_host={query.get('db', '0')}")
    return Broker(url)


def _tls(options: Mapping[str, Any]) -> dict[str, Any]:
    own = {key: value for key, value in options.items() if key != "ssl"}
    return {"broker_use_ssl": own} if own else {}


def _verified(query: Mapping[str, str]) -> dict[str, Any]:
    """Return redis-py's options for TLS: every check is on unless the URL turns it off."""
    given: dict[str, Any] = {key: value for key, value in query.items() if key.startswith("ssl_")}
    checks = str(given.pop("ssl_check_hostname", "true")).lower() not in ("false", "0", "no")
    return {"ssl_cert_reqs": "required", **given, "ssl_check_hostname": checks}


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon:
        return text, _SENTINEL_PORT
    if not port.isdecimal():
        raise ValueError(f"{port!r} is not a port")
    return host.strip("[]"), int(port)
