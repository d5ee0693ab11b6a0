"""The files of a source that say how its packages are run: each is read once and given to the package it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from services.stacks.budget import Budget
from services.stacks.manifests.formats import Broken, read_documents, read_yaml
from services.stacks.manifests.model import dig, table, text_of, texts
from services.stacks.packages.package import Package
from services.stacks.packages.survey import Survey
from services.stacks.phases.facts.deployment import Deployment, Place, UsedImage
from services.stacks.phases.facts.dockerfile import Dockerfile, Stage, command_of, own_url, read_dockerfile
from services.stacks.phases.facts.members import STARTS, Members
from services.stacks.phases.facts.platforms import (
    BUILDERS,
    PLATFORMS,
    PlatformSettings,
    Reader,
    procfile,
    systemd,
    workflow,
)
from services.stacks.scan.markers import SERVERLESS, compose_end, is_dockerfile
from services.stacks.tree import join, parent, resolved, within
from shared.contracts.detect import FactOrigin

#: Files of one source that are read for how its packages are run.
MAX_FILES = 2000
_CUT = f"only the first {MAX_FILES:,} files that say how packages are run were read"
_TEXT_BYTES = 64 << 10
_KUBERNETES = re.compile(r"(?m)^[ \t]*kind:\s*(?:Deployment|StatefulSet|DaemonSet|Pod|Service|Rollout)\b")
_KUBERNETES_FOLDERS = ("k8s", "kubernetes", "deploy", "deployment", "manifests", "")
#: Dockerfiles for other ends than running the service.
_ASIDE = re.compile(
    r"(?i)(?:^|[/._-])(?:dev|devel|development|test|tests|testing|ci|debug|local|lint|docs?|e2e|bench)(?:$|[/._-])"
)
_PRODUCTION = re.compile(r"(?i)(?:^|[/._-])(?:prod|production|release|deploy|runtime)(?:$|[/._-])")


@dataclass(frozen=True)
class DockerfileUse:
    """A Dockerfile that builds a package, and how near it is to it: the least rank counts."""

    path: str
    rank: tuple[int, ...]
    target: str | None = None


@dataclass(frozen=True)
class ComposeService:
    path: str  #: of the compose file
    name: str
    fields: Mapping[str, object]
    runs: bool  #: the file is for running the program, and not only for working on it


@dataclass(frozen=True)
class PlatformUse:
    path: str
    settings: PlatformSettings


@dataclass
class RunFiles:
    """What files say, by the folder of the package that they are about."""

    survey: Survey
    members: Members = field(init=False)
    dockerfiles: dict[str, list[DockerfileUse]] = field(default_factory=dict)
    processes: dict[str, list[PlatformUse]] = field(default_factory=dict)
    composed: dict[str, list[ComposeService]] = field(default_factory=dict)
    images: dict[str, dict[str, UsedImage]] = field(default_factory=dict)  #: by compose file and container
    platforms: dict[str, list[PlatformUse]] = field(default_factory=dict)
    _read: dict[str, Dockerfile] = field(default_factory=dict)
    _named: dict[str, tuple[str, str | None]] = field(
        default_factory=dict
    )  #: Dockerfiles that others name: context, target
    _left: Budget = field(default_factory=lambda: Budget(MAX_FILES, _CUT))

    def __post_init__(self) -> None:
        self.members = Members(self.survey.packages)
        docker: list[str] = []
        for folder, scanned in self.survey.scan.folders.items():
            if scanned.fixture or not scanned.markers or folder.endswith(".devcontainer"):
                continue
            for name in sorted(scanned.markers):
                self._sort(folder, name, docker)
        for name in sorted(self.survey.scan.names(".do")):
            if name in {"app.yaml", "app.yml"}:
                self._platform("", join(".do", name), PLATFORMS[name], base="")
        for name in sorted(self.survey.scan.names(".github/workflows"))[:50]:
            if name.endswith((".yml", ".yaml")):
                self._builds("", join(".github/workflows", name), workflow)
        if ".gitlab-ci.yml" in self.survey.scan.names(""):
            self._builds("", ".gitlab-ci.yml", workflow)
        for path in (*docker, *(named for named in self._named if named not in set(docker))):
            self._dockerfile(path)
        self.survey.warnings += self._left.warnings

    def _sort(self, folder: str, name: str, docker: list[str]) -> None:
        path = join(folder, name)
        if is_dockerfile(name):
            docker.append(path)
        elif (end := compose_end(name)) is not None:
            self._compose(folder, path, end)
        elif name == "Procfile":
            for settings in self._settings(path, procfile):
                owner = self.members.of_command(" ".join(settings.command), folder)
                if owner is not None:
                    self.processes.setdefault(owner, []).append(PlatformUse(path, settings))
        elif name in PLATFORMS:
            self._platform(folder, path, PLATFORMS[name])
        elif name.endswith(".service"):
            self._platform(folder, path, systemd)
        elif name in BUILDERS:
            self._builds(folder, path, BUILDERS[name])

    def _text(self, path: str) -> str:
        return (self.survey.scan.tree.text(path, _TEXT_BYTES) or "") if self._left.take() else ""

    def _settings(self, path: str, reader: Reader) -> list[PlatformSettings]:
        try:
            return list(islice(reader(self._text(path)), 200))
        except Broken as broken:
            self.survey.warnings.append(f"{path}:{broken.line or 1}: {broken.reason}")
            return []

    def _builds(self, folder: str, path: str, reader: Reader) -> None:
        """Note which Dockerfiles a file names, with their contexts and targets."""
        for settings in self._settings(path, reader):
            self._name(folder, settings)

    def _name(self, folder: str, settings: PlatformSettings) -> None:
        context = resolved(folder, settings.context)
        if not settings.dockerfile or context is None:
            return
        for base in (context, folder):
            named = resolved(base, settings.dockerfile.lstrip("/"))
            if named is not None and self.survey.scan.tree.has(named):
                self._named.setdefault(named, (context, settings.target))
                return

    def _platform(self, folder: str, path: str, reader: Reader, base: str | None = None) -> None:
        folder = folder if base is None else base
        for settings in self._settings(path, reader):
            inner = resolved(folder, settings.folder)
            if inner is None:
                continue
            self._name(inner, settings)
            command = " ".join(settings.command)
            owner = self.members.of_command(command, inner) if command else self.members.nearest(inner)
            if owner is not None:
                self.platforms.setdefault(owner, []).append(PlatformUse(path, settings))

    def _compose(self, folder: str, path: str, end: str) -> None:
        if end == "test" or not self._left.take():
            return
        self.images[path] = {}
        for name, service in table(self.survey.read(path, read_yaml, 1 << 19).get("services")).items():
            fields = table(service)
            build = fields.get("build")
            context = build if isinstance(build, str) else text_of(dig(build, "context"))
            image = text_of(fields.get("image"))
            if build is not None and (context is None or not context.startswith(("http", "git", "/"))):
                place = resolved(folder, context or "")
                docker = text_of(dig(build, "dockerfile")) or "Dockerfile"
                whole = resolved(place, docker) if place is not None else None
                if place is None or whole is None:
                    continue
                if self.survey.scan.tree.has(whole):
                    self._named.setdefault(whole, (place, text_of(dig(build, "target"))))
                    owner = self._owner(whole, place)
                else:
                    owner = self.members.nearest(parent(whole) if parent(whole) in self.survey.packages else place)
                if owner is not None:
                    self.composed.setdefault(owner, []).append(ComposeService(path, name, fields, end == "run"))
            elif image:
                text = self.survey.scan.tree.text(path, 1 << 19) or ""
                line = text.count("\n", 0, max(text.find(image), 0)) + 1
                self.images[path][name] = UsedImage(image, path, line, False)

    def _dockerfile(self, path: str) -> None:
        context, target = self._named.get(path, (None, None))
        owner = self._owner(path, context)
        if owner is None:
            return
        folder, _, name = path.rpartition("/")
        below = path[len(owner) :].lstrip("/") if owner else path
        rank = (
            bool(_ASIDE.search(name if folder == owner else below)),
            folder != owner,
            name not in {"Dockerfile", "Containerfile"} if folder == owner else context is None,
            not _PRODUCTION.search(below),
        )
        if target is not None and _ASIDE.search(target):
            target = None
        use = DockerfileUse(path, (*map(int, rank), path.count("/")), target)
        self.dockerfiles.setdefault(owner, []).append(use)

    def parsed(self, path: str) -> Dockerfile:
        if path not in self._read:
            self._read[path] = read_dockerfile(self._text(path))
        return self._read[path]

    def _owner(self, path: str, context: str | None) -> str | None:
        """Return the package that a Dockerfile builds."""
        if len(self.survey.packages) < 2:
            return next(iter(self.survey.packages), None)
        parsed = self.parsed(path)
        stage = parsed.stage()
        start = stage.start if stage else None
        texts = [
            (" ".join(start[0]) if start else "", STARTS), (stage.workdir if stage else "", STARTS),
            (" ".join(source for one in parsed.stages for source in one.copied), 1), (parsed.text, 1),
        ]  # fmt: skip
        base = context if context is not None else self._context(parent(path))
        return self.members.of_file(path, texts, base)

    def _context(self, folder: str) -> str:
        """Guess the context of a build: the nearest folder above that is a package or the root."""
        while folder and folder not in self.survey.packages:
            folder = parent(folder)
        return folder


def deployment(survey: Survey, package: Package, files: RunFiles) -> Deployment:
    """Return what the files say about a package: Dockerfiles first, then Procfiles, compose and platform files."""
    facts = Deployment()
    uses = sorted(files.dockerfiles.get(package.path, ()), key=lambda use: (use.rank, use.path))
    aside = bool(uses) and uses[0].rank[0] == 1  # what is only worked or tested with counts where nothing else does
    if uses and not aside:
        _take_dockerfile(uses[0].path, files.parsed(uses[0].path), uses[0].target, facts)
        facts.named = True
    for process in files.processes.get(package.path, ()):
        _take_settings("procfile", process, facts)
        facts.named = True
    facts.named = facts.named or any(
        _serverless(survey, package, name) for name in package.markers if name in SERVERLESS
    )
    _take_compose(survey, package, facts, files)
    order = list(PLATFORMS)
    platforms = files.platforms.get(package.path, ())
    for used in sorted(platforms, key=lambda used: _order(order, used.path)):
        _take_settings("platform", used, facts)
        facts.named = facts.named or bool(used.settings.command)
    _kubernetes(survey, package, facts)
    if aside and not facts.command:
        _take_dockerfile(uses[0].path, files.parsed(uses[0].path), uses[0].target, facts)
        facts.named = True
    return facts


def _order(order: list[str], path: str) -> tuple[int, str]:
    name = path.rpartition("/")[2]
    return (order.index(name) if name in order else len(order)), path


_WORKER = re.compile(r"(?m)^[ \t]*[\"']?main[\"']?[ \t]*[=:]")


def _serverless(survey: Survey, package: Package, name: str) -> bool:
    """Return whether the file describes a program; Cloudflare's may only name a folder of pages."""
    if name.startswith("serverless"):
        return True
    return _WORKER.search(survey.scan.tree.text(join(package.path, name), 1 << 16) or "") is not None


