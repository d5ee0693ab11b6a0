"""Go, Rust, Ruby, PHP, Elixir, C and C++, and the smaller ecosystems."""

from __future__ import annotations

from tests.services.stacks.projects.case import Case, npm

GO_MAIN = {"main.go": "package main\nfunc main() {}\n"}
RS_MAIN = {"src/main.rs": "fn main() {}\n"}


def go(*modules: str, version: str = "1.22") -> str:
    return (
        f"module example.com/svc\n\ngo {version}\n\nrequire (\n"
        + "".join(f"\t{one} v1.0.0\n" for one in modules)
        + ")\n"
    )


def cargo(*crates: str, extra: str = "") -> str:
    return (
        '[package]\nname = "svc"\nversion = "0.1.0"\n\n[dependencies]\n'
        + "".join(f'{one} = "1"\n' for one in crates)
        + extra
    )


_GO = {
    "gin": "github.com/gin-gonic/gin", "echo": "github.com/labstack/echo/v4", "fiber": "github.com/gofiber/fiber/v2", "chi": "github.com/go-chi/chi/v5",
    "gorilla": "github.com/gorilla/mux", "beego": "github.com/beego/beego/v2", "iris": "github.com/kataras/iris/v12", "buffalo": "github.com/gobuffalo/buffalo",
}  # fmt: skip
GO = [
    Case(f"a module that requires {module} uses {id}", {"go.mod": go(module), **GO_MAIN}, language="go", build="go-mod", framework=id, runtime="native", manager="go-mod")
    for id, module in _GO.items()
] + [
    Case("a plain Go program", {"go.mod": go(version="1.21.5"), **GO_MAIN}, framework=None, versions={"go": "1.21.5"}, role="app", command="./bin/app", commands=("go mod download", "go build -o bin/app .")),
    Case("a Go library", {"go.mod": go(), "lib.go": "package lib\n"}, role="library", command=""),
    Case("the toolchain line beats the go line", {"go.mod": "module m\n\ngo 1.22\n\ntoolchain go1.22.4\n", **GO_MAIN}, versions={"go": "1.22.4"}),
    Case("an indirect requirement is no framework", {"go.mod": "module m\n\ngo 1.22\n\nrequire github.com/gin-gonic/gin v1.9.1 // indirect\n", **GO_MAIN}, framework=None),
    Case("a replaced module is no requirement", {"go.mod": "module m\n\ngo 1.22\n\nreplace github.com/gin-gonic/gin v1.9.0 => ../gin\n", **GO_MAIN}, framework=None),
    Case("a program under cmd", {"go.mod": go(), "cmd/server/main.go": "package main\n"}, role="app", commands=("go mod download", "go build -o bin/app ./cmd/server")),
    Case("go.work gathers modules", {"go.work": "go 1.22\n\nuse (\n\t./api\n\t./lib\n)\n", "api/go.mod": go("github.com/gin-gonic/gin"), "api/main.go": "package main\n", "lib/go.mod": go(), "lib/l.go": "package lib\n"},
         at="api", framework="gin", workspace=("go", ("api", "lib")), paths=("api", "lib")),
    Case("vendored Go is nobody's package", {"go.mod": go(), **GO_MAIN, "vendor/x/go.mod": go(), "vendor/x/x.go": "package x\n"}, paths=("",)),
    Case("a port in Go", {"go.mod": go("github.com/gin-gonic/gin"), "main.go": 'package main\nfunc main() { r.Run(":9000"); os.Getenv("DATABASE_URL") }\n'}, ports=(9000,), env=("DATABASE_URL",)),
]  # fmt: skip

