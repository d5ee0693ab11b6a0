"""The Kubernetes files by ``podman kube play``, as far as that reaches, to checked answers."""

from __future__ import annotations

import base64
import json
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from assay import Client
from benchmarks.containers.bases import BASES
from benchmarks.containers.images import ROOT
from benchmarks.containers.podman import Failed, Podman
from migrations.roles import PREFIX, SERVICES, variable_of
from shared import VERSION
from tests.support.ports import free_port

#: What is made from the files before podman sees them.
DIFFERENCES = (
    "the execution pod makes no sandbox, says so and takes no job: /proc stays masked (podman 4.3 has no procMount), "
    "and bubblewrap may not set a hostname, as if podman's own seccomp profile were in force",
    "Job migrate: played as a pod that ends (podman 4.3 knows no Job)",
    "Service gateway, broker: a port of this machine, and a name in the network (podman plays no Service)",
    "replicas: two of execution, one of each other",
    "Qdrant: no server is in the package registries; the search worker has its embedded store, in the volume of files",
    "emptyDir: named volumes; BLOB_URL: a volume in place of S3",
    "Secrets: made with `podman secret create`; Postgres, Redis and scripted models are containers outside pods",
    "probes: run here (podman 4.3 knows no readiness, loses quotes of liveness commands, and needs systemd for both)",
)
_NETWORK = "assay-pods"
_FOLDERS = (ROOT / "deploy" / "kubernetes", ROOT / "deploy" / "kubernetes" / "execution")
_POSTGRES, _REDIS = BASES[1].name, BASES[2].name
_READY_SECONDS = 240.0


def documents() -> list[dict[str, Any]]:
    """Return what the two kustomizations list."""
    parts = []
    for folder in _FOLDERS:
        for name in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
            parts += [part for part in yaml.safe_load_all((folder / name).read_text()) if part]
    return parts


def left_out() -> Sequence[str]:
    """Return the kinds that nothing here plays."""
    return sorted({part["kind"] for part in documents()} - {"Deployment", "Job", "Service"})


@dataclass
class Cluster:
    podman: Podman
    folder: Path
    port: int
    started: dict[str, float] = field(default_factory=dict)  #: seconds from `kube play` until every pod is ready

    def pods(self, name: str) -> list[str]:
        listed = self.podman.run("ps", "--format", "{{.Names}}").split()
        return [each for each in listed if each.startswith(f"{name}-pod") and each.endswith(f"-{name}")]


@contextmanager
def played(podman: Podman) -> Iterator[Cluster]:
    """Every pod ready; afterwards nothing of them is left."""
    folder = podman.folder / "kubernetes"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "seccomp" / "assay").mkdir(parents=True)
    shutil.copy(ROOT / "deploy" / "execution" / "seccomp.json", folder / "seccomp" / "assay" / "execution.json")
    this = Cluster(podman, folder, free_port())
    try:
        podman.run("network", "create", _NETWORK)
        _stores(podman, folder)
        parts = documents()
        _migrate(this, next(part for part in parts if part["kind"] == "Job"))
        for part in parts:
            if part["kind"] == "Deployment":
                this.started[part["metadata"]["name"]] = _deploy(this, part)
        yield this
    finally:
        podman.delete_all()


@contextmanager
def client_of(this: Cluster) -> Iterator[Client]:
    """With the first key, which is made as docs/host.md describes."""
    (gateway,) = this.pods("gateway")
    key = this.podman.run("exec", gateway, "python", "-m", "services.host.first_key").split()[-1]
    with Client(f"http://127.0.0.1:{this.port}", key, timeout=60, max_retries=8) as client:
        yield client


def _stores(podman: Podman, folder: Path) -> None:
    words = {name: secrets.token_hex(16) for name in ("postgres", *SERVICES)}
    common = ("run", "--detach", "--network", _NETWORK)
    environment = [
        f"--env=POSTGRES_{k}={v}" for k, v in (("USER", "assay"), ("DB", "assay"), ("PASSWORD", words["postgres"]))
    ]
    podman.run(*common, "--name", "db", "--user", "postgres", *environment, _POSTGRES)
    podman.run(*common, "--name", "redis", _REDIS, "redis-server", "--protected-mode", "no", "--save", "")
    shutil.copy(Path(__file__).with_name("script.yaml"), folder)
    script = f"--volume={folder}/script.yaml:/script.yaml:ro"
    command = ("python", "-m", "shared.llm.scripted", "--script", "/script.yaml", "--host", "0.0.0.0", "--port", "9009")
    podman.run(*common, "--name", "models", script, f"localhost/assay:{VERSION}", *command)
    _until_ready(podman, "db", ("pg_isready", "-U", "assay", "-d", "assay", "-h", "127.0.0.1"))

    def url(user: str, password: str) -> str:
        return f"postgresql://{user}:{password}@db:5432/assay"

    _secret(
        podman,
        "assay-stores",
        DATABASE_URL=url("assay", words["postgres"]),
        REDIS_URL="redis://redis:6379/0",
        BLOB_URL="file:///blobs",
    )
    _secret(podman, "assay-models", GROQ_API_KEY="scripted", GROQ_BASE_URL="http://models:9009/groq")
    _secret(podman, "assay-migrate", **{variable_of(name): words[name] for name in SERVICES})
    for name in SERVICES:
        _secret(podman, f"assay-{name}", DATABASE_URL=url(f"{PREFIX}{name}", words[name]))