def _take_dockerfile(path: str, parsed: Dockerfile, target: str | None, facts: Deployment) -> None:
    facts.packages += [name for name in parsed.packages if name not in facts.packages]
    stage: Stage | None = parsed.stage(target)
    if stage is None:
        return

    def place(line: int) -> Place:
        return Place("dockerfile", path, line)

    if stage.start is not None:
        words, line = stage.start
        facts.start(words, place(line))
        if stage.entry and not stage.entry.text and stage.command is None:
            facts.entry = list(stage.entry.words)
    for port, line in stage.ports.items():
        facts.listen(port, place(line))
    if stage.health is not None:
        facts.check(stage.health[0], place(stage.health[1]))
    facts.name_variables(stage.env)


def _take_settings(source: FactOrigin, use: PlatformUse, facts: Deployment) -> None:
    settings = use.settings
    facts.start(settings.command, Place(source, use.path, settings.command_line))
    has_ports = bool(facts.ports)
    for port, line in settings.ports if not has_ports else ():
        facts.listen(port, Place(source, use.path, line))
    facts.check(settings.health, Place(source, use.path, settings.health_line))
    facts.name_variables(settings.variables)


def _take_compose(survey: Survey, package: Package, facts: Deployment, files: RunFiles) -> None:
    """Services that are built from the package, and the images that they depend on."""
    mine = files.composed.get(package.path, ())
    for path, images in files.images.items():
        folder = parent(path)
        services = [service for service in mine if service.path == path]
        if not services and not within(package.path, folder):
            continue
        facts.images += _used([service.fields for service in services], images, folder == package.path)
    has_ports = bool(facts.ports)
    for service in mine:
        if not service.runs:
            continue
        facts.named = True
        _take_service(survey.scan.tree.text(service.path, 1 << 19) or "", service, facts, has_ports)


