"""The package manager of a package.json: what it declares, then the files next to it, then the commands that use it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from services.stacks.manifests.javascript import package_manager
from services.stacks.manifests.model import Manifest, dig, snippet, table, text_of
from services.stacks.packages.package import Package, Proof, TechnologyFinding
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import TechnologyRules
from services.stacks.scan.markers import NODE_LOCKFILES, NODE_SETTINGS
from services.stacks.tree import join
from shared.contracts.detect import Contradiction, TechnologyKind

MANAGERS = ("bun", "pnpm", "yarn", "npm")
_COMMAND = re.compile(
    r"(?:\bcorepack\s+(?:prepare|enable)\s+|&&\s*|\bRUN\s+(?:--\S+\s+)*|\brun:\s*)(npm|pnpm|yarn|bun)\b"
)
_BERRY = re.compile(r"yarnPath:\s*\S*yarn-(\d[\w.-]*)\.c?js")
_RANKED = ("packageManager", "devEngines", "lockfile", "engines", "config", "command")


@dataclass(frozen=True)
class Claim:
    """Evidence for one manager; ``step`` is its place in the order of precedence."""

    manager: str
    step: str
    proof: Proof
    depth: int  #: how many folders above the package
    version: str | None = None


@dataclass
class _ReadOnce:
    """What files say to all the packages below them."""

    commanded: dict[str, Claim | None] = field(default_factory=dict)
    _spoken: dict[tuple[str, int], list[Claim]] = field(default_factory=dict)

    def spoken(self, manifest: Manifest, depth: int) -> list[Claim]:
        key = (manifest.path, depth)
        if key not in self._spoken:
            self._spoken[key] = list(_spoken(manifest, depth))
        return self._spoken[key]


@dataclass(frozen=True)
class JavaScriptManagers:
    rules: TechnologyRules
    kind: TechnologyKind = "build_system"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, TechnologyFinding]]:
        read = _ReadOnce()
        for package in survey.packages.values():
            manifest = package.manifest_of("npm")
            if manifest is None:
                continue
            claims = list(self._claims(survey, package, read))
            winner = choose(claims)
            for manager in MANAGERS if claims else ("npm",):
                mine = [claim for claim in claims if claim.manager == manager]
                if winner is None and manager == "npm":
                    proof = Proof(manifest.path, None, "build.npm", None, 0.5)
                    yield from self._both(package, manager, [proof], None, "default")
                elif mine:
                    first = winner is not None and winner.manager == manager
                    proofs = [claim.proof if first else _doubted(claim.proof) for claim in mine]
                    version = next((claim.version for claim in mine if claim.version), None)
                    yield from self._both(package, manager, proofs, version, "rule")

    def _both(
        self, package: Package, manager: str, proofs: list[Proof], version: str | None, source: str
    ) -> Iterable[tuple[Package, TechnologyFinding]]:
        for kind in ("build_system", "package_manager"):
            technology = self.rules.get(kind, manager)
            if technology:
                mine = [proof.under(technology.rule) for proof in proofs]
                yield package, TechnologyFinding.of(technology, mine, version, source)

    def _claims(self, survey: Survey, package: Package, read: _ReadOnce) -> Iterable[Claim]:
        locked = False
        named = False
        for depth, (folder, names, markers, manifests) in enumerate(survey.above(package.path)):
            if manifests and not named:
                manifest = next((manifest for manifest in manifests if manifest.ecosystem == "npm"), None)
                for claim in read.spoken(manifest, depth) if manifest else ():
                    named = named or claim.step == "packageManager"
                    yield claim
            if not markers:
                continue
            here = [(name, manager) for name, manager in NODE_LOCKFILES.items() if name in names]
            if here and not locked:
                locked = True
                for name, manager in here:
                    path = join(folder, name)
                    yield Claim(manager, "lockfile", Proof(path, None, f"build.{manager}", None, 0.9), depth)
            if "rush.json" in names:
                yield from _rush(survey, join(folder, "rush.json"), depth)
            for name, manager in NODE_SETTINGS.items():
                if name in names:
                    yield _config(survey, join(folder, name), manager, depth)
            if "pnpm-workspace.yaml" in names and (depth or "package.json" in names):
                yield Claim(
                    "pnpm", "config", Proof(join(folder, "pnpm-workspace.yaml"), None, "build.pnpm", None, 0.8), depth
                )
        manifest = package.manifest_of("npm")
        if not locked and not named and manifest is not None:
            yield from _scripted(manifest)
        if not locked and not named:
            yield from _commands(survey, package, read.commanded)


def choose(claims: list[Claim]) -> Claim | None:
    """Return the winning claim: by the step of precedence, then the nearest, then Bun before the rest and npm last."""
    if not claims:
        return None
    configured = {claim.manager for claim in claims if claim.step == "config"}

    def order(claim: Claim) -> tuple[int, int, int, int]:
        preferred = {"bun": 0, "npm": 3}.get(claim.manager, 1 if claim.manager in configured else 2)
        return _RANKED.index(claim.step), claim.depth, preferred, MANAGERS.index(claim.manager)

    return min(claims, key=order)


def _doubted(proof: Proof) -> Proof:
    return proof._replace(weight=proof.weight / 2)


def _spoken(manifest: Manifest, depth: int) -> Iterable[Claim]:
    """Yield the package.json's own claims about managers."""

    def claim(manager: str, step: str, key: str, after: str | None, weight: float, version: str | None) -> Claim:
        line = manifest.line_of(key, after)
        return Claim(
            manager,
            step,
            Proof(manifest.path, line, f"build.{manager}", manifest.snippet(line), weight),
            depth,
            version,
        )

    data = manifest.data
    if "packageManager" not in data and "devEngines" not in data and "engines" not in data:
        return
    named = package_manager(data)
    if named and named[0] in MANAGERS:
        yield claim(named[0], "packageManager", "packageManager", None, 0.97, named[1])
    wanted = dig(manifest.data, "devEngines", "packageManager")
    for one in wanted if isinstance(wanted, list) else [wanted]:
        name = text_of(table(one).get("name"))
        if name in MANAGERS:
            yield claim(name, "devEngines", "packageManager", "devEngines", 0.95, text_of(table(one).get("version")))
    for manager in MANAGERS:
        value = text_of(dig(manifest.data, "engines", manager))
        if (
            value
            and re.search(r"\d", value)
            and not re.search(r"[a-z]{4,}", value)
            and (manager != "npm" or depth == 0)
        ):
            yield claim(manager, "engines", manager, "engines", 0.3 if manager == "npm" else 0.7, None)


