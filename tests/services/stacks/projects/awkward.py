"""What detectors miss: frameworks off the beaten track, catalogs, projects without a manifest of their own."""

from __future__ import annotations

from tests.services.stacks.projects.case import Case, npm

PAGE = "<!doctype html><h1>hello</h1>\n"
NX = {
    "nx.json": {},
    "package.json": npm(
        name="root",
        dependencies={"react": "18.3.1", "express": "4.19.2", "@nestjs/core": "10.3.8"},
        devDependencies={"nx": "19.0.0", "typescript": "5.4.5"},
    ),
    "package-lock.json": "{}",
    "tsconfig.base.json": "{}",
    "apps/api/project.json": {
        "name": "api",
        "projectType": "application",
        "targets": {"build": {"executor": "@nx/webpack:webpack"}, "serve": {}},
    },
    "apps/api/src/main.ts": "import { NestFactory } from '@nestjs/core';\nawait app.listen(3333);\n",
    "apps/web/project.json": {
        "name": "web",
        "projectType": "application",
        "targets": {"build": {"executor": "@nx/vite:build"}},
    },
    "apps/web/src/main.tsx": "import { createRoot } from 'react';\n",
    "libs/ui/project.json": {"name": "ui", "projectType": "library"},
    "libs/ui/src/index.ts": "export const a = 1;\n",
}
NX_PATHS = ("apps/api", "", "apps/web", "libs/ui")
CATALOGS = {
    "pnpm-workspace.yaml": "packages:\n  - apps/*\ncatalog:\n  next: 14.2.5\ncatalogs:\n  old:\n    express: ^4.19.2\n",
    "package.json": npm(private=True, packageManager="pnpm@9.5.0"),
    "apps/web/package.json": npm(name="web", dependencies={"next": "catalog:"}),
    "apps/web/pages/index.js": "1\n",
    "apps/api/package.json": npm(name="api", dependencies={"express": "catalog:old"}),
    "apps/api/index.js": "1\n",
}
PARENT = "<parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId><version>3.3.0</version></parent>"
REACTOR = {
    "pom.xml": f"<project><groupId>g</groupId><artifactId>all</artifactId><version>1</version><packaging>pom</packaging>{PARENT}<modules><module>api</module><module>lib</module></modules></project>",
    "api/pom.xml": "<project><parent><groupId>g</groupId><artifactId>all</artifactId><version>1</version></parent><artifactId>api</artifactId><dependencies><dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-web</artifactId></dependency></dependencies></project>",
    "api/src/main/java/App.java": "class App { public static void main(String[] a) {} }\n",
    "lib/pom.xml": "<project><parent><groupId>g</groupId><artifactId>all</artifactId><version>1</version></parent><artifactId>lib</artifactId></project>",
    "lib/src/main/java/L.java": "class L {}\n",
}
QUARKUS = "<project><artifactId>q</artifactId><properties><q>3.10.0</q></properties><dependencyManagement><dependencies><dependency><groupId>io.quarkus.platform</groupId><artifactId>quarkus-bom</artifactId><version>${q}</version></dependency></dependencies></dependencyManagement><dependencies><dependency><groupId>io.quarkus</groupId><artifactId>quarkus-rest</artifactId></dependency></dependencies></project>"

