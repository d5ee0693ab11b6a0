"""Names of variables that prove a service: only those of a connection, and never in the product itself."""

from __future__ import annotations

import pytest

from services.stacks.rules.backing import load_backing_rules
from tests.services.stacks.trees import detected, service

RULES = load_backing_rules()


def used(name: str, variable: str) -> set[str]:
    files = {"package.json": {"name": name}, "index.js": f"process.env.{variable};\n"}
    return {one.id for one in service(detected(files)).backing_services}


@pytest.mark.parametrize("prefix", sorted(RULES.prefixes))
def test_a_family_of_variables_proves_a_service_but_not_in_its_own_source(prefix: str) -> None:
    rule = RULES.prefixes[prefix]
    if prefix.startswith(("NEXT_PUBLIC_", "VITE_")):
        return  # of builds, which no server reads
    assert used("shop", f"{prefix}HOST") == {rule.id}
    assert used(rule.id, f"{prefix}HOST") == set()
    assert used(f"@{rule.id}/{rule.id}-server", f"{prefix}HOST") == set()
    assert used(prefix.strip("_").lower(), f"{prefix}HOST") == set()
    assert used("shop", f"{prefix}FLAVOUR") == set()


def test_a_name_that_only_begins_like_the_product_is_not_the_product() -> None:
    assert used("redis-commander", "REDIS_HOST") == {"redis"}
    assert used("my-stripe", "STRIPE_API_KEY") == {"stripe"}
