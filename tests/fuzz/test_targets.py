"""The corpus of each target, and a few inputs more: `make fuzz` makes many."""

from __future__ import annotations

import pytest

from tests.fuzz.__main__ import fuzz
from tests.fuzz.targets import TARGETS

_CONTAINED = [name for name, target in TARGETS.items() if target.contained]
_OTHERS = [name for name in TARGETS if name not in _CONTAINED]


@pytest.mark.slow(seconds=10)
@pytest.mark.parametrize("names", [_CONTAINED, _OTHERS[::2], _OTHERS[1::2]], ids=["contained", "some", "others"])
def test_no_input_takes_much_or_breaks_a_parser(names: list[str]) -> None:
    fuzzed = fuzz(*names, seconds=0, examples=25)
    assert not fuzzed.failure, fuzzed.failure
