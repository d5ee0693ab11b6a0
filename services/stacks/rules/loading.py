"""Load the YAML rules, once, into one indexed rule set."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import yaml

from services.stacks.manifests.model import table, text_of, texts
from services.stacks.rules.ecosystems import ecosystem_of
from services.stacks.rules.technologies import PREFIXES, TIERS, Rules, Technology
from shared.contracts.detect import Kind

FILES = ("languages", "build_systems", "orchestrators", "runtimes")
FRAMEWORKS = ("javascript", "python", "jvm", "dotnet", "go_rust", "ruby_php", "others")


@cache
def load_rules() -> Rules:
    folder = files(__package__)
    bodies = {name: folder.joinpath(f"{name}.yaml").read_bytes() for name in _names()}
    loaded = {name: table(yaml.load(body, yaml.CSafeLoader)) for name, body in bodies.items()}
    every: dict[tuple[Kind, str], Technology] = {}
    kinds: dict[str, Kind] = {
        "languages": "language", "build_systems": "build_system", "orchestrators": "orchestrator",
        "runtimes": "runtime",
    }  # fmt: skip
    for name, kind in kinds.items():
        for id, spec in loaded[name].items():
            every[kind, id] = _technology(kind, id, table(spec), "")
    for name in FRAMEWORKS:
        file = loaded[f"frameworks_{name}"]
        more = file.get("more")
        for part in [file, *(more if isinstance(more, list) else [])]:
            ecosystem = text_of(table(part).get("ecosystem")) or ""
            for id, spec in table(table(part).get("frameworks")).items():
                every["framework", id] = _technology("framework", id, table(spec), ecosystem)
    for it in [it for it in every.values() if it.kind == "build_system" and it.text("manager")]:
        manager = it.text("manager") or ""
        known = every.get(("build_system", manager))
        every["package_manager", manager] = _technology(
            "package_manager", manager, {"name": known.name if known else _manager_name(manager)}, it.ecosystem
        )
    return _indexed(every, hashlib.sha256(b"".join(bodies[name] for name in sorted(bodies))).hexdigest()[:16])


def _names() -> list[str]:
    return [*FILES, *(f"frameworks_{name}" for name in FRAMEWORKS)]


def _manager_name(id: str) -> str:
    return {"nuget": "NuGet", "cran": "CRAN", "quicklisp": "Quicklisp"}.get(id, id)


def _technology(kind: Kind, id: str, spec: Mapping[str, object], ecosystem: str) -> Technology:
    tier = TIERS.get(text_of(spec.get("tier")) or "", 0)
    name = text_of(spec.get("name")) or id
    if not ecosystem and kind == "build_system":
        ecosystem = ecosystem_of(text_of(spec.get("language")) or "")
    lists = {key: tuple(texts(value)) for key, value in spec.items() if isinstance(value, list)}
    return Technology(kind, id, name, dict(spec), text_of(spec.get("ecosystem")) or ecosystem, tier, lists)  # type: ignore[arg-type]


def _indexed(every: dict[tuple[Kind, str], Technology], version: str) -> Rules:
    by_dependency: dict[tuple[str, str], Technology] = {}
    prefixes: dict[str, list[tuple[str, Technology]]] = defaultdict(list)
    by_file: dict[str, list[Technology]] = defaultdict(list)
    by_path: dict[str, list[tuple[str, Technology]]] = defaultdict(list)
    by_manifest: dict[str, list[Technology]] = defaultdict(list)
    languages: dict[str, str] = {}
    aliases: dict[tuple[Kind, str], str] = {}
    unless: list[str] = []
    for (kind, id), it in every.items():
        for alias in (id, it.name.lower(), re.sub(r"\s+", "-", it.name.lower()), *it.list("aliases")):
            aliases.setdefault((kind, alias), id)
        if kind == "language":
            languages.update(dict.fromkeys(it.list("linguist"), id))
        elif kind == "build_system":
            for name in it.list("manifests"):
                by_manifest[name].append(it)
        elif kind == "framework":
            unless.extend(it.list("unless"))
            for ecosystem, key in ((it.ecosystem, "packages"), ("jsr", "jsr"), ("deno", "deno")):
                for name in it.list(key):
                    lower = name.lower() if ecosystem in {"nuget"} else name
                    if lower.endswith("*"):
                        prefixes[ecosystem].append((lower.removesuffix("*"), it))
                    else:
                        by_dependency[ecosystem, lower] = it
            for pattern in it.list("files"):
                for name in _expanded(pattern):
                    if "/" in name:
                        by_path[name.partition("/")[0]].append((name, it))
                    else:
                        by_file[name].append(it)
    return Rules(
        every, by_dependency, prefixes, tuple(p.removesuffix("*") for p in unless), by_file, by_path, by_manifest,
        languages, aliases, version, {kind: [it for it in every.values() if it.kind == kind] for kind in PREFIXES},
    )  # fmt: skip


def _expanded(pattern: str) -> list[str]:
    found = re.match(r"(.*)\{([^}]*)\}(.*)", pattern)
    return [f"{found[1]}{part}{found[3]}" for part in found[2].split(",")] if found else [pattern]
