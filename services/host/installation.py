"""What an installation consists of: computed before anything is started."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from migrations.roles import PREFIX, SERVICES, variable_of
from services.host import child, environment, settings_digest, unprivileged
from services.host.environment import StoreUrls
from services.host.folder import InstallationFolder
from services.host.postgres import DATABASE, Postgres
from services.host.prefork import Prefork
from services.host.processes import PROCESSES, Process, parse_replicas, with_replicas
from services.host.programs import Program, Worker
from services.host.redis import Redis
from services.host.unprivileged import Accounts
from shared.bounded_process import SOCKET_VARIABLE
from shared.llm.vendors.table import VENDORS, sdks_called_first
from shared.settings import PostgresUrl

#: The script that ``assay up --demo`` lets the scripted LLM server play.
DEMO_SCRIPT = Path(__file__).parent / "demo" / "script.yaml"
_SCRIPTED_KEY = "scripted"
#: The limit of a process counts what it has mapped, stacks of threads for example, not only what it uses.
_HEADROOM_MB = 1024
SERVICE_DATABASE_URL = "ASSAY_SERVICE_DATABASE_URL"  #: as a service logs in, for the process that prepares the database
OWNER = "owner"  #: of the tables: who migrates


@dataclass(frozen=True)
class Installation:
    folder: InstallationFolder
    prefork: Prefork
    url: str
    stores: StoreUrls  #: as the owner of the tables reaches them
    servers: Sequence[Program]  #: first: the others need them
    workers: Sequence[Program]
    env: Mapping[str, str]  #: of the process that prepares the database
    settings: Mapping[str, str]  #: digests of what it is started with
    log_bytes: int  #: at which a log is rotated
    accounts: Accounts  #: as root: of the workers
    why_port: str = ""  #: why the gateway listens on another port than usual


def compose(
    ours: Mapping[str, str],
    host: HostSettings,
    given: ServerSettings,
    *,
    script: Path | None = None,
    processes: Sequence[Process] = PROCESSES,
) -> Installation:
    """Compose the installation. Raises: ValueError for invalid settings, RuntimeError when the port is taken."""
    folder = InstallationFolder(host.home)
    called = {**ours, **scripted_providers(0)} if script is not None else ours
    prefork = Prefork(folder.logs / "prefork.log", sdks_called_first(called))
    table = [each for each in with_replicas(processes, parse_replicas(host.replicas)) if _exists(each)]
    port, why_port = _gateway_port(host)
    blobs = given.blob_url or folder.blobs.as_uri()
    accounts = unprivileged.accounts(folder, table, host.services_uid, port, blobs, ours)
    servers, stores = _servers(folder, given, accounts.group)
    common = {"ASSAY_HOME": str(folder.path), "ASSAY_HOST": host.host, "ASSAY_EMBEDDED": "true"}
    if "ASSAY_LLM_PRIVATE_ENDPOINTS" not in os.environ:  # on one machine the models' server is often a neighbour
        common["ASSAY_LLM_PRIVATE_ENDPOINTS"] = "true"
    if "ASSAY_LLM_TEXTS" not in os.environ:  # the inputs of the jobs are here too
        common["ASSAY_LLM_TEXTS"] = "all"
    scripted: list[Program] = []
    if script is not None:
        scripted_port = free_port("127.0.0.1", 0)
        scripted.append(_scripted(ours, folder, prefork, script, scripted_port, accounts))
        common |= scripted_providers(scripted_port)
    if any(process.models == "broker" for process in table):
        broker = f"127.0.0.1:{free_port('127.0.0.1', 0)}"
        common |= {"ASSAY_BROKER_LISTEN": broker, "ASSAY_BROKER_URL": f"tcp://{broker}"}
    workers = []
    if accounts.of(unprivileged.PARSERS) is not None:
        workers.append(_parsers(folder, prefork, accounts))
        common[SOCKET_VARIABLE] = str(workers[0].ready_file)
    replicas = [(process, number) for process in table for number in range(1, process.replicas + 1)]
    for position, (process, number) in enumerate(replicas):
        more = {**common, "ASSAY_PORT": str(port + number - 1)}
        if host.metrics_port:
            more["ASSAY_METRICS_PORT"] = str(free_port(host.host, host.metrics_port + position, "ASSAY_METRICS_PORT"))
        workers.append(_worker(ours, folder, prefork, stores, process, number, more, accounts))
    passwords = {} if given.database_url else {variable_of(name): folder.secret(name) for name in SERVICES}
    as_service = {SERVICE_DATABASE_URL: stores["gateway"].database_url}
    return Installation(
        folder=folder,
        prefork=prefork,
        url=f"http://{_reachable(host.host)}:{port}",
        stores=stores[OWNER],
        servers=servers,
        workers=[*scripted, *workers],
        env=environment.of_child(ours, stores[OWNER], asks_models=False, more={**common, **passwords, **as_service}),
        settings=settings_digest.digests(folder, ours, script),
        log_bytes=host.log_megabytes * 1_000_000,
        accounts=accounts,
        why_port=why_port,
    )


def _gateway_port(host: HostSettings) -> tuple[int, str]:
    """Return the port, and why it is not the usual one. Raises: RuntimeError when the one that was chosen is taken."""
    if "port" in host.model_fields_set:
        return free_port(host.host, host.port), ""
    try:
        return free_port(host.host, host.port), ""
    except RuntimeError:
        port = free_port(host.host, 0)
        return port, f"port {host.port} is taken by another program, so Assay took {port}; ASSAY_PORT chooses another"


def _servers(
    folder: InstallationFolder, given: ServerSettings, clients: int | None
) -> tuple[list[Program], dict[str, StoreUrls]]:
    """Return the servers to start, and the URLs of the stores for the owner and each service."""
    servers: list[Program] = []
    names = (OWNER, *SERVICES)
    if given.database_url is None:
        postgres = Postgres(folder.path / "postgres", password=folder.secret("postgres"), clients=clients)
        servers.append(postgres)
        databases = {name: postgres.url_of(DATABASE, PREFIX + name, folder.secret(name)) for name in SERVICES}
        databases[OWNER] = postgres.url
    else:
        databases = dict.fromkeys(names, plain_scheme(given.database_url))
    if given.redis_url is None:
        passwords = {name: folder.secret(f"redis-{name}") for name in names}
        redis = Redis(folder.path / "redis", passwords=passwords, clients=clients)
        servers.append(redis)
        queues = {name: redis.url_of(name) for name in names}
    else:
        queues = dict.fromkeys(names, given.redis_url)
    blobs = given.blob_url or folder.blobs.as_uri()
    return servers, {name: StoreUrls(databases[name], queues[name], blobs, given.qdrant_url) for name in names}


def scripted_providers(port: int) -> dict[str, str]:
    """Return the variables that point the providers' SDKs at the scripted LLM server."""
    variables = {}
    for vendor in VENDORS.values():
        variables[vendor.variables.api_key.name] = _SCRIPTED_KEY
        variables[vendor.variables.base_url.name] = f"http://127.0.0.1:{port}/{vendor.scripted_path}"
    return variables


