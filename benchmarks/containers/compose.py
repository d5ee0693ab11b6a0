"""``docker-compose.yml`` by podman-compose: to checked answers, and through kills of a worker and of the gateway."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from assay import Client
from benchmarks.containers import jobs
from benchmarks.containers.images import ROOT, without_digests
from benchmarks.containers.podman import Failed, Podman
from services.host.processes import PROCESSES
from tests.services.stacks.sources.git_server import commit, git_server, new_repository
from tests.support.ports import free_port

#: What podman 4.3 and podman-compose do not do, and what takes its place; printed with the results.
DIFFERENCES = (
    "Qdrant: no server is in the package registries; the search worker has its embedded store, in a volume",
    "tmpfs with uid= and gid=: podman 4.3 knows neither, and its own /run has what the image has there",
    "depends_on: podman 4.3 waits for no health; services are started in the order of their conditions, by these",
    "health checks: podman runs them by timers of systemd; whoever waits runs them here",
    "models: a container more, the scripted server",
)
_PROJECT = "assay"
_GIT_HOST = "git.example.dev"  #: served by this machine, whose address in the network is known beforehand
_SUBNET, _GATEWAY = "10.213.77.0/24", "10.213.77.1"
_KEEP = Path(sys.prefix) / "containers"
_LOCK = Path(__file__).with_name("parts.lock")
_WORKERS_SLEEP = 6.0  #: seconds that a job runs while something is killed
_START_SECONDS = 180.0


@dataclass
class Composition:
    """The services as they run."""

    podman: Podman
    folder: Path
    port: int = 0
    started: dict[str, float] = field(default_factory=dict)  #: seconds until healthy, or until it has ended

    def compose(self, *words: str, seconds: float = 600) -> str:
        """Raises: Failed."""
        command = [sys.executable, "-m", "podman_compose", "--in-pod=0", *words]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self.podman.environment, "PYTHONPATH": str(_KEEP)},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        if done.returncode:
            raise Failed(f"podman-compose {' '.join(words)}: {(done.stdout + done.stderr)[-2500:]}")
        return done.stdout

    def name(self, service: str) -> str:
        return f"{_PROJECT}_{service}_1"

    def process(self, service: str) -> int:
        return int(self.podman.inspected(self.name(service))["State"]["Pid"])

    def logs(self, service: str) -> str:
        done = self.podman.tried("logs", "--tail", "30", self.name(service))
        return done.stdout + done.stderr


@contextmanager
def composed(podman: Podman) -> Iterator[Composition]:
    """Everything up and healthy; afterwards nothing of it is left."""
    _install()
    folder = podman.folder / "compose"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    this = Composition(podman, folder, free_port())
    (folder / ".env").write_text(_settings(this.port))
    original = yaml.safe_load(without_digests((ROOT / "docker-compose.yml").read_text()))
    (folder / "git").mkdir()
    (folder / "docker-compose.yml").write_text(yaml.safe_dump(adapted(original, folder), sort_keys=False))
    shutil.copy(Path(__file__).with_name("script.yaml"), folder)
    try:
        for name in _in_order(original["services"]):
            this.started[name] = _start(this, name, ends=name in ("passwords", "migrate"))
        yield this
    finally:
        podman.delete_all()


def adapted(original: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the file with the changes of ``DIFFERENCES``."""
    whole = yaml.safe_load(yaml.safe_dump({k: v for k, v in original.items() if not k.startswith("x-")}))
    services: dict[str, Any] = whole["services"]
    del services["qdrant"]
    for service in services.values():
        service.pop("build", None)
        service.pop("depends_on", None)
        service["tmpfs"] = [each for each in service.get("tmpfs", []) if ":uid=" not in each]
        service["security_opt"] = [
            each.replace("seccomp=", f"seccomp={ROOT}/") if each.startswith("seccomp=") else each
            for each in service["security_opt"]
        ]
        if "QDRANT_URL" in service.get("environment", {}):
            service["environment"]["QDRANT_URL"] = ""
    services["search"]["environment"]["ASSAY_HOME"] = "/blobs/search"
    services["stacks"]["extra_hosts"] = [f"{_GIT_HOST}:{_GATEWAY}"]
    whole["networks"]["outside"] = {"ipam": {"config": [{"subnet": _SUBNET, "gateway": _GATEWAY}]}}
    services["stacks"]["volumes"] += [f"{folder}/git:/git:ro"]
    services["models"] = {
        "image": services["gateway"]["image"],
        "command": [
            "python",
            "-m",
            "shared.llm.scripted",
            "--script",
            "/script.yaml",
            "--host",
            "0.0.0.0",
            "--port",
            "9009",
        ],
        "volumes": [f"{folder}/script.yaml:/script.yaml:ro"],
        "networks": ["inside"],
    }
    whole["volumes"].pop("qdrant")
    return dict(whole)


