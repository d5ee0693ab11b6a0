"""Findings of a package: proofs add up, and the order follows the surest."""

from __future__ import annotations

import pytest

from services.stacks.packages.package import Package, Proof, TechnologyFinding
from services.stacks.packages.ranking import ordered, primary_of


def proof(weight: float, file: str = "a", line: int | None = None) -> Proof:
    return Proof(file, line, "rule", None, weight)


def test_independent_proofs_leave_less_doubt() -> None:
    assert TechnologyFinding("language", "go", "Go", [proof(0.5), proof(0.5, "b")]).confidence == 0.75
    assert TechnologyFinding("language", "go", "Go", [proof(0.9)]).confidence == 0.9


def test_two_findings_of_one_technology_become_one_with_the_best_proof_of_each_place() -> None:
    package = Package("", [], {})
    package.add(TechnologyFinding("framework", "koa", "Koa", [proof(0.3)]))
    package.add(TechnologyFinding("framework", "koa", "Koa", [proof(0.6), proof(0.5, "b")], version="2"))
    (finding,) = package.findings_of("framework")
    assert finding.confidence == pytest.approx(0.8)
    assert finding.version == "2"


def test_the_order_is_made_anew_when_something_is_added() -> None:
    package = Package("", [], {})
    package.add(TechnologyFinding("framework", "express", "Express", [proof(0.9)], tier=65, ecosystem="npm"))
    first = primary_of(package, "framework")
    package.add(TechnologyFinding("framework", "nextjs", "Next.js", [proof(0.9)], tier=80, ecosystem="npm"))
    assert first is not None
    assert [finding.id for finding in ordered(package, "framework")] == ["nextjs", "express"]


def test_an_unsure_framework_is_not_the_primary_one() -> None:
    package = Package("", [], {})
    package.add(TechnologyFinding("framework", "koa", "Koa", [proof(0.35)]))
    assert primary_of(package, "framework") is None
    package.add(TechnologyFinding("framework", "own", "Own", [proof(0.3)], source="user", custom=True))
    primary = primary_of(package, "framework")
    assert primary is not None
    assert primary.id == "own"
