"""Load the YAML rules, once, into one indexed rule set."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

import yaml

from services.stacks.manifests.model import table, text_of, texts
from services.stacks.rules.technologies import TIERS, Technology, TechnologyRules, ecosystem_of
from shared.contracts.detect import TechnologyKind

#: The files other than those of the frameworks (``frameworks_*.yaml``), and the kind of their entries.
_KINDS: dict[str, TechnologyKind] = {
    "languages": "language", "build_systems": "build_system", "orchestrators": "orchestrator", "runtimes": "runtime",
}  # fmt: skip
#: Package managers that are not a build system too, where the id is not the name.
_MANAGER_NAMES = {"nuget": "NuGet", "cran": "CRAN", "quicklisp": "Quicklisp"}


@cache
def load_rules() -> TechnologyRules:
    """Load every ``*.yaml`` of this folder; the version is a digest of them all."""
    bodies = {
        file.name.removesuffix(".yaml"): file.read_bytes()
        for file in sorted(files(__package__).iterdir(), key=lambda file: file.name)
        if file.name.endswith(".yaml")
    }
    technologies: dict[tuple[TechnologyKind, str], Technology] = {}
    for name, body in bodies.items():
        for technology in _listed(name, table(yaml.load(body, yaml.CSafeLoader))) if name != "backing_services" else ():
            technologies[technology.kind, technology.id] = technology
    for technology in _managers(technologies):
        technologies[technology.kind, technology.id] = technology
    return _indexed(technologies, hashlib.sha256(b"".join(bodies.values())).hexdigest()[:16])


def _listed(name: str, content: Mapping[str, object]) -> Iterator[Technology]:
    """Yield the technologies of one file; one of frameworks may hold further ecosystems under ``more``."""
    if name in _KINDS:
        for id, spec in content.items():
            yield _technology(_KINDS[name], id, table(spec), "")
        return
    more = content.get("more")
    for part in [content, *(more if isinstance(more, list) else [])]:
        ecosystem = text_of(table(part).get("ecosystem")) or ""
        for id, spec in table(table(part).get("frameworks")).items():
            yield _technology("framework", id, table(spec), ecosystem)


def _managers(technologies: Mapping[tuple[TechnologyKind, str], Technology]) -> list[Technology]:
    """Return the package managers that the build systems name."""
    managers = []
    for system in technologies.values():
        if system.kind == "build_system" and (id := system.text("manager")):
            known = technologies.get(("build_system", id))
            name = known.name if known else _MANAGER_NAMES.get(id, id)
            managers.append(_technology("package_manager", id, {"name": name}, system.ecosystem))
    return managers


def _technology(kind: TechnologyKind, id: str, spec: Mapping[str, object], ecosystem: str) -> Technology:
    tier = TIERS.get(text_of(spec.get("tier")) or "", 0)
    name = text_of(spec.get("name")) or id
    if not ecosystem and kind == "build_system":
        ecosystem = ecosystem_of(text_of(spec.get("language")) or "")
    lists = {key: tuple(texts(value)) for key, value in spec.items() if isinstance(value, list)}
    return Technology(kind, id, name, dict(spec), text_of(spec.get("ecosystem")) or ecosystem, tier, lists)  # type: ignore[arg-type]


def _indexed(technologies: dict[tuple[TechnologyKind, str], Technology], version: str) -> TechnologyRules:
    rules = TechnologyRules(technologies, version)
    for technology in technologies.values():
        rules.by_kind[technology.kind].append(technology)
        lower = technology.name.lower()
        for alias in (technology.id, lower, re.sub(r"\s+", "-", lower), *technology.list("aliases")):
            rules.aliases.setdefault((technology.kind, alias), technology.id)
        if technology.kind == "language":
            rules.language_of.update(dict.fromkeys(technology.list("linguist"), technology.id))
        elif technology.kind == "build_system":
            for name in technology.list("manifests"):
                rules.by_manifest[name].append(technology)
        elif technology.kind == "framework":
            _index_framework(rules, technology)
    for prefixes in rules.by_prefix.values():
        prefixes.sort(key=lambda one: -len(one[0]))  # the longest that fits decides
    return rules


def _index_framework(rules: TechnologyRules, technology: Technology) -> None:
    rules.unless_prefix += tuple(prefix.removesuffix("*") for prefix in technology.list("unless"))
    wanted = {
        technology.ecosystem: technology.list("packages"),
        "jsr": technology.list("jsr"),
        "deno": technology.list("deno"),
    }
    elsewhere = {ecosystem: texts(names) for ecosystem, names in table(technology.spec.get("elsewhere")).items()}
    for ecosystem, names in [*wanted.items(), *elsewhere.items()]:
        for listed in names:
            name = listed.lower() if ecosystem == "nuget" else listed
            if name.endswith("*"):
                rules.by_prefix[ecosystem].append((name.removesuffix("*"), technology))
            else:
                rules.by_dependency[ecosystem, name] = technology
    for pattern in technology.list("files"):
        for name in _expanded(pattern):
            if "/" in name:
                rules.by_path[name.partition("/")[0]].append((name, technology))
            else:
                rules.by_file[name].append(technology)
    for kind in technology.list("manifest_kinds"):
        rules.by_kind_of_manifest[kind].append(technology)
    rules.by_image.update(dict.fromkeys(technology.list("images"), technology))
    for module in technology.list("imports"):
        rules.by_import[module] = technology


def _expanded(pattern: str) -> list[str]:
    match = re.match(r"(.*)\{([^}]*)\}(.*)", pattern)
    return [f"{match[1]}{part}{match[3]}" for part in match[2].split(",")] if match else [pattern]
