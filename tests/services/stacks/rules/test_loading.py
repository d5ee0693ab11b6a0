"""The rule set: every entry is sound, and names lead to it however they are spelled."""

from __future__ import annotations

import pytest

from services.stacks.rules.loading import load_rules
from services.stacks.rules.technologies import PREFIXES, TIERS


@pytest.mark.parametrize(
    ("name", "id", "custom"),
    [
        ("Next.js", "nextjs", False), ("nextjs-framework", "nextjs", False), ("  FastAPI ", "fastapi", False),
        ("Ruby on Rails", "rails", False), ("Blorb", "blorb", True),
    ],
)  # fmt: skip
def test_names_lead_to_known_ids(name: str, id: str, custom: bool) -> None:
    assert load_rules().canonical("framework", name)[::2] == (id, custom)


def test_every_kind_has_technologies_and_every_framework_a_tier_and_a_proof() -> None:
    rules = load_rules()
    assert all(rules.of(kind) for kind in PREFIXES)
    for framework in rules.of("framework"):
        assert framework.tier in TIERS.values(), framework.id
        keys = ("packages", "jsr", "deno", "files", "manifest_kinds", "imports")
        assert any(framework.list(key) for key in keys) or framework.spec.get("elsewhere"), framework.id


def test_what_a_rule_refers_to_exists() -> None:
    rules = load_rules()
    for language in rules.of("language"):
        runtime = language.text("runtime")
        assert runtime is None or rules.get("runtime", runtime), language.id
    for system in rules.of("build_system"):
        language_of_system = system.text("language")
        assert language_of_system is None or rules.get("language", language_of_system), system.id


def test_dependencies_lead_to_frameworks_by_their_exact_name() -> None:
    rules = load_rules()
    assert rules.by_dependency["npm", "next"].id == "nextjs"
    assert ("npm", "next-auth") not in rules.by_dependency
