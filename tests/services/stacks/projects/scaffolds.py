"""Projects as the generators of each ecosystem leave them, where a detail of theirs is easily missed."""

from __future__ import annotations

from tests.services.stacks.projects.case import Case, npm

ZIG = 'const std = @import("std");\npub fn build(b: *std.Build) void {\n    const exe = b.addExecutable(.{\n        .name = "hello",\n    });\n    b.installArtifact(exe);\n}\n'
PBXPROJ = '// !$*UTF8*$!\n{ productType = "com.apple.product-type.application"; }\n'
BUN = {
    "name": "app",
    "module": "src/index.js",
    "scripts": {"dev": "bun run --watch src/index.ts"},
    "dependencies": {"elysia": "latest"},
}
NEST = npm(
    scripts={"build": "nest build", "start": "nest start", "start:prod": "node dist/main"},
    dependencies={"@nestjs/core": "10.3.0"},
)
SVELTE = npm(
    type="module",
    scripts={"dev": "vite dev"},
    devDependencies={"@sveltejs/kit": "^2.0.0", "svelte": "^4.2.7", "typescript": "^5.0.0", "vite": "^5.0.3"},
)
PNPM_LOCK = "lockfileVersion: '6.0'\n\ndevDependencies:\n  '@sveltejs/kit':\n    specifier: ^2.0.0\n    version: 2.5.0(svelte@4.2.9)\n  svelte:\n    specifier: ^4.2.7\n    version: 4.2.9\n"
MIX = 'defmodule S.MixProject do\n  def project, do: [app: :s, deps: deps()]\n  defp deps do\n    [\n      {:plug_cowboy, "~> 2.5"}\n    ]\n  end\nend\n'
TURBO = {
    "turbo.json": {}, "package.json": npm(private=True, packageManager="pnpm@8.15.6"), "pnpm-workspace.yaml": "packages:\n  - apps/*\n",
    "apps/web/package.json": npm(name="web", scripts={"dev": "next dev --port 3001", "start": "next start"}, dependencies={"next": "14.2.3"}),
    "apps/web/pages/index.js": "1\n",
}  # fmt: skip

