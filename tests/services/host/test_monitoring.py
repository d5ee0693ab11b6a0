"""Alerts and dashboards name series that our processes export, and every alert has its section in the docs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client import REGISTRY

import services.execution.metrics
import services.reconciler.webhooks
import shared.jobs.metrics
import shared.llm.job
from services.gateway.metrics import Metrics
from shared.kinds import KINDS

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
RULES = DEPLOY / "prometheus" / "rules.yml"
DASHBOARDS = sorted((DEPLOY / "grafana").glob("*.json"))
_MODULES = (shared.jobs.metrics, shared.llm.job, services.execution.metrics, services.reconciler.webhooks)
#: Of collectors, whose series are there only with something to report: the first word in a pair of brackets.
_COLLECTED = re.compile(r"\(\s*\"([a-z_]+)\"")
_WORDS = frozenset(
    {
        "sum", "min", "max", "by", "rate", "increase", "histogram_quantile", "time", "absent", "on", "group_left",
        "and", "or", "le",
    }
)  # fmt: skip


def told() -> set[str]:
    """Return the names of all series that our processes export."""
    gateway = Metrics("postgresql://nowhere/none", KINDS)
    try:
        families = [*REGISTRY._names_to_collectors, *gateway.registry._names_to_collectors]
    finally:
        gateway.close()
    root = DEPLOY.parent
    sources = ("shared/jobs/metrics.py", "services/execution/metrics.py", "services/gateway/metrics.py")
    collected = [name for file in sources for name in _COLLECTED.findall((root / file).read_text())]
    return {*families, *collected}


def named(expression: str) -> set[str]:
    """Return the series that an expression reads: its words but for functions, labels and their values."""
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", expression)
    bare = re.sub(r"\b(by|on|group_left|ignoring)\s*\([^)]*\)", "", bare)
    return set(re.findall(r"\b[a-z_]\w*\b", bare)) - _WORDS


def rules() -> list[dict[str, object]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def expressions() -> list[tuple[str, str]]:
    alerts = [(str(rule["alert"]), str(rule["expr"])) for rule in rules()]
    panels = [
        (f"{file.name}: {panel['title']}", target["expr"])
        for file in DASHBOARDS
        for panel in json.loads(file.read_text())["panels"]
        for target in panel["targets"]
    ]
    return [*alerts, *panels]


def test_every_series_of_alerts_and_dashboards_is_told_by_a_process() -> None:
    known = told()
    unknown = {where: sorted(named(text) - known) for where, text in expressions() if named(text) - known}
    assert unknown == {}
    assert all(named(text) for _, text in expressions())
    assert len(DASHBOARDS) == 3


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule["alert"]))
def test_every_alert_leads_to_what_to_do(rule: dict[str, dict[str, str]]) -> None:
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    text = (DEPLOY.parent / page).read_text()
    assert anchor == str(rule["alert"]).lower()
    assert re.search(rf"^## {rule['alert']}$", text, re.MULTILINE)
    assert rule["labels"]["severity"] in ("critical", "warning")


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_reads_rules_and_configuration() -> None:
    folder = DEPLOY / "prometheus"
    for words in (["check", "rules", "rules.yml"], ["check", "config", "prometheus.yml"]):
        checked = subprocess.run(["promtool", *words], cwd=folder, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr
