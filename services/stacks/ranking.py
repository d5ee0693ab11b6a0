"""What comes first: the primary technology of each kind, consistent with the primary language."""

from __future__ import annotations

from services.stacks.families import ecosystems_of
from services.stacks.packages import Finding, Package
from services.stacks.rules import SERVING, TIERS
from shared.contracts.detect import Kind

_ORIGIN = {"user": 3, "rule": 2, "default": 1, "llm": 0}


def primary_language(package: Package) -> Finding | None:
    """By the caller's word, then the weight of manifest, frameworks and sources together."""
    found = package.found("language")
    total = sum(it.bytes for it in package.sources.values()) or 1
    frameworks = [it for it in package.found("framework") if it.confidence >= 0.5]
    manifests = {manifest.ecosystem for manifest in package.manifests if manifest.kind != "Makefile"}

    def order(it: Finding) -> tuple[bool, int, float, float, str]:
        mine = ecosystems_of(it.id)
        share = sum(sources.bytes for name, sources in package.sources.items() if _same(name, it.id)) / total
        best = max((one.tier for one in frameworks if one.ecosystem in mine), default=0)
        standing = 2.0 if best in SERVING else 1.0 if best > TIERS["bundler"] else 0.3 if best else 0.0
        if mine & manifests and it.id not in {"c", "c++"}:
            standing += 0.4
        return it.confidence >= 0.5, _ORIGIN[it.source] == 3, standing + share + it.confidence / 2, it.confidence, it.id

    return max(found, key=order, default=None)


_LINGUIST = {
    "typescript": ("TypeScript", "TSX"), "javascript": ("JavaScript",), "csharp": ("C#",), "fsharp": ("F#",),
    "vbnet": ("Visual Basic .NET",), "c++": ("C++",), "php": ("PHP", "Blade"), "objective-c": ("Objective-C",),
}  # fmt: skip


def _same(linguist: str, id: str) -> bool:
    return linguist in _LINGUIST[id] if id in _LINGUIST else linguist.lower() == id


def ordered(package: Package, kind: Kind) -> list[Finding]:
    """Every finding of one kind, the primary one first."""
    found = package.found(kind)
    if kind == "language":
        main = primary_language(package)
        return sorted(found, key=lambda it: (it is not main, -it.confidence, it.id))
    language = primary_language(package)
    mine = ecosystems_of(language.id) if language else set()

    def order(it: Finding) -> tuple[object, ...]:
        sure = it.confidence >= 0.5
        family = not mine or not it.ecosystem or it.ecosystem in mine or it.source in {"user", "llm"}
        above = it.tier if kind == "framework" else 0
        return (not sure, -_ORIGIN[it.source] if it.source in {"user", "llm"} else -2, not family, -above,
                _late(it), -it.confidence, it.id)  # fmt: skip

    return sorted(found, key=order)


def _late(it: Finding) -> int:
    """Build tools that run the others come first, ``make`` and the dependency fetchers last."""
    if it.id in {"bazel", "pants", "buck"}:
        return 0
    return 2 if it.id in {"make", "conan", "vcpkg", "cocoapods", "opam", "hpack", "luarocks"} else 1


def primary_of(package: Package, kind: Kind) -> Finding | None:
    """The one that counts; a framework that is only tested with, or belongs to another language, is none."""
    best = next(iter(ordered(package, kind)), None)
    if best is None:
        return None
    if kind in {"framework", "orchestrator"} and best.confidence < 0.5 and best.source != "user":
        return None
    if kind == "framework" and best.source == "rule" and best.ecosystem:
        language = primary_language(package)
        if language and language.source == "rule" and not language.custom:
            families = ecosystems_of(language.id)
            if families and best.ecosystem not in families:
                return None
    return best
