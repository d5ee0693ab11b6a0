"""How many of which process run: ``ASSAY_REPLICAS`` over the table."""

from __future__ import annotations

import pytest

from services.host.processes import MAX_REPLICAS, PROCESSES, parse_replicas, with_replicas


def test_replicas_are_read_by_name() -> None:
    assert parse_replicas(" execution=2, flows = 0,,") == {"execution": 2, "flows": 0}
    assert parse_replicas("") == {}


@pytest.mark.parametrize(
    "text", ["execution", "execution=", "execution=-1", "execution=1.5", f"flows={MAX_REPLICAS + 1}"]
)
def test_what_is_no_number_of_replicas_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="ASSAY_REPLICAS"):
        parse_replicas(text)


def test_the_table_changes_only_where_it_is_told_to() -> None:
    changed = with_replicas(PROCESSES, {"execution": 3})
    assert [process.replicas for process in changed] == [3 if each.name == "execution" else 1 for each in PROCESSES]
    with pytest.raises(ValueError, match="gatway"):
        with_replicas(PROCESSES, {"gatway": 1})