def free_port(host: str, port: int, variable: str = "ASSAY_PORT") -> int:
    """``port`` if it can be bound, a free one for 0. Raises: RuntimeError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise RuntimeError(
                f"{host}:{port} cannot be listened on ({os.strerror(error.errno or 0)}); set {variable}"
            ) from error
        return int(probe.getsockname()[1])


def _worker(
    ours: Mapping[str, str],
    folder: InstallationFolder,
    prefork: Prefork,
    stores: Mapping[str, StoreUrls],
    process: Process,
    number: int,
    more: Mapping[str, str],
    accounts: Accounts,
) -> Worker:
    name = f"{process.name}-{number}"
    account = accounts.of(process.name)
    ready = folder.run / f"{name}.ready"
    port = int(more["ASSAY_PORT"])
    own = {**more, "ASSAY_SERVICE_NAME": name, "ASSAY_READY_FILE": str(ready)}
    return Worker(
        name=name,
        prefork=prefork,
        module=process.module,
        env=environment.of_child(
            # A process that the table of roles does not know is the caller's own.
            ours if account is None else unprivileged.environment(ours, folder),
            stores.get(process.name, stores[OWNER]),
            asks_models=process.asks_models,
            more=_for(process, own),
        ),
        cwd=folder.path,
        log=folder.logs / f"{name}.log",
        ready_file=ready,
        http=(_reachable(more["ASSAY_HOST"]), port, "/readyz") if process.readiness == "http" else None,
        grace_seconds=process.grace_seconds,
        memory_mb=process.memory_mb + _HEADROOM_MB,
        account=account,
    )


def _parsers(folder: InstallationFolder, prefork: Prefork, accounts: Accounts) -> Worker:
    address = unprivileged.parsers_folder(folder) / "socket"
    return Worker(
        name=unprivileged.PARSERS,
        prefork=prefork,
        module="shared.fork_server",
        arguments=[str(address)],
        env={},  # nothing of the installation
        cwd=Path("/"),
        log=folder.logs / f"{unprivileged.PARSERS}.log",
        ready_file=address,
        http=None,
        grace_seconds=5,
        account=accounts.of(unprivileged.PARSERS),
    )


def _for(process: Process, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables, without providers' keys and the broker where the process does not call models."""
    hidden = () if process.asks_models else environment.vendor_prefixes()
    if process.models != "broker":
        hidden += ("ASSAY_BROKER_URL",)
    return {name: value for name, value in variables.items() if not name.startswith(hidden)}


