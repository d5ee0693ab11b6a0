"""The workspace structure: who manages which folders as one, with globs and negations resolved against the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from services.stacks.budget import Budget
from services.stacks.manifests.formats import read_jsonc, read_yaml
from services.stacks.manifests.functional import cabal_packages
from services.stacks.manifests.javascript import workspace_globs
from services.stacks.manifests.model import Manifest, dig, texts
from services.stacks.manifests.native import go_work_members
from services.stacks.packages.package import Package
from services.stacks.packages.survey import Survey
from services.stacks.phases.workspace_patterns import MAX_PATTERNS, WorkspacePatterns
from services.stacks.tree import join, resolved
from shared.contracts.detect import Workspace

#: Modules that the reactors of a source list, and comparisons of a pattern with a folder: of all its workspaces.
MAX_MODULES = 100_000
MAX_COMPARISONS = 5_000_000


@dataclass(frozen=True)
class DeclaredWorkspace:
    manager: str
    folder: str
    members: tuple[str, ...]


@dataclass
class _Budgets:
    """Limits over all workspaces of a source."""

    modules: Budget = field(
        default_factory=lambda: Budget(
            MAX_MODULES, f"only the first {MAX_MODULES:,} modules of the reactors were followed"
        )
    )
    comparisons: Budget = field(
        default_factory=lambda: Budget(
            MAX_COMPARISONS, "the workspace has too many patterns: not all members are listed"
        )
    )


def find_workspace(survey: Survey) -> Workspace | None:
    """Return the workspace at the root of what is scanned, or the largest below it."""
    root = survey.scan.root
    budgets = _Budgets()
    declared: list[DeclaredWorkspace] = []
    for folder, scanned in survey.scan.folders.items():  # in the order of their paths
        if not (scanned.manifests or scanned.markers) or folder.count("/") > 3:
            continue
        covered = any(folder in workspace.members for workspace in declared if workspace.manager == "maven")
        declared.extend(workspace for workspace in _declared(survey, folder, covered, budgets) if workspace.members)
        if declared and folder == root:
            break
    survey.warnings += [*budgets.modules.warnings, *budgets.comparisons.warnings]
    if not declared:
        return None
    best = min(
        declared,
        key=lambda workspace: (workspace.folder != root, -len(workspace.members), workspace.folder, workspace.manager),
    )
    return Workspace(manager=best.manager, members=list(best.members))


def _declared(survey: Survey, folder: str, covered: bool, budgets: _Budgets) -> Iterable[DeclaredWorkspace]:
    """Yield a folder's declarations; ``covered``: it is a module whose own modules are counted with its parent's."""
    names = survey.scan.folders[folder].files
    manifests = {manifest.kind: manifest for manifest in survey.scan.folders[folder].manifests}
    node = manifests.get("package.json") or manifests.get("package.json5") or manifests.get("package.yaml")
    if "pnpm-workspace.yaml" in names:
        globs = texts(survey.read(join(folder, "pnpm-workspace.yaml"), read_yaml).get("packages"))
        yield _of(survey, budgets, "pnpm", folder, globs, _is_node)
    elif node is not None and (globs := workspace_globs(node.data)):
        yield _of(survey, budgets, _node_manager(survey, folder), folder, globs, _is_node)
    elif "lerna.json" in names:
        globs = texts(survey.read(join(folder, "lerna.json"), read_jsonc).get("packages")) or ["packages/*"]
        yield _of(survey, budgets, _node_manager(survey, folder), folder, globs, _is_node)
    elif "nx.json" in names:
        listed = (
            scanned.path
            for scanned in survey.scan.below(folder)
            if any(manifest.kind == "project.json" for manifest in scanned.manifests)
        )
        yield DeclaredWorkspace("nx", folder, tuple(listed))
    if "rush.json" in names:
        projects = survey.read(join(folder, "rush.json"), read_jsonc).get("projects")
        paths = [dig(project, "projectFolder") for project in projects] if isinstance(projects, list) else []
        yield DeclaredWorkspace("rush", folder, _existing(survey, folder, texts(paths)))
    if (deno := manifests.get("deno.json")) and (globs := _deno(deno)):
        yield _of(survey, budgets, "deno", folder, globs, lambda names: "deno.json" in names or "deno.jsonc" in names)
    yield from _others(survey, folder, names, manifests, covered, budgets)


def _others(
    survey: Survey, folder: str, names: dict[str, int], manifests: dict[str, Manifest], covered: bool, budgets: _Budgets
) -> Iterable[DeclaredWorkspace]:
    if cargo := manifests.get("Cargo.toml"):
        globs = texts(dig(cargo.data, "workspace", "members"))
        without = [f"!{glob}" for glob in texts(dig(cargo.data, "workspace", "exclude"))]
        yield _of(survey, budgets, "cargo", folder, [*globs, *without], lambda names: "Cargo.toml" in names)
    if "go.work" in names:
        paths = go_work_members(survey.scan.tree.text(join(folder, "go.work")) or "")
        yield DeclaredWorkspace("go", folder, _existing(survey, folder, paths, root_too=True))
    if python := manifests.get("pyproject.toml"):
        globs = texts(dig(python.data, "tool", "uv", "workspace", "members"))
        without = [f"!{glob}" for glob in texts(dig(python.data, "tool", "uv", "workspace", "exclude"))]
        yield _of(survey, budgets, "uv", folder, [*globs, *without], lambda names: "pyproject.toml" in names)
    for kind in ("settings.gradle.kts", "settings.gradle"):
        if kind in manifests:
            included = manifests[kind].facts.get("include", "").split("\n")
            yield DeclaredWorkspace("gradle", folder, _existing(survey, folder, [path for path in included if path]))
    if (pom := manifests.get("pom.xml")) and "modules" in pom.facts and not covered:
        modules = [module.removesuffix("/pom.xml") for module in pom.facts["modules"].split("\n")]
        yield DeclaredWorkspace("maven", folder, _reactor(survey, folder, modules, budgets.modules))
    if solution := manifests.get("*.sln"):
        paths = [path.rpartition("/")[0] for path in solution.facts.get("projects", "").split("\n") if path]
        yield DeclaredWorkspace("dotnet", folder, _existing(survey, folder, paths))
    if (mix := manifests.get("mix.exs")) and "apps_path" in mix.facts:
        yield _of(survey, budgets, "mix", folder, [f"{mix.facts['apps_path']}/*"], lambda names: "mix.exs" in names)
    if pubspec := manifests.get("pubspec.yaml"):
        yield DeclaredWorkspace("pub", folder, _existing(survey, folder, texts(pubspec.data.get("workspace"))))
    if "melos.yaml" in names:
        globs = texts(survey.read(join(folder, "melos.yaml"), read_yaml).get("packages"))
        yield _of(survey, budgets, "melos", folder, globs, lambda names: "pubspec.yaml" in names)
    if (sbt := manifests.get("build.sbt")) and sbt.facts.get("members"):
        yield DeclaredWorkspace("sbt", folder, _existing(survey, folder, sbt.facts["members"].split("\n")))
    if "cabal.project" in names:
        globs = cabal_packages(survey.scan.tree.text(join(folder, "cabal.project")) or "")
        yield _of(survey, budgets, "cabal", folder, globs, _is_haskell)
    elif "stack.yaml" in names:
        listed = survey.read(join(folder, "stack.yaml"), read_yaml).get("packages")
        yield _of(survey, budgets, "stack", folder, [path for path in texts(listed) if path != "."], _is_haskell)
    if "bazel" in manifests:
        yield DeclaredWorkspace("bazel", folder, _below(survey, folder, ("BUILD.bazel", "BUILD")))
    if "pants.toml" in manifests:
        yield DeclaredWorkspace("pants", folder, _below(survey, folder, ("BUILD", "BUILD.pants")))


def _reactor(survey: Survey, folder: str, modules: list[str], budget: Budget) -> tuple[str, ...]:
    """Maven's modules may have modules; each folder is entered once, so a circle ends."""
    seen: set[str] = set()
    left = list(_existing(survey, folder, modules))
    while left:
        here = left.pop()
        if here in seen:
            continue
        if not budget.take():
            break
        seen.add(here)
        for manifest in survey.scan.manifests_at(here):
            inner = manifest.facts.get("modules") if manifest.kind == "pom.xml" else None
            left.extend(_existing(survey, here, inner.split("\n")) if inner else ())
    return tuple(sorted(seen - {folder}))


