"""What a package uses, and what it only lists: by the command that starts it, its scripts, its code and its folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from services.stacks.budget import Budget
from services.stacks.manifests.model import Manifest, table, text_of
from services.stacks.packages.imports import ecosystem_of_file, imported, modules_of, uses
from services.stacks.packages.package import Package, Proof, TechnologyFinding
from services.stacks.packages.ranking import is_aggregator, primary_language
from services.stacks.packages.survey import Survey
from services.stacks.phases.facts.code import is_test
from services.stacks.phases.facts.configuration import CodeFacts
from services.stacks.phases.facts.deployment import Deployment
from services.stacks.rules.technologies import FUNCTIONS, SERVING, TIERS, Technology, TechnologyRules, ecosystems_of
from services.stacks.tree import HEAD_BYTES, ancestors, join, resolved, within

#: Files of one package that are read for what they import, and of all packages of a large tree.
MAX_FILES = 60
MAX_EXTRA_FILES = 600
#: Modules are imported at the beginning of a file.
_IMPORTS_BYTES = 8 << 10
#: What a program is made of: of two, the one that is used counts.
_PROGRAMS = SERVING | {TIERS["app"], TIERS["native-ui"]}
_RIVALS = _PROGRAMS | FUNCTIONS
_COMPONENTS = frozenset((TIERS["ui"], TIERS["ui-base"]))
#: Ranks that use adds, and that being listed only takes away.
_RUN_BONUS, _BEGUN_BONUS, _TOOL_BONUS, _IMPORTED_ONLY, _UNUSED_PENALTY, _DOCS_BONUS = 12, 8, 5, 20, 60, 100
#: Of two ranks so near to each other, neither is sure.
_NEAR = 20
_DOCS_FOLDERS = frozenset(("docs", "doc", "documentation"))
_RUNNER = re.compile(r"^(?:npm|pnpm|yarn|bun|deno)$")
#: Folders of code next to the program: it does not say what that is made of, unless there is no other.
_SIDE = re.compile(
    r"(?i)(?:^|/)(?:tools?|scripts?|bench(?:es|marks?)?|samples?|demos?|legacy|old|archived?|deprecated|attic|hack|playground"
    r"|sandbox|experiments?|notebooks?|contrib|integrations?)/"
)
#: Last parts of npm's scoped names that are words of any command.
_ANY_COMMAND = frozenset(
    ("node", "server", "core", "cli", "app", "web", "api", "start", "run", "dev", "build", "serve", "react", "vue",
     "common", "sdk", "client", "vite", "next", "express", "router", "kit", "bundler", "worker", "test", "main")
)  # fmt: skip
_ENTRY = re.compile(r"([\w./-]+\.(?:py|[cm]?[jt]sx?))\b")
_MODULE = re.compile(r"\b([A-Za-z_][\w.]*):[A-Za-z_]\w*")
_STARTS = ("start:prod", "start", "serve", "production")
#: Most that any evidence of this kind makes sure.
_SURE, _TWO, _OPTIONAL_USED, _LISTED, _ASIDE = 0.97, 0.88, 0.72, 0.5, 0.45


#: How a package uses a technology; 0: it only lists it.
_IMPORTED, _CONFIGURED, _STARTED = 1, 2, 3


@dataclass
class Known:
    """What is known of a package before its technologies are weighed."""

    code: CodeFacts
    deployed: Deployment


@dataclass
class _Imports:
    """Modules that the code of a package imports, by ecosystem, with the first place of each."""

    modules: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)
    by_file: dict[str, set[str]] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)  #: ecosystems of which all code was read

    def place(self, technology: Technology, ecosystem: str) -> tuple[str, int] | None:
        named = self.modules.get(ecosystem)
        if not named:
            return None
        exact, beginnings = modules_of(technology, ecosystem)
        if not beginnings:
            places = (named[name] for name in exact if name in named)
            if ecosystem != "pypi":
                return next(places, None)
        return next((place for module, place in named.items() if uses(technology, ecosystem, module)), None)

    def of_file(self, technology: Technology, ecosystem: str, path: str) -> bool:
        return any(uses(technology, ecosystem, module) for module in self.by_file.get(path, ()))


def weigh_use(survey: Survey, rules: TechnologyRules, known: Mapping[str, Known]) -> None:
    """Set the rank and the confidence of every framework that a rule found, and add the places that use it."""
    extra = Budget(MAX_EXTRA_FILES, "")
    local = _LocalPackages(survey)
    for package in survey.packages.values():
        findings = [finding for finding in package.findings_of("framework") if finding.source == "rule"]
        inner = local.of(package)
        if findings or inner:
            _Weighing(survey, package, rules, known[package.path], extra).weigh(findings, inner)


@dataclass
class _Weighing:
    survey: Survey
    package: Package
    rules: TechnologyRules
    known: Known
    extra: Budget

    def weigh(self, findings: list[TechnologyFinding], inner: list[Package]) -> None:
        package = self.package
        rivals = [finding for finding in findings if finding.confidence >= 0.5 and finding.tier in _RIVALS]
        through = not any(finding.standing == 2 for finding in rivals) and any(map(_brings, inner))
        imports = self._imports(len(rivals) > 1 or through)
        if through:
            findings += self._through(inner, imports)
        self._sphinx(findings)
        run = self._run_text()
        entries = self._entries(run)
        scripts = self._scripts()
        levels: dict[str, int] = {}
        begun = self._imported_where_it_begins(rivals, imports)
        listed = {finding.id: self._listed(finding) for finding in findings}
        for finding in findings:
            technology = self.rules.get("framework", finding.id)
            if technology is not None:
                levels[finding.id] = self._level(finding, technology, imports, run, entries, scripts)
        beating = {id for id, level in levels.items() if level and not self._is_base(id)}
        in_docs = package.path.rpartition("/")[2].lower() in _DOCS_FOLDERS
        for finding in findings:
            technology = self.rules.get("framework", finding.id)
            if technology is None:
                continue
            level = levels[finding.id]
            beaten = not level and any(
                other.id in beating
                and other.standing
                and other.tier in _PROGRAMS
                and other.ecosystem == finding.ecosystem
                for other in findings
            )
            readable = finding.ecosystem in imports.whole and bool(any(modules_of(technology, finding.ecosystem)))
            finding.rank = finding.tier + (_RUN_BONUS if level == _STARTED else 0)
            if finding.tier == TIERS["function-tool"] and level >= _CONFIGURED:
                finding.rank += _TOOL_BONUS
            if finding is begun and level != _STARTED:
                finding.rank += _BEGUN_BONUS
            if finding.tier in _RIVALS and (beaten or (in_docs and not level)):
                finding.rank -= _UNUSED_PENALTY
            if in_docs and finding.tier == TIERS["docs"]:
                finding.rank += _DOCS_BONUS
            if level == _IMPORTED and any(
                levels[other.id] == _STARTED and other.tier in _PROGRAMS for other in findings
            ):
                finding.rank -= _IMPORTED_ONLY
            finding.confidence = self._confidence(finding, level, readable, listed[finding.id])
        self._ambiguous(
            [finding for finding in findings if finding.confidence >= 0.5 and finding.tier in _RIVALS], levels
        )
        package.ranked.clear()
        package.primary.clear()

    def _imported_where_it_begins(self, rivals: list[TechnologyFinding], imports: _Imports) -> TechnologyFinding | None:
        """Return the only one of several programs that the files import in which programs begin."""
        entries = [path for path in self.known.code.text if path in imports.by_file and not _SIDE.search(path)]
        begun = [
            finding
            for finding in rivals
            if (technology := self.rules.get("framework", finding.id)) is not None
            and any(imports.of_file(technology, finding.ecosystem, path) for path in entries)
        ]
        return begun[0] if len(begun) == 1 and len(rivals) > 1 else None

    def _is_base(self, id: str) -> bool:
        """Return whether others are built on it, so that its use does not count against them."""
        technology = self.rules.get("framework", id)
        return technology is not None and technology.spec.get("base") is True

    def _level(
        self,
        finding: TechnologyFinding,
        technology: Technology,
        imports: _Imports,
        run: str,
        entries: set[str],
        scripts: str,
    ) -> int:
        """Return how the package uses a technology."""
        ecosystem = finding.ecosystem or technology.ecosystem
        named = self._named(technology)
        if named.search(run) or any(imports.of_file(technology, ecosystem, path) for path in entries):
            self._cite(finding, technology, imports, ecosystem)
            return _STARTED
        imported = self._cite(finding, technology, imports, ecosystem)
        if finding.by_file or (scripts and named.search(scripts)):
            return _CONFIGURED
        return _IMPORTED if imported else 0

    def _cite(self, finding: TechnologyFinding, technology: Technology, imports: _Imports, ecosystem: str) -> bool:
        place = imports.place(technology, ecosystem)
        if place is None:
            return False
        if all(proof.file != place[0] for proof in finding.proofs):
            finding.proofs.append(Proof(place[0], place[1], technology.rule, None, 0.5))
        return True

    def _named(self, technology: Technology) -> re.Pattern[str]:
        names = {technology.id, *technology.list("runs")}
        names |= {
            last
            for name in technology.list("packages")
            if "*" not in name
            and ":" not in name
            and ((last := name.rpartition("/")[2]) not in _ANY_COMMAND or not name.startswith("@"))
        }
        known = _PATTERNS.get(technology.id)
        if known is None:
            words = "|".join(re.escape(name) for name in sorted(names) if len(name) > 2)
            known = _PATTERNS[technology.id] = re.compile(
                rf"(?<![\w@./-])(?:{words})(?![\w-]|\.[a-z])" if words else r"(?!)"
            )
        return known

    def _run_text(self) -> str:
        """Return the command that starts the package, with the script that it calls."""
        words = self.known.deployed.command
        scripts = self._script_table()
        if (words and _RUNNER.match(words[0])) or not words:
            called = next((word for word in words[1:] if word in scripts), None)
            called = called or (None if words else next((name for name in _STARTS if name in scripts), None))
            return " ".join([*words, text_of(scripts.get(called or "")) or ""])
        return " ".join(words)

    def _script_table(self) -> Mapping[str, object]:
        manifest = self.package.manifest_of("npm")
        return table(manifest.data.get("scripts")) if manifest else {}

    def _scripts(self) -> str:
        return "\n".join(body for value in self._script_table().values() if (body := text_of(value)))

    def _entries(self, run: str) -> set[str]:
        """Return the files that a command starts, directly or as a module."""
        wanted = {match[1].lstrip("./") for match in _ENTRY.finditer(run)}
        for match in _MODULE.finditer(run):
            path = match[1].replace(".", "/")
            wanted |= {f"{path}.py", f"{path}/__init__.py", f"src/{path}.py"}
        program = run.partition(" ")[0].rpartition("/")[2]
        if program and "." not in program:  # where Go and Cargo keep the code of a program with that name
            wanted |= {f"cmd/{program}/main.go", f"src/bin/{program}.rs", f"src/bin/{program}/main.rs"}
        for match in re.finditer(r"\bpython3? -m ([\w.]+)", run):
            path = match[1].replace(".", "/")
            wanted |= {f"{path}.py", f"{path}/__main__.py"}
        return {join(self.package.path, path) for path in wanted} | wanted

    def _imports(self, closely: bool) -> _Imports:
        """Read the code: all of it in a small tree, else the entry files, and more where that decides."""
        imports = _Imports()
        scan, tree = self.survey.scan, self.survey.scan.tree
        texts: dict[str, str] = dict(self.known.code.text)
        missing: set[str] = set()
        count = len(texts)
        base = len(self.package.path) + 1 if self.package.path else 0
        small = bool(scan.heads)
        for name, path in self.package.own_files() if small or closely else ():
            ecosystem = ecosystem_of_file(name)
            if ecosystem is None or path in texts:
                continue
            if not small and ecosystem in missing and count >= MAX_FILES:
                break
            if is_test(path[base:]):
                continue
            head = scan.heads.get(path)
            if head is None and closely and count < MAX_FILES and self.extra.take():
                head = tree.read(path, _IMPORTS_BYTES)
            if head is None or count >= MAX_FILES * 4:
                missing.add(ecosystem)
                continue
            count += 1
            texts[path] = head.decode("utf-8", "replace")
        written = {path: ecosystem for path in texts if (ecosystem := ecosystem_of_file(path)) is not None}
        ahead = {ecosystem for path, ecosystem in written.items() if not _SIDE.search(path[base:])}
        for path, ecosystem in written.items():
            text = texts[path]
            all_modules = imports.modules.setdefault(ecosystem, {})
            named = all_modules if ecosystem not in ahead or not _SIDE.search(path[base:]) else {}
            mine = imports.by_file[path] = set()
            for module, offset in imported(ecosystem, text):
                mine.add(module)
                if module not in named:
                    named[module] = path, text.count("\n", 0, offset) + 1
        if small or closely:  # else only the files in which programs begin were read
            imports.whole = {ecosystem for ecosystem in imports.modules if ecosystem not in missing}
        return imports

    def _through(self, inner: list[Package], imports: _Imports) -> Iterable[TechnologyFinding]:
        """Frameworks that packages of the same source bring, where the code imports them."""
        for package in inner:
            for finding in package.findings_of("framework"):
                technology = self.rules.get("framework", finding.id)
                if (
                    technology is None
                    or finding.source != "rule"
                    or finding.standing < 2
                    or finding.tier not in _RIVALS
                ):
                    continue
                place = imports.place(technology, finding.ecosystem)
                if place is not None and ("framework", finding.id) not in self.package.findings:
                    proof = Proof(place[0], place[1], technology.rule, None, 0.8)
                    mine = TechnologyFinding.of(technology, [proof], finding.version, ecosystem=finding.ecosystem)
                    self.package.add(mine)
                    yield mine

    def _sphinx(self, findings: list[TechnologyFinding]) -> None:
        """``conf.py`` in a folder of documentation is Sphinx's."""
        technology = self.rules.get("framework", "sphinx")
        name = next(
            (
                name
                for name in ("conf.py", "source/conf.py")
                if self.survey.scan.tree.has(join(self.package.path, name))
            ),
            None,
        )
        if technology is None or name is None or not any(finding.id == "sphinx" for finding in findings):
            return
        sphinx = next(finding for finding in findings if finding.id == "sphinx")
        sphinx.by_file = True
        sphinx.proofs.append(Proof(join(self.package.path, name), None, technology.rule, None, 0.6))

    def _listed(self, finding: TechnologyFinding) -> float:
        """Combine a list with separate files, which are independent; lines of one manifest are not."""
        doubt = 1 - max((proof.weight for proof in finding.proofs if proof.line is not None), default=0.0)
        for proof in finding.proofs:
            doubt *= 1 - (proof.weight if proof.line is None else 0)
        return 1 - doubt

    def _confidence(self, finding: TechnologyFinding, level: int, readable: bool, combined: float) -> float:
        """Return how sure a technology is; the bounds are those that the project's own data hold."""
        if finding.by_file and combined >= 0.5:
            finding.standing = 2
        if self._aside(finding, level, readable):
            return round(min(combined, _ASIDE), 4)
        if combined < 0.5:
            return round(combined, 4)
        if level:
            return round(min(combined + 0.1, _SURE if finding.standing == 2 else _OPTIONAL_USED), 4)
        if readable and finding.tier in _RIVALS:
            return round(min(combined, _LISTED), 4)
        return round(min(combined, 0.93), 4)

    def _aside(self, finding: TechnologyFinding, level: int, readable: bool) -> bool:
        """Return whether it is only there for the members, or for the tests or the pages of a library."""
        technology = self.rules.get("framework", finding.id)
        if not level and is_aggregator(self.package) and self._has_members():
            return True
        if technology is None or finding.ecosystem != "npm":
            return False
        manifest = self.package.manifest_of("npm")
        only_dev = not any(
            dependency.scope == "prod" and dependency.name in technology.list("packages")
            for one in self.package.manifests for dependency in one.dependencies
        )  # fmt: skip
        if finding.tier in _COMPONENTS and only_dev and readable and not level and _published(manifest):
            wanted = (dependency for one in self.package.manifests for dependency in one.dependencies)
            peers = any(one.scope == "peer" and one.name in technology.list("packages") for one in wanted)
            if not peers and "TSX" not in self.package.sources:
                return True  # it is only tried out with these
        if finding.tier == TIERS["bundler"] and only_dev and not level:
            return True
        if finding.tier == TIERS["bundler"] and only_dev and finding.by_file and self._for_tests(technology):
            return True
        return (
            technology.spec.get("docs") is True and only_dev and _published(manifest) and not self.known.deployed.named
        )

    def _has_members(self) -> bool:
        path = self.package.path
        return any(other != path and within(other, path) for other in self.survey.packages)

    def _for_tests(self, technology: Technology) -> bool:
        """Return whether the settings of a bundler are those of its test runner."""
        if self._named(technology).search(self._scripts()):
            return False
        names = [name for name in self.package.files if name.startswith(f"{technology.id}.config.")]
        texts = [self.survey.scan.tree.text(join(self.package.path, name), HEAD_BYTES) or "" for name in names]
        return bool(texts) and all("vitest/config" in text for text in texts) and "index.html" not in self.package.files

    def _ambiguous(self, rivals: list[TechnologyFinding], levels: Mapping[str, int]) -> None:
        """Lower the confidence of two programs in one package, unless one is built on the other."""
        language = primary_language(self.package)
        mine = ecosystems_of(language.id) if language else frozenset()
        family = [one for one in rivals if not mine or not one.ecosystem or one.ecosystem in mine]
        if len(family) < 2:
            return
        if all(one.standing == 1 and levels[one.id] < _CONFIGURED for one in family):
            for one in family:  # a library that works with each of them is made of none
                one.confidence = min(one.confidence, _ASIDE)
        best = max(one.standing * 1000 + one.rank for one in family)
        near = [one for one in family if best - (one.standing * 1000 + one.rank) <= _NEAR]
        started = [one for one in near if levels[one.id] == _STARTED]
        for one in near if len(near) > 1 and len(started) != 1 else ():
            one.confidence = min(one.confidence, _TWO)


