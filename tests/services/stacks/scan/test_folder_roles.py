"""What a folder is to the source around it."""

from __future__ import annotations

import pytest

from services.stacks.manifests.kinds import kind_of, parse
from services.stacks.scan.folder_roles import TELLING, filled_by_a_tool, hoist, place
from services.stacks.scan.model import Scan, ScannedFolder
from tests.services.stacks.trees import tree_of


@pytest.mark.parametrize(
    ("path", "beside", "filled"),
    [
        ("target", "pom.xml", True), ("target", "package.json", False), ("a/build", "a/build.gradle.kts", True),
        ("a/build", "build.gradle.kts", False), ("vendor", "go.mod", True), ("vendor", "index.php", False),
        ("app/node_modules", "x.txt", True), ("app/.venv", "x.txt", True), ("env", "setup.py", False),
        ("deps", "mix.exs", True), ("deps", "Makefile", False), ("public", "hugo.toml", True), ("public", "a.html", False),
    ],
)  # fmt: skip
def test_a_folder_is_a_tools_where_its_manifest_stands_beside_it(path: str, beside: str, filled: bool) -> None:
    tree = tree_of({f"{path}/inner.txt": "x", beside: "x"})
    assert filled_by_a_tool(tree, path, path.rpartition("/")[0]) is filled


@pytest.mark.parametrize(
    ("name", "below_tests", "fixture", "test"),
    [
        ("testdata", False, True, False), ("third_party", False, True, False), (".github", False, True, False),
        ("fixtures", False, False, False), ("fixtures", True, True, True), ("spec", False, False, True), ("src", True, False, True),
    ],
)  # fmt: skip
def test_fixtures_and_tests_are_told_by_name_and_place(name: str, below_tests: bool, fixture: bool, test: bool) -> None:
    folder = ScannedFolder(name, {}, [], test=below_tests)
    place(folder, name)
    assert (folder.fixture, folder.test) == (fixture, test)


def test_every_name_that_says_something_is_among_the_telling_ones() -> None:
    assert {"target", "fixtures", "tests", "node_modules", "third_party", "Pods"} <= TELLING
    assert not {"src", "app", "lib64", "web"} & TELLING


@pytest.mark.parametrize(
    ("path", "text", "owner"),
    [
        ("api/Godeps/Godeps.json", '{"ImportPath": "a"}', "api"),
        ("api/requirements/requirements.txt", "flask\n", "api"),
        ("App.xcodeproj/project.pbxproj", "// !$*UTF8*$!\n", ""),
        ("api/src/requirements.txt", "flask\n", "api/src"),
    ],
)  # fmt: skip
def test_some_manifests_speak_for_a_folder_above(path: str, text: str, owner: str) -> None:
    tree = tree_of({path: text})
    scan = Scan(tree, "")
    for folder in tree.ordered():
        scan.folders[folder.path] = ScannedFolder(folder.path, folder.files, folder.folders)
    inner, _, name = path.rpartition("/")
    kind = kind_of(name)
    assert kind is not None
    scan.folders[inner].manifests.append(parse(tree, path, kind))
    hoist(scan, scan.folders[inner])
    assert [held for held, folder in scan.folders.items() if folder.manifests] == [owner]
    assert len(scan.folders[owner].manifests) == 1
