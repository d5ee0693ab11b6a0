"""A Dockerfile with one target per service that runs; the primary one is the last, and so the default."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping

from services.stacks.rules.technologies import TechnologyRules
from shared.contracts.detect import DetectResult, Service

_BUILD_IMAGES = {
    "npm": "node:{node}", "pnpm": "node:{node}", "yarn": "node:{node}", "bun": "oven/bun:{bun}",
    "deno": "denoland/deno:{deno}",
    "pip": "python:{python}-slim", "uv": "python:{python}-slim", "poetry": "python:{python}-slim",
    "pdm": "python:{python}-slim", "hatch": "python:{python}-slim", "pipenv": "python:{python}-slim",
    "conda": "continuumio/miniconda3:24.9.2-0", "pixi": "ghcr.io/prefix-dev/pixi:0.40.0", "cargo": "rust:{rust}",
    "go-mod": "golang:{go}", "maven": "maven:3.9-eclipse-temurin-{java}", "gradle": "gradle:8-jdk{java}",
    "sbt": "sbtscala/scala-sbt:eclipse-temurin-{java}_1.10.7_3.6.2", "leiningen": "clojure:temurin-{java}-lein",
    "tools-deps": "clojure:temurin-{java}-tools-deps", "dotnet": "mcr.microsoft.com/dotnet/sdk:{dotnet}",
    "bundler": "ruby:{ruby}", "composer": "composer:2", "mix": "elixir:{elixir}", "swiftpm": "swift:{swift}",
    "pub": "dart:{dart}", "julia": "julia:{julia}", "renv": "rocker/r-ver:{r}", "cpanm": "perl:{perl}",
    "shards": "crystallang/crystal:{crystal}", "cmake": "gcc:14", "meson": "gcc:14", "make": "gcc:14",
    "cabal": "haskell:9.8", "stack": "haskell:9.8",
}  # fmt: skip
#: Frameworks that bring the tool which builds them.
_OWN_IMAGES = {"flutter": "ghcr.io/cirruslabs/flutter:{flutter}"}
_DEFAULTS = {
    "node": "22", "bun": "1", "deno": "2.1.4", "python": "3.13", "rust": "1.83", "go": "1.23", "java": "21",
    "dotnet": "8.0",
    "ruby": "3.4", "elixir": "1.18", "swift": "6.0", "dart": "3.6", "julia": "1.11", "r": "4.4.2", "perl": "5.40",
    "crystal": "1.14.0", "php": "8.4", "flutter": "stable",
}  # fmt: skip
_TOOLS = {"pnpm": "corepack enable", "yarn": "corepack enable", "uv": "pip install --no-cache-dir uv==0.5.*",
          "poetry": "pip install --no-cache-dir poetry==1.8.*", "pdm": "pip install --no-cache-dir pdm==2.*",
          "pipenv": "pip install --no-cache-dir pipenv==2024.*",
          "hatch": "pip install --no-cache-dir hatch==1.*"}  # fmt: skip
#: How many numbers the tags of an image have, where that is not three: SDKs and JDKs count otherwise than runtimes.
_TAGGED = {"dotnet": 2, "java": 1}
#: Where the build systems keep what they fetched, in the images above.
_CACHES: dict[str, tuple[str, ...]] = {
    "npm": ("/root/.npm",), "pnpm": ("/root/.local/share/pnpm/store",), "yarn": ("/usr/local/share/.cache/yarn",),
    "bun": ("/root/.bun/install/cache",), "pip": ("/root/.cache/pip",), "hatch": ("/root/.cache/pip",),
    "uv": ("/root/.cache/uv",), "poetry": ("/root/.cache/pypoetry",), "pdm": ("/root/.cache/pdm",),
    "pipenv": ("/root/.cache/pipenv",), "cargo": ("/usr/local/cargo/registry",),
    "go-mod": ("/go/pkg/mod", "/root/.cache/go-build"), "maven": ("/root/.m2",), "gradle": ("/home/gradle/.gradle",),
    "dotnet": ("/root/.nuget/packages",),
}  # fmt: skip
#: Settings of the tools so that another user than the building one can run what they installed.
_ENVIRONMENT = {
    "pnpm": ["ENV COREPACK_HOME=/opt/corepack"], "yarn": ["ENV COREPACK_HOME=/opt/corepack"],
    "uv": ["ENV UV_LINK_MODE=copy"],
    "pip": ["RUN python -m venv /opt/venv", "ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH"],
}  # fmt: skip
#: Interpreted programs that move to a smaller image as they are: the folders that hold them.
_WHOLE = {"npm": ("/app",), "pip": ("/opt/venv", "/app")}
_WHOLE_IMAGES = ("node:", "python:")
_FINAL = {"cargo": "debian:bookworm-slim", "go-mod": "debian:bookworm-slim", "maven": "eclipse-temurin:{java}-jre",
          "gradle": "eclipse-temurin:{java}-jre", "dotnet": "mcr.microsoft.com/dotnet/aspnet:{dotnet}"}  # fmt: skip


def dockerfile(result: DetectResult, rules: TechnologyRules) -> str:
    """Return the Dockerfile; a service that cannot be built by its own image is named in a comment."""
    running = [service for service in result.services if service.role == "app"] or result.services[:1]
    if not running:
        return "# Nothing to build was found in this source.\n"
    stages, left = [], []
    for service in reversed(running):
        image = _image(_OWN_IMAGES.get(service.primary.framework or "") or _usual(service), service)
        if image is None:
            left.append(service.path or ".")
        else:
            stages.append(_stage(service, image))
    head = (
        "# syntax=docker/dockerfile:1\n"
        "# Proposed from the detected build and run facts; each service is a target, the last one is the default.\n"
    )
    head += "".join(f"# {path}: no image is known for its build system\n" for path in sorted(left))
    return head + "\n" + "\n".join(stages)


def _usual(service: Service) -> str | None:
    return _BUILD_IMAGES.get(service.primary.build_system or "")


def _stage(service: Service, image: str) -> str:
    target, system = _target(service), service.primary.build_system or ""
    final = _final(service, image)
    home = f"/app/{service.path}" if service.path else "/app"
    lines = [f"FROM {image} AS {target + '-build' if final else target}"]
    lines += _ENVIRONMENT.get(system, [])
    lines.append(f"WORKDIR {home}")
    if service.build.packages:
        names = " ".join(sorted(set(service.build.packages)))
        lines.append(
            "# hadolint ignore=DL3008\n"
            f"RUN apt-get update && apt-get install -y --no-install-recommends {names} && rm -rf /var/lib/apt/lists/*"
        )
    if system in _TOOLS:
        lines.append(f"RUN {_TOOLS[system]}")
    lines.append("COPY . /app")
    lines += [f"ARG {name}" for name in service.build.env]
    mounts = "".join(f"--mount=type=cache,target={folder} " for folder in _CACHES.get(system, ()))
    lines += [f"RUN {mounts}{command}" for command in service.build.commands if command != "gleam build"]
    if final:
        lines += ["", f"FROM {final} AS {target}"]
        if system in _WHOLE:
            lines += [*_ENVIRONMENT.get(system, [])[-1:], f"WORKDIR {home}"]
            lines += [f"COPY --from={target}-build {folder} {folder}" for folder in _WHOLE[system]]
        else:
            lines.append("WORKDIR /app")
            lines += [
                f"COPY --from={target}-build {posixpath.normpath(f'{home}/{copy.from_}')} {copy.to}"
                for copy in service.runtime.copy_
            ]
    lines += _running(service, copied=final is not None and system not in _WHOLE)
    return "\n".join(lines) + "\n"


def _final(service: Service, image: str) -> str | None:
    """Return the image that runs what another one has built; None where the building image runs it too."""
    system = service.primary.build_system or ""
    if system in _WHOLE and image.startswith(_WHOLE_IMAGES) and not service.build.packages:
        return image if image.endswith("-slim") else f"{image}-slim"
    return _image(_FINAL.get(system), service) if service.runtime.copy_ else None


def _running(service: Service, copied: bool) -> list[str]:
    lines = [f"EXPOSE {' '.join(map(str, service.runtime.ports))}"] if service.runtime.ports else []
    command = list(service.runtime.command)
    jar = next((copy.to for copy in service.runtime.copy_ if copy.to.endswith(".jar")), None)
    if jar and command[:2] == ["java", "-jar"]:
        command = ["java", "-jar", jar]
    if copied and command:
        moved = {posixpath.normpath(copy.from_): copy.to for copy in service.runtime.copy_}
        command = [_moved(word, moved) for word in command]
    # A number, which needs no entry in the image's list of users and has no home folder.
    lines += ["ENV HOME=/tmp", "USER 10001:10001"]
    if command:
        lines.append(f"CMD {json.dumps(command)}")
    return lines


def _moved(word: str, moved: Mapping[str, str]) -> str:
    """Return the path, in the image that runs it, of a file that the command names."""
    path = posixpath.normpath(word)
    for source, target in moved.items():
        if path == source:
            return target
        if path.startswith(source + "/"):
            return target + path[len(source) :]
    return word


def _image(template: str | None, service: Service) -> str | None:
    if template is None:
        return None
    said = {trail.runtime: trail.value for trail in service.versions}

    def version(match: re.Match[str]) -> str:
        parts = _TAGGED.get(match[1], 3)
        number = re.search(rf"\d+(?:\.\d+){{0,{parts - 1}}}", said.get(match[1], ""))
        return number[0] if number else _DEFAULTS.get(match[1], "latest")

    return re.sub(r"\{(\w+)\}", version, template)


def _target(service: Service) -> str:
    return re.sub(r"[^a-z0-9_.-]+", "-", (service.path or service.name).lower()).strip("-.") or "app"


def _joined(path: str, below: str) -> str:
    return f"{path}/{below}" if path else below
