"""What a folder is to the source around it: filled by a tool, of tests, or one that speaks for a folder above."""

from __future__ import annotations

from itertools import islice

from services.stacks.manifests.kinds import REQUIREMENT_FOLDERS
from services.stacks.scan.model import Scan, ScannedFolder
from services.stacks.tree import NEVER_FIRST_PARTY, Tree, ancestors

#: Folders that belong to a build tool when this is next to them.
_FILLED_BY = {
    "target": ("Cargo.toml", "pom.xml", "build.sbt", "project.clj", "deps.edn"),
    "build": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "CMakeLists.txt",
              "pubspec.yaml", "meson.build", "gleam.toml", "setup.py"),
    "dist": ("package.json", "pyproject.toml", "setup.py"),
    "vendor": ("go.mod", "composer.json", "Gemfile"),
    "Pods": ("Podfile",),
    "_build": ("mix.exs", "dune-project", "rebar.config"),
    "deps": ("mix.exs",),
    "venv": ("pyproject.toml", "requirements.txt", "setup.py", "Pipfile"),
    "env": (),
    "lib": ("shard.yml",),
    "zig-out": ("build.zig",),
    "_site": ("_config.yml", "Gemfile", "package.json"),
    "public": ("hugo.toml", "hugo.yaml", "gatsby-config.js", "gatsby-config.ts"),
    "buck-out": (".buckconfig",),
}  # fmt: skip
_FIXTURE_NAMES = frozenset(
    ("testdata", "__fixtures__", "__mocks__", "__snapshots__", "testfixtures", "test-fixtures", "test_fixtures",
     "thirdparty", "third-party", "third_party", "3rdparty", "3rd-party", "3rd_party", ".yarn", ".github")
)  # fmt: skip
_TEST_NAMES = frozenset(("test", "tests", "spec", "specs", "__tests__", "e2e"))
#: All names of folders that say something here; most say nothing.
TELLING = NEVER_FIRST_PARTY | _FILLED_BY.keys() | _FIXTURE_NAMES | _TEST_NAMES | {"fixture", "fixtures"}


def filled_by_a_tool(tree: Tree, path: str, outer: str) -> bool:
    """Return whether a tool fills the folder, so that nothing in it is first-party."""
    name = path[len(outer) + 1 :] if outer else path
    if name in NEVER_FIRST_PARTY:
        return True
    fillers = _FILLED_BY.get(name)
    if not fillers:
        return False
    beside = tree.folders.get(outer)
    return beside is not None and any(filler in beside.files for filler in fillers)


#: Manifests that describe a folder above their own, by their folder's name: how many levels up.
_SPEAKS_FOR = {
    ("Godeps", "Godeps.json"): 1, ("vendor", "vendor.json"): 1, ("ProjectSettings", "ProjectVersion.txt"): 1,
    ("_default", "hugo"): 2, **{(name, "requirements.txt"): 1 for name in REQUIREMENT_FOLDERS},
}  # fmt: skip


def hoist(scan: Scan, folder: ScannedFolder) -> None:
    """Give manifests to the folder that they speak for; a project of Xcode is a folder."""
    name = folder.path.rpartition("/")[2]
    for manifest in list(folder.manifests):
        levels = 1 if name.endswith(".xcodeproj") else _SPEAKS_FOR.get((name, manifest.kind), 0)
        outer = scan.folders.get(next(islice(ancestors(folder.path), levels, None), "")) if levels else None
        if outer is not None and outer is not folder:
            outer.manifests.append(manifest)
            folder.manifests.remove(manifest)


def place(folder: ScannedFolder, name: str) -> None:
    """Mark a folder of test fixtures or of foreign code; the folders above are marked earlier."""
    if name in _FIXTURE_NAMES or (folder.test and name in {"fixture", "fixtures"}):
        folder.fixture = True
    elif name in _TEST_NAMES:
        folder.test = True