def _used(services: list[Mapping[str, object]], images: Mapping[str, UsedImage], beside: bool) -> list[UsedImage]:
    """Return the images that a package's containers depend on, else all in a file that builds it or is in its
    folder.
    """
    wanted = {str(name) for service in services for name in _listed(service.get("depends_on"))}
    named = [replace(images[name], named=True) for name in images if name in wanted]
    return named or (list(images.values()) if services or beside else [])


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, (list, dict)) else ()


def _take_service(text: str, service: ComposeService, facts: Deployment, has_ports: bool) -> None:
    fields = service.fields
    lines = _ServiceLines(text, service.name)

    def place(key: str, value: object = None) -> Place:
        return Place("compose", service.path, lines.of(key, value))

    for key in ("ports", "expose"):
        listed = fields.get(key)
        for one in listed if isinstance(listed, list) and not has_ports else []:
            target = table(one).get("target") if isinstance(one, dict) else _container_port(str(one))
            facts.listen(target, place(key, one if not isinstance(one, dict) else target))
    environment = fields.get("environment")
    variables = (
        {str(key): value for key, value in environment.items()} if isinstance(environment, dict)
        else dict(str(one).partition("=")[::2] for one in _listed(environment))
    )  # fmt: skip
    facts.name_variables(variables)
    test = dig(fields, "healthcheck", "test")
    words = " ".join(str(one) for one in test) if isinstance(test, list) else str(test or "")
    if url := own_url(words):
        facts.check(url[0], place("test"))
    command, entry = _words(fields.get("command")), _words(fields.get("entrypoint"))
    if command and facts.entry and facts.command == facts.entry:
        facts.command = [*facts.entry, *command]  # the image's entry point gets its arguments here
    elif entry or command:
        facts.start([*entry, *command], place("command" if command else "entrypoint"))
    if not facts.ports and str(variables.get("PORT", "")).isdigit():
        facts.listen(variables["PORT"], place("PORT"))