def _scripted(
    ours: Mapping[str, str],
    folder: InstallationFolder,
    prefork: Prefork,
    script: Path,
    port: int,
    accounts: Accounts,
) -> Worker:
    return Worker(
        name="scripted-llm",
        prefork=prefork,
        module="shared.llm.scripted",
        arguments=["--script", str(script.absolute()), "--port", str(port)],
        env=environment.of_child(ours, None, asks_models=False, more={}),
        cwd=folder.path,
        log=folder.logs / "scripted-llm.log",
        ready_file=folder.run / "scripted-llm.ready",
        http=("127.0.0.1", port, "/_scripted/health"),
        grace_seconds=5,
        # The script may be where only root reads it.
        account=accounts.of("scripted-llm") if child.closed_folder(script) is None else None,
    )


def _exists(process: Process) -> bool:
    """Return whether the process can be run: images carry only some of them."""
    return importlib.util.find_spec(f"{process.module}.__main__") is not None


def plain_scheme(url: str) -> str:
    """``postgresql+psycopg://`` and ``postgres://`` as libpq writes them."""
    return re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", url)


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104


class HostSettings(BaseSettings):
    """One installation on one machine."""

    # An empty ASSAY_HOME counts as unset: it would be the current folder.
    model_config = SettingsConfigDict(env_prefix="ASSAY_", env_ignore_empty=True, frozen=True)

    home: Path = Field(Path(".assay"), description="Data, logs and credentials of this installation")
    host: str = Field("127.0.0.1", description="The address that the gateway listens on")
    port: int = Field(8000, ge=0, le=65535, description="The port that the gateway listens on; 0 takes a free one")
    metrics_port: int = Field(
        0,
        ge=0,
        le=65000,
        description="Where a process answers Prometheus; `assay up` gives the first this one, others the next; 0: none",
    )
    services_uid: int = Field(
        62001,
        ge=0,
        le=2**31,
        description="As root: the processes' group, and the first one's user; the others have the next; 0: stay root",
    )
    log_megabytes: int = Field(50, ge=1, description="Size at which a log is put aside; three of each are kept")
    replicas: str = Field("", description="How many of which process, for example `execution=2,flows=1`")


class ServerSettings(BaseSettings):
    """Servers that are already there; without them, embedded ones are started."""

    model_config = SettingsConfigDict(frozen=True)

    database_url: PostgresUrl | None = Field(
        None, description="A Postgres server; without it an embedded one is started"
    )
    redis_url: str | None = Field(None, description="A Redis server; without it an embedded one is started")
    qdrant_url: str | None = Field(None, description="A Qdrant server; without it the embedded engine is used")
    blob_url: str | None = Field(None, description="Where file contents are kept; without it a folder of the home")
