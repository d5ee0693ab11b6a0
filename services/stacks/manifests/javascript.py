"""``package.json`` (also as JSON5 and YAML), ``deno.json``, and the ``project.json`` of Nx."""

from __future__ import annotations

import re
from collections.abc import Mapping

from services.stacks.manifests.formats import read_json, read_jsonc, read_yaml, without_comments
from services.stacks.manifests.model import Json, Manifest, Scope, dig, table, text_of, texts

_SCOPES: tuple[tuple[str, Scope], ...] = (
    ("dependencies", "prod"),
    ("optionalDependencies", "optional"),
    ("peerDependencies", "peer"),
    ("devDependencies", "dev"),
)
_PACKAGE_MANAGER = re.compile(r"^(npm|pnpm|yarn|bun|deno|vlt)@\^?v?(\d[\w.+-]*)$")
_SPECIFIER = re.compile(r"^(npm|jsr):/?(@[^/@]+/[^/@]+|[^/@]+)(?:@([^/]+))?(?:/.*)?$")
_DENO_LAND = re.compile(r"^https://deno\.land/x/([\w-]+)(?:@v?([^/]+))?")
_ESM_SH = re.compile(r"^https://esm\.sh/(?:v\d+/|\*)?(@?[^@?]+?)(?:@([^/?&]+))?(?:[/?&].*)?$")
_UNQUOTED_KEY = re.compile(
    r"""("(?:[^"\\\n]|\\.)*")|'((?:[^'\\\n]|\\.)*)'|(?<![\w$])([A-Za-z_$][\w$]*+)(?=\s{0,99}:)"""
)


def read_package_json(manifest: Manifest) -> None:
    """Read a ``package.json``. Raises: Broken."""
    data = manifest.data = _data(manifest)
    manifest.name, manifest.version = text_of(data.get("name")), text_of(data.get("version"))
    seen: set[str] = set()
    for key, scope in _SCOPES:
        if key not in data:
            continue
        for name, version in table(data[key]).items():
            if name not in seen:
                seen.add(name)
                manifest.depend(name, text_of(version), scope, section=key)
    if not _VERSIONED.isdisjoint(data):
        _engines(manifest, data)


#: The fields of a ``package.json`` that say versions.
_VERSIONED = frozenset(("engines", "volta", "devEngines", "packageManager"))


def _data(manifest: Manifest) -> Json:
    if manifest.kind == "package.yaml":
        return read_yaml(manifest.text)
    if manifest.kind == "package.json5":
        plain = without_comments(manifest.text)
        return read_json(
            _UNQUOTED_KEY.sub(lambda match: match[1] or f'"{match[2] if match[2] is not None else match[3]}"', plain)
        )
    return read_json(manifest.text)


def _engines(manifest: Manifest, data: Json) -> None:
    for runtime in ("node", "bun", "deno"):
        if value := text_of(dig(data, "engines", runtime)):
            manifest.state(runtime, "engines", value, manifest.line_of(runtime, "engines"))
    for tool, pinned in table(data.get("volta")).items():
        if tool in {"node", "npm", "yarn", "pnpm"} and isinstance(pinned, str):
            manifest.state(tool, "volta", pinned, manifest.line_of(tool, "volta"))
    runtimes = dig(data, "devEngines", "runtime")
    for one in runtimes if isinstance(runtimes, list) else [runtimes]:
        name, version = text_of(table(one).get("name")), text_of(table(one).get("version"))
        if name and version:
            manifest.state(name, "devEngines", version, manifest.line_of("runtime", "devEngines"))
    managers = dig(data, "devEngines", "packageManager")
    for one in managers if isinstance(managers, list) else [managers]:
        name, version = text_of(table(one).get("name")), text_of(table(one).get("version"))
        if name and version:
            manifest.state(name, "devEngines", version, manifest.line_of("packageManager", "devEngines"))
    named = package_manager(data)
    if named:
        manifest.state(named[0], "packageManager", named[1], manifest.line_of("packageManager"))
    for tool in ("npm", "pnpm", "yarn"):
        value = text_of(dig(data, "engines", tool))
        if value and value[:1] in "^~<>=*0123456789v":
            manifest.state(tool, "engines", value, manifest.line_of(tool, "engines"))


def package_manager(data: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the manager and version of the ``packageManager`` field, without the hash."""
    match = _PACKAGE_MANAGER.match(text_of(data.get("packageManager")) or "")
    return (match[1], match[2].partition("+")[0]) if match else None


def workspace_globs(data: Mapping[str, object]) -> list[str]:
    declared = data.get("workspaces")
    return texts(declared if isinstance(declared, list) else dig(declared, "packages"))


def read_deno_json(manifest: Manifest) -> None:
    """Read a ``deno.json``. Raises: Broken."""
    data = manifest.data = read_jsonc(manifest.text)
    manifest.name, manifest.version = text_of(data.get("name")), text_of(data.get("version"))
    manifest.package = bool(set(data) & {"tasks", "imports", "exports", "name", "importMap", "deploy"}) or not data.get(
        "workspace"
    )
    add_imports(manifest, table(data.get("imports")))


def add_imports(manifest: Manifest, imports: Mapping[str, object]) -> None:
    """Add the targets of an import map: npm and jsr packages, and modules of deno.land."""
    for alias, target in imports.items():
        if not isinstance(target, str):
            continue
        offset = manifest.text.find(f'"{alias}"')
        at = offset if offset >= 0 else None
        if match := _SPECIFIER.match(target):
            manifest.depend(match[2], match[3], "prod", at, ecosystem=match[1])
        elif match := _DENO_LAND.match(target):
            manifest.depend(match[1], match[2], "prod", at, ecosystem="deno")
        elif match := _ESM_SH.match(target):
            manifest.depend(match[1], match[2], "prod", at, ecosystem="npm")


def read_nx(manifest: Manifest) -> None:
    """Read a ``project.json`` of Nx. Raises: Broken."""
    data = manifest.data = read_jsonc(manifest.text)
    manifest.name = text_of(data.get("name"))
    manifest.facts["projectType"] = text_of(data.get("projectType")) or ""
    manifest.facts["targets"] = "\n".join(table(data.get("targets")))
    if output := text_of(dig(data, "targets", "build", "options", "outputPath")):
        manifest.facts["output"] = output
