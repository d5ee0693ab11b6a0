"""A slice of the thousand hostile programs; ``python -m tests.services.execution.sandbox.hostile`` runs all of them."""

from __future__ import annotations

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from tests.services.execution.sandbox.hostile import faults_of, programs

_FIRST, _SLICE = 250, 40  #: beyond the plain ones, which have tests of their own


def test_there_are_a_thousand_and_each_is_another() -> None:
    row = programs(1000)
    assert len({program.run.code for program in row}) == 1000
    assert programs(1000) == row


@pytest.mark.slow(seconds=9)
@pytest.mark.parametrize("part", range(3))
def test_no_disguise_helps_a_hostile_program(sandbox: Sandbox, part: int) -> None:
    begin = _FIRST + part * _SLICE
    assert faults_of(sandbox, programs(1000)[begin : begin + _SLICE]) == []
