"""What is built: the same from the same sources, wherever they lie, of packages that name no registry."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.console.conftest import ROOT, build

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.xdist_group("console")]

_LOCKS = (ROOT / "console" / "package-lock.json", ROOT / "tests" / "console" / "chromium" / "package-lock.json")


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def test_two_builds_of_the_same_sources_are_the_same_bytes_and_leave_the_lock_as_it_is(
    dist: Path, tmp_path: Path
) -> None:
    again = tmp_path / "elsewhere" / "console"
    sources = dist.parent
    fetched = (".node", "node_modules")
    made = shutil.ignore_patterns("dist", "dist.new", ".browser", ".lock", *fetched)
    shutil.copytree(sources, again, ignore=made)
    for name in fetched:  # where a build has left them, they need not be fetched again
        if (sources / name).is_dir():
            shutil.copytree(sources / name, again / name, symlinks=True, copy_function=_linked)
    lock = (again / "package-lock.json").read_bytes()

    first, second = _bytes(dist), _bytes(build(again))
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []
    assert len(first) > 50
    assert not [name for name, content in first.items() if str(sources).encode() in content], "nor of where they lie"
    assert (again / "package-lock.json").read_bytes() == lock


@pytest.mark.parametrize("lock", _LOCKS, ids=lambda lock: str(lock.parent.name))
def test_a_lock_has_exact_packages_and_no_addresses(lock: Path) -> None:
    packages = json.loads(lock.read_text())["packages"]
    wanted = {name: package for name, package in packages.items() if name}
    assert wanted
    for name, package in wanted.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
    asked = json.loads((lock.parent / "package.json").read_text())
    versions = {**asked.get("dependencies", {}), **asked.get("devDependencies", {})}
    assert {name: packages[f"node_modules/{name}"]["version"] for name in versions} == versions
