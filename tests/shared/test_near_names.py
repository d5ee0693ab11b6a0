"""Which names a sentence offers for one that does not exist."""

from __future__ import annotations

import pytest

from shared.near_names import no_such

ROLES = ["execution.transform", "execution.repair", "flows.edit", "search.plan"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("transform", "Did you mean execution.transform?"),  # the last part
        ("Transfrom", "Did you mean execution.transform?"),  # misspelled, too
        ("execution", "Did you mean execution.repair or execution.transform?"),
        ("Flows.Edit", "Did you mean flows.edit?"),
        ("flow.edit", "Did you mean flows.edit?"),
        ("nosuch", "The roles are execution.repair, execution.transform, flows.edit, search.plan."),
        ("x" * 10_000, "The roles are execution.repair, execution.transform, flows.edit, search.plan."),
    ],
)
def test_the_names_that_were_probably_meant_are_offered(given: str, says: str) -> None:
    assert no_such("role", given, ROLES) == f"There is no role {given[:100]!r}. {says}"


def test_an_empty_list_is_said() -> None:
    assert no_such("endpoint", "x", []) == "There is no endpoint 'x'. There are no endpoints yet."
