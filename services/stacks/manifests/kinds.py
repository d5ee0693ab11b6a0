"""The table of manifests: which names they have, whose they are, and who reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from services.stacks.manifests import (
    beam,
    dotnet,
    gradle,
    javascript,
    maven,
    native,
    others,
    python,
    ruby_php,
    rust_go,
    scala_clojure,
)
from services.stacks.manifests.formats import Broken
from services.stacks.manifests.model import Manifest
from services.stacks.tree import MANIFEST_BYTES, Tree


@dataclass(frozen=True)
class ManifestKind:
    name: str
    ecosystem: str
    read: Callable[[Manifest], None]
    weak: bool = False  #: makes a package only where nothing stronger does and sources stand beside it


EXACT = {
    "package.json": ManifestKind("package.json", "npm", javascript.read_package_json),
    "project.json": ManifestKind("project.json", "npm", javascript.read_nx),
    "wp-config.php": ManifestKind("wordpress", "composer", others.read_nothing),
    "wp-config-sample.php": ManifestKind("wordpress", "composer", others.read_nothing),
    "package.json5": ManifestKind("package.json5", "npm", javascript.read_package_json),
    "deno.json": ManifestKind("deno.json", "deno", javascript.read_deno_json),
    "deno.jsonc": ManifestKind("deno.json", "deno", javascript.read_deno_json),
    "pyproject.toml": ManifestKind("pyproject.toml", "pypi", python.read_pyproject),
    "setup.py": ManifestKind("setup.py", "pypi", python.read_setup_py),
    "setup.cfg": ManifestKind("setup.cfg", "pypi", python.read_setup_cfg),
    "Pipfile": ManifestKind("Pipfile", "pypi", python.read_pipfile),
    "environment.yml": ManifestKind("environment.yml", "pypi", python.read_conda),
    "environment.yaml": ManifestKind("environment.yml", "pypi", python.read_conda),
    "pixi.toml": ManifestKind("pixi.toml", "pypi", python.read_pixi),
    "Cargo.toml": ManifestKind("Cargo.toml", "cargo", rust_go.read_cargo),
    "go.mod": ManifestKind("go.mod", "go", rust_go.read_go_mod),
    "pom.xml": ManifestKind("pom.xml", "maven", maven.read_pom),
    "build.gradle": ManifestKind("build.gradle", "maven", gradle.read_build_gradle),
    "build.gradle.kts": ManifestKind("build.gradle.kts", "maven", gradle.read_build_gradle),
    "settings.gradle": ManifestKind("settings.gradle", "maven", gradle.read_settings_gradle),
    "settings.gradle.kts": ManifestKind("settings.gradle.kts", "maven", gradle.read_settings_gradle),
    "build.sbt": ManifestKind("build.sbt", "maven", scala_clojure.read_sbt),
    "build.sc": ManifestKind("build.mill", "maven", scala_clojure.read_mill),
    "build.mill": ManifestKind("build.mill", "maven", scala_clojure.read_mill),
    "project.clj": ManifestKind("project.clj", "maven", scala_clojure.read_clojure),
    "deps.edn": ManifestKind("deps.edn", "maven", scala_clojure.read_clojure),
    "packages.config": ManifestKind("packages.config", "nuget", dotnet.read_packages_config),
    "Gemfile": ManifestKind("Gemfile", "gem", ruby_php.read_gemfile),
    "gems.rb": ManifestKind("Gemfile", "gem", ruby_php.read_gemfile),
    "composer.json": ManifestKind("composer.json", "composer", ruby_php.read_composer),
    "mix.exs": ManifestKind("mix.exs", "hex", beam.read_mix),
    "rebar.config": ManifestKind("rebar.config", "hex", beam.read_rebar),
    "gleam.toml": ManifestKind("gleam.toml", "hex", beam.read_gleam),
    "stack.yaml": ManifestKind("stack.yaml", "hackage", others.read_nothing),
    "package.yaml": ManifestKind("package.yaml", "hackage", others.read_hpack),
    "Package.swift": ManifestKind("Package.swift", "swift", others.read_swift),
    "pubspec.yaml": ManifestKind("pubspec.yaml", "pub", others.read_pubspec),
    "shard.yml": ManifestKind("shard.yml", "shards", others.read_shard),
    "dune-project": ManifestKind("dune-project", "opam", others.read_dune),
    "Project.toml": ManifestKind("Project.toml", "julia", others.read_julia),
    "JuliaProject.toml": ManifestKind("Project.toml", "julia", others.read_julia),
    "renv.lock": ManifestKind("renv.lock", "cran", others.read_renv),
    "DESCRIPTION": ManifestKind("DESCRIPTION", "cran", others.read_description),
    "cpanfile": ManifestKind("cpanfile", "cpan", others.read_cpanfile),
    "Makefile.PL": ManifestKind("Makefile.PL", "cpan", others.read_nothing),
    "Build.PL": ManifestKind("Build.PL", "cpan", others.read_nothing),
    "dist.ini": ManifestKind("dist.ini", "cpan", others.read_nothing, weak=True),
    "build.zig": ManifestKind("build.zig", "zig", native.read_zig),
    "build.zig.zon": ManifestKind("build.zig.zon", "zig", native.read_zon),
    "CMakeLists.txt": ManifestKind("CMakeLists.txt", "native", native.read_cmake),
    "meson.build": ManifestKind("meson.build", "native", native.read_meson),
    "Makefile": ManifestKind("Makefile", "native", others.read_nothing, weak=True),
    "makefile": ManifestKind("Makefile", "native", others.read_nothing, weak=True),
    "GNUmakefile": ManifestKind("Makefile", "native", others.read_nothing, weak=True),
    "conanfile.txt": ManifestKind("conanfile", "native", native.read_conan, weak=True),
    "conanfile.py": ManifestKind("conanfile", "native", native.read_conan_recipe, weak=True),
    "vcpkg.json": ManifestKind("vcpkg.json", "native", native.read_vcpkg, weak=True),
    "configure.ac": ManifestKind("configure.ac", "native", others.read_nothing, weak=True),
    "elm.json": ManifestKind("elm.json", "elm", others.read_elm),
    "v.mod": ManifestKind("v.mod", "v", others.read_nothing),
    "dub.json": ManifestKind("dub.json", "dub", others.read_dub),
    "dub.sdl": ManifestKind("dub.json", "dub", others.read_dub),
    "fpm.toml": ManifestKind("fpm.toml", "fortran", others.read_generic_toml),
    "alire.toml": ManifestKind("alire.toml", "ada", others.read_generic_toml),
    "hugo.toml": ManifestKind("hugo", "hugo", others.read_nothing),
    "hugo.yaml": ManifestKind("hugo", "hugo", others.read_nothing),
    "hugo.json": ManifestKind("hugo", "hugo", others.read_nothing),
    "mkdocs.yml": ManifestKind("mkdocs.yml", "pypi", others.read_nothing, weak=True),
    "_config.yml": ManifestKind("_config.yml", "jekyll", others.read_nothing, weak=True),
    "MODULE.bazel": ManifestKind("bazel", "bazel", others.read_nothing),
    "WORKSPACE": ManifestKind("bazel", "bazel", others.read_nothing),
    "WORKSPACE.bazel": ManifestKind("bazel", "bazel", others.read_nothing),
    "pants.toml": ManifestKind("pants.toml", "pants", others.read_nothing),
    ".buckconfig": ManifestKind(".buckconfig", "buck", others.read_nothing),
    "foundry.toml": ManifestKind("foundry.toml", "solidity", others.read_nothing),
    "project.pbxproj": ManifestKind("xcode", "xcode", native.read_xcode, weak=True),
    "Podfile": ManifestKind("Podfile", "cocoapods", others.read_nothing, weak=True),
}
_ENDINGS = {
    ".csproj": ManifestKind("*.csproj", "nuget", dotnet.read_project),
    ".fsproj": ManifestKind("*.fsproj", "nuget", dotnet.read_project),
    ".vbproj": ManifestKind("*.vbproj", "nuget", dotnet.read_project),
    ".sln": ManifestKind("*.sln", "nuget", dotnet.read_solution),
    ".slnx": ManifestKind("*.sln", "nuget", dotnet.read_solution),
    ".gemspec": ManifestKind("*.gemspec", "gem", ruby_php.read_gemspec),
    ".cabal": ManifestKind("*.cabal", "hackage", others.read_cabal),
    ".nimble": ManifestKind("*.nimble", "nimble", others.read_nimble),
    ".opam": ManifestKind("*.opam", "opam", others.read_opam, weak=True),
    ".tf": ManifestKind("*.tf", "terraform", others.read_terraform, weak=True),
    ".rockspec": ManifestKind("*.rockspec", "luarocks", others.read_rockspec),
    ".rkt": ManifestKind("info.rkt", "racket", others.read_nothing, weak=True),
    ".asd": ManifestKind("*.asd", "quicklisp", others.read_nothing),
    ".gpr": ManifestKind("*.gpr", "ada", others.read_nothing, weak=True),
}
_MANIFEST_ENDINGS = frozenset((*_ENDINGS, ".txt", ".in"))
_REQUIREMENTS = re.compile(r"^(?:requirements[\w.-]*|[\w.-]*[-_]requirements|requires)\.(?:txt|in)$")
_REQUIREMENTS_KIND = ManifestKind("requirements.txt", "pypi", python.read_requirements, weak=True)


#: Manifests with a real parser; the others are searched with patterns, in a bounded text.
_WHOLE = frozenset(
    ("package.json", "project.json", "deno.json",
     "pyproject.toml", "Pipfile", "pixi.toml", "Cargo.toml", "composer.json", "renv.lock",
     "pom.xml", "*.csproj", "*.fsproj", "*.vbproj", "gleam.toml", "Project.toml", "elm.json", "environment.yml",
     "pubspec.yaml", "shard.yml", "go.mod", "requirements.txt", "setup.cfg", "vcpkg.json", "package.yaml", "fpm.toml",
     "xcode", "dub.json")
)  # fmt: skip
MOST_SEARCHED = 128 << 10


def kind_of(name: str) -> ManifestKind | None:
    """What manifest a file name stands for."""
    exact = EXACT.get(name)
    if exact is not None:
        return exact
    dot = name.rfind(".")
    ending = name[dot:]
    if dot > 0 and ending in _MANIFEST_ENDINGS:
        if ending in _ENDINGS:
            return None if ending == ".rkt" and name != "info.rkt" else _ENDINGS[ending]
        if ending in {".txt", ".in"} and "require" in name and _REQUIREMENTS.match(name):
            return _REQUIREMENTS_KIND
    return None


def _reader(kind: ManifestKind, manifest: Manifest) -> Callable[[Manifest], None]:
    """``package.yaml`` is hpack's when its dependencies are a list, and pnpm's otherwise."""
    if kind.name == "package.yaml" and not re.search(r"(?m)^dependencies:\s*(?:#.*)?\n\s*-", manifest.text):
        manifest.ecosystem = "npm"
        return javascript.read_package_json
    return kind.read


def parse(tree: Tree, path: str, kind: ManifestKind) -> Manifest:
    """Read one manifest; what is wrong with it stands in ``problems``."""
    body = tree.read(path) if kind.read is not others.read_nothing else b""
    manifest = Manifest(path, kind.name, kind.ecosystem, (body or b"").decode("utf-8-sig", "replace"))
    if body is None:
        manifest.problems.append(f"{path}: could not be read")
        return manifest
    if len(body) >= MANIFEST_BYTES and (size := tree.size(path)) > MANIFEST_BYTES:
        manifest.problems.append(f"{path}: {size:,} bytes; a manifest over {MANIFEST_BYTES >> 20} MB is not read")
        manifest.text = ""
        return manifest
    if body[:2] == b"\xff\xfe" or b"\0" in body[:512]:
        manifest.problems.append(f"{path}:1: not UTF-8 text")
        manifest.text = ""
        return manifest
    if kind.name not in _WHOLE and len(manifest.text) > MOST_SEARCHED:
        manifest.text = manifest.text[:MOST_SEARCHED]
        manifest.problems.append(f"{path}: only the first {MOST_SEARCHED >> 10} kB were read")
    try:
        _reader(kind, manifest)(manifest)
    except Broken as broken:
        where = f"{path}:{broken.line}" if broken.line else path
        manifest.problems.append(f"{where}: {broken.reason}")
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError):
        # Whatever stands in one manifest, the other packages of the tree are still told.
        manifest.problems.append(f"{path}: could not be understood")
    return manifest