CASES = [
    Case("pages beside a program are the program's", {"index.html": PAGE, "go.mod": "module x\n\ngo 1.22\n", "main.go": "package main\n"}, language="go", runtime="native", paths=("",)),
    Case("wordpress without composer", {"wp-config.php": "<?php\n", "index.php": "<?php\n", "wp-content/themes/a/style.css": "a {}\n"}, language="php", framework="wordpress", runtime="php", role="app"),
    Case("nx application by its imports", NX, at="apps/api", language="typescript", framework="nestjs", build="npm", role="app", ports=(3333,), command="node dist/apps/api/main.js", commands=("npm ci", "npx nx build api"), paths=NX_PATHS, orchestrator="nx", workspace=("nx", ("apps/api", "apps/web", "libs/ui")), absent=(("framework", "express"), ("framework", "react"))),
    Case("nx page by its imports", NX, at="apps/web", framework="react", role="app", absent=(("framework", "nestjs"),)),
    Case("nx library", NX, at="libs/ui", framework=None, role="library"),
    Case("nx root only gathers", NX, role="library"),
    Case("a project.json of somebody else", {"project.json": {"version": "1.0"}, "go.mod": "module x\n", "main.go": "package main\n"}, language="go", build="go-mod"),
    Case("pnpm default catalog", CATALOGS, at="apps/web", framework="nextjs", build="pnpm"),
    Case("rush names its manager", {"rush.json": '// ours\n{"pnpmVersion": "8.15.8", "projects": [{"packageName": "a", "projectFolder": "apps/a"}]}', "apps/a/package.json": npm(dependencies={"fastify": "4"}), "apps/a/i.js": "1\n"}, at="apps/a", build="pnpm", manager="pnpm", orchestrator="rush"),
    Case("a maven parent that gathers", REACTOR, framework=None, role="library"),
    Case("a maven module that serves", REACTOR, at="api", framework="spring-boot", role="app"),
    Case("a maven module that does not", REACTOR, at="lib", framework=None, role="library"),
    Case("hono on bun starts by its source", {"package.json": npm(dependencies={"hono": "4"}), "bun.lock": "{}", "src/index.ts": "export default { port: 8787, fetch: app.fetch }\n"}, runtime="bun", framework="hono", ports=(8787,), command="bun src/index.ts"),
    Case("vite tells its port", {"package.json": npm(scripts={"build": "vite build"}, dependencies={"react": "18"}, devDependencies={"vite": "5"}), "index.html": PAGE, "src/main.jsx": "1\n", "vite.config.js": "export default { server: { port: 5174 } }\n"}, framework="react", ports=(5174,)),
    Case("vite's usual port", {"package.json": npm(scripts={"build": "vite build"}, dependencies={"vue": "3"}, devDependencies={"vite": "5"}), "index.html": PAGE, "src/main.js": "1\n"}, framework="vue", ports=(5173,)),
    Case("strapi reads its port", {"package.json": npm(scripts={"start": "strapi start"}, dependencies={"@strapi/strapi": "4.24.2"}), "config/server.js": "module.exports = ({ env }) => ({ port: env.int('PORT', 1337) })\n"}, framework="strapi", env=("PORT",)),
    Case("rocket tells its port", {"Cargo.toml": '[package]\nname = "a"\nversion = "0.1.0"\n[dependencies]\nrocket = "0.5"\n', "src/main.rs": "fn main() {}\n", "Rocket.toml": "[default]\nport = 8001\n"}, framework="rocket", ports=(8001,)),
    Case("rails has a health route", {"Gemfile": "gem 'rails'\n", "config/application.rb": "1\n", "config/routes.rb": 'get "up" => "rails/health#show"\n'}, framework="rails", health="/up"),
    Case("celery is started by its module", {"requirements.txt": "celery[redis]==5.3\n", "tasks.py": "from celery import Celery\napp = Celery('x')\n"}, framework="celery", role="app", command="celery -A tasks worker"),
    Case("django under poetry is an app", {"pyproject.toml": "[tool.poetry]\nname = 'a'\n[tool.poetry.dependencies]\ndjango = '^5'\n[build-system]\nrequires = ['poetry-core']\nbuild-backend = 'poetry.core.masonry.api'\n", "manage.py": "import os\n", "a/wsgi.py": "application = 1\n"}, framework="django", build="poetry", role="app"),
    Case("compojure is ring", {"project.clj": '(defproject a "0.1" :dependencies [[org.clojure/clojure "1.11.1"] [compojure "1.7.1"]] :main a.core)\n', "src/a/core.clj": "(ns a.core)\n"}, framework="ring", role="app", versions={"clojure": "1.11.1"}),
    Case("stack over cabal", {"a.cabal": "name: a\nexecutable a-server\n  build-depends: base, servant-server\n", "stack.yaml": "resolver: lts-22.20\n", "app/Main.hs": "main = run 8081 app\n"}, build="stack", framework="servant", ports=(8081,), command="stack exec a-server"),
    Case("swift names its program", {"Package.swift": '// swift-tools-version:5.9\nlet package = Package(name: "a", dependencies: [.package(url: "https://github.com/vapor/vapor.git", from: "4.92.4")], targets: [.executableTarget(name: "App")])\n', "Sources/App/main.swift": "1\n"}, framework="vapor", command="./.build/release/App"),
    Case("crystal names its program", {"shard.yml": "name: a\ntargets:\n  server:\n    main: src/a.cr\ndependencies:\n  kemal:\n    github: kemalcr/kemal\n", "src/a.cr": "Kemal.run\n"}, framework="kemal", command="./bin/server"),
    Case("drogon tells its port", {"CMakeLists.txt": "project(a CXX)\nfind_package(Drogon)\nadd_executable(a_server main.cc)\n", "main.cc": 'int main() { drogon::app().addListener("0.0.0.0", 8848).run(); }\n'}, language="c++", framework="drogon", ports=(8848,), command="./build/a_server", role="app"),
    Case("c with a main is an app", {"Makefile": "all:\n\tcc main.c\n", "main.c": "int main(void) { return 0; }\n"}, language="c", build="make", role="app"),
    Case("mojolicious lite", {"cpanfile": "requires 'Mojolicious', '9.36';\n", "app.pl": "use Mojolicious::Lite;\napp->start;\n"}, framework="mojolicious", command="perl app.pl daemon"),
    Case("flutter builds by its own tool", {"pubspec.yaml": "name: a\ndependencies:\n  flutter:\n    sdk: flutter\n", "lib/main.dart": "void main() {}\n", "web/index.html": PAGE}, framework="flutter", commands=("flutter pub get", "flutter build web")),
    Case("bazel builds no go binary of its own", {"MODULE.bazel": "module(name='x')\n", "cmd/BUILD.bazel": "go_binary(name='x')\n", "cmd/main.go": "package main\n"}, build="bazel", command=""),
    Case("play names its plugin's version", {"build.sbt": 'lazy val root = (project in file(".")).enablePlugins(PlayScala)\n', "project/plugins.sbt": 'addSbtPlugin("org.playframework" % "sbt-plugin" % "3.0.3")\n', "app/H.scala": "class H\n", "conf/routes": "GET / H\n"}, framework="play", build="sbt"),
    Case("elixir without its otp", {"mix.exs": "defmodule A do\n def project do [app: :a] end\nend\n", "lib/a.ex": "1\n", ".tool-versions": "elixir 1.16.2-otp-26\n"}, versions={"elixir": "1.16.2"}),
    Case("devEngines pins the manager", {"package.json": npm(devEngines={"packageManager": {"name": "pnpm", "version": "9.1.0"}}), "i.js": "1\n"}, build="pnpm", versions={"pnpm": "9.1.0"}),
    Case("javalin tells its port", {"build.gradle": "plugins { id 'application' }\ndependencies { implementation 'io.javalin:javalin:6.1.3' }\n", "src/main/java/App.java": "class App { public static void main(String[] a) { Javalin.create().start(7070); } }\n"}, framework="javalin", ports=(7070,)),
    Case("litestar starts by its module", {"pyproject.toml": "[project]\nname = 'a'\ndependencies = ['litestar']\n", "src/a/app.py": "from litestar import Litestar\napp = Litestar([])\n"}, framework="litestar", command="uvicorn a.app:app --host 0.0.0.0 --port 8000"),
    Case("declarations are not sources", {"package.json": npm(main="index.js", types="index.d.ts", devDependencies={"typescript": "5"}), "index.js": "1\n", "index.d.ts": "export const a: number;\n" * 9}, language="javascript", role="library"),
    Case("a published library may start its sandbox", {"package.json": npm(main="index.js", exports="./index.js", scripts={"start": "node sandbox.js"}), "index.js": "1\n"}, role="library"),
    Case("a tool with workspaces is a tool", {"package.json": npm(bin="bin/tool.js", workspaces=["packages/*"]), "bin/tool.js": "1\n", "lib/a.js": "1\n"}, role="app"),
    Case("what documents a library is not its framework", {"pyproject.toml": '[project]\nname = "a"\n[dependency-groups]\ndocs = ["mkdocs"]\n[build-system]\nbuild-backend = "hatchling.build"\n', "mkdocs.yml": "site_name: a\n", "src/a/__init__.py": "A = 1\n"}, framework=None, role="library", candidates=(("framework", "mkdocs"),)),
    Case("code in a container needs no manifest", {"Dockerfile": 'FROM python:3.12\nEXPOSE 8000\nCMD ["python", "app.py"]\n', "app.py": "print(1)\n"}, paths=("",), language="python", build=None, runtime="python", role="app", command="python app.py", ports=(8000,)),
    Case("code that a platform starts needs no manifest", {"api/Procfile": "web: ruby app.rb\n", "api/app.rb": "puts 1\n", "web/package.json": npm(), "web/a.js": "1\n"}, at="api", language="ruby", runtime="ruby", command="ruby app.rb", paths=("api", "web")),
    Case("a container of the packages below it is none of its own", {"Dockerfile": "FROM golang\n", "a/go.mod": "module a\n", "a/main.go": "package main\n", "x.py": "1\n"}, at="a", paths=("a",)),
    Case("a container among fixtures is no service", {"package.json": npm(), "a.js": "1\n", "testdata/Dockerfile": "FROM python\n", "testdata/a.py": "1\n"}, paths=("",)),
]  # fmt: skip

#: (files, path of the service, kind, id, version): versions that another file holds.
ELSEWHERE = [
    (CATALOGS, "apps/web", "framework", "nextjs", "14.2.5"),
    (CATALOGS, "apps/api", "framework", "express", "^4.19.2"),
    (NX, "apps/api", "framework", "nestjs", "10.3.8"),
    (REACTOR, "api", "framework", "spring-boot", "3.3.0"),
    ({"pom.xml": QUARKUS, "src/main/java/A.java": "class A {}\n"}, "", "framework", "quarkus", "3.10.0"),
]
