"""What Dockerfiles, compose files, Procfiles and platform files say about running a package."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from services.stacks.manifests.formats import Broken, read_documents, read_toml, read_yaml
from services.stacks.manifests.model import dig, table, text_of
from services.stacks.packages.package import Package
from services.stacks.packages.survey import Survey
from services.stacks.phases.facts.dockerfile import (
    URL_PATH,
    Deployment,
    UsedImage,
    add_names,
    add_port,
    command_of,
    read_dockerfile,
)
from services.stacks.scan.markers import COMPOSE, SERVERLESS
from services.stacks.tree import join, resolved

_KUBERNETES = re.compile(r"(?m)^[ \t]*kind:\s*(?:Deployment|StatefulSet|DaemonSet|Pod|Service|Rollout)\b")


@dataclass
class SharedFiles:
    """What files outside of a package say about it, by its folder; each of them is read once."""

    composed: dict[str, dict[str, list[object]]] = field(default_factory=dict)  #: by the path of the compose file
    images: dict[str, dict[str, UsedImage]] = field(
        default_factory=dict
    )  #: the same, then by the name of the container
    rendered: dict[str, list[object]] | None = None


def deployment(survey: Survey, package: Package, described: SharedFiles) -> Deployment:
    facts = Deployment()
    if "Procfile" in package.markers:
        _procfile(survey.scan.tree.text(join(package.path, "Procfile")) or "", facts)
    for path in _dockerfiles(survey, package):
        read_dockerfile(survey.scan.tree.text(path, 1 << 16) or "", facts)
        facts.named = True
    facts.named = facts.named or any(
        _serverless(survey, package, name) for name in package.markers if name in SERVERLESS
    )
    _compose(survey, package, facts, described)
    _platforms(survey, package, facts)
    if survey.scan.tree.has("render.yaml"):
        _render(survey, package, facts, described)
    _kubernetes(survey, package, facts)
    return facts


_WORKER = re.compile(r"(?m)^[ \t]*[\"']?main[\"']?[ \t]*[=:]")


def _serverless(survey: Survey, package: Package, name: str) -> bool:
    """Whether the file describes a program; Cloudflare's may only name a folder of pages."""
    if name.startswith("serverless"):
        return True
    return _WORKER.search(survey.scan.tree.text(join(package.path, name), 1 << 16) or "") is not None


def _dockerfiles(survey: Survey, package: Package) -> list[str]:
    names = [name for name in package.markers if name == "Dockerfile" or name.startswith("Dockerfile.")]
    names += [name for name in package.markers if name.endswith(".Dockerfile") or name == "Containerfile"]
    paths = [join(package.path, name) for name in sorted(names, key=lambda name: (name != "Dockerfile", name))]
    if not paths:
        paths = [
            path
            for folder in ("docker", "deploy", ".docker")
            if survey.scan.tree.has(path := join(package.path, f"{folder}/Dockerfile"))
        ]
    return paths[:1]


def _procfile(text: str, facts: Deployment) -> None:
    processes = {match[1]: match[2] for match in re.finditer(r"(?m)^([\w-]+):\s*(.+)$", text)}
    body = processes.get("web") or next(iter(processes.values()), "")
    facts.command = command_of(body.strip())
    facts.named = bool(body)
    if port := re.search(r"(?:--port|-p|--bind|-b)[ =]\S*?(\d{2,5})\b", body):
        add_port(port[1], facts)


def _compose(survey: Survey, package: Package, facts: Deployment, described: SharedFiles) -> None:
    """Services that are built from the package's folder."""
    for folder, names, markers, _ in survey.above(package.path):
        for name in COMPOSE if markers else ():
            if name not in names:
                continue
            path = join(folder, name)
            if path not in described.composed:
                described.composed[path], described.images[path] = _composed(survey, folder, path)
            mine = described.composed[path].get(package.path, [])
            facts.images += _used(mine, described.images[path], folder == package.path)
            for service in mine:
                facts.named = True
                _compose_service(service, facts)


def _composed(survey: Survey, folder: str, path: str) -> tuple[dict[str, list[object]], dict[str, UsedImage]]:
    """What is built from the folders of packages, and the images that are only started."""
    built: dict[str, list[object]] = {}
    images: dict[str, UsedImage] = {}
    for name, service in table(survey.read(path, read_yaml, 1 << 19).get("services")).items():
        place = _built_from(service, folder)
        image = text_of(table(service).get("image"))
        if place is not None:
            built.setdefault(place, []).append(service)
        elif image:
            text = survey.scan.tree.text(path, 1 << 19) or ""
            images[name] = UsedImage(image, path, text.count("\n", 0, max(text.find(image), 0)) + 1, False)
    return built, images


def _used(services: list[object], images: Mapping[str, UsedImage], beside: bool) -> list[UsedImage]:
    """The images that a package's containers depend on, else all of a file that builds it or stands in its folder."""
    wanted = {str(name) for service in services for name in _listed(table(service).get("depends_on"))}
    named = [replace(images[name], named=True) for name in images if name in wanted]
    return named or (list(images.values()) if services or beside else [])


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, (list, dict)) else ()


