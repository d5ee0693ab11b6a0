"""The scan phase: every folder once, every name looked up once; languages, manifests, and what does not count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from services.stacks.ignore import Attributes, attributes, ignored
from services.stacks.linguist.excluded import Excluded, generated
from services.stacks.linguist.tables import DOMINANT, Tables
from services.stacks.manifests.kinds import kind_of, parse
from services.stacks.manifests.model import Manifest
from services.stacks.sources.local import NEVER_FIRST_PARTY
from services.stacks.tree import HEAD_BYTES, Tree, join, parent, within

#: Up to so many code files, the beginning of each is read: for generated code, shared extensions, ports and names.
SMALL_TREE = 500
#: Beyond that, so many files with an extension that several languages share are still read.
MOST_AMBIGUOUS = 2000
#: Folders that belong to a build tool when this stands beside them.
_FILLED_BY = {
    "target": ("Cargo.toml", "pom.xml", "build.sbt", "project.clj", "deps.edn"),
    "build": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "CMakeLists.txt",
              "pubspec.yaml", "meson.build", "gleam.toml", "setup.py"),
    "dist": ("package.json", "pyproject.toml", "setup.py"),
    "vendor": ("go.mod", "composer.json", "Gemfile"),
    "Pods": ("Podfile",),
    "_build": ("mix.exs", "dune-project", "rebar.config"),
    "deps": ("mix.exs",),
    "venv": ("pyproject.toml", "requirements.txt", "setup.py", "Pipfile"),
    "env": (),
    "lib": ("shard.yml",),
    "zig-out": ("build.zig",),
    "_site": ("_config.yml", "Gemfile", "package.json"),
    "public": ("hugo.toml", "hugo.yaml", "gatsby-config.js", "gatsby-config.ts"),
    "buck-out": (".buckconfig",),
}  # fmt: skip
_FIXTURES = re.compile(
    r"(?:^|/)(?:testdata|__fixtures__|__mocks__|__snapshots__|test[-_]?fixtures"
    r"|(?:tests?|specs?|__tests__|e2e)/(?:[^/]+/)*fixtures?|third[-_]?party|3rd[-_]?party|\.yarn|\.github)(?:/|$)"
)
_NO_SOURCE = re.compile(r"\.kts$|\.gradle$|\.config\.[cm]?[jt]s$|rc\.[cm]?js$")
_NO_SOURCE_NAMES = frozenset(
    ("setup.py", "conanfile.py", "Rakefile", "Gemfile", "Vagrantfile", "noxfile.py", "build.sbt")
)


@dataclass(slots=True)
class Sources:
    """First-party code of one language in one folder."""

    bytes: int = 0
    files: int = 0
    first: str = ""


@dataclass(slots=True)
class ScannedFolder:
    path: str
    files: dict[str, int]
    folders: list[str]
    sources: dict[str, Sources] = field(default_factory=dict)  #: by linguist's name
    manifests: list[Manifest] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  #: files that no table knows
    aside: bool = False  #: vendored or documentation, in linguist's terms


@dataclass(slots=True)
class Scan:
    tree: Tree
    root: str
    folders: dict[str, ScannedFolder] = field(default_factory=dict)
    languages: dict[str, int] = field(default_factory=dict)
    heads: dict[str, bytes] = field(default_factory=dict)  #: beginnings of code files, in a small tree
    outside: dict[str, ScannedFolder] = field(default_factory=dict)  #: above ``root``: only for what is inherited
    files: int = 0
    warnings: list[str] = field(default_factory=list)

    def names(self, folder: str) -> dict[str, int]:
        found = self.tree.folders.get(folder)
        return found.files if found else {}


@dataclass(slots=True)
class _Code:
    folder: ScannedFolder
    path: str
    name: str
    size: int
    candidates: Sequence[str]
    counts: bool
    forced: str | None = None


class Scanner:
    """Scans trees with one set of language tables."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.excluded = Excluded(tables)

    def scan(self, tree: Tree, root: str = "") -> Scan:
        scan = Scan(tree, root, warnings=list(tree.warnings))
        skipped_folders, skipped_files = ignored(tree)
        settings = attributes(tree)
        code: list[_Code] = []
        fixtures: list[str] = []
        left_out: set[str] = set()
        for path in sorted(tree.folders):
            folder = tree.folders[path]
            if path and (parent(path) in left_out or path in skipped_folders or self._filled(tree, path)):
                left_out.add(path)
                continue
            scanned = ScannedFolder(path, folder.files, folder.folders)
            if not within(path, root):
                if within(root, path):
                    scan.outside[path] = scanned
                    self._manifests(scan, scanned, skipped_files)
                continue
            outer = scan.folders.get(parent(path)) if path else None
            scanned.aside = (outer is not None and outer.aside) or (bool(path) and self.excluded.folder(path))
            scan.folders[path] = scanned
            scan.files += len(folder.files)
            if _FIXTURES.search(path[len(root) :].lstrip("/")):
                if any(kind_of(name) for name in folder.files):
                    fixtures.append(path)
            else:
                self._manifests(scan, scanned, skipped_files)
            self._code(scanned, settings, skipped_files, code)
        self._languages(scan, code)
        if fixtures:
            shown = ", ".join(fixtures[:3]) + (", ..." if len(fixtures) > 3 else "")
            scan.warnings.append(f"test fixtures and third-party code are not services: {shown}")
        return scan

    def _filled(self, tree: Tree, path: str) -> bool:
        """Whether a tool fills the folder, so that nothing in it is first-party."""
        name = path[path.rfind("/") + 1 :]
        if name in NEVER_FIRST_PARTY or "pyvenv.cfg" in tree.folders[path].files:
            return True
        fillers = _FILLED_BY.get(name)
        if not fillers:
            return False
        beside = tree.folders.get(parent(path))
        return beside is not None and any(filler in beside.files for filler in fillers)

    def _manifests(self, scan: Scan, folder: ScannedFolder, skipped: set[str]) -> None:
        for name in sorted(name for name in folder.files if kind_of(name)):
            kind = kind_of(name)
            if kind is not None and (path := join(folder.path, name)) not in skipped:
                folder.manifests.append(parse(scan.tree, path, kind))

    def _code(self, folder: ScannedFolder, settings: Attributes, skipped: set[str], code: list[_Code]) -> None:
        """The files of a folder that may be code, with what their names and paths say."""
        lookup, excluded, rules = self.tables.lookup, self.excluded, settings.rules
        aside = folder.aside
        spans = excluded.spans(folder.path)
        prefix = folder.path + "/" if folder.path else ""
        for name, size in folder.files.items():
            candidates, counted = lookup(name)
            unknown = not candidates and "." in name[1:]
            if unknown:
                folder.unknown.append(name)
            if not size or not (counted or rules or not (candidates or unknown)):
                continue
            path = prefix + name
            if path in skipped:
                continue
            counts = not (aside or excluded.file(path, name, spans))
            forced = None
            if rules:
                counts, forced = _override(counts, settings.of(path, name))
                if unknown and not forced:
                    continue
            code.append(_Code(folder, path, name, size, candidates, counts, forced))

    def _languages(self, scan: Scan, code: list[_Code]) -> None:
        tables, tree = self.tables, scan.tree
        small = len(code) <= SMALL_TREE
        read = 0
        if small:
            tree.reader.prefetch([one.path for one in code])
        for one in code:
            head: bytes | None = None
            ending = one.name[one.name.rfind(".") :].lower()
            ambiguous = len(one.candidates) > 1 and ending not in DOMINANT
            if small or ((ambiguous or not one.candidates) and read < MOST_AMBIGUOUS and one.size < HEAD_BYTES * 16):
                read += 1
                head = tree.read(one.path, HEAD_BYTES)
            language = tables.by_name.get((one.forced or "").lower()) or self._language(one, ending, head)
            if language is None:
                continue
            if small and head is not None:
                scan.heads[one.path] = head
            if head is not None and generated(head, one.name):
                continue
            if language in tables.counted:
                if one.counts:
                    group = tables.groups[language]
                    scan.languages[group] = scan.languages.get(group, 0) + one.size
                if one.name not in _NO_SOURCE_NAMES and not _NO_SOURCE.search(one.name):
                    sources = one.folder.sources.setdefault(language, Sources(first=one.path))
                    sources.bytes += one.size
                    sources.files += 1
        scan.languages = dict(sorted(scan.languages.items(), key=lambda item: (-item[1], item[0])))

    def _language(self, one: _Code, ending: str, head: bytes | None) -> str | None:
        if len(one.candidates) == 1:
            return one.candidates[0]
        if head is not None and b"\0" in head[:1024]:
            return None
        if not one.candidates:
            return self.tables.by_shebang(head[:200].decode("utf-8", "replace")) if head else None
        if head is None:
            return self.tables.likely(ending, one.candidates)
        return self.tables.decide(one.name, one.candidates, head.decode("utf-8", "replace"))


def _override(counts: bool, said: dict[str, str]) -> tuple[bool, str | None]:
    aside = [said[key] for key in ("vendored", "generated", "documentation") if key in said]
    if "true" in aside:
        counts = False
    elif "false" in aside:
        counts = True
    if said.get("detectable") == "false":
        counts = False
    return counts, said.get("language")
