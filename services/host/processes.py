"""The one table of processes: ``assay up``, docker-compose.yml and deploy/kubernetes all run these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class Process:
    name: str  #: also the folder under services/
    models: Literal["keys", "broker", "none"]  #: calls them with the providers' keys, through the broker, or not at all
    memory_mb: int
    cpus: float
    image: Literal["assay", "assay-search", "assay-execution"] = "assay"
    readiness: Literal["http", "file"] = "file"  #: GET /readyz, or the file named by ASSAY_READY_FILE exists
    replicas: int = 1
    grace_seconds: int = 35  #: between SIGTERM and SIGKILL; longer than a worker's own soft stop
    needs: str = ""  #: the extra of another process, which has all that this one needs
    package: str = "services"

    @property
    def asks_models(self) -> bool:
        """Whether it gets the providers' keys; other processes do not."""
        return self.models == "keys"

    @property
    def module(self) -> str:
        """What ``python -m`` runs."""
        return f"{self.package}.{self.name}"

    @property
    def extra(self) -> str:
        """What the process needs of the packages that are installed."""
        return self.needs or self.name


PROCESSES: Sequence[Process] = (
    # The gateway tries models out (POST /v1/models/{role}/test) and says which providers are configured.
    Process("gateway", models="keys", memory_mb=1536, cpus=1, readiness="http", grace_seconds=15),
    # Calls models for processes that also run untrusted code.
    Process("broker", models="keys", memory_mb=512, cpus=0.5, needs="flows"),
    # Its sandboxes run inside the container, so their memory counts here.
    Process("execution", models="broker", memory_mb=4096, cpus=2, image="assay-execution"),
    Process("search", models="keys", memory_mb=2048, cpus=1, image="assay-search"),
    Process("flows", models="keys", memory_mb=512, cpus=0.5),
    Process("stacks", models="keys", memory_mb=1024, cpus=1),
    Process("reconciler", models="none", memory_mb=256, cpus=0.25, grace_seconds=15),
)

MAX_REPLICAS = 64


def with_replicas(processes: Sequence[Process], wanted: Mapping[str, int]) -> list[Process]:
    """Return the table with other numbers of replicas. Raises: ValueError naming an unknown process."""
    known = {process.name for process in processes}
    for name in wanted:
        if name not in known:
            raise ValueError(f"ASSAY_REPLICAS: there is no process {name!r}; there are {', '.join(sorted(known))}")
    return [replace(process, replicas=wanted.get(process.name, process.replicas)) for process in processes]


def parse_replicas(text: str) -> dict[str, int]:
    """``execution=2,flows=1`` as a mapping. Raises: ValueError."""
    wanted: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, number = (piece.strip() for piece in part.partition("="))
        if not number.isdecimal() or int(number) > MAX_REPLICAS:
            raise ValueError(f"ASSAY_REPLICAS: {part!r} is not NAME=NUMBER with a number up to {MAX_REPLICAS}")
        wanted[name] = int(number)
    return wanted