def _is_haskell(names: dict[str, int]) -> bool:
    return "package.yaml" in names or any(name.endswith(".cabal") for name in names)


def _is_node(names: dict[str, int]) -> bool:
    return "package.json" in names or "package.json5" in names or "package.yaml" in names


def _of(
    survey: Survey,
    budgets: _Budgets,
    manager: str,
    folder: str,
    globs: list[str],
    holds: Callable[[dict[str, int]], bool],
) -> DeclaredWorkspace:
    """Return every folder that the globs mean and that holds a manifest; later negations take away."""
    patterns = WorkspacePatterns.of(globs)
    if not patterns.complete:
        survey.warnings.append(
            f"{folder or '.'}: only the first {MAX_PATTERNS} patterns of the workspace were followed"
        )
    base = len(folder) + 1 if folder else 0
    members = [
        scanned.path
        for scanned in (survey.scan.below(folder) if patterns.runs else ())
        if holds(scanned.files) and patterns.chosen(scanned.path[base:], budgets.comparisons)
    ]
    return DeclaredWorkspace(manager, folder, tuple(members))


def _existing(survey: Survey, folder: str, paths: Iterable[str], root_too: bool = False) -> tuple[str, ...]:
    existing: set[str] = set()
    for path in paths:
        whole = resolved(folder, path.strip().strip("\"'"))
        if whole is not None and whole in survey.scan.folders and (whole != folder or root_too):
            existing.add(whole)
    return tuple(sorted(existing))


def _below(survey: Survey, folder: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(folder.path for folder in survey.scan.below(folder) if any(name in folder.files for name in names))


def _node_manager(survey: Survey, folder: str) -> str:
    package = survey.packages.get(folder)
    built = ranked_manager(package) if package else None
    return built or "npm"


def ranked_manager(package: Package) -> str | None:
    managers = [finding for finding in package.findings_of("package_manager") if finding.ecosystem == "npm"]
    return max(managers, key=lambda finding: finding.confidence).id if managers else None


def _deno(manifest: Manifest) -> list[str]:
    declared = manifest.data.get("workspace")
    return texts(declared if isinstance(declared, list) else dig(declared, "members"))
