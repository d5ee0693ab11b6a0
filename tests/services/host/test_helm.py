"""The Helm chart runs the processes of the one table; the manifests for kustomize are what it renders."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml
from sqlalchemy import text

from scripts import kubernetes
from services.host.processes import PROCESSES, Process
from shared import VERSION
from shared.db import connect
from shared.jobs.record import submission
from shared.kinds import KINDS
from shared.settings import JobSettings
from tests.support.rows import job_row

VALUES: dict[str, Any] = yaml.safe_load((kubernetes.CHART / "values.yaml").read_text())
needs_helm = pytest.mark.skipif(
    shutil.which("helm") is None and not Path(sys.executable).with_name("helm").exists(),
    reason="helm is not installed: its wheel is for x86-64 only",
)


def resources(*settings: str) -> list[dict[str, Any]]:
    return [part for part in yaml.safe_load_all(kubernetes.rendered(*settings)) if part]


def of_kind(parts: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {part["metadata"]["name"]: part for part in parts if part["kind"] == kind}


@needs_helm
def test_kustomize_has_what_the_chart_renders() -> None:
    files = kubernetes.files()
    assert {path.name for path in files if path.parent == kubernetes.TARGET} >= {"gateway.yaml", "network.yaml"}
    for path, content in files.items():
        assert path.read_text() == content, f"run `python -m scripts.kubernetes`: {path.name} is stale"


def test_the_values_are_the_table_of_processes() -> None:
    def of(process: Process) -> tuple[int, str]:
        return process.memory_mb, process.models

    values = {name: (each["memory"], each["models"]) for name, each in VALUES["processes"].items()}
    assert values == {process.name: of(process) for process in PROCESSES}
    least = max(process.grace_seconds for process in PROCESSES)
    assert VALUES["terminationGracePeriodSeconds"] >= least


def test_every_kind_scales_its_worker() -> None:
    scaling = VALUES["autoscaling"]
    scaled = {kind: name for name, target in scaling["targets"].items() for kind in target.get("kinds", [])}
    assert scaled == {name: kind.service for name, kind in KINDS.items()}
    assert scaling["jobsPerPod"] == JobSettings().concurrency


@needs_helm
@pytest.mark.parametrize("engine", ["none", "hpa", "keda"])
def test_what_is_scaled_has_no_fixed_number(engine: str) -> None:
    parts = resources(f"autoscaling.engine={engine}", "ingress.enabled=true", "podMonitor.enabled=true")
    scaled = set(of_kind(parts, "HorizontalPodAutoscaler")) | set(of_kind(parts, "ScaledObject"))
    assert scaled == (set() if engine == "none" else set(VALUES["autoscaling"]["targets"]))
    for name, deployment in of_kind(parts, "Deployment").items():
        assert ("replicas" in deployment["spec"]) == (name not in scaled)
    ingress = of_kind(parts, "Ingress")["gateway"]["spec"]
    assert ingress["tls"][0]["hosts"] == [ingress["rules"][0]["host"]]
    own = {"ScaledObject", "TriggerAuthentication", "PodMonitor"}  # of operators, whose schemas no registry has
    for part in parts:
        if part["kind"] not in own:
            kubernetes_validate.validate(part, "1.33", strict=True)


@needs_helm
def test_other_engines_are_refused() -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        resources("autoscaling.engine=magic")
    assert "none, hpa or keda" in refused.value.stderr


@needs_helm
def test_keda_counts_the_jobs_that_wait_and_run(database_url: str) -> None:
    scaled = of_kind(resources("autoscaling.engine=keda"), "ScaledObject")
    engine = connect(database_url)
    with engine.begin() as connection:
        for kind in ("execute", "execute", "transform", "search"):
            connection.execute(submission.submit(job_row(kind=kind)))
        [query] = [trigger["metadata"]["query"] for trigger in scaled["execution"]["spec"]["triggers"]]
        assert connection.execute(text(query)).scalar_one() == 3
        connection.rollback()
    engine.dispose()


@needs_helm
def test_a_process_starts_with_its_schema_and_ends_softly() -> None:
    parts = resources()
    assert of_kind(parts, "Job")["migrate"]["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    for process in PROCESSES:
        pod = of_kind(parts, "Deployment")[process.name]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert pod["initContainers"][0]["command"] == ["python", "-m", "migrations", "--wait"]
        assert container["livenessProbe"]
        assert ("startupProbe" in container) == (process.readiness == "file")
        served = process.name in ("gateway", "broker")
        assert ("lifecycle" in container) == served
        assert pod["terminationGracePeriodSeconds"] >= process.grace_seconds + (5 if served else 0)
        assert {each["topologyKey"] for each in pod["topologySpreadConstraints"]} == {
            "kubernetes.io/hostname",
            "topology.kubernetes.io/zone",
        }


@needs_helm
def test_nobody_touches_a_node_for_the_seccomp_profile() -> None:
    parts = resources()
    profile = json.loads((kubernetes.ROOT / "deploy" / "execution" / "seccomp.json").read_text())
    assert json.loads(of_kind(parts, "ConfigMap")["seccomp"]["data"]["execution.json"]) == profile
    installer = of_kind(parts, "DaemonSet")["seccomp"]
    pod = installer["spec"]["template"]["spec"]
    named = of_kind(parts, "Deployment")["execution"]["spec"]["template"]["spec"]["securityContext"]["seccompProfile"]
    [written] = re.findall(r"mv \S+ /node/(\S+)", pod["initContainers"][0]["command"][-1])
    assert (named["type"], named["localhostProfile"]) == ("Localhost", written)
    [node] = [volume["hostPath"]["path"] for volume in pod["volumes"] if "hostPath" in volume]
    assert node == VALUES["seccomp"]["folder"] == "/var/lib/kubelet/seccomp"
    assert installer["metadata"]["namespace"] == "assay-execution", "the other namespace refuses hostPath and root"
    kubernetes_validate.validate(installer, "1.33", strict=True)
    without = resources("seccomp.install=false")
    assert not of_kind(without, "DaemonSet")
    assert not of_kind(without, "ConfigMap")


@needs_helm
def test_helm_test_runs_a_job_and_may_reach_what_it_needs() -> None:
    parts = resources()
    pod = of_kind(parts, "Pod")["first-job"]
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    [container] = pod["spec"]["containers"]
    assert container["command"] == ["python", "-m", "services.host.first_job", "http://gateway.assay"]
    kubernetes_validate.validate(pod, "1.33", strict=True)
    policies = of_kind(parts, "NetworkPolicy")
    [rule] = policies["first-job"]["spec"]["egress"]
    assert rule["to"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "gateway"}}}]
    [_, of_names] = policies["to-the-internet"]["spec"]["podSelector"]["matchExpressions"]
    assert "first-job" in of_names["values"]
    assert "first-job" not in "".join(path.read_text() for path in kubernetes.TARGET.glob("first-job*"))


@needs_helm
def test_every_image_comes_from_the_registry_of_the_values() -> None:
    parts = resources("registry=registry.example.com/team/")
    pods = [part["spec"] if part["kind"] == "Pod" else part["spec"]["template"]["spec"] for part in parts
            if part["kind"] in ("Pod", "Job", "Deployment", "DaemonSet")]  # fmt: skip
    images = {each["image"] for pod in pods for each in [*pod["containers"], *pod.get("initContainers", [])]}
    names = {"assay", "assay-search", "assay-execution"}
    assert images == {f"registry.example.com/team/{name}:{VERSION}" for name in names}


@needs_helm
def test_no_secret_is_made_up_where_the_cluster_is_not_seen() -> None:
    assert not of_kind(resources(), "Secret")


def test_the_page_names_values_that_the_chart_has() -> None:
    page = (kubernetes.ROOT / "docs" / "how-to" / "kubernetes.md").read_text()
    roots = "seccomp|network|podMonitor|images|registry|executionNamespace|env|processEnv|ingress|autoscaling"
    named = set(re.findall(rf"(?:--set |`)((?:{roots})[\w.]*)", page))
    assert {"registry", "seccomp.install", "seccomp.folder", "network.storeCidrs"} <= named
    for name in named:
        value: Any = VALUES
        for part in name.rstrip(".").split("."):
            if part.isupper():
                break
            assert part in value, name
            value = value[part]
    for path in re.findall(r"deploy/[\w./-]+", page):
        assert (kubernetes.ROOT / path.rstrip(".")).exists(), path
