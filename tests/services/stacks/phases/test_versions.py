"""Which statement about a version takes precedence, and how the others are reported."""

from __future__ import annotations

import pytest

from shared.contracts.detect import VersionTrail
from tests.services.stacks.trees import Files, detected, service


def node(files: Files, path: str = "", runtime: str = "node") -> VersionTrail:
    detected_service = service(detected(files), path)
    return next(trail for trail in detected_service.versions if trail.runtime == runtime)


PACKAGE = {"name": "a", "engines": {"node": ">=18"}}


def test_tool_versions_outrank_nvmrc_which_outranks_engines() -> None:
    trail = node({"package.json": PACKAGE, ".nvmrc": "v20.11.1\n", ".tool-versions": "# tools\nnodejs 22.3.0\n"})
    assert (trail.value, trail.source, trail.file, trail.line) == ("22.3.0", ".tool-versions", ".tool-versions", 2)
    assert [overridden.model_dump() for overridden in trail.overridden] == [
        {"source": ".nvmrc", "file": ".nvmrc", "line": 1, "value": "v20.11.1"},
        {"source": "engines", "file": "package.json", "line": 4, "value": ">=18"},
    ]
    assert trail.range == ">=18"


def test_the_environment_outranks_everything() -> None:
    trail = node({"package.json": PACKAGE, ".tool-versions": "nodejs 22.3.0\n", ".env": "NODE_VERSION=21.0.0\n"})
    assert (trail.value, trail.source) == ("21.0.0", "env")


def test_netlify_sets_the_environment() -> None:
    trail = node(
        {"package.json": PACKAGE, "netlify.toml": '[build.environment]\nNODE_VERSION = "20"\n', ".nvmrc": "18"}
    )
    assert (trail.value, trail.source) == ("20", "env")


def test_a_dockerfile_comes_last() -> None:
    trail = node({"package.json": PACKAGE, "Dockerfile": "FROM node:16-alpine\n"})
    assert (trail.value, trail.source) == (">=18", "engines")
    assert [overridden.source for overridden in trail.overridden] == ["Dockerfile"]


def test_the_nearest_version_file_takes_precedence() -> None:
    files = {"package.json": PACKAGE, ".nvmrc": "18\n", "apps/w/package.json": {"name": "w"}, "apps/w/.nvmrc": "20\n"}
    assert node(files, "apps/w").value == "20"
    assert node(files).value == "18"


def test_a_member_inherits_the_roots_version_file() -> None:
    assert node({".nvmrc": "20.1.0\n", "apps/w/package.json": {"name": "w"}}, "apps/w").value == "20.1.0"


def test_volta_pins_beat_ranges() -> None:
    trail = node({"package.json": {**PACKAGE, "volta": {"node": "20.5.0"}}})
    assert (trail.value, trail.source) == ("20.5.0", "volta")


def test_dev_engines_name_a_runtime() -> None:
    trail = node({"package.json": {"devEngines": {"runtime": {"name": "node", "version": "^22"}}}})
    assert (trail.value, trail.source) == ("^22", "devEngines")


def test_mise_is_read() -> None:
    assert node({"package.json": PACKAGE, "mise.toml": '[tools]\nnode = "22.1"\n'}).value == "22.1"


def conflicts(files: Files) -> list[tuple[str, list[object], str | None, str]]:
    return [
        (conflict.kind, list(conflict.claims), conflict.winner, conflict.rule)
        for conflict in service(detected(files)).conflicts
    ]


def test_two_lockfiles_are_a_conflict() -> None:
    both = {"package.json": {"name": "a"}, "pnpm-lock.yaml": "x: 1\n", "package-lock.json": "{}"}
    assert conflicts(both) == [("lockfiles", ["pnpm", "npm"], "pnpm", "npm-last")]


