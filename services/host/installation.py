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

from services.host import environment
from services.host.environment import StoreUrls
from services.host.folder import InstallationFolder
from services.host.postgres import Postgres
from services.host.prefork import Prefork
from services.host.processes import PROCESSES, Process, parse_replicas, with_replicas
from services.host.programs import Program, Worker
from services.host.redis import Redis
from services.host.settings import HostSettings, ServerSettings
from shared.llm.vendors.table import VENDORS

#: The script that ``assay up --demo`` lets the scripted LLM server play.
DEMO_SCRIPT = Path(__file__).parent / "demo" / "script.yaml"
_SCRIPTED_KEY = "scripted"


@dataclass(frozen=True)
class Installation:
    folder: InstallationFolder
    prefork: Prefork
    url: str
    stores: StoreUrls
    servers: Sequence[Program]  #: first: the others need them
    workers: Sequence[Program]
    env: Mapping[str, str]  #: of the process that prepares the database


def compose(
    ours: Mapping[str, str],
    host: HostSettings,
    given: ServerSettings,
    *,
    script: Path | None = None,
    processes: Sequence[Process] = PROCESSES,
) -> Installation:
    """Raises: ValueError for settings that do not fit, RuntimeError when the port is taken."""
    folder = InstallationFolder(host.home)
    prefork = Prefork(folder.logs / "prefork.log")
    table = [each for each in with_replicas(processes, parse_replicas(host.replicas)) if _exists(each)]
    port = free_port(host.host, host.port)
    servers: list[Program] = []
    if given.database_url is None:
        postgres = Postgres(folder.path / "postgres")
        servers.append(postgres)
    if given.redis_url is None:
        redis = Redis(folder.path / "redis")
        servers.append(redis)
    stores = StoreUrls(
        database_url=_plain_scheme(given.database_url) if given.database_url else postgres.url,
        redis_url=given.redis_url or redis.url,
        blob_url=given.blob_url or folder.blobs.as_uri(),
        qdrant_url=given.qdrant_url,
    )
    common = {"ASSAY_HOME": str(folder.path), "ASSAY_HOST": host.host, "ASSAY_EMBEDDED": "true"}
    scripted: list[Program] = []
    if script is not None:
        scripted_port = free_port("127.0.0.1", 0)
        scripted.append(_scripted(ours, folder, prefork, stores, script, scripted_port))
        common |= scripted_providers(scripted_port)
    workers = [
        _worker(ours, folder, prefork, stores, process, number, {**common, "ASSAY_PORT": str(port + number - 1)})
        for process in table
        for number in range(1, process.replicas + 1)
    ]
    return Installation(
        folder=folder,
        prefork=prefork,
        url=f"http://{_reachable(host.host)}:{port}",
        stores=stores,
        servers=servers,
        workers=[*scripted, *workers],
        env=environment.of_child(ours, stores, asks_models=False, more=common),
    )


def scripted_providers(port: int) -> dict[str, str]:
    """The variables that point the providers' SDKs at the scripted LLM server."""
    variables = {}
    for vendor in VENDORS.values():
        variables[vendor.variables.api_key.name] = _SCRIPTED_KEY
        variables[vendor.variables.base_url.name] = f"http://127.0.0.1:{port}/{vendor.scripted_path}"
    return variables


def free_port(host: str, port: int) -> int:
    """``port`` if it can be bound, a free one for 0. Raises: RuntimeError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise RuntimeError(
                f"{host}:{port} cannot be listened on ({os.strerror(error.errno or 0)}); set ASSAY_PORT"
            ) from error
        return int(probe.getsockname()[1])


def _worker(
    ours: Mapping[str, str],
    folder: InstallationFolder,
    prefork: Prefork,
    stores: StoreUrls,
    process: Process,
    number: int,
    more: Mapping[str, str],
) -> Worker:
    name = f"{process.name}-{number}"
    ready = folder.run / f"{name}.ready"
    port = int(more["ASSAY_PORT"])
    secrets = {name: ours[name] for name in process.secrets if name in ours}
    own = {**more, **secrets, "ASSAY_SERVICE_NAME": name, "ASSAY_READY_FILE": str(ready)}
    return Worker(
        name=name,
        prefork=prefork,
        module=process.module,
        env=environment.of_child(ours, stores, asks_models=process.asks_models, more=_for(process, own)),
        cwd=folder.path,
        log=folder.logs / f"{name}.log",
        ready_file=ready,
        http=(_reachable(more["ASSAY_HOST"]), port, "/readyz") if process.readiness == "http" else None,
        grace_seconds=process.grace_seconds,
    )


def _for(process: Process, variables: Mapping[str, str]) -> dict[str, str]:
    """The variables without the keys of providers that the process does not ask."""
    return {
        name: value
        for name, value in variables.items()
        if process.asks_models or not name.startswith(environment.vendor_prefixes())
    }


def _scripted(
    ours: Mapping[str, str], folder: InstallationFolder, prefork: Prefork, stores: StoreUrls, script: Path, port: int
) -> Worker:
    return Worker(
        name="scripted-llm",
        prefork=prefork,
        module="shared.llm.scripted",
        arguments=["--script", str(script.absolute()), "--port", str(port)],
        env=environment.of_child(ours, stores, asks_models=False, more={}),
        cwd=folder.path,
        log=folder.logs / "scripted-llm.log",
        ready_file=folder.run / "scripted-llm.ready",
        http=("127.0.0.1", port, "/_scripted/health"),
        grace_seconds=5,
    )


def _exists(process: Process) -> bool:
    """Whether the process can be run: images carry only some of them."""
    return importlib.util.find_spec(f"{process.module}.__main__") is not None


def _plain_scheme(url: str) -> str:
    """``postgresql+psycopg://`` and ``postgres://`` as libpq writes them."""
    return re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", url)


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104
