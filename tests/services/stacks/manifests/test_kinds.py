"""Every manifest is read by its own function: names, dependencies, versions and facts."""

from __future__ import annotations

import pytest

from services.stacks.manifests.kinds import kind_of, parse
from services.stacks.manifests.model import Manifest
from tests.services.stacks.trees import tree_of


def read(path: str, text: str) -> Manifest:
    kind = kind_of(path.rpartition("/")[2])
    assert kind is not None
    manifest = parse(tree_of({path: text}), path, kind)
    assert manifest.problems == []
    return manifest


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("package.json", "package.json"), ("deno.jsonc", "deno.json"), ("requirements-dev.txt", "requirements.txt"),
        ("dev_requirements.in", "requirements.txt"), ("App.csproj", "*.csproj"), ("a.gemspec", "*.gemspec"),
        ("info.rkt", "info.rkt"), ("main.rkt", None), ("notes.txt", None), ("package-lock.json", None), (".csproj", None),
    ],
)  # fmt: skip
def test_names_stand_for_manifests(name: str, kind: str | None) -> None:
    found_kind = kind_of(name)
    assert (found_kind.name if found_kind else None) == kind


@pytest.mark.parametrize(
    ("path", "text", "name", "dependencies"),
    [
        ("package.json", '{"name": "a", "dependencies": {"koa": "2"}, "devDependencies": {"koa": "1", "jest": "29"}}', "a", {("koa", "2", "prod"), ("jest", "29", "dev")}),
        ("package.json5", "{name: 'a', dependencies: {koa: '2'}}", "a", {("koa", "2", "prod")}),
        ("deno.json", '{"imports": {"hono": "jsr:@hono/hono@^4", "x": "npm:koa@2/sub"}}', None, {("@hono/hono", "^4", "prod"), ("koa", "2", "prod")}),
        ("pyproject.toml", '[project]\nname = "a"\ndependencies = ["Django_Rest>=3"]\n[dependency-groups]\ndev = ["pytest"]\n', "a", {("django-rest", ">=3", "prod"), ("pytest", None, "dev")}),
        ("setup.py", "setup(name='a', install_requires=['flask>=2'], extras_require={'test': ['pytest']})", "a", {("flask", ">=2", "prod"), ("pytest", None, "dev")}),
        ("setup.cfg", "[metadata]\nname = a\n[options]\ninstall_requires =\n  flask>=2\n", "a", {("flask", ">=2", "prod")}),
        ("requirements.txt", "-r base.txt\n# x\nFlask[async]==3.0 ; python_version>'3'\n", None, {("flask", "==3.0", "prod")}),
        ("Pipfile", '[packages]\nflask = "*"\n[dev-packages]\npytest = "*"\n', None, {("flask", "*", "prod"), ("pytest", "*", "dev")}),
        ("environment.yml", "name: a\ndependencies:\n  - numpy=1.2\n  - pip:\n    - flask\n", "a", {("numpy", "=1.2", "prod"), ("flask", None, "prod")}),
        ("Cargo.toml", '[package]\nname = "a"\n[dependencies]\naxum = "0.7"\nalias = {package = "tokio", version = "1"}\n[dev-dependencies]\nx = "1"\n', "a", {("axum", "0.7", "prod"), ("tokio", "1", "prod"), ("x", "1", "dev")}),
        ("go.mod", "module example.com/a\n\ngo 1.22\n\nrequire (\n\tgithub.com/x/y v1.2.3\n\tgithub.com/z/w v0.1.0 // indirect\n)\n", "example.com/a", {("github.com/x/y", "v1.2.3", "prod"), ("github.com/z/w", "v0.1.0", "indirect")}),
        ("Gemfile", "source 'x'\ngem 'rails', '~> 7'\ngroup :test do\n  gem 'rspec'\nend\n", None, {("rails", "~> 7", "prod"), ("rspec", None, "dev")}),
        ("composer.json", '{"name": "a/b", "require": {"Laravel/Framework": "^11"}}', "a/b", {("laravel/framework", "^11", "prod")}),
        ("mix.exs", 'def project do [app: :a, version: "0.1.0"] end\ndefp deps do [{:phoenix, "~> 1.7"}, {:credo, "1", only: :dev}] end', "a", {("phoenix", "~> 1.7", "prod"), ("credo", "1", "dev")}),
        ("gleam.toml", 'name = "a"\n[dependencies]\nwisp = "1"\n[dev-dependencies]\ngleeunit = "1"\n', "a", {("wisp", "1", "prod"), ("gleeunit", "1", "dev")}),
        ("App.csproj", '<Project Sdk="Microsoft.NET.Sdk.Web"><ItemGroup><PackageReference Include="Orleans" Version="8"/></ItemGroup></Project>', "App", {("sdk:Microsoft.NET.Sdk.Web", None, "prod"), ("orleans", "8", "prod")}),
        ("build.sbt", 'name := "a"\nlibraryDependencies += "org.http4s" %% "http4s" % "0.23"\n', "a", {("org.http4s:http4s", "0.23", "prod")}),
        ("deps.edn", '{:deps {ring/ring-core {:mvn/version "1.12"}}}', None, {("ring:ring-core", "1.12", "prod")}),
        ("pubspec.yaml", "name: a\ndependencies:\n  shelf: ^1\ndev_dependencies:\n  test: any\n", "a", {("shelf", "^1", "prod"), ("test", "any", "dev")}),
        ("shard.yml", "name: a\ndependencies:\n  kemal:\n    github: k/k\n    version: 1.0\n", "a", {("kemal", None, "prod")}),
        ("CMakeLists.txt", "project(a CXX)\n# find_package(No)\nfind_package(Qt6 REQUIRED)\n", "a", {("qt6", None, "prod")}),
        ("meson.build", "project('a', 'c')\ndependency('zlib')\n", "a", {("zlib", None, "prod")}),
        ("conanfile.txt", "[requires]\nfmt/10.1.0\n", None, {("fmt", "10.1.0", "prod")}),
        ("vcpkg.json", '{"dependencies": ["fmt", {"name": "zlib"}]}', None, {("fmt", None, "prod"), ("zlib", None, "prod")}),
        ("a.nimble", 'requires "jester >= 0.5"\n', "a", {("jester", ">= 0.5", "prod")}),
        ("cpanfile", "requires 'Mojolicious', '9';\n", None, {("Mojolicious", "9", "prod")}),
        ("DESCRIPTION", "Package: a\nImports: shiny (>= 1), DBI\nSuggests: testthat\n", "a", {("shiny", ">= 1", "prod"), ("DBI", None, "prod"), ("testthat", None, "dev")}),
    ],
)  # fmt: skip
def test_a_manifest_tells_its_name_and_dependencies(
    path: str, text: str, name: str | None, dependencies: set[tuple[str, str | None, str]]
) -> None:
    manifest = read(path, text)
    assert manifest.name == name
    assert {(one.name, one.version, one.scope) for one in manifest.dependencies} == dependencies