def _settings(port: int) -> str:
    models = "GROQ_API_KEY=scripted\nGROQ_BASE_URL=http://models:9009/groq\n"
    git = "ASSAY_STACKS_GIT_PRIVATE_HOSTS=true\nASSAY_STACKS_GIT_CA_FILE=/git/certificate.pem\n"
    return f"ASSAY_PORT={port}\n{models}{git}"


def _in_order(services: Mapping[str, Any]) -> Iterator[str]:
    """Yield every service after those that it depends on."""
    waiting, done = dict(services), {"qdrant"}
    yield "models"
    waiting.pop("qdrant")
    while waiting:
        name = next(name for name, service in waiting.items() if set(service.get("depends_on", {})) <= done)
        yield name
        del waiting[name]
        done.add(name)


def _start(this: Composition, name: str, *, ends: bool) -> float:
    """Seconds until it is healthy, or has ended well. Raises: Failed with its log."""
    began = time.monotonic()
    this.compose("up", "-d", "--no-deps", "--no-build", name)
    if ends:
        if (status := this.podman.run("wait", this.name(name))) != "0":
            raise Failed(f"{name} ended with {status}: {this.logs(name)}")
    elif name != "models":
        await_healthy(this, name)
    return time.monotonic() - began


def await_healthy(this: Composition, name: str) -> None:
    _until(lambda: this.podman.healthy(this.name(name)), lambda: f"{name} is not healthy: {this.logs(name)}")


def _until(condition: Callable[[], bool], complaint: Callable[[], str], seconds: float = _START_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(complaint())
        time.sleep(0.1)


def _install() -> None:
    """podman-compose, newer than Debian's: that one quotes health checks wrongly."""
    if not (_KEEP / "podman_compose.py").is_file():
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "--target", str(_KEEP)]
        subprocess.run([sys.executable, "-m", "pip", "install", *options, "-r", _LOCK], check=True)


@dataclass(frozen=True)
class Restarted:
    service: str
    stop_seconds: float
    start_seconds: float  #: from the start of the container until it is healthy
    status: int  #: it ended with


@contextmanager
def client_of(this: Composition) -> Iterator[Client]:
    """With the first key, which is made as docs/host.md describes."""
    key = this.compose("run", "--rm", "-T", "migrate", "python", "-m", "services.host.first_key").split()[-1]
    with Client(f"http://127.0.0.1:{this.port}", key, timeout=60, max_retries=8) as client:
        yield client


def first_job(this: Composition) -> str:
    """Run what ``helm test`` runs, and return its last line. Raises: Failed."""
    command = ("python", "-m", "services.host.first_job", "http://gateway:8000")
    return this.compose("run", "--rm", "-T", "migrate", *command).strip().splitlines()[-1]


