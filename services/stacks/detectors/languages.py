"""Languages: what the manifests are for, and what the sources are written in; and the runtimes that they need."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from services.stacks.manifests.model import Manifest, table, text_of
from services.stacks.packages.package import Package, Proof, TechnologyFinding
from services.stacks.packages.ranking import primary_language, primary_of
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import TechnologyRules
from services.stacks.tree import HEAD_BYTES, join
from shared.contracts.detect import TechnologyKind

_JVM = ("java", "kotlin", "scala", "groovy")
_JVM_BUILDS = frozenset(
    ("pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "build.xml", "build.sbt")
)
_PROJECTS = {"*.csproj": "csharp", "*.fsproj": "fsharp", "*.vbproj": "vbnet"}
_BY_SOURCES = frozenset(
    ("CMakeLists.txt", "meson.build", "configure.ac", "Makefile", "bazel", "pants.toml", ".buckconfig", "conanfile",
     "vcpkg.json", "*.sln", "packages.config", "xcode", "SConstruct", "wscript", "premake", "xmake.lua", "Jamroot",
     "*.pro", "*.vcxproj", "*.uproject", "project.godot", "ProjectVersion.txt")
)  # fmt: skip
_KOTLIN = ("plugin:org.jetbrains.kotlin", "org.jetbrains.kotlin:", "plugin:kotlin", "plugin:org.jetbrains.kotlin.jvm")
_SCALA = ("org.scala-lang:", "plugin:scala")


#: Single-file components, which say in their text what they are written in.
_COMPONENTS = ("Svelte", "Vue", "Astro")
_TYPED = re.compile(rb"<script[^>]{0,200}\blang=[\"'](?:ts|tsx|typescript)[\"']")


def _typed(survey: Survey, path: str) -> bool:
    return (
        path.endswith(".astro")
        or _TYPED.search(survey.scan.heads.get(path) or survey.scan.tree.read(path, HEAD_BYTES) or b"") is not None
    )


#: Tools that only show a folder of pages while it is written, and those that check it.
_PAGE_SERVERS = frozenset(
    ("live-server", "http-server", "serve", "browser-sync", "lite-server", "servor", "five-server", "superstatic",
     "sirv-cli",
     "local-web-server", "live-serve", "alive-server", "reload", "ws", "static-server", "light-server",
     "@compodoc/live-server")
)  # fmt: skip
_PAGE_CHECKS = re.compile(
    r"prettier|eslint|stylelint|htmlhint|html-validate|husky|lint-staged|sass|postcss|autoprefixer|tailwindcss|cssnano"
    r"|clean-css|terser|uglify|html-minifier|concurrently|npm-run-all"
)
_PAGE_SCRIPT = re.compile(
    r"(?:^|&&\s*|npx\s+(?:--yes\s+|-y\s+)?)(?:live-server|http-server|serve|browser-sync|lite-server|servor|five-server"
    r"|superstatic|sirv|python3? -m http\.server|php -S)\b"
)


def served_page(package: Package) -> str | None:
    """Return the page of a package whose package.json only serves or checks it in development; None for programs."""
    manifest = package.manifest("package.json")
    if manifest is None:
        page = package.manifest("page")
        return page.path if page is not None else None
    if any(key in manifest.data for key in ("main", "bin", "exports", "module")):
        return None
    names = {dependency.name for one in package.manifests for dependency in one.dependencies}
    scripts = [body for value in table(manifest.data.get("scripts")).values() if (body := text_of(value))]
    serves = not names.isdisjoint(_PAGE_SERVERS) or any(_PAGE_SCRIPT.search(body) for body in scripts)
    others = [name for name in names if name not in _PAGE_SERVERS and not _PAGE_CHECKS.search(name)]
    if others or any(re.search(r"\b(?:node|nodemon|tsx|ts-node|bun|deno)\s+[\w./-]", body) for body in scripts):
        return None
    if not serves and (not names or "server.js" in package.files):
        return None  # it may be a program that needs no package
    below = len(package.path) + 1 if package.path else 0
    pages = [
        join(folder.path, "index.html")
        for folder in package.folders
        if "index.html" in folder.files and folder.path[below:].count("/") < 2
    ]
    return min(pages, key=lambda path: (path.count("/"), path), default=None)


@dataclass(frozen=True)
class Languages:
    rules: TechnologyRules
    kind: TechnologyKind = "language"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, TechnologyFinding]]:
        for package in survey.packages.values():
            for manifest in package.manifests:
                for id, proof in self._of(survey, package, manifest):
                    technology = self.rules.get("language", id)
                    if technology:
                        yield package, TechnologyFinding.of(technology, [proof.under(technology.rule)])
            yield from ((package, one) for one in self._sources(package))

    def _of(self, survey: Survey, package: Package, manifest: Manifest) -> Iterable[tuple[str, Proof]]:
        proof = Proof(manifest.path, None, "", None, 0.9)
        kind = manifest.kind
        if manifest.ecosystem == "npm":
            yield from self._javascript(survey, package, manifest)
        elif kind == "deno.json":
            only_javascript = "JavaScript" in package.sources and not {"TypeScript", "TSX"} & set(package.sources)
            yield "javascript" if only_javascript else "typescript", proof
        elif kind in _JVM_BUILDS:
            yield self._jvm(package, manifest), proof._replace(weight=0.3) if package.wrapped_by(manifest) else proof
        elif kind in _PROJECTS:
            yield _PROJECTS[kind], proof
        elif kind in _BY_SOURCES:
            yield from self._compiled(package, manifest)
        elif manifest.ecosystem == "pypi":
            yield "python", proof
        elif kind == "wordpress":
            yield "php", proof
        elif kind == "page" and package.manifest_of("npm") is None:
            yield "javascript" if "JavaScript" in package.sources else "html", proof
        elif kind == "dbt_project.yml":
            yield "sql", proof._replace(weight=0.6 if package.manifest_of("pypi") else 0.9)
        else:
            for system in self.rules.by_manifest.get(kind, ()):
                language = system.text("language")
                if language:
                    yield language, Proof(manifest.path, None, "", None, min(0.9, system.number("weight", 0.9)))

    def _javascript(self, survey: Survey, package: Package, manifest: Manifest) -> Iterable[tuple[str, Proof]]:
        typed = [package.sources[name] for name in ("TypeScript", "TSX") if name in package.sources]
        plain = package.sources.get("JavaScript")
        page = served_page(package)
        if page is not None and not typed and plain is None:
            yield "html", Proof(page, None, "", None, 0.8)
            yield "javascript", Proof(manifest.path, None, "", None, 0.3)
            return
        declared = self._typescript_proof(survey, package)
        if not typed and declared and plain is None:
            typed = [
                sources
                for sources in (package.sources.get(name) for name in _COMPONENTS)
                if sources and _typed(survey, sources.first)
            ]
        if not typed and plain is None and not package.sources and self._typescript_settings(package):
            yield "typescript", package.file_proof(self._typescript_settings(package), "", 0.8)
            yield "javascript", Proof(manifest.path, None, "", None, 0.5)
            return
        if typed and (declared or plain is None):
            yield "typescript", Proof(typed[0].first, None, "", None, 0.6)
            if declared:
                yield "typescript", declared
        if not typed or plain is not None:
            weight = 0.5 if typed and declared else 0.9
            yield "javascript", Proof(manifest.path, None, "", None, weight)

    def _typescript_settings(self, package: Package) -> str:
        """Return a file that only a TypeScript package has, if the sources do not decide."""
        names = (name for name in package.files if name == "tsconfig.json" or name.endswith(".config.ts"))
        return min(names, default="")

    def _typescript_proof(self, survey: Survey, package: Package) -> Proof | None:
        for folder, names, markers, manifests in survey.above(package.path):
            if markers and ("tsconfig.json" in names or "tsconfig.base.json" in names):
                name = "tsconfig.json" if "tsconfig.json" in names else "tsconfig.base.json"
                return Proof(join(folder, name), None, "", None, 0.8)
            for manifest in manifests:
                for dependency in manifest.dependencies if manifest.ecosystem == "npm" else ():
                    if dependency.name == "typescript":
                        line = dependency.line
                        return Proof(manifest.path, line, "", manifest.snippet(line), 0.8)
        return None

    def _jvm(self, package: Package, manifest: Manifest) -> str:
        weight = {id: self._bytes(package, id) for id in _JVM}
        best = max(_JVM, key=lambda id: (weight[id], -_JVM.index(id)))
        if weight[best]:
            return best
        if manifest.kind == "build.sbt":
            return "scala"
        names = [dependency.name for dependency in manifest.dependencies]
        if any(name.startswith(_KOTLIN) for name in names):
            return "kotlin"
        return "scala" if any(name.startswith(_SCALA) for name in names) else "java"

    def _compiled(self, package: Package, manifest: Manifest) -> Iterable[tuple[str, Proof]]:
        """C or C++ or whatever a general build tool compiles: by the bytes, then by what the project declares."""
        written = sorted(
            ((sources.bytes, id, sources.first) for id, sources in self._by_id(package).items() if id != "shell"),
            reverse=True,
        )
        native = [
            one for one in written if one[1] in {"c", "c++", "objective-c", "cuda", "fortran", "assembly", "swift"}
        ]
        preferred = native if manifest.ecosystem in {"native", "xcode"} and native else written
        if preferred:
            _, id, first = preferred[0]
            yield id, Proof(first, None, "", None, 0.7)
            yield id, Proof(manifest.path, None, "", None, 0.3)
            return
        declared = manifest.facts.get("languages", "")
        if manifest.kind in {"CMakeLists.txt", "meson.build"}:
            only_c = (" C " in f" {declared} " and "CXX" not in declared) or declared == "'c'"
            yield "c" if only_c else "c++", Proof(manifest.path, None, "", None, 0.6)
        elif manifest.kind == "*.sln":
            yield "csharp", Proof(manifest.path, None, "", None, 0.5)

    def _by_id(self, package: Package) -> dict[str, _Written]:
        written: dict[str, _Written] = {}
        for name, sources in package.sources.items():
            id = self.rules.language_of.get(name)
            if id is not None:
                mine = written.get(id)
                if mine is None:
                    mine = written[id] = _Written(first=sources.first)
                mine.bytes += sources.bytes
        return written

    def _bytes(self, package: Package, id: str) -> int:
        return sum(sources.bytes for name, sources in package.sources.items() if self.rules.language_of.get(name) == id)

    def _sources(self, package: Package) -> Iterable[TechnologyFinding]:
        """Yield every other language of the package's own code, weighed by its share; hardly ever the primary one."""
        total = sum(sources.bytes for sources in package.sources.values()) or 1
        for id, written in self._by_id(package).items():
            share = written.bytes / total
            technology = self.rules.get("language", id) if share >= 0.02 and id not in {"html", "shell"} else None
            if technology:
                yield TechnologyFinding.of(
                    technology, [Proof(written.first, None, technology.rule, None, round(min(0.4, 0.4 * share), 4))]
                )