_RUST = {
    "actix-web": "actix-web",
    "axum": "axum",
    "rocket": "rocket",
    "warp": "warp",
    "poem": "poem",
    "leptos": "leptos",
    "yew": "yew",
    "tauri": "tauri",
    "tonic": "tonic",
}
RUST = [
    Case(f"a crate that depends on {crate} uses {id}", {"Cargo.toml": cargo(crate), **RS_MAIN}, language="rust", build="cargo", framework=id, manager="cargo")
    for id, crate in _RUST.items()
] + [
    Case("a plain Rust program", {"Cargo.toml": cargo("serde"), **RS_MAIN}, framework=None, runtime="native", role="app", command="./target/release/svc", commands=("cargo build --release",)),
    Case("a Rust library", {"Cargo.toml": cargo(), "src/lib.rs": "pub fn x() {}\n"}, role="library"),
    Case("tower-axum-x is not axum", {"Cargo.toml": cargo("tower-axum-x", "axum-extra-lite"), **RS_MAIN}, framework=None),
    Case("a dev-dependency is no framework", {"Cargo.toml": cargo(extra='[dev-dependencies]\naxum = "0.7"\n'), **RS_MAIN}, framework=None),
    Case("a renamed crate is told by its package", {"Cargo.toml": cargo(extra='web = { package = "axum", version = "0.7" }\n'), **RS_MAIN}, framework="axum"),
    Case("a table of its own per crate", {"Cargo.toml": cargo(extra='[dependencies.rocket]\nversion = "0.5"\n'), **RS_MAIN}, framework="rocket"),
    Case("rust-toolchain pins rust", {"Cargo.toml": cargo(extra=""), "rust-toolchain.toml": '[toolchain]\nchannel = "1.75.0"\n', **RS_MAIN}, versions={"rust": "1.75.0"}),
    Case("rust-version is what is asked for", {"Cargo.toml": '[package]\nname = "x"\nrust-version = "1.70"\n', **RS_MAIN}, versions={"rust": "1.70"}),
    Case("a virtual workspace is no package",
         {"Cargo.toml": '[workspace]\nmembers = ["crates/*"]\nexclude = ["crates/old"]\n', "crates/a/Cargo.toml": cargo("axum"), "crates/a/src/main.rs": "fn main() {}\n", "crates/b/Cargo.toml": cargo(), "crates/b/src/lib.rs": "\n", "crates/old/Cargo.toml": cargo(), "crates/old/src/lib.rs": "\n"},
         at="crates/a", framework="axum", workspace=("cargo", ("crates/a", "crates/b")), paths=("crates/a", "crates/b", "crates/old")),
    Case("target is a build tool's", {"Cargo.toml": cargo(), **RS_MAIN, "target/package/x/Cargo.toml": cargo()}, paths=("",)),
]  # fmt: skip

_RUBY = {
    "rails": "rails",
    "sinatra": "sinatra",
    "hanami": "hanami",
    "roda": "roda",
    "grape": "grape",
    "padrino": "padrino",
    "jekyll": "jekyll",
}
RUBY = [
    Case(f"a Gemfile with {gem} uses {id}", {"Gemfile": f'source "https://rubygems.org"\nruby "3.3.0"\ngem "{gem}", "~> 7.0"\n', "app.rb": "puts 1\n"},
         language="ruby", build="bundler", framework=id, runtime="ruby", manager="bundler", versions={"ruby": "3.3.0"})
    for id, gem in _RUBY.items()
] + [
    Case("a gem of the test group is no framework", {"Gemfile": "group :test, :development do\n  gem 'sinatra'\nend\ngem 'rake'\n", "a.rb": "1\n"}, framework=None),
    Case("a commented gem is none", {"Gemfile": "# gem 'rails'\ngem 'rake'\n", "a.rb": "1\n"}, framework=None),
    Case("rails outranks its front end", {"Gemfile": "gem 'rails'\n", "config/application.rb": "module A\nend\n", "package.json": npm(dependencies={"react": "18"}), "app/a.rb": "x\n" * 20, "app/javascript/a.js": "1\n"},
         language="ruby", framework="rails", build="bundler", runtime="ruby", role="app"),
    Case(".ruby-version beats the Gemfile", {"Gemfile": "ruby '~> 3.2'\ngem 'rails'\n", ".ruby-version": "ruby-3.2.2\n", "a.rb": "1\n"}, versions={"ruby": "3.2.2"}),
    Case("a gem is a library", {"thing.gemspec": "Gem::Specification.new do |s|\n  s.name = 'thing'\n  s.add_dependency 'rack', '>= 2'\nend\n", "lib/thing.rb": "1\n"}, role="library", language="ruby"),
]  # fmt: skip