def cut_off(this: Composition) -> str:
    """Return what happens to a connection from the execution container to the internet. Raises: Failed if it opens."""
    program = "import socket; socket.create_connection(('1.1.1.1', 443), timeout=5)"
    tried = this.podman.tried("exec", this.name("execution"), "python", "-c", program)
    if tried.returncode == 0:
        raise Failed("the execution container reaches the internet")
    return (tried.stderr.strip().splitlines() or [""])[-1]


@contextmanager
def repository_server(this: Composition) -> Iterator[str]:
    """The URL of a repository on a server that the containers reach by a public name."""
    work = this.folder / "git"
    with git_server(work, _GATEWAY, _GIT_HOST) as server:
        commit(new_repository(server.root, "shop"), jobs.SHOP)
        yield server.url("shop")


def confined(this: Composition) -> Mapping[str, str]:
    """Return what the kernel says of each service's process, by name. Raises: Failed."""
    results = {}
    for process in PROCESSES:
        inside = this.process(process.name)
        child = max(_children(inside), default=inside)  # under the init that reaps
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{child}/status").read_text().splitlines())
        wanted = {"CapEff": "0" * 16, "CapBnd": "0" * 16, "NoNewPrivs": "1", "Seccomp": "2"}
        odd = [f"{name} {status[name]}" for name, value in wanted.items() if status[name].strip() != value]
        if odd or status["Uid"].split() != ["10001"] * 4:
            raise Failed(f"{process.name} runs as {status['Uid']} with {odd}")
        written = this.podman.tried(
            "exec", this.name(process.name), "sh", "-c", "touch /app/x || touch /venv/x || touch /x"
        )
        if written.returncode == 0:
            raise Failed(f"{process.name} may write its own image")
        results[process.name] = "user 10001, no capabilities, no new privileges, seccomp, read-only"
    return results


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def killed_on_the_way(this: Composition, client: Client, service: str, wanted: int) -> str:
    """Kill the service while jobs run; every accepted job ends once. Raises: Failed."""
    accepted = jobs.sleepers(client, range(wanted), _WORKERS_SLEEP)
    _until(lambda: jobs.running(accepted) > 1, lambda: f"no job runs: {this.logs('execution')}")
    before = this.process(service)
    os.kill(before, signal.SIGKILL)
    _until(lambda: this.process(service) not in (0, before), lambda: f"{service} was not started again")
    if service == "gateway":
        accepted += jobs.sleepers(client, range(wanted, wanted + 2), 0.1)
    attempts = list(jobs.ended_once(accepted))
    await_healthy(this, service)
    again = sum(attempt > 1 for attempt in attempts)
    return f"{service} killed with {wanted} jobs: all {len(attempts)} ended once, {again} in a second attempt"


def drained(this: Composition, client: Client, grace: int) -> str:
    """Stop the worker while jobs run: it lets them finish. Raises: Failed."""
    accepted = jobs.sleepers(client, range(2), _WORKERS_SLEEP)
    _until(lambda: jobs.running(accepted) == len(accepted), lambda: f"no job runs: {this.logs('execution')}")
    stopped = restarted(this, "execution", grace)
    if any(attempt > 1 for attempt in jobs.ended_once(accepted)):
        raise Failed("a job was begun again, though its worker was stopped softly")
    return f"execution stopped in {stopped.stop_seconds:.1f} s with jobs: they ended in their first attempt"


def restarted(this: Composition, service: str, grace: int) -> Restarted:
    """Stop it as compose does, and start it again. Raises: Failed when it had to be killed."""
    name = this.name(service)
    began = time.monotonic()
    this.podman.run("stop", "--time", str(grace), name)
    stopped = time.monotonic()
    status = int(this.podman.inspected(name)["State"]["ExitCode"])
    if status == 128 + signal.SIGKILL:
        raise Failed(f"{service} did not stop within {grace} s: {this.logs(service)}")
    this.podman.run("start", name)
    started = time.monotonic()
    await_healthy(this, service)
    return Restarted(service, stopped - began, time.monotonic() - started, status)