def _secret(podman: Podman, name: str, **values: str) -> None:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    podman.run("secret", "create", name, "-", input=json.dumps(encoded))


def _migrate(this: Cluster, job: Mapping[str, Any]) -> None:
    template = job["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "migrate", **template["metadata"]},
        "spec": template["spec"],
    }
    pod["spec"]["restartPolicy"] = "Never"
    _volumes(pod["spec"], "migrate")
    _play(this, "migrate", pod)
    if (status := this.podman.run("wait", "migrate-migrate")) != "0":
        raise Failed(f"migrate ended with {status}: {this.podman.tried('logs', 'migrate-migrate').stderr[-2000:]}")


def _deploy(this: Cluster, deployment: dict[str, Any]) -> float:
    name, spec = deployment["metadata"]["name"], deployment["spec"]["template"]["spec"]
    # Podman 4.3 cannot delete one that has ended a moment ago, as it does with those that it calls `once`.
    deployment["metadata"]["annotations"] = {"io.podman.annotations.init.container.type": "always"}
    deployment["spec"]["replicas"] = 2 if name == "execution" else 1
    _volumes(spec, name)
    (container,) = spec["containers"]
    container.pop("ports", None)  # podman 4.3 gives each of them a port of this machine
    if name == "gateway":
        container["ports"] = [{"containerPort": 8000, "hostPort": this.port, "hostIP": "127.0.0.1"}]
    if name == "search":
        container["env"].append({"name": "ASSAY_HOME", "value": "/blobs/search"})
    alive = container.pop("livenessProbe")
    began = time.monotonic()
    _play(this, name, deployment)
    pods = this.pods(name)
    if len(pods) != deployment["spec"]["replicas"]:
        raise Failed(f"{name}: {pods} run of {deployment['spec']['replicas']}")
    for pod in pods:
        _until_ready(this.podman, pod, _probe(container["readinessProbe"]))
        if this.podman.tried("exec", pod, *_probe(alive)).returncode:
            raise Failed(f"{pod} is ready, and its liveness probe fails")
    return time.monotonic() - began


def _volumes(spec: dict[str, Any], name: str) -> None:
    """Named volumes, and one for the files of jobs."""
    for volume in spec["volumes"]:
        volume.pop("emptyDir")
        volume["persistentVolumeClaim"] = {"claimName": f"{name}-{volume['name']}"}
    spec["volumes"].append({"name": "blobs", "persistentVolumeClaim": {"claimName": "blobs"}})
    for container in spec["containers"]:
        container["volumeMounts"].append({"name": "blobs", "mountPath": "/blobs"})
    for container in [*spec["containers"], *spec.get("initContainers", [])]:
        container["image"] = f"localhost/{container['image']}"
        container["imagePullPolicy"] = "Never"


def _play(this: Cluster, name: str, document: Mapping[str, Any]) -> None:
    file = this.folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    aliases = f":alias={name},alias={name}.assay"
    this.podman.run(
        "kube", "play", f"--network={_NETWORK}{aliases}", f"--seccomp-profile-root={this.folder}/seccomp", file
    )


def _probe(probe: Mapping[str, Any]) -> Sequence[str]:
    """Return the command of a probe, or a command that makes the same request."""
    if "exec" in probe:
        return list(probe["exec"]["command"])
    url = f"http://127.0.0.1:8000{probe['httpGet']['path']}"
    return ["python", "-c", f"import urllib.request as r; r.urlopen({url!r}, timeout=5)"]


def _until_ready(podman: Podman, container: str, command: Sequence[str]) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while podman.tried("exec", container, *command, seconds=60).returncode != 0:
        if time.monotonic() > deadline:
            logs = podman.tried("logs", "--tail", "30", container)
            raise Failed(f"{container} is not ready: {(logs.stdout + logs.stderr)[-2500:]}")
        time.sleep(0.2)
