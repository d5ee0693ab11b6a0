"""The packages of a tree: one per folder with a manifest that makes one, and what belongs to each."""

from __future__ import annotations

import re
from bisect import bisect_right

from services.stacks.manifests.model import Manifest
from services.stacks.packages.inheritance import Inheritance
from services.stacks.packages.javascript import add_listed_projects, drop_foreign_projects
from services.stacks.packages.package import Package
from services.stacks.packages.python_imports import add_imported
from services.stacks.packages.wordpress import add_parts_of_wordpress
from services.stacks.scan.markers import PUBLISHES
from services.stacks.scan.model import Scan, ScannedFolder, Sources
from services.stacks.tree import ancestors, join, parent

_COMPILED = frozenset(
    ("C", "C++", "Assembly", "Unix Assembly", "Fortran", "Cuda", "Objective-C", "Pascal", "COBOL", "Ada")
)
_TOPMOST_ONLY = frozenset(("CMakeLists.txt", "meson.build", "Makefile", "configure.ac", "BUILD"))
#: Maximum number of services in a result, which a worker must hold in memory.
MAX_PACKAGES = 20_000
#: Files that define how the code in their folder is run.
_DEPLOYS = frozenset(
    ("Dockerfile", "Containerfile", "Procfile", "fly.toml", "railway.json", "railway.toml", "railpack.json",
     "heroku.yml",
     "nixpacks.toml")
)  # fmt: skip
#: Languages in which no service is written, for all that is known of it.
_NO_PROGRAM = frozenset(
    ("Shell", "Makefile", "Dockerfile", "HTML", "CSS", "SCSS", "Less", "HCL", "PowerShell", "Batchfile")
)
_PNPM = "pnpm-workspace.yaml"
_PNPM_MEMBERS = re.compile(r"(?m)^[\"']?packages[\"']?[ \t]*:")
_RUNS_OR_SHOWS = _DEPLOYS | PUBLISHES
#: What pages run in a browser.
_PAGE_SCRIPTS = frozenset(("JavaScript",))
#: Folders below that of a page's settings that hold the page.
_PAGE_FOLDERS = ("", "public", "dist", "site", "www", "html", "static", "docs", "src")
_SHELLS = ("android", "ios", "macos", "linux", "windows", "web")


def find_packages(scan: Scan, most: int = MAX_PACKAGES) -> dict[str, Package]:
    """Return the packages by path; of more than ``most``, those nearest to the root."""
    packages: dict[str, Package] = {}
    add_listed_projects(scan)
    drop_foreign_projects(scan)
    add_parts_of_wordpress(scan)
    for path, folder in scan.folders.items():
        if folder.manifests and _makes_package(scan, folder, packages):
            packages[path] = Package(path, list(folder.manifests), folder.files, markers=folder.markers)
    for package in packages.values():
        if _PNPM in package.markers and not _PNPM_MEMBERS.search(scan.tree.text(join(package.path, _PNPM)) or ""):
            package.memberless = frozenset((_PNPM,))
    _drop_inner_parts(packages)
    _add_deployed_code(scan, packages)
    add_imported(scan, packages)
    if len(packages) > most:
        scan.warnings.append(
            f"the source holds {len(packages):,} packages: only the {most:,} nearest to its root are reported"
        )
        nearest = sorted(packages, key=lambda path: (path.count("/"), path))[:most]
        packages = {path: packages[path] for path in sorted(nearest)}
    owners: dict[str, Package | None] = {}
    for path, folder in scan.folders.items():  # parents first
        owner = owners[path] = packages.get(path) or (owners.get(parent(path)) if path else None)
        if owner is None:
            continue
        owner.folders.append(folder)
        for language, sources in folder.sources.items():
            mine = owner.sources.get(language)
            if mine is None:
                mine = owner.sources[language] = Sources(first=sources.first)
            mine.bytes += sources.bytes
            mine.files += sources.files
    paths = sorted(packages)
    for package in [package for package in packages.values() if _hollow(package, paths)]:
        del packages[package.path]
    Inheritance(scan).complete(packages.values())
    return packages


def _add_deployed_code(scan: Scan, packages: dict[str, Package]) -> None:
    """Add folders without a manifest whose code a platform or container runs; scripts alone are not a service."""
    for path, folder in scan.folders.items():
        if not folder.markers or folder.fixture or folder.aside or _RUNS_OR_SHOWS.isdisjoint(folder.markers):
            continue
        if any(above in packages for above in ancestors(path)):
            continue
        written = _languages_below(scan, path) - _NO_PROGRAM
        page = _page(scan, path) if written <= _PAGE_SCRIPTS else None
        if written or page:
            manifests = [Manifest(page, "page", "page", "", weak=True)] if page else []
            packages[path] = Package(path, manifests, folder.files, markers=folder.markers)
    paths = sorted(packages)
    for path in paths:
        prefix = path + "/" if path else ""
        at = bisect_right(paths, prefix)
        if not packages[path].manifests and at < len(paths) and paths[at].startswith(prefix):
            del packages[path]  # what it deploys is the packages below


def _page(scan: Scan, path: str) -> str | None:
    """Return the first page of a folder of pages."""
    pages = (join(join(path, inner) if inner else path, "index.html") for inner in _PAGE_FOLDERS)
    return next((page for page in pages if scan.tree.has(page)), None)


def _makes_package(scan: Scan, folder: ScannedFolder, packages: dict[str, Package]) -> bool:
    makers = [manifest for manifest in folder.manifests if manifest.package or manifest.problems]
    strong = [manifest for manifest in makers if not manifest.weak]
    above = [packages[path] for path in ancestors(parent(folder.path)) if path in packages] if folder.path else []
    if any(not _nested(manifest, above) for manifest in strong):
        return True
    weak = [manifest for manifest in makers if manifest.weak]
    return any(_weak_counts(scan, manifest, folder, above) for manifest in weak) or _tool_settings_only(folder, above)


def _nested(manifest: Manifest, above: list[Package]) -> bool:
    """Return whether it only continues a build that an ancestor began."""
    if manifest.kind in _TOPMOST_ONLY:
        return any(outer.kind == manifest.kind for package in above for outer in package.manifests)
    return manifest.kind == "bazel" and any(package.manifest("bazel") for package in above)


def _weak_counts(scan: Scan, manifest: Manifest, folder: ScannedFolder, above: list[Package]) -> bool:
    languages = _languages_below(scan, folder.path)
    if manifest.kind == "requirements.txt":
        return not folder.path or bool(languages & {"Python", "Jupyter Notebook", "Cython"})
    if manifest.kind == "Makefile":
        if above:
            return False
        return bool(languages & _COMPILED) or (
            not folder.path and bool(languages - {"Shell", "Makefile", "Dockerfile"})
        )
    if manifest.kind == "_config.yml":
        jekyll = {"_posts", "_layouts", "_includes", "_sass", "_data", "_drafts", "_pages"} & set(folder.folders)
        return bool(jekyll) or "Gemfile" in folder.files or ("jekyll" in manifest.facts and _pages(folder))
    if manifest.kind == "build.xml":
        return not above and bool(languages & {"Java", "Kotlin", "Groovy", "Scala"})
    if manifest.ecosystem in {"hugo", "site"}:
        return not any(package.path == folder.path for package in above)
    if manifest.kind == "*.tf":
        return True  # every folder of them is a module
    if manifest.kind in {"mkdocs.yml", "dist.ini", "configure.ac"}:
        return not any(package.path == folder.path for package in above)
    return not above


def _tool_settings_only(folder: ScannedFolder, above: list[Package]) -> bool:
    """Return whether a ``pyproject.toml`` that only configures tools makes a package, because Python is next to it."""
    return (
        any(manifest.kind == "pyproject.toml" for manifest in folder.manifests)
        and "Python" in folder.sources
        and not any(package.manifest_of("pypi") for package in above)
    )


def _languages_below(scan: Scan, path: str) -> set[str]:
    return set(scan.folders[path].sources).union(*(folder.sources for folder in scan.below(path)))


def _hollow(package: Package, paths: list[str]) -> bool:
    """Return whether a root holds only ``make`` with the real packages below it, and so is not a package."""
    strong = [manifest for manifest in package.manifests if manifest.kind != "Makefile"]
    if strong or package.sources.keys() - {"Shell", "Makefile", "Dockerfile"}:
        return False
    prefix = package.path + "/" if package.path else ""
    at = bisect_right(paths, prefix)
    return at < len(paths) and paths[at].startswith(prefix)


def _drop_inner_parts(packages: dict[str, Package]) -> None:
    """``android``, ``ios`` and so on under a mobile app belong to that app, the themes of a Hugo site to the site."""
    for path in sorted(packages):
        for above in ancestors(parent(path)) if path else ():
            top = (path[len(above) + 1 :] if above else path).partition("/")[0]
            outer = packages.get(above)
            if outer and ((top in _SHELLS and _mobile(outer)) or (top in {"themes", "theme"} and _site(outer))):
                packages.pop(path, None)
                break


def _pages(folder: ScannedFolder) -> bool:
    return any(name.endswith((".md", ".markdown", ".html")) for name in folder.files)


def _site(package: Package) -> bool:
    """Return whether it is a site, whose themes are not separate programs."""
    return package.manifest_of("hugo", "site", "jekyll") is not None or any(
        dependency.name in _THEMED for manifest in package.manifests for dependency in manifest.dependencies
    )


_THEMED = frozenset(("hexo", "ghost", "pelican", "jekyll", "gridsome", "gatsby", "typecho"))


def _mobile(package: Package) -> bool:
    pubspec, node = package.manifest("pubspec.yaml"), package.manifest("package.json")
    if pubspec is not None and any(dependency.name == "flutter" for dependency in pubspec.dependencies):
        return True
    mobile = {"react-native", "expo", "@capacitor/core", "@ionic/angular", "@ionic/react", "@ionic/vue", "cordova"}
    return node is not None and any(dependency.name in mobile for dependency in node.dependencies)
