"""Each service as a taken-over process: what its user of Redis lets it read, write and publish is its own work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis as Client
from redis.exceptions import NoPermissionError

from migrations.roles import SERVICES
from services.host.redis import Redis
from shared.kinds import KINDS

OWNER = "owner"
KEYS = {
    **{f"queue of {kind}": f"assay:{kind}" for kind in KINDS},
    **{f"queue of {kind} at another priority": f"assay:{kind}\x06\x163" for kind in KINDS},
    **{f"unacknowledged of {name}": f"assay:{name}:unacked" for name in ("execution", "search", "flows", "stacks")},
    "health of providers": "assay:llm:groq:model",
    "rates of tenants": "assay:rate:LIMITS:one",
    "a foreign key": "session:1",
    "queues of the exchange": "assay:_kombu.binding.assay",
}
CHANNELS = {
    "events of jobs": "assay:events",
    "remote control": "assay:/0.celery.pidbox",
    "a foreign channel": "news",
}
_INSPECTED = {"execution", "search", "flows", "stacks"}


def allowed_keys(service: str) -> set[str]:
    """Return the names of the keys that are the service's own work."""
    kinds = [kind.name for kind in KINDS.values() if kind.service == service]
    if service in ("gateway", "reconciler"):
        kinds = list(KINDS)
    own = {name for kind in kinds for name in (f"queue of {kind}", f"queue of {kind} at another priority")}
    own |= {"health of providers"} if service not in ("execution", "reconciler") else set()
    own |= {"rates of tenants"} if service == "gateway" else set()
    return own | ({f"unacknowledged of {service}"} & KEYS.keys())


def allowed_channels(service: str) -> set[str]:
    """Return the names of the channels that are the service's own work."""
    if service == "broker":
        return set()
    return {"events of jobs"} | ({"remote control"} if service in _INSPECTED else set())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    folder = tmp_path_factory.mktemp("redis-users")
    for above in (folder, *folder.parents[:2]):
        above.chmod(0o755)
    passwords = {name: f"of {name}" for name in (OWNER, *SERVICES)}
    with Redis(folder / "redis", durable=False, passwords=passwords) as started:
        yield started


def connected(server: Redis, user: str) -> Client:
    return Client.from_url(server.url_of(user))


def _may(client: Client, *command: str) -> bool:
    try:
        client.execute_command(*command)  # type: ignore[no-untyped-call]
    except NoPermissionError:
        return False
    return True


@pytest.mark.parametrize("service", SERVICES)
def test_a_taken_over_service_reaches_the_keys_of_its_own_work_only(server: Redis, service: str) -> None:
    with connected(server, OWNER) as owner, connected(server, service) as client:
        for key in KEYS.values():
            owner.delete(key)
            owner.rpush(key, "kept")
        readable = {name for name, key in KEYS.items() if _may(client, "LRANGE", key, "0", "-1")}
        writable = {name for name, key in KEYS.items() if _may(client, "LPUSH", key, "not json")}
        scripted = {
            name for name, key in KEYS.items() if _may(client, "EVAL", "return redis.call('TYPE', KEYS[1])", "1", key)
        }
        removable = {name for name, key in KEYS.items() if _may(client, "DEL", key)}
        assert readable == writable == scripted == removable == allowed_keys(service)
        assert {name for name, key in KEYS.items() if not owner.exists(key)} == removable


@pytest.mark.parametrize("service", SERVICES)
def test_a_taken_over_service_publishes_and_listens_on_the_channels_of_its_own_work_only(
    server: Redis, service: str
) -> None:
    with connected(server, service) as client:
        published = {name for name, channel in CHANNELS.items() if _may(client, "PUBLISH", channel, "x")}
        assert published == allowed_channels(service)
        assert not _may(client, "PSUBSCRIBE", "*")


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    "command",
    ["KEYS *", "SCAN 0", "RANDOMKEY", "DBSIZE", "FLUSHALL", "CONFIG GET *", "ACL LIST", "MONITOR", "SHUTDOWN",
     "CLIENT LIST", "PUBSUB CHANNELS", "DEBUG SLEEP 0", "SWAPDB 0 1", "REPLICAOF no one", "MODULE LIST"],
)  # fmt: skip
def test_no_service_administers_the_server_or_lists_what_others_keep(server: Redis, service: str, command: str) -> None:
    with connected(server, service) as client:
        assert not _may(client, *command.split())


def test_the_operator_inspects_every_queue_and_administers_nothing(server: Redis) -> None:
    with connected(server, OWNER) as owner:
        assert all(_may(owner, "TYPE", key) for key in KEYS.values())
        assert all(_may(owner, "PUBLISH", channel, "x") for channel in CHANNELS.values())
        assert not _may(owner, "FLUSHALL")


def test_a_user_that_has_no_password_is_refused(server: Redis, tmp_path: Path) -> None:
    del tmp_path
    with (
        Client(unix_socket_path=server.url.removeprefix("unix://")) as client,
        pytest.raises(Exception, match=r"(?i)auth"),
    ):
        client.ping()
