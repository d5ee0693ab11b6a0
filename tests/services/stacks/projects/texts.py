"""Projects written down as text, many in one file: what is expected in a line, then the files.

    == a shop on Sapper | framework=sapper language=javascript
    -- npm: sapper svelte; dev: rollup
    -- src/server.js
    polka().use(sapper.middleware()).listen(PORT)

A file of the form ``ecosystem: names; dev: names`` means the manifest of that ecosystem, with one source next to it.
A line ``++ at=web framework=vue`` says what is expected of one more service of the same project.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.services.stacks.projects.case import Case

FOLDER = Path(__file__).parent
Written = dict[str, object]


def read_projects(name: str) -> list[Case]:
    text = (FOLDER / f"{name}.txt").read_text()
    return [case for block in text.split("\n== ")[1:] for case in _cases(block)]


def _cases(block: str) -> Iterator[Case]:
    head, *rest = block.split("\n-- ")
    name, _, wanted = head.partition(" | ")
    files: Written = {}
    for part in rest:
        path, _, body = part.partition("\n")
        shorthand, colon, names = path.partition(": ")
        if colon and shorthand.rpartition("/")[2] in MANIFESTS:
            folder, _, ecosystem = shorthand.rpartition("/")
            prefix = folder + "/" if folder else ""
            prod, _, dev = names.partition("; dev: ")
            written = MANIFESTS[ecosystem](prod.split(), dev.split())
            files |= {prefix + place: content for place, content in written.items()}
        else:
            files[path.strip()] = body.encode("utf-16") if path.endswith(" utf-16") else f"{body.rstrip()}\n"
            if path.endswith(" utf-16"):
                files[path.removesuffix(" utf-16").strip()] = files.pop(path.strip())
    for expected in wanted.split("\n++ "):
        fields: dict[str, object] = {}
        for word in shlex.split(expected):
            key, _, value = word.partition("=")
            fields[key] = _FIELDS.get(key, _text)(value)
        title = name.strip() if expected is wanted or "at" not in fields else f"{name.strip()}: {fields['at']}"
        yield Case(title, files, **fields)  # type: ignore[arg-type]


def _text(value: str) -> str | None:
    return None if value == "none" else value


def _list(value: str) -> tuple[str, ...]:
    return tuple(one for one in value.split(",") if one)


def _pairs(value: str) -> tuple[tuple[str, str], ...]:
    return tuple((kind, id) for kind, _, id in (one.partition(":") for one in _list(value)))


_FIELDS: dict[str, Callable[[str], object]] = {
    "uses": _list, "candidates": _pairs, "absent": _pairs, "versions": lambda value: dict(_pairs(value)),
    "workspace": lambda value: (value.partition(":")[0], _list(value.partition(":")[2])),
    "ports": lambda value: tuple(int(one) for one in _list(value)), "paths": lambda value: tuple("" if p == "." else p for p in _list(value)),
}  # fmt: skip


def _npm(prod: list[str], dev: list[str]) -> Written:
    manifest = {
        "name": "app",
        "version": "1.0.0",
        "dependencies": dict.fromkeys(prod, "^1.0.0"),
        "devDependencies": dict.fromkeys(dev, "^1.0.0"),
    }
    return {"package.json": json.dumps(manifest, indent=2) + "\n", "index.js": "console.log(1)\n"}


def _pypi(prod: list[str], dev: list[str]) -> Written:
    files: Written = {"requirements.txt": "".join(f"{name}\n" for name in prod), "app.py": "print(1)\n"}
    return {**files, "requirements-dev.txt": "".join(f"{name}\n" for name in dev)} if dev else files


def _go(prod: list[str], _dev: list[str]) -> Written:
    required = "".join(f"\t{name} v1.0.0\n" for name in prod)
    return {
        "go.mod": f"module example.com/app\n\ngo 1.22\n\nrequire (\n{required})\n",
        "main.go": "package main\n\nfunc main() {}\n",
    }


def _cargo(prod: list[str], dev: list[str]) -> Written:
    lists = "".join(f'{name} = "1"\n' for name in prod), "".join(f'{name} = "1"\n' for name in dev)
    text = f'[package]\nname = "app"\nversion = "0.1.0"\n\n[dependencies]\n{lists[0]}\n[dev-dependencies]\n{lists[1]}'
    return {"Cargo.toml": text, "src/main.rs": "fn main() {}\n"}


def _gem(prod: list[str], dev: list[str]) -> Written:
    text = "source 'https://rubygems.org'\n" + "".join(f"gem '{name}'\n" for name in prod)
    text += "group :development, :test do\n" + "".join(f"  gem '{name}'\n" for name in dev) + "end\n" if dev else ""
    return {"Gemfile": text, "app.rb": "puts 1\n"}


def _composer(prod: list[str], dev: list[str]) -> Written:
    manifest = {"require": {"php": ">=8.1", **dict.fromkeys(prod, "^1.0")}, "require-dev": dict.fromkeys(dev, "^1.0")}
    return {"composer.json": json.dumps(manifest, indent=2) + "\n", "index.php": "<?php echo 1;\n"}


def _maven(prod: list[str], dev: list[str]) -> Written:
    def item(name: str, scope: str) -> str:
        group, _, artifact = name.partition(":")
        return f"    <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>{scope}</dependency>\n"

    wanted = "".join(item(name, "") for name in prod) + "".join(item(name, "<scope>test</scope>") for name in dev)
    text = f"<project>\n  <groupId>g</groupId><artifactId>app</artifactId><version>1</version>\n  <dependencies>\n{wanted}  </dependencies>\n</project>\n"
    return {"pom.xml": text, "src/main/java/App.java": "class App { public static void main(String[] a) {} }\n"}


def _gradle(prod: list[str], dev: list[str]) -> Written:
    """A name without a colon is a plugin."""
    plugins = "".join(f'    id("{name}")\n' for name in prod if ":" not in name)
    wanted = "".join(f'    implementation("{name}:1.0")\n' for name in prod if ":" in name)
    wanted += "".join(f'    testImplementation("{name}:1.0")\n' for name in dev)
    return {
        "build.gradle.kts": f"plugins {{\n{plugins}}}\ndependencies {{\n{wanted}}}\n",
        "src/main/kotlin/App.kt": "fun main() {}\n",
    }


def _sbt(prod: list[str], dev: list[str]) -> Written:
    def item(name: str, scope: str) -> str:
        group, _, artifact = name.partition(":")
        return f'libraryDependencies += "{group}" %% "{artifact}" % "1.0"{scope}\n'

    wanted = "".join(item(name, "") for name in prod) + "".join(item(name, " % Test") for name in dev)
    return {
        "build.sbt": f'name := "app"\nscalaVersion := "2.13.12"\n{wanted}',
        "src/main/scala/App.scala": "object App extends App\n",
    }


def _nuget(prod: list[str], dev: list[str]) -> Written:
    """The first name is the SDK."""
    sdk, *packages = prod
    wanted = "".join(f'    <PackageReference Include="{name}" Version="1.0.0" />\n' for name in [*packages, *dev])
    text = f'<Project Sdk="{sdk}">\n  <PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup>\n  <ItemGroup>\n{wanted}  </ItemGroup>\n</Project>\n'
    return {"App.csproj": text, "Program.cs": "class Program { static void Main() {} }\n"}


def _hex(prod: list[str], dev: list[str]) -> Written:
    wanted = ",\n".join(
        [f'      {{:{name}, "~> 1.0"}}' for name in prod]
        + [f'      {{:{name}, "~> 1.0", only: :test}}' for name in dev]
    )
    text = f"defmodule App.MixProject do\n  def project do\n    [app: :app, deps: deps()]\n  end\n  defp deps do\n    [\n{wanted}\n    ]\n  end\nend\n"
    return {"mix.exs": text, "lib/app.ex": "defmodule App do\nend\n"}


def _pub(prod: list[str], dev: list[str]) -> Written:
    wanted = "".join(f"  {name}: ^1.0.0\n" for name in prod)
    return {
        "pubspec.yaml": f"name: app\ndependencies:\n{wanted}dev_dependencies:\n"
        + "".join(f"  {name}: any\n" for name in dev),
        "lib/main.dart": "void main() {}\n",
    }


def _swift(prod: list[str], _dev: list[str]) -> Written:
    wanted = ", ".join(f'.package(url: "https://github.com/{name}.git", from: "1.0.0")' for name in prod)
    text = f'// swift-tools-version:5.9\nimport PackageDescription\nlet package = Package(name: "App", dependencies: [{wanted}], targets: [.executableTarget(name: "App")])\n'
    return {"Package.swift": text, "Sources/App/main.swift": "print(1)\n"}


def _hackage(prod: list[str], _dev: list[str]) -> Written:
    return {
        "app.cabal": f"name: app\nversion: 0.1\nexecutable app\n  main-is: Main.hs\n  build-depends: {', '.join(['base', *prod])}\n",
        "Main.hs": "main = pure ()\n",
    }


def _shards(prod: list[str], _dev: list[str]) -> Written:
    wanted = "".join(f"  {name}:\n    github: x/{name}\n" for name in prod)
    return {"shard.yml": f"name: app\nversion: 0.1.0\ndependencies:\n{wanted}", "src/app.cr": "puts 1\n"}


def _cmake(prod: list[str], _dev: list[str]) -> Written:
    wanted = "".join(f"find_package({name} REQUIRED)\n" for name in prod)
    return {
        "CMakeLists.txt": f"project(app CXX)\n{wanted}add_executable(app main.cpp)\n",
        "main.cpp": "int main() { return 0; }\n",
    }


def _clojure(prod: list[str], _dev: list[str]) -> Written:
    wanted = " ".join(f'[{name} "1.0.0"]' for name in prod)
    return {
        "project.clj": f'(defproject app "0.1.0" :dependencies [[org.clojure/clojure "1.11.1"] {wanted}] :main app.core)\n',
        "src/app/core.clj": "(ns app.core)\n",
    }


def _julia(prod: list[str], _dev: list[str]) -> Written:
    wanted = "".join(f'{name} = "00000000-0000-0000-0000-000000000000"\n' for name in prod)
    return {"Project.toml": f'name = "App"\n[deps]\n{wanted}', "src/App.jl": "module App end\n"}


MANIFESTS: dict[str, Callable[[list[str], list[str]], Written]] = {
    "npm": _npm, "pypi": _pypi, "go": _go, "cargo": _cargo, "gem": _gem, "composer": _composer, "maven": _maven, "gradle": _gradle,
    "sbt": _sbt, "nuget": _nuget, "hex": _hex, "pub": _pub, "swift": _swift, "hackage": _hackage, "shards": _shards, "cmake": _cmake,
    "clojure": _clojure, "julia": _julia,
}  # fmt: skip