def _brings(package: Package) -> bool:
    """Return whether a package requires a framework that those which depend on it may use."""
    return any(finding.standing == 2 and finding.tier in _RIVALS for finding in package.findings_of("framework"))


_PATTERNS: dict[str, re.Pattern[str]] = {}


def _published(manifest: Manifest | None) -> bool:
    """Return whether a package.json is written for others to depend on."""
    data = manifest.data if manifest else {}
    return any(key in data for key in ("exports", "module", "types", "typings", "bin")) or (
        "main" in data and "start" not in table(data.get("scripts"))
    )


@dataclass
class _LocalPackages:
    """Packages of the source that others of it depend on, by folder or by name."""

    survey: Survey
    _by_name: dict[tuple[str, str], str] = field(init=False)

    def __post_init__(self) -> None:
        self._by_name = {}
        for path, package in self.survey.packages.items():
            for manifest in package.manifests:
                if manifest.name:
                    self._by_name.setdefault((manifest.ecosystem, _normal(manifest.ecosystem, manifest.name)), path)

    def of(self, package: Package) -> list[Package]:
        paths: dict[str, None] = {}
        for manifest in package.manifests:
            for relative in manifest.facts.get("local", "").splitlines():
                path = resolved(package.path, relative)
                if path in self.survey.packages:
                    paths[path] = None
            for project in (
                manifest.facts.get("projects", "").splitlines() if manifest.kind.startswith("build.gradle") else ()
            ):
                for above in ancestors(package.path):
                    if (path := join(above, project)) in self.survey.packages:
                        paths[path] = None
                        break
        for ecosystem, name in package.dependencies if len(self.survey.packages) > 1 else ():
            key = name.partition(":")[2] if ecosystem == "maven" else name
            inner = self._by_name.get((ecosystem, key))
            if inner is not None:
                paths[inner] = None
        return [self.survey.packages[path] for path in paths if path != package.path][:20]


def _normal(ecosystem: str, name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower() if ecosystem == "pypi" else name
