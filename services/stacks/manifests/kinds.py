"""The table of manifests: which names they have, whose they are, and who reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from services.stacks.manifests import (
    dotnet,
    functional,
    gradle,
    javascript,
    legacy,
    maven,
    native,
    others,
    python,
    ruby_php,
    sites,
)
from services.stacks.manifests.formats import Broken
from services.stacks.manifests.model import Manifest
from services.stacks.tree import MANIFEST_BYTES, Tree, decoded


@dataclass(frozen=True)
class ManifestKind:
    name: str
    ecosystem: str
    read: Callable[[Manifest], None]
    weak: bool = False  #: makes a package only without a stronger one and with sources in its folder


#: Build tools of native programs that are known by the names of their files.
_NATIVE = {
    "SConstruct": ("SConstruct",), "wscript": ("wscript",), "premake": ("premake5.lua", "premake4.lua"),
    "xmake.lua": ("xmake.lua",), "Jamroot": ("Jamroot", "Jamroot.jam", "Jamfile.v2"),
}  # fmt: skip
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
    "Cargo.toml": ManifestKind("Cargo.toml", "cargo", native.read_cargo),
    "go.mod": ManifestKind("go.mod", "go", native.read_go_mod),
    "pom.xml": ManifestKind("pom.xml", "maven", maven.read_pom),
    "build.gradle": ManifestKind("build.gradle", "maven", gradle.read_build_gradle),
    "build.gradle.kts": ManifestKind("build.gradle.kts", "maven", gradle.read_build_gradle),
    "settings.gradle": ManifestKind("settings.gradle", "maven", gradle.read_settings_gradle),
    "settings.gradle.kts": ManifestKind("settings.gradle.kts", "maven", gradle.read_settings_gradle),
    "build.sbt": ManifestKind("build.sbt", "maven", functional.read_sbt),
    "build.sc": ManifestKind("build.mill", "maven", functional.read_mill),
    "build.mill": ManifestKind("build.mill", "maven", functional.read_mill),
    "project.clj": ManifestKind("project.clj", "maven", functional.read_clojure),
    "deps.edn": ManifestKind("deps.edn", "maven", functional.read_clojure),
    "packages.config": ManifestKind("packages.config", "nuget", dotnet.read_packages_config),
    "Gemfile": ManifestKind("Gemfile", "gem", ruby_php.read_gemfile),
    "gems.rb": ManifestKind("Gemfile", "gem", ruby_php.read_gemfile),
    "composer.json": ManifestKind("composer.json", "composer", ruby_php.read_composer),
    "mix.exs": ManifestKind("mix.exs", "hex", functional.read_mix),
    "rebar.config": ManifestKind("rebar.config", "hex", functional.read_rebar),
    "gleam.toml": ManifestKind("gleam.toml", "hex", functional.read_gleam),
    "stack.yaml": ManifestKind("stack.yaml", "hackage", others.read_nothing),
    "package.yaml": ManifestKind("package.yaml", "hackage", functional.read_hpack),
    "Package.swift": ManifestKind("Package.swift", "swift", others.read_swift),
    "pubspec.yaml": ManifestKind("pubspec.yaml", "pub", others.read_pubspec),
    "shard.yml": ManifestKind("shard.yml", "shards", others.read_shard),
    "dune-project": ManifestKind("dune-project", "opam", functional.read_dune),
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
    "elm.json": ManifestKind("elm.json", "elm", functional.read_elm),
    "v.mod": ManifestKind("v.mod", "v", others.read_nothing),
    "dub.json": ManifestKind("dub.json", "dub", others.read_dub),
    "dub.sdl": ManifestKind("dub.json", "dub", others.read_dub),
    "fpm.toml": ManifestKind("fpm.toml", "fortran", others.read_generic_toml),
    "alire.toml": ManifestKind("alire.toml", "ada", others.read_generic_toml),
    "hugo.toml": ManifestKind("hugo", "hugo", others.read_nothing),
    "hugo.yaml": ManifestKind("hugo", "hugo", others.read_nothing),
    "hugo.json": ManifestKind("hugo", "hugo", others.read_nothing),
    "mkdocs.yml": ManifestKind("mkdocs.yml", "pypi", others.read_nothing, weak=True),
    "Gopkg.toml": ManifestKind("Gopkg.toml", "go", legacy.read_gopkg),
    "glide.yaml": ManifestKind("glide.yaml", "go", legacy.read_glide),
    "Godeps.json": ManifestKind("Godeps.json", "go", legacy.read_godeps),
    "vendor.json": ManifestKind("vendor.json", "go", legacy.read_godeps, weak=True),
    "bower.json": ManifestKind("bower.json", "bower", legacy.read_bower, weak=True),
    "elm-package.json": ManifestKind("elm-package.json", "elm", legacy.read_elm_package),
    "build.xml": ManifestKind("build.xml", "maven", legacy.read_ant, weak=True),
    "ivy.xml": ManifestKind("ivy.xml", "maven", legacy.read_ivy, weak=True),
    "buildout.cfg": ManifestKind("buildout.cfg", "pypi", legacy.read_buildout, weak=True),
    "build.boot": ManifestKind("build.boot", "maven", functional.read_clojure),
    "shadow-cljs.edn": ManifestKind("shadow-cljs.edn", "maven", functional.read_clojure, weak=True),
    "spago.dhall": ManifestKind("spago", "purescript", others.read_nothing),
    "spago.yaml": ManifestKind("spago", "purescript", others.read_nothing),
    "rescript.json": ManifestKind("rescript.json", "rescript", others.read_nothing, weak=True),
    "bsconfig.json": ManifestKind("rescript.json", "rescript", others.read_nothing, weak=True),
    "Cartfile": ManifestKind("Cartfile", "cocoapods", others.read_nothing, weak=True),
    "project.godot": ManifestKind("project.godot", "godot", others.read_nothing),
    "ProjectVersion.txt": ManifestKind("ProjectVersion.txt", "unity", sites.read_unity),
    "application.properties": ManifestKind("grails", "maven", sites.read_grails),
    "hugo.yml": ManifestKind("hugo", "hugo", others.read_nothing),
    **{
        f"config.{form}": ManifestKind("site-config", "site", sites.read_config, weak=True)
        for form in ("toml", "yaml", "yml", "json")
    },
    **{
        f"_config.{form}": ManifestKind("_config.yml", "jekyll", sites.read_underscore_config, weak=True)
        for form in ("yml", "yaml", "toml", "json")
    },
    "mkdocs.yaml": ManifestKind("mkdocs.yml", "pypi", others.read_nothing, weak=True),
    "pelicanconf.py": ManifestKind("pelicanconf.py", "pypi", others.read_nothing, weak=True),
    "book.toml": ManifestKind("book.toml", "site", sites.read_book),
    "book.json": ManifestKind("book.json", "site", sites.read_book, weak=True),
    "antora.yml": ManifestKind("antora", "site", others.read_nothing, weak=True),
    "antora-playbook.yml": ManifestKind("antora", "site", others.read_nothing),
    **{
        name: ManifestKind(name, "site", others.read_nothing, weak=True)
        for name in ("_cobalt.yml", "_quarto.yml", "_bookdown.yml", "myst.yml", "_toc.yml")
    },
    "template.yaml": ManifestKind("sam-template", "function", sites.read_sam, weak=True),
    "template.yml": ManifestKind("sam-template", "function", sites.read_sam, weak=True),
    "stack.yml": ManifestKind("openfaas-stack", "function", sites.read_openfaas, weak=True),
    "host.json": ManifestKind("host.json", "function", sites.read_host, weak=True),
    **{
        name: ManifestKind("gulpfile", "bower", others.read_nothing, weak=True)
        for name in (
            "gulpfile.js",
            "gulpfile.mjs",
            "gulpfile.cjs",
            "gulpfile.ts",
            "gulpfile.babel.js",
            "gulpfile.coffee",
        )
    },
    **{
        name: ManifestKind("Gruntfile", "bower", others.read_nothing, weak=True)
        for name in ("Gruntfile.js", "Gruntfile.cjs", "Gruntfile.ts", "Gruntfile.coffee", "gruntfile.js")
    },
    **{
        name: ManifestKind(kind, "native", others.read_nothing, weak=True)
        for kind, names in _NATIVE.items()
        for name in names
    },
    "dbt_project.yml": ManifestKind("dbt_project.yml", "dbt", others.read_dbt),
    "Chart.yaml": ManifestKind("Chart.yaml", "helm", others.read_chart),
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
    ".cabal": ManifestKind("*.cabal", "hackage", functional.read_cabal),
    ".nimble": ManifestKind("*.nimble", "nimble", others.read_nimble),
    ".opam": ManifestKind("*.opam", "opam", functional.read_opam, weak=True),
    ".tf": ManifestKind("*.tf", "terraform", others.read_terraform, weak=True),
    ".rockspec": ManifestKind("*.rockspec", "luarocks", others.read_rockspec),
    ".rkt": ManifestKind("info.rkt", "racket", others.read_nothing, weak=True),
    ".asd": ManifestKind("*.asd", "quicklisp", others.read_nothing),
    ".gpr": ManifestKind("*.gpr", "ada", others.read_nothing, weak=True),
    ".vcxproj": ManifestKind("*.vcxproj", "native", legacy.read_vcxproj, weak=True),
    ".pro": ManifestKind("*.pro", "native", legacy.read_qmake, weak=True),
    ".lektorproject": ManifestKind("*.lektorproject", "site", others.read_nothing),
    ".uproject": ManifestKind("*.uproject", "unreal", others.read_nothing),
    ".lpi": ManifestKind("*.lpi", "lazarus", others.read_nothing, weak=True),
    ".dproj": ManifestKind("*.dproj", "delphi", others.read_nothing, weak=True),
}
_MANIFEST_ENDINGS = frozenset((*_ENDINGS, ".txt", ".in"))
_REQUIREMENTS = re.compile(r"^(?:requirements[\w.-]*|[\w.-]*[-_]requirements|requires)\.(?:txt|in)$")
#: Folders in which every text is a list of requirements.
REQUIREMENT_FOLDERS = frozenset(("requirements", "reqs", "requires"))
REQUIREMENTS_KIND = ManifestKind("requirements.txt", "pypi", python.read_requirements, weak=True)


#: Manifests with a real parser; the others are searched with patterns, in a bounded text.
_WHOLE = frozenset(
    ("package.json", "project.json", "deno.json",
     "pyproject.toml", "Pipfile", "pixi.toml", "Cargo.toml", "composer.json", "renv.lock",
     "pom.xml", "*.csproj", "*.fsproj", "*.vbproj", "gleam.toml", "Project.toml", "elm.json", "environment.yml",
     "pubspec.yaml", "shard.yml", "go.mod", "requirements.txt", "setup.cfg", "vcpkg.json", "package.yaml", "fpm.toml",
     "xcode", "dub.json", "dbt_project.yml", "Chart.yaml", "bower.json", "Gopkg.toml", "glide.yaml", "Godeps.json",
     "vendor.json")
)  # fmt: skip
MAX_SEARCHED = 128 << 10


def kind_of(name: str) -> ManifestKind | None:
    """Return the kind of manifest with a file name."""
    exact = EXACT.get(name)
    if exact is not None:
        return exact
    dot = name.rfind(".")
    ending = name[dot:]
    if dot > 0 and ending in _MANIFEST_ENDINGS:
        if ending in _ENDINGS:
            return None if ending == ".rkt" and name != "info.rkt" else _ENDINGS[ending]
        if ending in {".txt", ".in"} and "require" in name and _REQUIREMENTS.match(name):
            return REQUIREMENTS_KIND
    return None


def _reader(kind: ManifestKind, manifest: Manifest) -> Callable[[Manifest], None]:
    """``package.yaml`` is hpack's when its dependencies are a list, and pnpm's otherwise."""
    if kind.name == "package.yaml" and not re.search(r"(?m)^dependencies:\s*(?:#.*)?\n\s*-", manifest.text):
        manifest.ecosystem = "npm"
        return javascript.read_package_json
    return kind.read


def parse(tree: Tree, path: str, kind: ManifestKind) -> Manifest:
    """Read one manifest; its faults are in ``problems``."""
    body = tree.read(path) if kind.read is not others.read_nothing else b""
    manifest = Manifest(path, kind.name, kind.ecosystem, decoded(body or b""), weak=kind.weak)
    if body is None:
        manifest.problems.append(f"{path}: could not be read")
        return manifest
    if len(body) >= MANIFEST_BYTES and (size := tree.size(path)) > MANIFEST_BYTES:
        manifest.problems.append(f"{path}: {size:,} bytes; a manifest over {MANIFEST_BYTES >> 20} MB is not read")
        manifest.text = ""
        return manifest
    if (nul := manifest.text.find("\0")) >= 0:
        manifest.problems.append(f"{path}:{manifest.line_at(nul)}: holds a NUL character, so it is not text")
        manifest.text = ""
        return manifest
    if kind.name not in _WHOLE and len(manifest.text) > MAX_SEARCHED:
        manifest.text = manifest.text[:MAX_SEARCHED]
        manifest.problems.append(f"{path}: only the first {MAX_SEARCHED >> 10} kB were read")
    try:
        _reader(kind, manifest)(manifest)
    except Broken as broken:
        where = f"{path}:{broken.line}" if broken.line else path
        manifest.problems.append(f"{where}: {broken.reason}")
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError):
        # Whatever one manifest holds, the other packages of the tree are still detected.
        manifest.problems.append(f"{path}: could not be understood")
    return manifest
