"""Each form of lock file as its manager writes it, to package URLs."""

from __future__ import annotations

import pytest

from services.stacks.locks.purl import parts, purl
from services.stacks.locks.readers import FORMS
from tests.services.stacks.trees import detected, warned

NPM = """{"lockfileVersion": 3, "packages": {"": {"name": "a"}, "node_modules/@x/y": {"version": "1.2.3"},
 "node_modules/a/node_modules/z": {"version": "2.0.0-rc.1"}, "node_modules/w": {"link": true, "version": "1.0.0"},
 "node_modules/alias": {"name": "real", "version": "4.0.0"}, "packages/w": {"version": "1.0.0"}}}"""
NPM_1 = """{"lockfileVersion": 1, "dependencies": {"a": {"version": "1.0.0", "dependencies": {"b": {"version": "2.0.0"}}},
 "g": {"version": "git+https://x/y"}}}"""
PNPM = """lockfileVersion: '9.0'

importers:

  .:
    dependencies:
      '@x/y':
        specifier: ^1
        version: 1.2.3

packages:

  '@x/y@1.2.3':
    resolution: {integrity: sha512-x}

  z@2.0.0:
    resolution: {integrity: sha512-y}

snapshots:

  z@2.0.0(react@18.0.0): {}
"""
PNPM_6 = "lockfileVersion: '6.0'\n\npackages:\n\n  /@x/y@1.2.3(react@18.2.0):\n    dev: false\n\n  /z@2.0.0:\n    dev: true\n"
PNPM_5 = (
    "lockfileVersion: 5.4\n\npackages:\n\n  /@x/y/1.2.3_react@18.2.0:\n    dev: false\n\n  /z/2.0.0:\n    dev: true\n"
)
YARN = """# yarn lockfile v1


"@x/y@^1.0.0", "@x/y@^1.2.0":
  version "1.2.3"
  resolved "https://registry.yarnpkg.com/x"

z@^2:
  version "2.0.0"
"""
BERRY = """__metadata:
  version: 8

"@x/y@npm:^1.0.0":
  version: 1.2.3
  resolution: "@x/y@npm:1.2.3"

"own@workspace:.":
  version: 0.0.0-use.local
  resolution: "own@workspace:."

"z@npm:^2":
  version: 2.0.0
  resolution: "z@npm:2.0.0"
"""
BUN = '{\n  "lockfileVersion": 1,\n  "packages": {\n    "@x/y": ["@x/y@1.2.3", "", {}, "sha512"],\n    "z": ["z@2.0.0", "", {}, ""],\n    "w": ["w@workspace:w"],\n  }\n}\n'
UV = """version = 1

[[package]]
name = "own"
version = "0.1.0"
source = { virtual = "." }

[[package]]
name = "Flask_Login"
version = "3.0.0"
source = { registry = "https://pypi.org/simple" }
dependencies = [
    { name = "click" },
]

[[package]]
name = "click"
version = "8.1.7"
"""
CARGO = """version = 4

[[package]]
name = "own"
version = "0.1.0"

[[package]]
name = "axum"
version = "0.7.5"
source = "registry+https://github.com/rust-lang/crates.io-index"
"""
GEMS = "GIT\n  remote: x\n  specs:\n    local (1.0)\n\nGEM\n  remote: https://rubygems.org/\n  specs:\n    rails (7.1.3)\n      rack (>= 2.0)\n    rack (3.0.9)\n\nPLATFORMS\n  ruby\n"
PUB = 'packages:\n  http:\n    dependency: "direct main"\n    description:\n      name: http\n    source: hosted\n    version: "1.2.0"\n  flutter:\n    dependency: "direct main"\n    source: sdk\n    version: "0.0.0"\n'
MIX = '%{\n  "plug": {:hex, :plug, "1.15.3", "abc", [:mix], [], "hexpm", "x"},\n  "own": {:git, "https://x", "a", []},\n}\n'
CASES = [
    ("package-lock.json", NPM, ["npm/%40x/y@1.2.3", "npm/real@4.0.0", "npm/z@2.0.0-rc.1"]),
    ("package-lock.json", NPM_1, ["npm/a@1.0.0", "npm/b@2.0.0"]),
    *(("pnpm-lock.yaml", text, ["npm/%40x/y@1.2.3", "npm/z@2.0.0"]) for text in (PNPM, PNPM_6, PNPM_5)),
    *(("yarn.lock", text, ["npm/%40x/y@1.2.3", "npm/z@2.0.0"]) for text in (YARN, BERRY)),
    ("bun.lock", BUN, ["npm/%40x/y@1.2.3", "npm/z@2.0.0"]),
    *((lock, UV, ["pypi/click@8.1.7", "pypi/flask-login@3.0.0"]) for lock in ("uv.lock", "pdm.lock", "poetry.lock")),
    ("Pipfile.lock", '{"default": {"click": {"version": "==8.1.7"}}, "develop": {"x": {"git": "y"}}}', ["pypi/click@8.1.7"]),
    ("Cargo.lock", CARGO, ["cargo/axum@0.7.5"]),
    ("go.sum", "github.com/A/b v1.2.3 h1:x=\ngithub.com/A/b v1.2.3/go.mod h1:y=\n", ["golang/github.com/a/b@v1.2.3"]),
    ("Gemfile.lock", GEMS, ["gem/rack@3.0.9", "gem/rails@7.1.3"]),
    ("composer.lock", '{"packages": [{"name": "a/b", "version": "v1.0"}], "packages-dev": []}', ["composer/a/b@1.0"]),
    (
        "packages.lock.json",
        '{"dependencies": {"net8.0": {"Json": {"type": "Direct", "resolved": "13.0.3"}, "own": {"type": "Project"}}}}',
        ["nuget/Json@13.0.3"],
    ),
    ("gradle.lockfile", "# x\ncom.a:b-c:1.2=runtimeClasspath\nempty=\n", ["maven/com.a/b-c@1.2"]),
    ("mix.lock", MIX, ["hex/plug@1.15.3"]),
    ("pubspec.lock", PUB, ["pub/http@1.2.0"]),
    (
        "Package.resolved",
        '{"pins": [{"location": "https://github.com/a/b.git", "state": {"version": "1.0.0"}}], "version": 2}',
        ["swift/github.com/a/b@1.0.0"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "urls"), CASES)
def test_each_form_is_read(name: str, text: str, urls: list[str]) -> None:
    for written in (text, text.replace("\n", "\r\n")):
        (lock,) = detected({f"app/{name}": written}).locks
        assert (lock.file, lock.complete) == (f"app/{name}", lock.left_out_count == 0)
        assert lock.packages == [f"pkg:{url}" for url in urls]


PNPM_ELSEWHERE = """lockfileVersion: '9.0'

packages:

  a@1.0.0:
    resolution: {integrity: sha512-x}

  '@x/tar@https://codeload.github.com/x/tar/tar.gz/abc':
    resolution: {tarball: https://codeload.github.com/x/tar/tar.gz/abc}

  own@git+https://host/own.git#abc:
    resolution: {commit: abc, repo: https://host/own.git, type: git}

  packed@file:vendor/packed.tgz:
    resolution: {integrity: sha512-y}

  member@file:packages/member:
    resolution: {directory: packages/member, type: directory}
"""
ELSEWHERE = [
    ("pnpm-lock.yaml", PNPM_ELSEWHERE, {("@x/tar", "tarball"), ("own", "git"), ("packed", "file")}),
    ("pnpm-lock.yaml", "lockfileVersion: '6.0'\n\npackages:\n\n  github.com/u/r/abc:\n    resolution: {}\n\n  '@github.com/u/s/def':\n    resolution: {}\n", None),
    ("package-lock.json", '{"packages": {"node_modules/a": {"version": "1.0.0", "resolved": "git+ssh://git@github.com/u/a.git#x"}, "node_modules/b": {"version": "1.0.0", "resolved": "https://registry.npmjs.org/b/-/b-1.0.0.tgz"}, "node_modules/c": {"resolved": "https://x"}}}', {("a", "git"), ("c", "no version")}),
    ("package-lock.json", '{"dependencies": {"g": {"version": "git+https://x/y"}, "h": {"version": "github:u/h#1"}}}', {("g", "git"), ("h", "git")}),
    ("yarn.lock", '# yarn lockfile v1\n\n"a@git+https://host/a.git":\n  version "1.0.0"\n  resolved "git+https://host/a.git#abc"\n\nb@^1:\n  version "1.0.0"\n  resolved "https://registry.yarnpkg.com/b/-/b-1.0.0.tgz#x"\n', {("a", "git")}),
    ("yarn.lock", '__metadata:\n  version: 8\n\n"a@https://github.com/u/a.git":\n  version: 1.0.0\n  resolution: "a@https://github.com/u/a.git#commit=abc"\n', {("a", "git")}),
    ("bun.lock", '{\n  "packages": {\n    "a": ["a@github:u/a#abc", {}, "x"],\n    "b": ["b@1.0.0", "", {}, ""],\n    "w": ["w@workspace:w"],\n  }\n}\n', {("a", "git")}),
    ("uv.lock", '[[package]]\nname = "a"\nversion = "1.0"\nsource = { git = "https://x/a?rev=1" }\n\n[[package]]\nname = "b"\nversion = "1.0"\nsource = { url = "https://x/b.whl" }\n\n[[package]]\nname = "own"\nversion = "1"\nsource = { editable = "." }\n', {("a", "git"), ("b", "tarball")}),
    ("poetry.lock", '[[package]]\nname = "a"\nversion = "1.0"\nfiles = []\n\n[package.source]\ntype = "git"\nurl = "https://x/a.git"\n\n[[package]]\nname = "b"\nversion = "2.0"\n', {("a", "git")}),
    ("pdm.lock", '[[package]]\nname = "a"\nversion = "1.0"\ngit = "https://x/a.git"\n', {("a", "git")}),
    ("Pipfile.lock", '{"default": {"a": {"git": "https://x/a.git", "ref": "1"}, "b": {"version": "==1.0"}, "own": {"path": ".", "editable": true}}}', {("a", "git")}),
    ("Cargo.lock", '[[package]]\nname = "a"\nversion = "1.0.0"\nsource = "git+https://x/a#abc"\n\n[[package]]\nname = "own"\nversion = "0.1.0"\n', {("a", "git")}),
    ("Gemfile.lock", "GIT\n  remote: https://x/a.git\n  specs:\n    a (1.0)\n\nGEM\n  specs:\n    b (2.0)\n", {("a", "git")}),
    ("mix.lock", '%{\n  "a": {:git, "https://x/a.git", "abc", []},\n}\n', {("a", "git")}),
    ("pubspec.lock", 'packages:\n  a:\n    dependency: "direct main"\n    source: git\n    version: "1.0.0"\n', {("a", "git")}),
    ("Package.resolved", '{"pins": [{"location": "https://github.com/u/a.git", "state": {"branch": "main", "revision": "abc"}}]}', {("a", "no version")}),
    ("packages.lock.json", '{"dependencies": {"net8.0": {"A": {"type": "Direct"}, "P": {"type": "Project"}}}}', {("A", "no version")}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "left_out"), ELSEWHERE)
def test_what_no_registry_has_is_left_out_by_name(name: str, text: str, left_out: set[tuple[str, str]] | None) -> None:
    files = {f"app/{name}": text}
    (lock,) = detected(files).locks
    assert not lock.complete
    assert lock.left_out_count == len(lock.left_out)
    if left_out is not None:
        assert {(entry.name, entry.reason) for entry in lock.left_out} == left_out
        assert not {entry.name for entry in lock.left_out} & {
            url.rpartition("/")[2].partition("@")[0] for url in lock.packages
        }
    (warning,) = [one for one in warned(files) if "the bill leaves out" in one]
    assert warning.startswith(f"app/{name}: ")


def test_every_form_has_a_case() -> None:
    assert {name for name, _, _ in CASES} == FORMS.keys() - {"npm-shrinkwrap.json"}


@pytest.mark.parametrize("name", sorted(FORMS))
def test_broken_and_hostile_files_are_told_and_end(name: str) -> None:
    for text in (
        "{",
        "[" * 50_000,
        "[]",
        '"' * 100_000,
        "  a@" * 50_000,
        "\n" * 100_000,
        "[[package]]\n" * 20_000,
        "  a:\n" * 50_000,
    ):
        assert [lock.packages for lock in detected({name: text}).locks] == [[]]
    assert any(name in warning for warning in warned({name: "{"})) == (
        name.endswith((".json", ".resolved", "file.lock", "composer.lock")) and name != "Gemfile.lock"
    )


def test_ignored_locks_are_left_out() -> None:
    assert detected({".gitignore": "poetry.lock\n", "poetry.lock": UV}).locks == []


def test_package_urls_come_apart_as_they_were_put_together() -> None:
    assert parts(purl("npm", "@x/y", "1.0.0+b")) == ("npm", "%40x", "y", "1.0.0%2Bb")
    assert parts(purl("maven", "a.b:c")) == ("maven", "a.b", "c", None)
