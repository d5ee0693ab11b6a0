"""Monorepos of every manager, and the awkward ones."""

from __future__ import annotations

from tests.services.stacks.projects.case import Case, deps, npm


def web(name: str, **fields: object) -> dict[str, object]:
    return npm(
        name=name, **{"dependencies": deps("next"), "scripts": {"start": "next start", "build": "next build"}, **fields}
    )


def lib(name: str) -> dict[str, object]:
    return npm(name=name, main="index.js", types="index.d.ts")


MEMBERS = {
    "apps/web/package.json": web("web"),
    "apps/web/pages/index.js": "1\n",
    "packages/ui/package.json": lib("ui"),
    "packages/ui/index.js": "1\n",
}
BOTH = ("apps/web", "packages/ui")

CASES = [
    Case("turborepo on pnpm", {"package.json": npm(name="root", private=True, devDependencies=deps("turbo")), "turbo.json": {"tasks": {}}, "pnpm-workspace.yaml": "packages:\n  - 'apps/*'\n  - 'packages/*'\n", "pnpm-lock.yaml": "x: 1\n", **MEMBERS},
         at="apps/web", orchestrator="turborepo", workspace=("pnpm", BOTH), build="pnpm", framework="nextjs", role="app", paths=("apps/web", "", "packages/ui")),
    Case("a library of the workspace", {"package.json": npm(private=True, workspaces=["apps/*", "packages/*"]), **MEMBERS}, at="packages/ui", role="library", framework=None, workspace=("npm", BOTH), orchestrator=None),
    Case("npm workspaces", {"package.json": npm(private=True, workspaces=["apps/*", "packages/*"]), "package-lock.json": "{}", **MEMBERS}, at="apps/web", workspace=("npm", BOTH), build="npm"),
    Case("yarn workspaces in the object form", {"package.json": npm(private=True, workspaces={"packages": ["apps/*", "packages/*"]}), "yarn.lock": "# v1\n", **MEMBERS}, at="apps/web", workspace=("yarn", BOTH), build="yarn"),
    Case("bun workspaces", {"package.json": npm(private=True, workspaces=["apps/*", "packages/*"]), "bun.lock": "{}", **MEMBERS}, at="apps/web", workspace=("bun", BOTH), build="bun"),
    Case("negated globs take members away", {"package.json": npm(private=True), "pnpm-workspace.yaml": "packages:\n  - 'apps/*'\n  - 'packages/**'\n  - '!packages/ui'\n", **MEMBERS}, at="apps/web", workspace=("pnpm", ("apps/web",))),
    Case("pnpm settings without packages are no workspace", {"package.json": npm(), "index.js": "1\n", "pnpm-workspace.yaml": "onlyBuiltDependencies:\n  - esbuild\n"}, workspace=None, build="pnpm"),
    Case("nx", {"package.json": npm(private=True, workspaces=["apps/*", "packages/*"]), "nx.json": {}, **MEMBERS}, at="apps/web", orchestrator="nx"),
    Case("lerna", {"package.json": npm(private=True), "lerna.json": {"packages": ["packages/*"], "version": "1.0.0"}, **MEMBERS}, at="apps/web", orchestrator="lerna", workspace=("npm", ("packages/ui",))),
    Case("rush", {"rush.json": '// rush\n{"projects": [{"packageName": "web", "projectFolder": "apps/web"}, {"packageName": "ui", "projectFolder": "packages/ui"}]}\n', **MEMBERS}, at="apps/web", orchestrator="rush", workspace=("rush", BOTH)),
    Case("moon", {"package.json": npm(private=True, workspaces=["apps/*", "packages/*"]), ".moon/workspace.yml": "projects: ['apps/*']\n", **MEMBERS}, at="apps/web", orchestrator="moon"),
    Case("lage", {"package.json": npm(private=True, workspaces=["apps/*", "packages/*"]), "lage.config.js": "module.exports = {}\n", **MEMBERS}, at="apps/web", orchestrator="lage"),
    Case("turbo beats nx and lerna", {"package.json": npm(private=True, workspaces=["apps/*", "packages/*"]), "turbo.jsonc": "{}", "nx.json": {}, "lerna.json": {}, **MEMBERS}, at="apps/web", orchestrator="turborepo"),
    Case("a workspace without a task runner", {"package.json": npm(private=True, workspaces=["apps/*"]), **MEMBERS}, at="apps/web", orchestrator=None, workspace=("npm", ("apps/web",))),
    Case("uv workspace", {"pyproject.toml": '[project]\nname = "root"\nrequires-python = ">=3.12"\n[tool.uv.workspace]\nmembers = ["libs/*"]\n', "uv.lock": "", "libs/a/pyproject.toml": '[project]\nname = "a"\ndependencies = ["fastapi"]\n', "libs/a/a.py": "1\n"},
         at="libs/a", workspace=("uv", ("libs/a",)), build="uv", framework="fastapi"),
    Case("deno workspace", {"deno.json": {"workspace": ["./one"]}, "one/deno.json": {"name": "@x/one", "exports": "./mod.ts"}, "one/mod.ts": "1\n"}, at="one", workspace=("deno", ("one",)), build="deno"),
    Case("dart workspace", {"pubspec.yaml": "name: root\nworkspace:\n  - pkgs/a\n", "pkgs/a/pubspec.yaml": "name: a\n", "pkgs/a/lib/a.dart": "1\n"}, at="pkgs/a", workspace=("pub", ("pkgs/a",))),
    Case("a polyglot repository keeps every service",
         {"web/package.json": web("web"), "web/pages/a.js": "1\n", "api/go.mod": "module api\n\ngo 1.22\n\nrequire github.com/gin-gonic/gin v1.9.1\n", "api/main.go": "package main\n",
          "ml/requirements.txt": "fastapi\n", "ml/main.py": "app = FastAPI()\n", "engine/Cargo.toml": '[package]\nname = "engine"\n', "engine/src/main.rs": "fn main() {}\n"},
         at="ml", framework="fastapi", language="python"),
    Case("a Procfile names the primary one", {"a/package.json": npm(name="a"), "a/i.js": "1\n" * 50, "b/package.json": npm(name="b"), "b/i.js": "1\n", "b/Procfile": "web: node i.js\n"}, at="b", paths=("b", "a")),
    Case("the root package is the primary one", {"package.json": npm(dependencies=deps("express")), "src/index.js": "1\n", "client/package.json": web("client"), "client/pages/i.js": "1\n" * 99}, paths=("", "client")),
    Case("docs with a package are a service", {"package.json": npm(dependencies=deps("express")), "src/i.js": "1\n", "docs/package.json": npm(name="docs", dependencies=deps("@docusaurus/core")), "docs/i.js": "1\n"}, at="docs", framework="docusaurus"),
    Case("one app's development dependency is not the workspace's",
         {"package.json": npm(private=True, workspaces=["apps/*"]), "apps/a/package.json": npm(name="a", devDependencies=deps("vite")), "apps/a/i.js": "1\n", "apps/b/package.json": npm(name="b"), "apps/b/i.js": "1\n"},
         at="apps/b", framework=None, absent=(("framework", "vite"),)),
    Case("a vendor folder of one's own is first-party", {"apps/vendor/package.json": web("vendor"), "apps/vendor/pages/i.js": "1\n"}, at="apps/vendor", paths=("apps/vendor",), framework="nextjs"),
    Case("node_modules are nobody's packages", {"package.json": npm(), "index.js": "1\n", "node_modules/express/package.json": npm(name="express"), "node_modules/express/index.js": "1\n"}, paths=("",)),
    Case("ignored folders are nobody's packages", {"package.json": npm(), "index.js": "1\n", ".gitignore": "out/\n/gen\n", "out/package.json": npm(), "gen/package.json": npm(), "src/gen/package.json": npm(name="kept"), "src/gen/i.js": "1\n"}, paths=("", "src/gen")),
    Case("test fixtures are nobody's packages", {"package.json": npm(), "index.js": "1\n", "tests/fixtures/a/package.json": npm(), "pkg/testdata/go.mod": "module x\n"}, paths=("",)),
    Case("nested workspaces are resolved from their own root",
         {"frontend/pnpm-workspace.yaml": "packages: ['apps/*']\n", "frontend/package.json": npm(name="fe", private=True), "frontend/apps/w/package.json": web("w"), "frontend/apps/w/pages/i.js": "1\n", "backend/go.mod": "module b\n", "backend/main.go": "package main\n"},
         at="frontend/apps/w", workspace=("pnpm", ("frontend/apps/w",)), build="pnpm"),
    Case("members that name the root do not run in circles", {"package.json": npm(workspaces=["."]), "index.js": "1\n"}, workspace=None, paths=("",)),
    Case("maven modules that name each other do not run in circles",
         {"pom.xml": "<project><artifactId>a</artifactId><packaging>pom</packaging><modules><module>b</module></modules></project>", "b/pom.xml": "<project><parent><relativePath>../pom.xml</relativePath></parent><artifactId>b</artifactId><packaging>pom</packaging><modules><module>..</module><module>../b</module></modules></project>"},
         workspace=("maven", ("b",)), at="b", build="maven"),
]  # fmt: skip