def _built_from(service: object, folder: str) -> str | None:
    build = table(service).get("build")
    context = build if isinstance(build, str) else text_of(dig(build, "context"))
    if context is None or context.startswith(("http", "git", "/")):
        return None
    docker = text_of(dig(build, "dockerfile")) or ""
    return resolved(folder, f"{context}/{docker.rpartition('/')[0]}")


def _compose_service(service: object, facts: Deployment) -> None:
    fields = table(service)
    for listed in (fields.get("ports"), fields.get("expose")):
        for one in listed if isinstance(listed, list) else []:
            target = (
                table(one).get("target") if isinstance(one, dict) else str(one).partition("/")[0].rpartition(":")[2]
            )
            add_port(target, facts)
    environment = fields.get("environment")
    if isinstance(environment, dict):
        add_names([str(key) for key in environment], facts)
    elif isinstance(environment, list):
        add_names([str(one).partition("=")[0] for one in environment], facts)
    test = dig(fields, "healthcheck", "test")
    text = " ".join(str(one) for one in test) if isinstance(test, list) else str(test or "")
    if path := URL_PATH.search(text):
        facts.health = facts.health or path[1]
    command = fields.get("command")
    if not facts.command and command:
        facts.command = [str(one) for one in command] if isinstance(command, list) else command_of(str(command))


def _platforms(survey: Survey, package: Package, facts: Deployment) -> None:
    tree = survey.scan.tree
    try:
        if "fly.toml" in package.markers:
            fly = read_toml(tree.text(join(package.path, "fly.toml")) or "")
            add_port(dig(fly, "http_service", "internal_port"), facts)
            services = fly.get("services")
            for one in services if isinstance(services, list) else []:
                add_port(table(one).get("internal_port"), facts)
            add_names(table(fly.get("env")), facts)
            for checks in (dig(fly, "http_service", "checks"), dig(fly, "checks")):
                for one in checks if isinstance(checks, list) else table(checks).values():
                    facts.health = facts.health or text_of(table(one).get("path"))
        if "railway.json" in package.markers:
            railway = json.loads(tree.text(join(package.path, "railway.json")) or "{}")
            facts.health = facts.health or text_of(dig(railway, "deploy", "healthcheckPath"))
            if not facts.command and (start := text_of(dig(railway, "deploy", "startCommand"))):
                facts.command = command_of(start)
    except (Broken, ValueError):
        package.warnings.append(f"{join(package.path, 'fly.toml or railway.json')}: could not be read")


def _rendered(survey: Survey) -> dict[str, list[object]]:
    by_folder: dict[str, list[object]] = {}
    services = survey.read("render.yaml", read_yaml).get("services")
    for one in services if isinstance(services, list) else []:
        by_folder.setdefault((text_of(table(one).get("rootDir")) or "").strip("./"), []).append(one)
    return by_folder


def _render(survey: Survey, package: Package, facts: Deployment, described: SharedFiles) -> None:
    if described.rendered is None:
        described.rendered = _rendered(survey)
    for one in described.rendered.get(package.path, ()):
        facts.health = facts.health or text_of(table(one).get("healthCheckPath"))
        if not facts.command and (start := text_of(table(one).get("startCommand"))):
            facts.command = command_of(start)
        variables = table(one).get("envVars")
        add_names(
            [
                key
                for variable in (variables if isinstance(variables, list) else [])
                if (key := text_of(table(variable).get("key")))
            ],
            facts,
        )


def _kubernetes(survey: Survey, package: Package, facts: Deployment) -> None:
    """Manifests in the package itself, or at the root when there is but one package."""
    only = len(survey.packages) == 1
    here = survey.scan.folders[package.path].folders
    for folder in ("k8s", "kubernetes", "deploy", "deployment", "manifests", ""):
        if folder not in here and (folder or not only):
            continue
        base = join(package.path, folder) if folder else package.path
        scanned = survey.scan.folders.get(base)
        if scanned is None:
            continue
        for name in sorted(scanned.files):
            path = join(base, name)
            if name.endswith((".yml", ".yaml")) and name not in COMPOSE and survey.scan.tree.size(path) < 1 << 18:
                text = survey.scan.tree.text(path, 1 << 18) or ""
                if _KUBERNETES.search(text):
                    _kubernetes_file(text, facts)


def _kubernetes_file(text: str, facts: Deployment) -> None:
    try:
        documents = list(islice(read_documents(text), 20))
    except Broken:
        return
    for document in documents:
        spec = dig(document, "spec", "template", "spec") or dig(document, "spec")
        containers = dig(spec, "containers")
        for container in containers if isinstance(containers, list) else []:
            ports = dig(container, "ports")
            for one in ports if isinstance(ports, list) else []:
                add_port(table(one).get("containerPort"), facts)
            variables = dig(container, "env")
            add_names(
                [
                    name
                    for variable in (variables if isinstance(variables, list) else [])
                    if (name := text_of(table(variable).get("name")))
                ],
                facts,
            )
            for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
                facts.health = facts.health or text_of(dig(container, probe, "httpGet", "path"))
