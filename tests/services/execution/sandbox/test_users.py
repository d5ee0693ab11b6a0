"""The same walls for root and for an ordinary user: as root, the attacks are made again without being root."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.services.execution.sandbox.ordinary import python_as

_ORDINARY = 64_001
_ALL = sorted(str(path) for path in Path("tests/services/execution/sandbox").glob("test_hostile*.py"))
#: CI takes the time for all of them, a module at a time.
_ATTACKS = (
    [[each] for each in _ALL]
    if os.environ.get("CI") == "true"
    else [[*_ALL, "-k", "reaches or huge or threads or swap"]]
)


@pytest.mark.slow(seconds=20)
@pytest.mark.skipif(os.geteuid() != 0, reason="this is already an ordinary user")
@pytest.mark.timeout(600)  # on a busy machine; 40 s by itself
@pytest.mark.parametrize("attacks", _ATTACKS, ids=lambda attacks: Path(attacks[0]).stem)
def test_an_ordinary_user_has_the_same_walls(attacks: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        options = ["-q", "-x", "-p", "no:cacheprovider", f"--basetemp={folder}/pytest", "-W", "default"]
        answer = python_as(_ORDINARY, "-m", "pytest", *options, *attacks)
    assert answer.returncode == 0, answer.stdout[-4000:] + answer.stderr[-2000:]