def test_package_manager_decides_between_lockfiles() -> None:
    both = {"package.json": {"packageManager": "yarn@1.22.0"}, "pnpm-lock.yaml": "x: 1\n", "yarn.lock": "# v1\n"}
    assert conflicts(both) == [("lockfiles", ["yarn", "pnpm"], "yarn", "packageManager-field")]


def test_a_lockfile_of_another_manager_is_a_conflict() -> None:
    files = {"package.json": {"packageManager": "pnpm@9.0.0"}, "yarn.lock": "# v1\n"}
    assert conflicts(files) == [("package_manager", ["pnpm", "yarn"], "pnpm", "packageManager-field")]


def test_engines_against_nvmrc_is_a_conflict() -> None:
    files = {"package.json": {"engines": {"node": ">=20"}}, ".nvmrc": "18.2.0\n"}
    assert conflicts(files) == [("versions", [".nvmrc 18.2.0", "engines >=20"], ".nvmrc 18.2.0", "version-precedence")]


def test_a_pin_within_its_range_is_no_conflict() -> None:
    assert conflicts({"package.json": {"engines": {"node": ">=18"}}, ".nvmrc": "20\n"}) == []


@pytest.mark.parametrize(
    "files",
    [
        {"go.mod": "module a\n\ngo 1.22.3\n\ntoolchain go1.23.1\n", "main.go": "package main\n"},
        {"Cargo.toml": '[package]\nname = "a"\nrust-version = "1.70"\n', "rust-toolchain": "1.78.0\n"},
        {
            "pom.xml": "<project><properties><java.version>17</java.version></properties></project>",
            ".java-version": "21",
        },
    ],
)
def test_an_oldest_version_is_no_contradiction_to_a_newer_pin(files: Files) -> None:
    assert conflicts(files) == []


def test_an_oldest_version_above_the_pin_is_a_conflict() -> None:
    files = {"Cargo.toml": '[package]\nname = "a"\nrust-version = "1.80"\n', "rust-toolchain": "1.78.0\n"}
    assert [conflict[0] for conflict in conflicts(files)] == ["versions"]


def test_python_lockfiles_conflict_too() -> None:
    files = {"pyproject.toml": '[project]\nname = "a"\n', "uv.lock": "", "poetry.lock": ""}
    assert conflicts(files) == [("lockfiles", ["uv", "poetry"], "uv", "python-manager-order")]


def test_maven_beside_gradle_is_a_conflict() -> None:
    files = {"pom.xml": "<project><artifactId>a</artifactId></project>", "build.gradle": "plugins { id 'java' }\n"}
    assert [conflict[0] for conflict in conflicts(files)] == ["build_systems"]


def test_frameworks_carry_their_locked_version() -> None:
    files = {
        "package.json": {"dependencies": {"next": "^14.0.0"}},
        "package-lock.json": {"packages": {"node_modules/next": {"version": "14.2.3", "resolved": "x"}}},
    }
    proven = next(candidate for candidate in service(detected(files)).candidates if candidate.id == "nextjs")
    assert proven.version == "14.2.3"


@pytest.mark.parametrize(
    ("lock", "text"),
    [
        ("yarn.lock", '# yarn lockfile v1\n\nnext@^14.0.0:\n  version "14.2.3"\n'),
        ("yarn.lock", '__metadata:\n  version: 8\n\n"next@npm:^14.0.0":\n  version: 14.2.3\n'),
        (
            "pnpm-lock.yaml",
            "importers:\n  .:\n    dependencies:\n      next:\n        specifier: ^14.0.0\n        version: 14.2.3(react@18)\n",
        ),
        ("bun.lock", '{"packages": {"next": ["next@14.2.3", "", {}]}}'),
    ],
)
def test_every_lockfile_of_javascript_is_read(lock: str, text: str) -> None:
    detected_service = service(detected({"package.json": {"dependencies": {"next": "^14.0.0"}}, lock: text}))
    assert next(candidate for candidate in detected_service.candidates if candidate.id == "nextjs").version == "14.2.3"
