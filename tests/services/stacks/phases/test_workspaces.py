"""Who manages which folders as one: each tool's own declaration, resolved against the tree."""

from __future__ import annotations

import pytest

from tests.services.stacks.trees import Files, detected

A, B = "packages/a", "packages/b"
NODE: dict[str, object] = {f"{A}/package.json": {}, f"{B}/package.json": {}}


@pytest.mark.parametrize(
    ("files", "manager", "members"),
    [
        ({"package.json": {"workspaces": ["packages/*"]}, **NODE}, "npm", [A, B]),
        ({"package.json": {"workspaces": ["packages/*", "!packages/b"]}, **NODE}, "npm", [A]),
        ({"package.json": {"workspaces": {"packages": ["packages/{a,b}"]}}, "yarn.lock": "", **NODE}, "yarn", [A, B]),
        ({"package.json": {}, "pnpm-workspace.yaml": "packages: ['**']\n", **NODE}, "pnpm", [A, B]),
        ({"package.json": {}, "lerna.json": "{}", **NODE}, "npm", [A, B]),
        ({"rush.json": '{"projects": [{"projectFolder": "packages/a"}, {"projectFolder": "nowhere"}]}', **NODE}, "rush", [A]),
        ({"deno.json": {"workspace": ["./packages/a"]}, f"{A}/deno.json": {"name": "x"}}, "deno", [A]),
        ({"Cargo.toml": '[workspace]\nmembers = ["packages/*"]\nexclude = ["packages/b"]\n', f"{A}/Cargo.toml": "", f"{B}/Cargo.toml": ""}, "cargo", [A]),
        ({"go.work": "go 1.22\nuse (\n\t.\n\t./packages/a\n)\n", "go.mod": "module r\n", f"{A}/go.mod": "module a\n"}, "go", ["", A]),
        ({"pyproject.toml": '[tool.uv.workspace]\nmembers = ["packages/*"]\n[project]\nname = "r"\n', f"{A}/pyproject.toml": "[project]\nname = 'a'\n"}, "uv", [A]),
        ({"settings.gradle": "include ':packages:a'\n", f"{A}/build.gradle": ""}, "gradle", [A]),
        ({"pom.xml": "<project><packaging>pom</packaging><modules><module>packages/a</module></modules></project>", f"{A}/pom.xml": "<project><artifactId>a</artifactId></project>"}, "maven", [A]),
        ({"mix.exs": 'def project do [apps_path: "packages"] end', f"{A}/mix.exs": "def project do [app: :a] end"}, "mix", [A]),
        ({"pubspec.yaml": "name: r\nworkspace: [packages/a]\n", f"{A}/pubspec.yaml": "name: a\n"}, "pub", [A]),
        ({"MODULE.bazel": "module(name='x')\n", f"{A}/BUILD.bazel": ""}, "bazel", [A]),
    ],
)  # fmt: skip
def test_a_workspace_names_its_manager_and_members(files: Files, manager: str, members: list[str]) -> None:
    workspace = detected(files).workspace
    assert workspace is not None
    assert (workspace.manager, workspace.members) == (manager, members)


def test_a_declaration_without_members_is_no_workspace() -> None:
    assert detected({"package.json": {"workspaces": ["none/*"]}, "i.js": "1\n"}).workspace is None