@pytest.mark.parametrize(
    ("path", "text", "statement"),
    [
        ("package.json", '{\n"engines": {\n"node": ">=18"}}', ("node", "engines", ">=18", 3)),
        ("package.json", '{"packageManager": "pnpm@9.5.0+sha1.x"}', ("pnpm", "packageManager", "9.5.0", 1)),
        ("go.mod", "module a\n\ngo 1.22\n", ("go", "go.mod", "1.22", 3)),
        ("mix.exs", 'elixir: "~> 1.15"', ("elixir", "mix.exs", "~> 1.15", 1)),
        ("Package.swift", "// swift-tools-version:5.9\n", ("swift", "swift-tools-version", "5.9", 1)),
        ("CMakeLists.txt", "project(a)\nset(CMAKE_CXX_STANDARD 20)\n", ("c++", "CMAKE_CXX_STANDARD", "20", 2)),
        ("build.gradle", "java {\n sourceCompatibility = '17'\n}", ("java", "sourceCompatibility", "17", 2)),
        ("pom.xml", "<project><properties>\n<java.version>1.8</java.version></properties></project>", ("java", "java.version", "8", 2)),
        ("a.csproj", "<Project><PropertyGroup>\n<TargetFramework>net8.0</TargetFramework></PropertyGroup></Project>", ("dotnet", "TargetFramework", "8.0", 2)),
    ],
)  # fmt: skip
def test_a_manifest_tells_the_versions_that_it_asks_for(
    path: str, text: str, statement: tuple[str, str, str, int]
) -> None:
    stated = [(one.runtime, one.source, one.value, one.line) for one in read(path, text).statements]
    assert stated == [statement]


def test_gradle_tells_plugins_libraries_and_what_it_shares() -> None:
    text = "plugins { id 'org.springframework.boot' version '3.2.0' }\nsubprojects { dependencies { api 'a:b:1' } }\n"
    manifest = read("build.gradle", text)
    assert {"plugin:org.springframework.boot", "shared-library:a:b"} <= manifest.facts.keys()
    assert {one.name for one in manifest.dependencies} == {"plugin:org.springframework.boot", "a:b"}


def test_a_settings_file_tells_its_members() -> None:
    manifest = read("settings.gradle", "include ':app', ':lib:core'\nproject(':app').projectDir = file('apps/app')\n")
    assert manifest.facts["include"].split("\n") == ["apps/app", "lib/core"]
    assert not manifest.package
