"""Which databases, caches, brokers and services a package uses: by drivers, containers, settings and variables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from services.stacks.packages.imports import ecosystem_of_file
from services.stacks.packages.package import Package, Proof
from services.stacks.packages.ranking import is_aggregator
from services.stacks.packages.survey import Survey
from services.stacks.phases.facts.code import is_test
from services.stacks.phases.facts.configuration import CodeFacts
from services.stacks.phases.facts.deployment import UsedImage
from services.stacks.phases.facts.roles import is_program
from services.stacks.rules.backing import BackingRule, BackingRules
from services.stacks.tree import HEAD_BYTES, join
from shared.contracts.detect import BackingService, Evidence

_DRIVER = {"prod": 0.85, "optional": 0.5, "peer": 0.5, "dev": 0.3, "test": 0.3, "indirect": 0.1}
_MODULE_MAJOR = re.compile(r"/v\d+$")
#: Settings that name a database, by their folders below a package.
_SETTINGS = {
    "": ("schema.prisma", "alembic.ini", "ormconfig.json", "knexfile.js", "knexfile.ts", "drizzle.config.ts",
         "appsettings.json", "application.conf"),
    "prisma": ("schema.prisma",), "conf": ("application.conf",), "config/packages": ("doctrine.yaml",),
    "config": ("database.yml", "database.php", "config.json", "config.exs", "dev.exs", "runtime.exs"),
    "src/main/resources": ("application.properties", "application.yml", "application.yaml"),
}  # fmt: skip
_URL = re.compile(r"\b(?:jdbc:|r2dbc:)?([a-z][a-z0-9]*(?:\+srv)?)(?:\+\w+)?:(?=//|(?:thin:)?@)")
_ADAPTER = re.compile(
    r"""(?:\badapter|\bprovider|\bENGINE["']?|\bDB_CONNECTION|\bdialect|\bclient|\bdefault_adapter)\b["']?\s*[:=]\s*"""
    r"""["']?(?:django\.db\.backends\.|django\.contrib\.gis\.db\.backends\.|Ecto\.Adapters\.)?([A-Za-z0-9]+)"""
)
_DBT_ADAPTER = re.compile(r"(?m)^[ \t]+type:[ \t]*[\"']?(\w+)[\"']?[ \t]*$")
#: Names of the files in which programs open their databases.
_CONNECTING = frozenset(
    ("database", "db", "session", "engine", "connection", "datasource", "data-source", "data_source", "storage",
     "store", "persistence", "postgres", "mongo", "mongodb", "redis", "cache", "broker")
)  # fmt: skip
#: Variables that every new Laravel program has, and the settings that make it use them.
_LARAVEL = {"redis": ("redis",), "memcached": ("memcached",), "pusher": ("pusher", "reverb")}
_LARAVEL_DRIVER = re.compile(r"(?m)^[ \t]*\w+_(?:STORE|DRIVER|CONNECTION)[ \t]*=[ \t]*[\"']?(\w+)")
#: What settings call a database, where it is not the scheme of its URLs.
_SPELLINGS = {"pg": "postgres", "psql": "postgres", "myxql": "mysql", "tds": "sqlserver", "sqlite3": "sqlite"}
#: Maximum number of proofs shown per service.
_MAX_PROOFS = 10


def backing_services(
    survey: Survey, package: Package, code: CodeFacts, images: Iterable[UsedImage], rules: BackingRules
) -> list[BackingService]:
    """Surest first; what only tests use is left out."""
    proofs: dict[BackingRule, dict[tuple[str, int | None], Proof]] = {}
    for rule, proof in (
        *_by_drivers(package, rules), *_by_images(images, rules),
        *_by_settings(survey, package, code, rules), *_by_variables(survey, package, code, rules),
        *_by_modules(survey, package, code, rules),
    ):  # fmt: skip
        if _is_product(survey, package, rules.own_names(rule)):
            continue  # a product is not a dependency of itself
        mine = proofs.setdefault(rule, {})
        known = mine.get((proof.file, proof.line))
        if known is None or known.weight < proof.weight:
            mine[proof.file, proof.line] = proof
    services = [_service(rule, list(mine.values())) for rule, mine in proofs.items()]
    sure = [service for service in services if service.confidence >= 0.5]
    return sorted(sure, key=lambda service: (-service.confidence, service.id))


#: What products add to their name in the name of a package.
_SUFFIX = re.compile(r"(?:[-_.](?:server|core|oss|ce|db|cli|main|monorepo|root|workspace|parent))+$")


def _is_product(survey: Survey, package: Package, names: Collection[str]) -> bool:
    """Return whether the package, or its source, is the product with those names."""
    if _named(package, names):
        return True
    root = survey.packages.get(survey.scan.root)
    if root is not None and any(manifest.name for manifest in root.manifests if manifest.kind != "Makefile"):
        return _named(root, names) and not (is_aggregator(root) and package.path.startswith("examples"))
    return any(_named(other, names) and is_program(other) for other in survey.packages.values())


def _named(package: Package, names: Collection[str]) -> bool:
    for manifest in package.manifests:
        plain = _MODULE_MAJOR.sub("", (manifest.name or "").lower())
        for part in (plain.rpartition("/")[2], plain.rpartition(":")[2]):
            if part and (part in names or _SUFFIX.sub("", part) in names):
                return True
    return False


def _service(rule: BackingRule, proofs: list[Proof]) -> BackingService:
    doubt = 1.0
    for proof in proofs:
        doubt *= 1 - proof.weight
    shown = sorted(proofs, key=lambda proof: (-proof.weight, proof.file, proof.line or 0))[:_MAX_PROOFS]
    return BackingService(
        category=rule.category, id=rule.id, name=rule.name, confidence=round(1 - doubt, 4),
        evidence=[Evidence(file=proof.file, line=proof.line, rule=rule.rule, snippet=proof.snippet) for proof in shown],
    )  # fmt: skip


def _by_drivers(package: Package, rules: BackingRules) -> Iterator[tuple[BackingRule, Proof]]:
    for (ecosystem, name), dependency in package.dependencies.items():
        plain = _MODULE_MAJOR.sub("", name) if ecosystem == "go" else name.lower() if ecosystem == "nuget" else name
        wanted = [rules.driver(ecosystem, plain)]
        wanted += [rules.drivers.get((ecosystem, f"{plain}[{extra}]")) for extra in dependency.extras]
        for rule in wanted:
            if rule is not None:
                line, manifest = dependency.line, dependency.manifest
                yield rule, Proof(manifest.path, line, rule.rule, manifest.snippet(line), _DRIVER[dependency.scope])


def _by_images(images: Iterable[UsedImage], rules: BackingRules) -> Iterator[tuple[BackingRule, Proof]]:
    for used in images:
        rule = rules.image(used.image)
        if rule is not None:
            yield rule, Proof(used.file, used.line, rule.rule, f"image: {used.image}", 0.7 if used.named else 0.55)


def _by_settings(
    survey: Survey, package: Package, code: CodeFacts, rules: BackingRules
) -> Iterator[tuple[BackingRule, Proof]]:
    """Yield the URLs and adapters in settings; their text is not shown, because it may hold passwords."""
    tree = survey.scan.tree
    paths = [
        join(folder.path, name)
        for place, names in _SETTINGS.items()
        if (folder := tree.folders.get(join(package.path, place) if place else package.path))
        for name in names
        if name in folder.files
    ]
    paths += [join(package.path, name) for name in package.markers if name.startswith(".env")]
    texts = [(path, tree.text(path, HEAD_BYTES) or "") for path in paths]
    texts += [(path, text) for path, text in code.text.items() if "settings" in path or "config" in path]
    below = len(package.path) + 1 if package.path else 0
    for name, path in package.own_files() if survey.scan.heads else ():
        stem = name.partition(".")[0].lower()
        if stem in _CONNECTING and (head := survey.scan.heads.get(path)) is not None and not is_test(path[below:]):
            texts.append((path, head.decode("utf-8", "replace")))
    for path, text in texts:
        weight = 0.6 if path.rpartition("/")[2].startswith(".env") else 0.8
        for pattern in (_URL, _ADAPTER):
            for match in islice(pattern.finditer(text), 200):
                name = match[1].lower()
                rule = rules.schemes.get(_SPELLINGS.get(name, name))
                if rule is not None:
                    yield rule, Proof(path, text.count("\n", 0, match.start()) + 1, rule.rule, None, weight)
    if "profiles.yml" in package.files and package.manifest("dbt_project.yml"):
        path = join(package.path, "profiles.yml")
        text = tree.text(path, HEAD_BYTES) or ""
        for match in islice(_DBT_ADAPTER.finditer(text), 50):
            rule = rules.driver("pypi", f"dbt-{match[1]}")
            if rule is not None:
                yield rule, Proof(path, text.count("\n", 0, match.start()) + 1, rule.rule, match[0].strip(), 0.8)


def _by_modules(
    survey: Survey, package: Package, code: CodeFacts, rules: BackingRules
) -> Iterator[tuple[BackingRule, Proof]]:
    """Yield the databases that a standard library brings, where code imports them."""
    heads = survey.scan.heads
    below = len(package.path) + 1 if package.path else 0
    texts = dict(code.text)
    for _, path in package.own_files() if heads else ():
        head = heads.get(path)
        if head is not None and path not in texts and b"sqlite" in head and not is_test(path[below:]):
            texts[path] = head.decode("utf-8", "replace")
    for path, text in texts.items():
        ecosystem = ecosystem_of_file(path)
        if ecosystem is None or "sqlite" not in text:
            continue
        for match in _STANDARD_MODULE.finditer(text):
            rule = rules.modules.get((ecosystem, match[1] or match[2]))
            if rule is not None:
                line = text.count("\n", 0, match.start()) + 1
                yield rule, Proof(path, line, rule.rule, match[0].strip(), 0.6)


_STANDARD_MODULE = re.compile(r"""["']((?:bun|node):\w+)["']|(?m:^[ \t]*(?:import|from)[ \t]+(\w+)\b)""")


def _by_variables(
    survey: Survey, package: Package, code: CodeFacts, rules: BackingRules
) -> Iterator[tuple[BackingRule, Proof]]:
    chosen: set[str] | None = None
    if ("composer", "laravel/framework") in package.dependencies:
        texts = [
            survey.scan.tree.text(join(package.path, name), HEAD_BYTES) or ""
            for name in package.markers
            if name.startswith(".env")
        ]
        chosen = {match[1].lower() for text in texts for match in islice(_LARAVEL_DRIVER.finditer(text), 200)}
    for name, path in code.read_in.items():
        rule = rules.variable(name)
        if rule is not None and chosen is not None and chosen.isdisjoint(_LARAVEL.get(rule.id, chosen)):
            continue
        if rule is not None:
            yield rule, Proof(path, None, rule.rule, name, 0.55)