def _container_port(port: str) -> str:
    """Return the port inside of the container of the short form ``host:container/protocol``."""
    inner = re.sub(r"\$\{\w+(?::?-(\d+))?\}", lambda match: match[1] or "", port).partition("/")[0].rpartition(":")[2]
    return inner.partition("-")[0]


def _words(value: object) -> list[str]:
    if isinstance(value, list):
        return [str(one) for one in value]
    return command_of(" ".join(value.split())) if isinstance(value, str) else []


@dataclass(frozen=True)
class _ServiceLines:
    """Lines of a compose file's service."""

    text: str
    name: str

    def of(self, key: str, value: object = None) -> int | None:
        started = re.search(rf"(?m)^[ \t]+[\"']?{re.escape(self.name)}[\"']?:", self.text)
        begin = started.end() if started else 0
        match = re.compile(rf"(?m)^[ \t]+(?:-[ \t]+)?[\"']?{re.escape(key)}[\"']?[ \t]*[:=]").search(self.text, begin)
        if match is None:
            return None
        at = match.start()
        if value is not None and 0 <= (position := self.text.find(str(value), at)) < at + 2000:
            at = position
        return self.text.count("\n", 0, at) + 1


def _kubernetes(survey: Survey, package: Package, facts: Deployment) -> None:
    """Manifests in the package itself, or at the root when there is but one package."""
    only = len(survey.packages) == 1
    here = survey.scan.folders[package.path].folders
    has_ports = bool(facts.ports)
    for folder in _KUBERNETES_FOLDERS:
        if folder not in here and (folder or not only):
            continue
        base = join(package.path, folder) if folder else package.path
        scanned = survey.scan.folders.get(base)
        if scanned is None:
            continue
        for name in sorted(scanned.files):
            path = join(base, name)
            if name.endswith((".yml", ".yaml")) and compose_end(name) is None and survey.scan.tree.size(path) < 1 << 18:
                text = survey.scan.tree.text(path, 1 << 18) or ""
                if _KUBERNETES.search(text):
                    _kubernetes_file(path, text, facts, has_ports)


def _kubernetes_file(path: str, text: str, facts: Deployment, has_ports: bool) -> None:
    try:
        documents = list(islice(read_documents(text), 20))
    except Broken:
        return

    def place(key: str, value: object) -> Place:
        match = re.search(rf"{key}:\s*[\"']?{re.escape(str(value))}\b", text)
        return Place("platform", path, text.count("\n", 0, match.start()) + 1 if match else None)

    for container in _containers(documents):
        command = texts(dig(container, "command"))
        if command:
            facts.start([*command, *texts(dig(container, "args"))], place("command", command[0]))
        ports = dig(container, "ports")
        for one in ports if isinstance(ports, list) and not has_ports else []:
            port = table(one).get("containerPort")
            facts.listen(port, place("containerPort", port))
        variables = dig(container, "env")
        listed = variables if isinstance(variables, list) else []
        facts.name_variables([name for one in listed if (name := text_of(table(one).get("name")))])
        for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
            route = text_of(dig(container, probe, "httpGet", "path"))
            if route:
                facts.check(route, place("path", route))


def _containers(documents: list[object]) -> Iterator[object]:
    for document in documents:
        spec = dig(document, "spec", "template", "spec") or dig(document, "spec")
        containers = dig(spec, "containers")
        yield from containers if isinstance(containers, list) else []