def _config(survey: Survey, path: str, manager: str, depth: int) -> Claim:
    version = None
    if path.endswith(".yarnrc.yml"):
        match = _BERRY.search(survey.scan.tree.text(path) or "")
        version = match[1] if match else None
    return Claim(manager, "config", Proof(path, None, f"build.{manager}", None, 0.6), depth, version)


def _rush(survey: Survey, path: str, depth: int) -> Iterable[Claim]:
    """Rush installs with the manager whose version it names."""
    text = survey.scan.tree.text(path) or ""
    match = re.search(r'(?m)^[^/\n]*"(npm|pnpm|yarn)Version"\s*:\s*"([^"]+)"', text)
    if match:
        line = text.count("\n", 0, match.start(1)) + 1
        proof = Proof(path, line, f"build.{match[1]}", snippet(text, line), 0.9)
        yield Claim(match[1], "devEngines", proof, depth, match[2])


def _commands(survey: Survey, package: Package, read: dict[str, Claim | None]) -> Iterable[Claim]:
    """Yield the managers that Dockerfiles and workflows run, if nothing else decides; each is ``read`` once."""
    tree = survey.scan.tree
    paths = [join(folder, "Dockerfile") for folder in dict.fromkeys((package.path, ""))]
    workflows = tree.folders.get(".github/workflows")
    paths += [f".github/workflows/{name}" for name in sorted(workflows.files)] if workflows else []
    for path in paths[:10]:
        if path not in read:
            read[path] = _commanded(path, (tree.text(path, 1 << 16) or "") if tree.has(path) else "")
        if claim := read[path]:
            yield claim
            return