CASES = [
    Case("a zig program names itself in its build", {"build.zig": ZIG, "src/main.zig": "pub fn main() !void {}\n"}, language="zig", role="app", command="./zig-out/bin/hello"),
    Case("a zig library", {"build.zig": ZIG.replace("addExecutable", "addStaticLibrary"), "src/root.zig": "1\n"}, language="zig", role="library", command=""),
    Case("nimble names its program", {"a.nimble": 'version = "0.1.0"\nbin = @["tool"]\nrequires "nim >= 2.0.0"\n', "src/tool.nim": "echo 1\n"}, language="nim", role="app", command="./tool", versions={"nim": ">= 2.0.0"}),
    Case("dub with vibe.d", {"dub.json": {"name": "web", "dependencies": {"vibe-d": "~>0.9"}}, "source/app.d": "void main() {}\n"}, language="d", build="dub", framework="vibe-d", role="app", command="./web"),
    Case("dub written as sdl", {"dub.sdl": 'name "tool"\ndependency "vibe-d" version="~>0.9"\n', "source/app.d": "void main() {}\n"}, framework="vibe-d", role="app", command="./tool"),
    Case("a dub library", {"dub.json": {"name": "l", "targetType": "library"}, "source/l.d": "module l;\n"}, role="library", command=""),
    Case("a rockspec with lapis", {"a-1.0-1.rockspec": 'package = "a"\nversion = "1.0-1"\ndependencies = {\n  "lua >= 5.1", -- any\n  "lapis"\n}\n', "app.lua": "return {}\n"},
         language="lua", build="luarocks", framework="lapis", role="app", versions={"lua": ">= 5.1"}),
    Case("conan by its recipe", {"conanfile.py": 'from conan import ConanFile\nclass P(ConanFile):\n    requires = "drogon/1.9.3"\n', "CMakeLists.txt": "project(x CXX)\nadd_executable(x a.cpp)\n", "a.cpp": "int main() {}\n"},
         language="c++", build="cmake", manager="conan", framework="drogon"),
    Case("an old way to count perl", {"cpanfile": "requires 'perl', '5.030';\nrequires 'Mojolicious', '9.0';\n", "app.pl": "use Mojolicious::Lite;\n"}, language="perl", framework="mojolicious", versions={"perl": "5.30"}),
    Case("xcode without any package manager", {"App.xcodeproj/project.pbxproj": PBXPROJ, "App/ContentView.swift": "import SwiftUI\n"}, language="swift", build="xcode", runtime="swift", role="app", paths=("",)),
    Case("xcode with pods", {"App.xcodeproj/project.pbxproj": PBXPROJ, "Podfile": "platform :ios\ntarget 'App' do\n  pod 'Alamofire'\nend\n", "App/AppDelegate.swift": "import UIKit\n"},
         language="swift", build="xcode", manager="cocoapods", role="app"),
    Case("an xcode project made for another build is none", {"CMakeLists.txt": "project(x CXX)\nadd_executable(x a.cpp)\n", "a.cpp": "int main() {}\n", "ide/x.xcodeproj/project.pbxproj": PBXPROJ},
         language="c++", build="cmake", paths=("",)),
    Case("a bun server with a module field is started", {"package.json": BUN, "bun.lock": "{}", "tsconfig.json": "{}", "src/index.ts": 'new Elysia().get("/", () => 1).listen(3000);\n'},
         framework="elysia", runtime="bun", role="app", command="bun src/index.ts", ports=(3000,)),
    Case("the port of development is not that of the start script", TURBO, at="apps/web", framework="nextjs", ports=(3000,), command="pnpm start"),
    Case("what starts in production comes first", {"package.json": NEST, "src/main.ts": "await app.listen(3000);\n", "tsconfig.json": "{}"}, framework="nestjs", command="npm run start:prod"),
    Case("components written in typescript", {"package.json": SVELTE, "tsconfig.json": "{}", "src/routes/+page.svelte": '<script lang="ts">\n  let a = 1;\n</script>\n'}, language="typescript", framework="sveltekit"),
    Case("components written in javascript", {"package.json": SVELTE, "tsconfig.json": "{}", "src/routes/+page.svelte": "<script>\n  let a = 1;\n</script>\n"}, language="javascript", framework="sveltekit"),
    Case("a variable needs a shell", {"Procfile": "web: gunicorn app:app --bind 0.0.0.0:$PORT\n", "requirements.txt": "flask\ngunicorn\n", "app.py": "app = Flask(__name__)\n"},
         framework="flask", command="sh -c gunicorn app:app --bind 0.0.0.0:$PORT"),
    Case("the serverless framework", {"serverless.yml": "service: x\n", "package.json": npm(main="handler.js", exports="./handler.js"), "handler.js": "1\n"}, role="app"),
    Case("a cloudflare worker", {"wrangler.toml": 'name = "w"\nmain = "src/index.ts"\n', "package.json": npm(exports="./a.js", dependencies={"hono": "4"}), "src/index.ts": "1\n", "tsconfig.json": "{}"}, framework="hono", role="app"),
    Case("the pages of a library at cloudflare", {"wrangler.toml": 'name = "docs"\n\n[assets]\ndirectory = "site"\n', "pyproject.toml": '[build-system]\nrequires = ["hatchling"]\n[project]\nname = "l"\n', "l/__init__.py": "1\n"}, role="library"),
    Case("the themes of a site are no services", {"hugo.toml": "baseURL = '/'\n", "content/_index.md": "x\n", "themes/t/package.json": npm(), "themes/t/hugo.toml": "x = 1\n", "themes/t/t.js": "1\n"}, framework="hugo", paths=("",)),
    Case("scripts of a site are not what it is made with", {"hugo.toml": "baseURL = '/'\n", "assets/a.js": "1\n"}, build="hugo", framework="hugo", runtime="static"),
    Case("a plugin says which kotlin", {"build.gradle.kts": 'plugins {\n  kotlin("jvm") version "1.9.22"\n  id("io.ktor.plugin") version "2.3.8"\n}\n', "src/main/kotlin/A.kt": "fun main() {}\n"},
         language="kotlin", framework="ktor", versions={"kotlin": "1.9.22"}),
    Case("yew is built into a page", {"Cargo.toml": '[package]\nname = "y"\n[dependencies]\nyew = { version = "0.21", features = ["csr"] }\n', "index.html": "x\n", "src/main.rs": "fn main() {}\n"},
         framework="yew", runtime="wasm", command=""),
]  # fmt: skip

#: (files, kind, id, version): the version of a framework is never that of a package next to it.
VERSIONS = [
    ({"mix.exs": MIX, "lib/s.ex": "1\n"}, "framework", "plug", None),
    ({"requirements.txt": "mkdocs-material==9.5.0\nmkdocs==1.5.3\n", "mkdocs.yml": "site_name: x\n", "a.py": "1\n"}, "framework", "mkdocs", "1.5.3"),
    ({"package.json": SVELTE, "pnpm-lock.yaml": PNPM_LOCK, "a.js": "1\n"}, "framework", "sveltekit", "2.5.0"),
]  # fmt: skip
