"""What the code itself says: ports it listens on, variables it reads, health routes it serves."""

from __future__ import annotations

import re
from dataclasses import dataclass

from services.stacks.packages.package import Package
from services.stacks.packages.survey import Survey
from services.stacks.phases.facts.configuration import CodeFacts, read_configuration
from services.stacks.phases.facts.deployment import Place
from services.stacks.phases.facts.languages import ENDINGS, port_pattern, variable_pattern
from services.stacks.scan.scanner import SMALL_TREE
from services.stacks.tree import HEAD_BYTES, join

#: Names, without their endings, of the files in which programs begin or are configured.
ENTRIES = frozenset(
    ("main", "app", "server", "index", "settings", "config", "application", "program", "startup", "manage", "wsgi",
     "asgi", "routes", "router", "api", "web", "run", "__main__", "start", "boot", "bootstrap", "health", "urls", "lib",
     "endpoint", "tasks", "celery")
)  # fmt: skip
#: How many files of a large tree are read for facts; the nearest to their package first.
MAX_READ = 256
_DESTRUCTURED = re.compile(r"\{([\w\s,:='\"]{1,400})\}\s{0,9}=\s{0,9}(?:process|import\.meta)\.env\b")
_HEALTH_PATH = (
    r"(?:api/|v\d+/|_|-/)*(?:health(?:[-_]?checks?|z|y)?|healthcheck|livez?|readyz?|status/health|up|ping)"
    r"(?:/(?:live|ready|liveness|readiness))?"
)
#: A path that is only named, as a list of paths or a client does.
_HEALTH = re.compile(rf"['\"`](?:(?:GET|HEAD) )?(/{_HEALTH_PATH})/?['\"`]")
#: The name before the path in a call that declares a route.
_CALLED = re.compile(
    r"([@#\[\w.:]*?)(\w+)!?\s*[(:=]?\s*\(?\s*(?:[\"'](?:GET|HEAD)[\"']\s*,\s*)?(?:(?:path|value|url)\s*[:=]\s*)?[\[{]?\s*r?$"
)
_DECLARING = frozenset(
    ("get", "head", "all", "any", "use", "route", "routes", "path", "handle", "handlefunc", "handler", "map",
     "maphealthchecks",
     "mapget", "getmapping", "requestmapping", "add_api_route", "add_route", "add_get", "add_url_rule", "mount",
     "resource",
     "scope", "at", "endpoint", "controller", "healthcheck", "match", "url", "re_path", "api_route", "view", "group",
     "nest",
     "method", "methodfunc", "register", "addroute")
)  # fmt: skip
_CALLING = frozenset(
    ("fetch", "axios", "requests", "httpx", "client", "session", "http", "reqwest", "request", "agent", "got", "ky",
     "superagent",
     "page", "test_client", "testclient", "supertest")
)  # fmt: skip
#: Routes of Django and of Nest begin without a slash.
_BARE_HEALTH = re.compile(rf"(?:\bpath\(|@(?:Get|Controller)\()\s{{0,9}}['\"]({_HEALTH_PATH}/?)['\"]")
#: Calls of a client: the paths in such a file are those of another service.
_CLIENT = re.compile(r"\b(?:fetch|axios(?:\.\w+)?|requests\.\w+|httpx\.\w+|urlopen|http\.Get|reqwest::get)\(")
_RAILS_HEALTH = re.compile(r"""get\s*\(?\s*["']/?([\w/-]+)["']\s*=>\s*["']rails/health#show""")
_TEST = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|e2e|docs?|examples?|scripts|migrations|fixtures)/|[._-](?:test|spec)\.|_test\.|(?:^|/)test_"
)
#: Databases and queues: a program connects to these, it does not listen on them.
_PORTS_OF_OTHERS = frozenset(
    (5432, 6379, 27017, 3306, 9092, 5672, 1433, 1521, 11211, 9200, 9300, 25, 465, 587, 1025, 2525, 22, 389, 636,
     15672, 4222,
     2181, 8086, 8125, 26379, 5433, 6380, 7687, 9042)
)  # fmt: skip
#: Words without which a pattern cannot match; looking for them first takes a tenth of the time.
_VARIABLE_WORDS = (b"env", b"ENV", b"${")
_PORT_WORDS = (
    b"port", b"PORT", b"Listener", b"run ", b"Addr", b"0.0.0.0", b"127.0.0.1", b"bind", b".Run", b".Start", b".start(",
    b"Listen",
)  # fmt: skip
_HEALTH_WORDS = (b"health", b"/ready", b"/live", b"/ping", b"/status", b"/up", b"/api/")


@dataclass
class ReadBudget:
    """How many files may still be read for facts, over all packages of a source."""

    left: int = MAX_READ
    spent: bool = False