_SCRIPT_MANAGER = re.compile(r"(?:^|&&\s*|;\s*|\|\|?\s*)(?:\w+=\S+\s+)*(bunx?|pnpx|pnpm|yarn)(?=\s)")


def _scripted(manifest: Manifest) -> Iterable[Claim]:
    """Yield the manager that the scripts call; Bun only where most of them, or the types, are Bun's."""
    scripts = {name: body for name, value in table(manifest.data.get("scripts")).items() if (body := text_of(value))}
    called = {name: match[1] for name, body in scripts.items() if (match := _SCRIPT_MANAGER.search(body))}
    counts = Counter({"bunx": "bun", "pnpx": "pnpm"}.get(word, word) for word in called.values())
    if not counts:
        return
    manager, count = counts.most_common(1)[0]
    typed = any(dependency.name in {"@types/bun", "bun-types"} for dependency in manifest.dependencies)
    if manager == "bun" and not (typed or count * 2 > len(scripts)):
        return
    line = manifest.line_of(next(name for name, word in called.items() if word[:3] == manager[:3]), "scripts")
    proof = Proof(manifest.path, line, f"build.{manager}", manifest.snippet(line), 0.75 if manager == "bun" else 0.6)
    yield Claim(manager, "command", proof, 0)


def _commanded(path: str, text: str) -> Claim | None:
    match = _COMMAND.search(text)
    if match is None:
        return None
    line = text.count("\n", 0, match.start(1)) + 1
    return Claim(match[1], "command", Proof(path, line, f"build.{match[1]}", snippet(text, line), 0.6), 0)


def lockfile_conflicts(survey: Survey, package: Package) -> Iterable[Contradiction]:
    """Several lockfiles, or a lockfile of another manager than the one that package.json names."""
    if package.manifest_of("npm") is None:
        return
    for level in survey.above(package.path):
        if not level.markers:
            continue
        names = level.names
        locked = list(dict.fromkeys(manager for name, manager in NODE_LOCKFILES.items() if name in names))
        if not locked:
            continue
        named = named_manager(survey, package.path)
        others = [manager for manager in locked if manager != named]
        if len(locked) > 1:
            winner, rule = _winner(locked, named, names)
            claims = [winner, *(manager for manager in locked if manager != winner)]
            yield Contradiction(kind="lockfiles", claims=list(claims), winner=winner, rule=rule)
        elif named and others:
            yield Contradiction(
                kind="package_manager", claims=[named, *others], winner=named, rule="packageManager-field"
            )
        return


def _winner(locked: list[str], named: str | None, names: dict[str, int]) -> tuple[str, str]:
    if named:
        return named, "packageManager-field"
    if "bun" in locked:
        return "bun", "bun-over-others"
    left = [manager for manager in locked if manager != "npm"]
    if len(left) == 1:
        return left[0], "npm-last"
    configured = [manager for name, manager in NODE_SETTINGS.items() if name in names and manager in left]
    return (configured[0], "tool-configuration") if configured else (left[0], "order")


def named_manager(survey: Survey, path: str) -> str | None:
    for level in survey.above(path):
        for manifest in level.manifests:
            if manifest.ecosystem == "npm":
                named = package_manager(manifest.data)
                if named:
                    return named[0]
                wanted = text_of(dig(manifest.data, "devEngines", "packageManager", "name"))
                if wanted in MANAGERS:
                    return wanted
    return None