_PHP = {"laravel": "laravel/framework", "symfony": "symfony/framework-bundle", "slim": "slim/slim", "cakephp": "cakephp/cakephp", "codeigniter": "codeigniter4/framework",
        "yii": "yiisoft/yii2", "laminas": "laminas/laminas-mvc", "drupal": "drupal/core-recommended", "wordpress": "roots/wordpress"}  # fmt: skip
PHP = [
    Case(f"composer with {package} uses {id}", {"composer.json": {"require": {"php": "^8.2", package: "^1.0"}}, "index.php": "<?php echo 1;\n"},
         language="php", build="composer", framework=id, runtime="php", manager="composer", versions={"php": "^8.2"})
    for id, package in _PHP.items()
] + [
    Case("laravel outranks its vite front end", {"composer.json": {"require": {"laravel/framework": "^11"}}, "artisan": "#!/usr/bin/env php\n<?php\n", "package.json": npm(devDependencies={"vite": "5", "vue": "3"}), "app/A.php": "<?php\n" * 20, "resources/js/app.js": "1\n"},
         language="php", framework="laravel", build="composer", runtime="php"),
    Case("the platform's PHP beats what is required", {"composer.json": {"require": {"php": ">=8.1"}, "config": {"platform": {"php": "8.2.10"}}}, "a.php": "<?php\n"}, versions={"php": "8.2.10"}),
    Case("require-dev is no framework", {"composer.json": {"require-dev": {"symfony/framework-bundle": "^6"}}, "a.php": "<?php\n"}, framework=None),
]  # fmt: skip

BEAM = [
    Case("phoenix", {"mix.exs": 'defmodule A.MixProject do\n  def project, do: [app: :a, version: "0.1.0", elixir: "~> 1.14"]\n  defp deps do\n    [{:phoenix, "~> 1.7.10"}, {:phoenix_html, "~> 4.0"}, {:credo, "~> 1.7", only: [:dev, :test]}]\n  end\nend\n', "lib/a.ex": "defmodule A do\nend\n"},
         language="elixir", build="mix", framework="phoenix", runtime="beam", manager="mix", versions={"elixir": "~> 1.14"}, ports=(4000,)),
    Case("phoenix_html alone is not phoenix", {"mix.exs": 'defmodule A do\n  def project, do: [app: :a]\n  defp deps, do: [{:phoenix_html, "~> 4.0"}]\nend\n', "lib/a.ex": "defmodule A do\nend\n"}, framework=None),
    Case("plug with bandit", {"mix.exs": 'defmodule A do\n  defp deps, do: [{:plug, "~> 1.15"}, {:bandit, "~> 1.0"}]\nend\n', "lib/a.ex": "defmodule A do\nend\n"}, candidates=(("framework", "plug"), ("framework", "bandit"))),
    Case("an umbrella gathers apps", {"mix.exs": 'defmodule U do\n  def project, do: [apps_path: "apps"]\nend\n', "apps/web/mix.exs": 'defmodule W do\n  def project, do: [app: :web]\n  defp deps, do: [{:phoenix, "~> 1.7"}]\nend\n', "apps/web/lib/w.ex": "defmodule W do\nend\n"},
         at="apps/web", framework="phoenix", workspace=("mix", ("apps/web",))),
    Case("erlang", {"rebar.config": '{deps, [{cowboy, "2.10.0"}]}.\n', "src/a.erl": "-module(a).\n"}, language="erlang", build="rebar3", runtime="beam", framework="cowboy"),
    Case("gleam", {"gleam.toml": 'name = "g"\n[dependencies]\nwisp = "~> 1.0"\n', "src/g.gleam": "pub fn main() { 1 }\n"}, language="gleam", build="gleam", runtime="beam", framework="wisp"),
    Case("gleam for JavaScript runs on node", {"gleam.toml": 'name = "g"\ntarget = "javascript"\n', "src/g.gleam": "pub fn main() { 1 }\n"}, runtime="node"),
]  # fmt: skip

