"""A backup of a running installation comes back in a fresh one, whole or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.assay.terminal import Shell


@pytest.mark.slow(seconds=15)
def test_a_backup_is_restored_into_a_fresh_installation(shell: Shell, servers_folder: Path) -> None:
    program = shell.folder / "kept.py"
    program.write_text("open('out.txt', 'w').write('kept')\n6 * 7\n")
    job = shell("execute", str(program), "--json").json
    data = shell.folder / "kept.csv"
    data.write_text("city,n\nOslo,1\n")
    uploaded = shell("files", "put", str(data), "--json").json
    store = Path(shell.env["ASSAY_HOME"]) / "search"
    store.mkdir(exist_ok=True)
    (store / "probe").write_text("of the search store")
    file = shell.folder / "all.backup"
    made = shell("backup", str(file))
    assert made.status == 0, made.talk
    assert "with the search store" in made.talk
    assert file.stat().st_mode & 0o077 == 0

    home = servers_folder / "restored"
    fresh = Shell(shell.folder, {**shell.env, "ASSAY_HOME": str(home)})
    cut = shell.folder / "cut.backup"
    cut.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    for bad in (cut, data, shell.folder / "none"):
        refused = fresh("restore", str(bad))
        assert refused.status == 1
        assert refused.talk.startswith("Nothing was restored: ")
    try:
        restored = fresh("restore", str(file))
        assert restored.status == 0, restored.talk
        again = fresh("restore", str(file))
        assert again.status == 1
        assert "--replace" in again.talk
        assert fresh("restore", str(file), "--replace").status == 0
        assert (home / "search" / "probe").read_text() == "of the search store"
        started = fresh("up", "-d")
        assert started.status == 0, started.talk
        assert fresh("jobs", "get", job["id"], "--json").json["result"] == job["result"]
        assert fresh("files", "get", uploaded["id"], "-").out == data.read_text()
        assert shell("restore", str(file)).talk == "Assay is running here: `assay down` first.\n"
    finally:
        fresh("down")
        shutil.rmtree(home, ignore_errors=True)
