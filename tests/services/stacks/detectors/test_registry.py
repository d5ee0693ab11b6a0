"""The order of the detectors, which mode leaves which of them out, and which claim about a manager wins."""

from __future__ import annotations

import pytest

from services.stacks.detectors.javascript import Claim, choose
from services.stacks.detectors.languages import Runtimes
from services.stacks.detectors.registry import RULE_DETECTORS, build_detectors
from services.stacks.packages.package import Proof
from services.stacks.rules.loading import load_rules
from shared.contracts.definitions import Definition

OWN = Definition(id="acme", kind="framework", name="Acme", files=["acme.conf"])


def names(mode: str) -> list[str]:
    rules = load_rules()
    detectors = build_detectors(rules, mode, [OWN], [Runtimes(rules, "runtime")])
    return [type(detector).__name__ for detector in detectors]


def test_definitions_come_first_and_those_that_ask_a_model_last() -> None:
    ruled = [type(make(load_rules())).__name__ for make in RULE_DETECTORS]
    assert names("full") == ["Definitions", *ruled, "Runtimes"]
    assert names("static") == ["Definitions", *ruled]
    assert names("llm_only") == ["Runtimes"]


def claim(manager: str, step: str, depth: int = 0) -> Claim:
    return Claim(manager, step, Proof("f", None, "r", None, 0.9), depth)


@pytest.mark.parametrize(
    ("claims", "winner"),
    [
        ([claim("npm", "packageManager"), claim("bun", "lockfile")], "npm"),
        ([claim("yarn", "lockfile", 1), claim("npm", "lockfile", 0)], "npm"),
        ([claim("npm", "lockfile"), claim("pnpm", "lockfile")], "pnpm"),
        ([claim("yarn", "lockfile"), claim("bun", "lockfile")], "bun"),
        ([claim("pnpm", "lockfile"), claim("yarn", "lockfile"), claim("yarn", "config")], "yarn"),
        ([claim("yarn", "command"), claim("pnpm", "engines")], "pnpm"),
    ],
)
def test_the_step_of_precedence_decides_then_the_nearest(claims: list[Claim], winner: str) -> None:
    chosen = choose(claims)
    assert chosen is not None
    assert chosen.manager == winner


def test_without_claims_nothing_is_chosen() -> None:
    assert choose([]) is None
