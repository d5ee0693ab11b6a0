"""One installation for all tests of the command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assay.terminal import SCRIPT, Shell, plain


@pytest.fixture(scope="session")
def shell(servers_folder: Path) -> Iterator[Shell]:
    """A terminal next to a running installation with scripted models."""
    home = servers_folder / "command"
    desk = servers_folder / "desk"
    desk.mkdir()
    shell = Shell(
        desk,
        {
            **plain(),
            "ASSAY_HOME": str(home),
            "XDG_STATE_HOME": str(servers_folder / "state"),  # where no other installation is listed
            "ASSAY_REPLICAS": "search=0,flows=0",
            "ASSAY_LEASE_SECONDS": "3",
        },
    )
    try:
        ran = shell("up", "-d", "--script", str(SCRIPT))
        assert ran.status == 0, ran.talk
        yield shell
    finally:
        assert shell("down").status == 0