NATIVE = [
    Case("C++ with CMake", {"CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(x CXX)\nset(CMAKE_CXX_STANDARD 20)\nadd_executable(x main.cpp)\n", "main.cpp": "int main() {}\n"}, language="c++", build="cmake", runtime="native", role="app", versions={"c++": "20"}),
    Case("C with CMake", {"CMakeLists.txt": "project(x C)\nadd_library(x x.c)\n", "x.c": "int x;\n"}, language="c", build="cmake", role="library"),
    Case("nested CMakeLists are one project", {"CMakeLists.txt": "project(x)\nadd_subdirectory(src)\n", "src/CMakeLists.txt": "add_executable(a a.cpp)\n", "src/a.cpp": "int main() {}\n"}, paths=("",), language="c++"),
    Case("drogon", {"CMakeLists.txt": "project(x)\nfind_package(Drogon CONFIG REQUIRED)\n", "main.cc": "int main() {}\n"}, framework="drogon"),
    Case("meson", {"meson.build": "project('x', 'c')\nexecutable('x', 'x.c')\n", "x.c": "int main() {}\n"}, language="c", build="meson"),
    Case("make with C", {"Makefile": "all:\n\tcc x.c\n", "x.c": "int main() {}\n"}, language="c", build="make", paths=("",)),
    Case("make is the weakest", {"Makefile": "run:\n\tgo run .\n", "go.mod": go(), **GO_MAIN}, build="go-mod", candidates=(("build_system", "make"),)),
    Case("a Makefile over packages is no package", {"Makefile": "up:\n\tdocker compose up\n", "api/go.mod": go(), "api/main.go": "package main\n"}, paths=("api",), at="api"),
    Case("autotools", {"configure.ac": "AC_INIT\n", "src/x.c": "int main() {}\n"}, build="autotools", language="c"),
    Case("zig", {"build.zig": "const std = @import(\"std\");\n", "build.zig.zon": '.{ .name = "z", .minimum_zig_version = "0.12.0" }\n', "src/main.zig": "pub fn main() void {}\n"}, language="zig", build="zig", versions={"zig": "0.12.0"}, runtime="native"),
    Case("swift with vapor", {"Package.swift": '// swift-tools-version:5.9\nlet package = Package(name: "x", dependencies: [.package(url: "https://github.com/vapor/vapor.git", from: "4.89.0")], targets: [.executableTarget(name: "App")])\n', "Sources/App/main.swift": "print(1)\n"},
         language="swift", build="swiftpm", framework="vapor", runtime="swift", versions={"swift": "5.9"}, role="app"),
    Case("hummingbird", {"Package.swift": 'Package(name: "x", dependencies: [.package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.0.0")])\n', "Sources/a.swift": "1\n"}, framework="hummingbird"),
    Case("flutter", {"pubspec.yaml": "name: f\nenvironment:\n  sdk: '>=3.0.0 <4.0.0'\ndependencies:\n  flutter:\n    sdk: flutter\n", "lib/main.dart": "void main() {}\n", "android/build.gradle": "buildscript {}\n", "ios/Podfile": "platform :ios\n"},
         language="dart", build="pub", framework="flutter", runtime="dart", paths=("",), role="app"),
    Case("shelf", {"pubspec.yaml": "name: s\ndependencies:\n  shelf: ^1.4.0\n", "bin/server.dart": "void main() {}\n"}, framework="shelf", language="dart"),
    Case("haskell with cabal", {"x.cabal": "name: x\nversion: 0.1\nexecutable x\n  main-is: Main.hs\n  build-depends: base >=4, servant-server, text\n", "Main.hs": "main = print 1\n"}, language="haskell", build="cabal", framework="servant", runtime="native", role="app"),
    Case("haskell with stack and hpack", {"stack.yaml": "resolver: lts-22\n", "package.yaml": "name: y\ndependencies:\n- base\n- yesod\n", "src/Lib.hs": "module Lib where\n"}, language="haskell", build="stack", framework="yesod"),
    Case("crystal with kemal", {"shard.yml": "name: c\nversion: 0.1\ncrystal: '>= 1.10'\ndependencies:\n  kemal:\n    github: kemalcr/kemal\n", "src/c.cr": "puts 1\n"}, language="crystal", build="shards", framework="kemal"),
    Case("ocaml with dune", {"dune-project": "(lang dune 3.0)\n(package (name o) (depends dream))\n", "bin/main.ml": "let () = print_endline \"x\"\n"}, language="ocaml", build="dune"),
    Case("nim", {"n.nimble": 'version = "0.1"\nrequires "nim >= 2.0", "jester"\nbin = @["n"]\n', "src/n.nim": "echo 1\n"}, language="nim", build="nimble"),
    Case("julia", {"Project.toml": 'name = "J"\nuuid = "x"\n[deps]\nGenie = "c43c736e"\n[compat]\njulia = "1.9"\n', "src/J.jl": "module J end\n"}, language="julia", build="julia", framework="genie", versions={"julia": "1.9"}),
    Case("r with shiny", {"renv.lock": {"R": {"Version": "4.3.2"}, "Packages": {"shiny": {"Package": "shiny", "Version": "1.8.0"}}}, "app.R": "library(shiny)\nshinyApp(ui, server)\n"}, language="r", build="renv", framework="shiny", versions={"r": "4.3.2"}),
    Case("an R package", {"DESCRIPTION": "Package: rp\nVersion: 1\nImports:\n    dplyr (>= 1.0),\n    shiny\n", "R/a.R": "f <- function(x) x\n"}, language="r", framework="shiny"),
    Case("perl with mojolicious", {"cpanfile": "requires 'Mojolicious', '9.0';\n", "app.pl": "use Mojolicious::Lite;\nuse strict;\n"}, language="perl", build="cpanm", framework="mojolicious"),
    Case("terraform", {"main.tf": 'terraform {\n  required_version = ">= 1.5"\n}\n', "modules/a/main.tf": "variable x {}\n"}, language="terraform", build="terraform", versions={"terraform": ">= 1.5"}, paths=("", "modules/a")),
    Case("hugo", {"hugo.toml": "title = 'x'\n", "content/a.md": "# a\n", "layouts/index.html": "<p>\n"}, framework="hugo", build="hugo", runtime="static"),
    Case("jekyll without a gem", {"_config.yml": "title: x\n", "_posts/a.md": "x\n", "_layouts/d.html": "<p>\n"}, framework="jekyll"),
    Case("bazel", {"MODULE.bazel": "module(name = 'x')\n", "BUILD.bazel": "\n", "src/main/java/A.java": "class A {}\n", "src/BUILD.bazel": "\n"}, build="bazel", language="java", orchestrator="bazel"),
    Case("lua", {"x-1.0-1.rockspec": "package = 'x'\n", "x.lua": "return 1\n"}, language="lua", build="luarocks"),
    Case("d", {"dub.json": {"name": "d"}, "source/app.d": "module app;\nvoid main() {}\n"}, language="d", build="dub"),
]  # fmt: skip

CASES = [*GO, *RUST, *RUBY, *PHP, *BEAM, *NATIVE]
