"""Gradle's build files in both languages, settings and version catalogs, by their text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from services.stacks.manifests.formats import Broken, blank_comments, read_toml
from services.stacks.manifests.model import Manifest, Scope, table, text_of

_PLUGIN = re.compile(
    r"""\bid\s*+\(?\s*+["']([\w.-]+)["']\s*+\)?(?:\s*+version\s*+\(?\s*+["']([^"']+)["'])?(\s*+\)?\s*+apply\s*+\(?\s*+false)?"""
)
_KOTLIN_PLUGIN = re.compile(
    r"""\bkotlin\(\s*+["']([\w.-]+)["']\s*+\)(?:\s*+version\s*+["']([^"']+)["'])?(\s*+apply\s*+\(?\s*+false)?"""
)
_ALIAS = re.compile(
    r"""\b(?:alias|id)\s*+\(?\s*+(\w+)\.plugins\.([\w.]+?)(?:\.get\(\)\.pluginId)?(?![\w.(])\s*+\)?(\s*+apply\s*+\(?\s*+false)?"""
)
_SCRIPT = re.compile(
    r"""\bapply\s*+\(?\s*+from\s*+[:=]\s*+\(?["'](?:\$\{?root(?:Project\.(?:root|project))?Dir\}?/)?([^"'$]+)["']"""
)
_APPLY = re.compile(r"""\bapply\s*+\(?\s*+plugin\s*+[:=]\s*+["']([\w.-]+)["']""")
_CONFIGURATION = (
    r"\b(implementation|api|compile|compileOnly|runtimeOnly|runtime|developmentOnly|annotationProcessor|kapt|ksp"
    r"|providedRuntime|provided|testImplementation|testCompile|testRuntimeOnly|androidTestImplementation"
    r"|debugImplementation|integrationTestImplementation|classpath|commonMainImplementation|jvmMainImplementation)\b"
)
_COORDINATES = re.compile(
    _CONFIGURATION
    + r"""\s*+\(?\s*+(?:(enforcedPlatform|platform|kotlin)\s*+\(\s*+)?["']([\w.-]+(?::[\w.${}-]+)*)["']"""
)
_MAP_FORM = re.compile(
    _CONFIGURATION + r"""\s*+\(?\s*+group\s*+[:=]\s*+["']([\w.-]+)["']\s*+,\s*+name\s*+[:=]\s*+["']([\w.-]+)["']"""
    r"""(?:\s*+,\s*+version\s*+[:=]\s*+["']([^"']+)["'])?"""
)
_CATALOG = re.compile(_CONFIGURATION + r"""\s*+\(?\s*+(?:(enforcedPlatform|platform)\s*+\(\s*+)?(\w+)\.([\w.]+)""")
_CONSTRAINTS = re.compile(r"\bconstraints\s*+\{")
_PLATFORM_PLUGIN = re.compile(r"""java-platform["'`]""")
_PROJECT = re.compile(_CONFIGURATION + r"""\s*+\(?\s*+project\(\s*+(?:path\s*+[:=]\s*+)?["']:?([\w:./-]+)["']""")
_JAVA = (
    (re.compile(r"JavaLanguageVersion\.of\(\s*+[\"']?(\d+)"), "toolchain"),
    (re.compile(r"jvmToolchain\s*+[({]?\s*+(\d+)"), "toolchain"),
    (re.compile(r"(?:options\.)?release(?:\.set\(|\s*+=)\s*+(\d+)"), "options.release"),
    (re.compile(r"sourceCompatibility\s*+=?\s*+[\"']?(?:JavaVersion\.)?(?:VERSION_)?(?:toVersion\([\"']?)?(1[._])?(\d+)"),
     "sourceCompatibility"),
)  # fmt: skip
_BLOCK = re.compile(r"\b(subprojects|allprojects)\s*+\{")
_INCLUDE = re.compile(r"\binclude(?:Flat)?\b\s*+\(?((?:\s*+[\"'][^\"']+[\"']\s*+,?)+)")
_ONE_NAME = re.compile(r"[\"']([^\"']+)[\"']")
_ROOT_NAME = re.compile(r"rootProject\.name\s*+=\s*+[\"']([^\"']+)[\"']")
_PROJECT_FOLDER = re.compile(
    r"project\(\s*+[\"'](:[^\"']+)[\"']\s*+\)\.projectDir\s*+=\s*+(?:new\s+File|file)\s*+\(?[^\"'\n]*[\"']([^\"']+)[\"']"
)


def read_build_gradle(manifest: Manifest) -> None:
    text = blank_comments(manifest.text)
    manifest.facts["plain"] = text
    shared = _shared_ranges(text)
    for pattern, build in ((_PLUGIN, "{}"), (_KOTLIN_PLUGIN, "org.jetbrains.kotlin.{}")):
        for match in pattern.finditer(text):
            if not match[3]:
                _plugin(manifest, build.format(match[1]), match[2], match.start(), shared)
    for match in _ALIAS.finditer(text):
        if not match[3]:
            manifest.facts[f"alias:{match[1]}:{match[2]}"] = str(match.start())
    for match in _APPLY.finditer(text):
        _plugin(manifest, match[1], None, match.start(), shared)
    # Declarations that only constrain versions do not count as use: platforms, constraints, and projects of them.
    limits = _blocks(_CONSTRAINTS, text) if not _PLATFORM_PLUGIN.search(text) else [(0, len(text))]
    for match in _COORDINATES.finditer(text):
        parts = match[3].split(":")
        if len(parts) >= 2 and match[1] != "classpath":
            version = parts[2] if len(parts) > 2 else None
            _depend(
                manifest, ":".join(parts[:2]), version, match, shared, _scope(match[1], match[2], match.start(), limits)
            )
    for match in _MAP_FORM.finditer(text):
        scope = _scope(match[1], None, match.start(), limits)
        _depend(manifest, f"{match[2]}:{match[3]}", match[4], match, shared, scope)
    for match in _CATALOG.finditer(text):
        scope = _scope(match[1], match[2], match.start(), limits)
        manifest.facts[f"library:{match[3]}:{match[4]}"] = f"{match.start()} {scope}"
    if projects := [match[2].strip(":").replace(":", "/") for match in _PROJECT.finditer(text)]:
        manifest.facts["projects"] = "\n".join(projects)
    scripts = [match[1] for match in _SCRIPT.finditer(text)]
    if scripts:
        manifest.facts["scripts"] = "\n".join(scripts)
    for pattern, source in _JAVA:
        said = pattern.search(text)
        if said:
            manifest.state("java", source, said[said.re.groups], manifest.line_at(said.start()))


def _shared_ranges(text: str) -> list[tuple[int, int]]:
    """Return where ``subprojects`` and ``allprojects`` blocks are: what they say holds for the children."""
    return _blocks(_BLOCK, text)


def _blocks(opening: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for match in opening.finditer(text):
        if ranges and match.start() < ranges[-1][1]:
            continue  # inside the block before
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        ranges.append((match.start(), at))
    return ranges


def _plugin(manifest: Manifest, name: str, version: str | None, at: int, shared: list[tuple[int, int]]) -> None:
    key = "shared-plugin:" if any(start <= at < end for start, end in shared) else "plugin:"
    manifest.facts[f"{key}{name}"] = str(at)
    if (
        version
        and name.startswith("org.jetbrains.kotlin.")
        and not any(statement.runtime == "kotlin" for statement in manifest.statements)
    ):
        manifest.state("kotlin", "plugin", version, manifest.line_at(at))
    if key == "plugin:" or "allprojects" in manifest.text:
        manifest.depend(f"plugin:{name}", version, "prod", at)


def _depend(
    manifest: Manifest,
    name: str,
    version: str | None,
    match: re.Match[str],
    shared: list[tuple[int, int]],
    scope: Scope,
) -> None:
    if any(start <= match.start() < end for start, end in shared):
        manifest.facts[f"shared-library:{name}"] = f"{match.start()} {scope}"
    manifest.depend(name, version, scope, match.start())


def _scope(configuration: str, wrapped: str | None, at: int, limits: list[tuple[int, int]]) -> Scope:
    lower = configuration.lower()
    if wrapped in {"platform", "enforcedPlatform"} or any(start <= at < end for start, end in limits):
        return "indirect"
    return "test" if "test" in lower else "dev" if "development" in lower or "debug" in lower else "prod"


def read_settings_gradle(manifest: Manifest) -> None:
    text = blank_comments(manifest.text)
    if match := _ROOT_NAME.search(text):
        manifest.name = match[1]
    moved = {match[1]: match[2] for match in _PROJECT_FOLDER.finditer(text)}
    members = []
    for match in _INCLUDE.finditer(text):
        for one in _ONE_NAME.finditer(match[1]):
            path = one[1] if one[1].startswith(":") else ":" + one[1]
            members.append(moved.get(path, path.strip(":").replace(":", "/")))
    manifest.facts["include"] = "\n".join(members)
    manifest.package = not members


#: Libraries, then plugins: accessor to (coordinates or id, version).
Catalog = tuple[Mapping[str, tuple[str, str | None]], Mapping[str, tuple[str, str | None]]]


def read_catalog(text: str) -> Catalog:
    """Return the entries of ``libs.versions.toml``."""
    try:
        data = read_toml(text)
    except Broken:
        return {}, {}
    versions = table(data.get("versions"))

    def version(spec: object) -> str | None:
        value = table(spec).get("version")
        if isinstance(value, dict):
            reference = text_of(value.get("ref"))
            named = versions.get(reference or "")
            return text_of(named) or text_of(table(named).get("require") or table(named).get("strictly"))
        return text_of(value)

    libraries: dict[str, tuple[str, str | None]] = {}
    for alias, spec in table(data.get("libraries")).items():
        if isinstance(spec, str):
            parts = spec.split(":")
            libraries[_accessor(alias)] = (":".join(parts[:2]), parts[2] if len(parts) > 2 else None)
        elif module := text_of(table(spec).get("module")):
            libraries[_accessor(alias)] = (module, version(spec))
        else:
            libraries[_accessor(alias)] = (f"{table(spec).get('group')}:{table(spec).get('name')}", version(spec))
    plugins: dict[str, tuple[str, str | None]] = {}
    for alias, spec in table(data.get("plugins")).items():
        if isinstance(spec, str):
            plugins[_accessor(alias)] = (spec.partition(":")[0], spec.partition(":")[2] or None)
        else:
            plugins[_accessor(alias)] = (text_of(table(spec).get("id")) or "", version(spec))
    return libraries, plugins


def _accessor(alias: str) -> str:
    return re.sub(r"[-_]", ".", alias)


_SCOPES: Mapping[str, Scope] = {"test": "test", "indirect": "indirect", "dev": "dev"}


def apply_catalogs(manifest: Manifest, catalogs: Mapping[str, Catalog]) -> None:
    """Resolve what a build file takes from the catalogs, by their names."""
    for key, value in list(manifest.facts.items()):
        kind, _, rest = key.partition(":")
        named, _, accessor = rest.partition(":")
        libraries, plugins = catalogs.get(named, ({}, {}))
        if kind == "alias" and accessor in plugins:
            name, version = plugins[accessor]
            manifest.facts[f"plugin:{name}"] = value
            manifest.depend(f"plugin:{name}", version, "prod", int(value))
        elif kind == "library" and accessor in libraries:
            name, version = libraries[accessor]
            at, _, scope = value.partition(" ")
            manifest.depend(name, version, _SCOPES.get(scope, "prod"), int(at))