@dataclass(frozen=True)
class _CodeFile:
    depth: int  #: below its package
    name: str
    path: str

    @property
    def entry(self) -> bool:
        return self.depth <= 3 and _is_entry(self.name)


def code_facts(survey: Survey, package: Package, budget: ReadBudget) -> CodeFacts:
    facts = CodeFacts()
    for file in _files(package, bool(survey.scan.heads) or survey.scan.files <= SMALL_TREE):
        head = _head(survey, file.path, budget)
        if head is None:
            continue
        if file.entry:
            facts.text[file.path] = head.decode("utf-8", "replace")
        _search(head, facts, file)
    read_configuration(survey, package, facts)
    return facts


def is_test(path: str) -> bool:
    """Return whether a path below a package is that of a test, a page or an example."""
    return _TEST.search(path) is not None


def _is_entry(name: str) -> bool:
    return name.partition(".")[0].lower() in ENTRIES


def _files(package: Package, small: bool) -> list[_CodeFile]:
    """Return all code of a small tree, else the entry files; the nearest to the package first."""
    base = len(package.path) + 1 if package.path else 0
    files = []
    for folder in package.folders:
        depth = folder.path[base:].count("/") + 1 if folder.path != package.path else 0
        if not small and depth > 3:
            continue
        for name in folder.files:
            if (small or _is_entry(name)) and name.endswith(ENDINGS):
                path = join(folder.path, name)
                if not _TEST.search(path[base:]):
                    files.append(_CodeFile(depth, name, path))
    return sorted(files, key=lambda file: (file.depth, file.path))


def _head(survey: Survey, path: str, budget: ReadBudget) -> bytes | None:
    head = survey.scan.heads.get(path)
    if head is not None:
        return head
    if survey.scan.files > SMALL_TREE and not survey.scan.heads:
        if budget.left <= 0:
            budget.spent = True
            return None
        budget.left -= 1
    return survey.scan.tree.read(path, HEAD_BYTES)


def _search(head: bytes, facts: CodeFacts, file: _CodeFile) -> None:
    """Decode and match only where a keyword makes a match possible."""
    reads = any(word in head for word in _VARIABLE_WORDS)
    may_listen = file.entry or file.name.endswith((".ru", ".rb"))
    listens = b"listen" in head or (may_listen and any(word in head for word in _PORT_WORDS))
    serves_health = not facts.health_declared and any(word in head for word in _HEALTH_WORDS)
    if not (reads or listens or serves_health):
        return
    text = head.decode("utf-8", "replace")
    ending = file.name[file.name.rfind(".") :]
    if reads:
        _variables(text, ending, facts, file.path)
    if listens:
        _ports(text, ending, facts, file.path)
    if serves_health:
        _health(text, facts, file.path)


def _health(text: str, facts: CodeFacts, path: str) -> None:
    """Take the path of a route; of one that is only named, as a list of paths does, if no route is declared."""
    named: tuple[str, int] | None = None
    declared: tuple[str, int] | None = None
    for match in _HEALTH.finditer(text):
        if _declares(text, match.start()):
            declared = match[1], match.start(1)
            break
        named = named or (match[1], match.start(1))
    for pattern in (_RAILS_HEALTH, _BARE_HEALTH) if declared is None else ():
        if route := pattern.search(text):
            declared = f"/{route[1]}", route.start(1)
            break
    best = declared or (named if facts.health is None and not _CLIENT.search(text) else None)
    if best is not None:
        facts.health, facts.health_declared = best[0], declared is not None
        facts.health_at = Place("code", path, text.count("\n", 0, best[1]) + 1)


def _declares(text: str, at: int) -> bool:
    call = _CALLED.search(text[max(0, at - 120) : at])
    if call is None or call[2].lower() not in _DECLARING:
        return False
    return _CALLING.isdisjoint(re.split(r"\W+", call[1].lower()))


def _variables(text: str, ending: str, facts: CodeFacts, path: str) -> None:
    for match in variable_pattern(ending).finditer(text):
        facts.add_variable(next(filter(None, match.groups())), path)
    for destructured in _DESTRUCTURED.finditer(text):
        for name in re.findall(r"\b[A-Z][A-Z0-9_]+\b", destructured[1]):
            facts.add_variable(name, path)


def _ports(text: str, ending: str, facts: CodeFacts, path: str) -> None:
    for match in port_pattern(ending).finditer(text):
        number = int(next(filter(None, match.groups())))
        if 0 < number < 65536 and number not in facts.ports and number not in _PORTS_OF_OTHERS:
            facts.ports.append(number)
            facts.places.setdefault(number, Place("code", path, text.count("\n", 0, match.start()) + 1))
