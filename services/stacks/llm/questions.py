"""Questions for a model: packages with an open question, folders that no rule explains, and what the model sees of
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from services.stacks.packages.package import Package
from services.stacks.packages.ranking import is_aggregator, primary_language, primary_of
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import TechnologyRules
from services.stacks.scan.filenames import _PLAIN_NAMES, is_noise
from services.stacks.scan.model import ScannedFolder
from services.stacks.tree import ancestors, join
from shared.contracts.detect import TechnologyKind

KINDS: tuple[TechnologyKind, ...] = ("language", "build_system", "framework", "runtime", "orchestrator")
_MANIFEST_LIKE = re.compile(
    r"(?i)(?:build|project|package|module|manifest|depend|deps|workspace|recipe|shard|target|spec)"
)
_BARE_MANIFEST = re.compile(r"(?i)file$|^(?:build|project|package)$")
_NOT_LANGUAGES = frozenset(
    ("Shell", "Makefile", "Dockerfile", "Batchfile", "PowerShell", "HTML", "CSS", "SCSS", "Less", "Sass", "Nix",
    "Procfile",
     "Roff", "TeX", "Jupyter Notebook", "Just", "Jinja", "Handlebars", "Mustache", "EJS", "Pug", "PLpgSQL", "TSQL",
     "PLSQL")
)  # fmt: skip
MAX_SUBJECTS = 40


@dataclass(frozen=True)
class Subject:
    """One root and the kinds that are open there."""

    root: str
    kinds: tuple[TechnologyKind, ...]
    package: Package | None
    folders: tuple[ScannedFolder, ...]


def open_questions(survey: Survey, rules: TechnologyRules, every: bool) -> list[Subject]:
    """Return the subjects in order of their paths; ``every`` includes all kinds of all packages."""
    subjects = []
    for path, package in sorted(survey.packages.items()):
        kinds = KINDS if every else tuple(_open_kinds(survey, package, rules))
        if kinds:
            subjects.append(Subject(path, kinds, package, tuple(package.folders)))
    covered = [subject.root for subject in subjects]
    for path in _unexplained(survey, rules):
        if path not in covered:
            below = tuple(_below(survey, path))
            subjects.append(Subject(path, KINDS[:4], None, below))
    if every and not subjects and survey.scan.files:
        subjects.append(Subject(survey.scan.root, KINDS, None, tuple(survey.scan.folders.values())))
    return sorted(subjects, key=lambda subject: subject.root)[:MAX_SUBJECTS]


def _open_kinds(survey: Survey, package: Package, rules: TechnologyRules) -> Iterable[TechnologyKind]:
    language = primary_language(package)
    framework = primary_of(package, "framework")
    if language is None or language.confidence < 0.5:
        own = set(package.sources) - _NOT_LANGUAGES
        if framework is None and (
            own or not (is_aggregator(package) or package.manifest("bazel") or package.manifest("pants.toml"))
        ):
            yield from ("language", "runtime")
    if primary_of(package, "build_system") is None:
        yield "build_system"
    known = rules.get("language", language.id) if language else None
    if known and framework is None:
        yield from (kind for kind in KINDS if kind in known.list("open"))
    elif language and known is None and framework is None:
        yield from ("framework", "runtime")


def _unexplained(survey: Survey, rules: TechnologyRules) -> list[str]:
    """Return the topmost folders with sources and a manifest-like file that no package's rules account for."""
    marked: list[str] = []
    for path, folder in survey.scan.folders.items():
        if path in survey.packages or any(above in marked for above in ancestors(path)):
            continue
        if _looks_foreign(survey, rules, folder):
            marked.append(path)
    return marked


def _looks_foreign(survey: Survey, rules: TechnologyRules, folder: ScannedFolder) -> bool:
    unknown = [name for name in folder.unknown if not is_noise(name)]
    manifest_like = [
        name for name in folder.files
        if (name in unknown and _MANIFEST_LIKE.search(name))
        or ("." not in name and _BARE_MANIFEST.search(name) and not _PLAIN_NAMES.match(name))
        or (re.search(r"(?i)\.(?:toml|ya?ml|json|xml|edn)$", name) and _MANIFEST_LIKE.search(name.partition(".")[0])
            and name not in _KNOWN_SETTINGS)
    ]  # fmt: skip
    if not manifest_like:
        return False
    below = list(_below(survey, folder.path))
    strange = [
        join(inner.path, name) for inner in below for name in inner.unknown
        if not is_noise(name) and name not in manifest_like
    ]  # fmt: skip
    strange += [join(folder.path, name) for name in manifest_like if name in unknown]
    if any(_is_text(survey, path) for path in strange[:5]):
        return True
    return bool(_foreign_languages(survey, rules, folder.path, below))


_KNOWN_SETTINGS = frozenset(
    ("package-lock.json", "packages.lock.json", "tsconfig.build.json", "project.json", "workspace.json", "angular.json",
     "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", "buildspec.yaml", "manifest.json", "package.nls.json",
     "AndroidManifest.xml", "manifest.webmanifest", "dependabot.yml", "pnpm-workspace.yaml", "package.json",
     "vcpkg.json",
     "manifest.toml", "Manifest.toml", "openapi-spec.yaml", "spec.yaml", "nuget.config", "project.toml")
)  # fmt: skip


def _foreign_languages(survey: Survey, rules: TechnologyRules, path: str, below: list[ScannedFolder]) -> set[str]:
    """Languages of the folder that the package around it is not written in."""
    written = {language for inner in below for language in inner.sources} - _NOT_LANGUAGES
    owner = next((survey.packages[above] for above in ancestors(path) if above in survey.packages), None)
    settled = {finding.id for finding in owner.findings_of("language") if finding.confidence >= 0.5} if owner else set()
    if owner is None and survey.packages:
        return written
    return {name for name in written if rules.language_of.get(name) not in settled}


def _is_text(survey: Survey, path: str) -> bool:
    head = survey.scan.tree.read(path, 2048)
    return head is not None and bool(head) and b"\0" not in head


def _below(survey: Survey, path: str) -> Iterable[ScannedFolder]:
    prefix = path + "/" if path else ""
    for folder in (survey.scan.folders[path], *survey.scan.below(path)):
        inside = [above for above in ancestors(folder.path) if above in survey.packages and above.startswith(prefix)]
        if not inside or path in inside:
            yield folder


_PATTERNS = (
    re.compile(
        r"(?i)((?:[\w-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|auth)[\w-]*)"
        r"[\"']?\s*[:=]\s*[\"']?)[^\s\"',}]{3,}"
    ),
    re.compile(r"()\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,}"),
    re.compile(r"()\bgh[pousr]_[A-Za-z0-9]{20,}|()\bgithub_pat_\w{20,}"),
    re.compile(r"()\bAKIA[0-9A-Z]{16}\b"),
    re.compile(r"()\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}"),
    re.compile(r"()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S),
    re.compile(r"((?:[a-z][a-z0-9+.-]*)://[^\s:/@]+:)[^\s/@]+(?=@)"),
    re.compile(r"()\bxox[abprs]-[A-Za-z0-9-]{10,}"),
)


def redacted(text: str) -> str:
    for pattern in _PATTERNS:
        text = pattern.sub(lambda match: (match[1] or "") + "[redacted]", text)
    return text
