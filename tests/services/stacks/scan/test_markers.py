"""Which compose files run a program, which are for working on it, and which test it."""

from __future__ import annotations

import pytest

from services.stacks.scan.markers import compose_end


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("compose.yaml", "run"),
        ("docker-compose.yml", "run"),
        ("docker-compose.prod.yml", "run"),
        ("docker-compose-production.yaml", "run"),
        ("compose.staging.yaml", "run"),
        ("docker-compose.dev.yml", "work"),
        ("docker-compose.override.yml", "work"),
        ("compose.local.yaml", "work"),
        ("docker-compose.test.yml", "test"),
        ("docker-compose-ci.yml", "test"),
        ("compose.json", None),
        ("composer.yml", None),
        ("decompose.yml", None),
        ("compose.md", None),
    ],
)
def test_the_end_of_a_compose_file(name: str, end: str | None) -> None:
    assert compose_end(name) == end
