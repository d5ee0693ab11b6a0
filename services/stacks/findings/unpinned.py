"""What another build may resolve to other versions: programs without a lock file, loose requirements, base images."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from services.stacks.manifests.model import Manifest
from services.stacks.packages.package import Package
from services.stacks.packages.survey import Survey
from services.stacks.scan.markers import NODE_LOCKFILES
from services.stacks.tree import join
from shared.contracts.detect import Service, StackFinding

#: Build system to the files that pin what it installs; any of them will do.
_LOCKS: dict[str, tuple[str, ...]] = {
    "npm": ("package-lock.json", *NODE_LOCKFILES), "pnpm": ("pnpm-lock.yaml", *NODE_LOCKFILES),
    "yarn": ("yarn.lock", *NODE_LOCKFILES), "bun": ("bun.lock", *NODE_LOCKFILES),
    "uv": ("uv.lock",), "poetry": ("poetry.lock",), "pdm": ("pdm.lock",), "pipenv": ("Pipfile.lock",),
    "pixi": ("pixi.lock",), "cargo": ("Cargo.lock",), "go-mod": ("go.sum",), "bundler": ("Gemfile.lock", "gems.locked"),
    "composer": ("composer.lock",), "mix": ("mix.lock",), "pub": ("pubspec.lock",),
}  # fmt: skip
_ECOSYSTEMS = {"npm": "npm", "pnpm": "npm", "yarn": "npm", "bun": "npm", "cargo": "cargo", "go-mod": "go",
               "bundler": "gem", "composer": "composer", "mix": "hex", "pub": "pub"}  # fmt: skip
_FLOATING = re.compile(r"[+*]$|^(?:latest|release)\b|^\[|^\(", re.I)
_FROM = re.compile(r"(?im)^[ \t]*FROM[ \t]+(?:--platform=\S+[ \t]+)?(?P<image>\S+)(?:[ \t]+AS[ \t]+(?P<stage>\S+))?")
_DOCKERFILE_BYTES = 64 << 10
_MAX_NAMED = 5


def unpinned(survey: Survey, services: Sequence[Service]) -> Iterator[StackFinding]:
    """Yield the unpinned dependencies of programs; a library leaves the choice to its users."""
    for service in services:
        package = survey.packages.get(service.path)
        if package is None:
            continue
        if service.role == "app":
            yield from _unlocked(survey, package, service.primary.build_system)
            yield from _floating(package)
        yield from _images(survey, package)


def _unlocked(survey: Survey, package: Package, system: str | None) -> Iterator[StackFinding]:
    locks = _LOCKS.get(system or "")
    if system is None or locks is None:
        if system in {"pip", "hatch"}:
            yield from _loose_requirements(package)
        return
    ecosystem = _ECOSYSTEMS.get(system, "pypi")
    manifest = next(
        (one for one in package.manifests if any(need.ecosystem == ecosystem for need in one.dependencies)), None
    )
    if manifest is None or any(name in level.names for level in survey.above(package.path) for name in locks):
        return
    message = f"{system} has no lock file ({locks[0]}): another build may install other versions"
    yield StackFinding(rule="unpinned", message=message, service=package.path, file=manifest.path)


def _loose_requirements(package: Package) -> Iterator[StackFinding]:
    for manifest in package.manifests:
        if manifest.ecosystem != "pypi":
            continue
        loose = [
            dependency for dependency in manifest.dependencies
            if dependency.scope in {"prod", "optional"} and not _exact(dependency.version)
        ]  # fmt: skip
        if loose:
            yield _named(package, manifest, [one.name for one in loose], loose[0].line, "no exact version (==)")


def _exact(version: str | None) -> bool:
    return version is not None and (("==" in version and "*" not in version) or version.startswith(("@", "===")))


def _floating(package: Package) -> Iterator[StackFinding]:
    """Versions of Maven, Gradle and NuGet are exact unless they say otherwise."""
    for manifest in package.manifests:
        if manifest.ecosystem not in {"maven", "nuget"}:
            continue
        loose = [one for one in manifest.dependencies if one.version and _FLOATING.search(one.version)]
        if loose:
            yield _named(package, manifest, [one.name for one in loose], loose[0].line, "a version that moves")


def _named(package: Package, manifest: Manifest, names: list[str], line: int | None, why: str) -> StackFinding:
    shown = ", ".join(names[:_MAX_NAMED]) + (f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else "")
    return StackFinding(rule="unpinned", message=f"{why}: {shown}", service=package.path, file=manifest.path, line=line)


def _images(survey: Survey, package: Package) -> Iterator[StackFinding]:
    for name in sorted(package.files):
        if name not in {"Dockerfile", "Containerfile"} and not name.startswith("Dockerfile."):
            continue
        path = join(package.path, name)
        if path in survey.scan.skipped:
            continue
        text = survey.scan.tree.text(path, _DOCKERFILE_BYTES) or ""
        stages: set[str] = set()
        for match in _FROM.finditer(text):
            image = match["image"]
            if image.lower() not in stages and image != "scratch" and "$" not in image and _untagged(image):
                line = text.count("\n", 0, match.start("image")) + 1
                message = f"the base image {image[:200]} has no tag that stays"
                yield StackFinding(rule="unpinned", message=message, service=package.path, file=path, line=line)
            if match["stage"]:
                stages.add(match["stage"].lower())


def _untagged(image: str) -> bool:
    if "@sha256:" in image:
        return False
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return not colon or tag == "latest"