@dataclass
class _Written:
    first: str
    bytes: int = 0


@dataclass(frozen=True)
class Runtimes:
    rules: TechnologyRules
    kind: TechnologyKind = "runtime"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, TechnologyFinding]]:
        for package in survey.packages.values():
            main = primary_language(package)
            for language in package.findings_of("language"):
                if language.source == "llm" or language.custom or (language is not main and language.confidence < 0.5):
                    continue
                id, weight = self._of(package, language.id)
                technology = self.rules.get("runtime", id) if id else None
                if technology:
                    sure = weight if language is main else weight / 2
                    first = max(language.proofs, key=lambda proof: proof.weight)
                    yield (
                        package,
                        TechnologyFinding.of(
                            technology, [Proof(first.file, first.line, technology.rule, first.snippet, sure)]
                        ),
                    )
            yield from self._static(package)

    def _of(self, package: Package, language: str) -> tuple[str | None, float]:
        technology = self.rules.get("language", language)
        runtime = technology.text("runtime") if technology else None
        if runtime == "node":
            page = served_page(package)
            return ("static", 0.9) if page is not None else (self._javascript(package), 0.9)
        if language == "gleam":
            manifest = package.manifest("gleam.toml")
            return ("node" if manifest and manifest.facts.get("target") == "javascript" else "beam"), 0.9
        if language == "rust" and ("framework", "yew") in package.findings:
            return "wasm", 0.8
        return runtime, 0.9

    def _javascript(self, package: Package) -> str:
        node, deno = package.manifest_of("npm"), package.manifest("deno.json")
        if deno and not (node and (node.dependencies or "scripts" in node.data)):
            return "deno"
        built = primary_of(package, "build_system")
        says_node = any(
            statement.runtime == "node" for manifest in package.manifests for statement in manifest.statements
        )
        if built and built.id == "bun" and not says_node and ".nvmrc" not in package.files:
            return "bun"
        return "node"

    def _static(self, package: Package) -> Iterable[tuple[Package, TechnologyFinding]]:
        """Yield a second candidate for a site that is built to files and needs no server."""
        framework = primary_of(package, "framework")
        technology = self.rules.get("framework", framework.id) if framework else None
        static = self.rules.get("runtime", "static")
        if framework and technology and technology.static and static and framework.confidence >= 0.5:
            weight = 0.95 if framework.id == "hugo" else 0.4  # no program of another language serves it
            yield (
                package,
                TechnologyFinding.of(static, [framework.proofs[0].under(static.rule, weight)]),
            )
