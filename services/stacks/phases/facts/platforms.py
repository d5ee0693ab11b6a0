"""Settings of platforms and service managers: what each starts, where it listens, and how it is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from services.stacks.manifests.formats import read_json, read_jsonc, read_toml, read_yaml
from services.stacks.manifests.model import Json, dig, table, text_of, texts
from services.stacks.phases.facts.dockerfile import command_of
from services.stacks.phases.facts.procfile import chosen_process

#: Processes that a platform starts for requests, the surest first.
_SERVING = ("web", "app", "server", "api", "http", "default")


@dataclass
class PlatformSettings:
    """What one file says about one service; lines belong to that file."""

    folder: str = ""  #: of the service, relative to the file's folder
    command: list[str] = field(default_factory=list)
    command_line: int | None = None
    ports: list[tuple[object, int | None]] = field(default_factory=list)
    health: str | None = None
    health_line: int | None = None
    variables: list[str] = field(default_factory=list)
    dockerfile: str | None = None  #: relative to the file's folder
    context: str = ""  #: of the Dockerfile's build, relative to the file's folder
    target: str | None = None


@dataclass(frozen=True)
class _Text:
    """The text of a file, in which the lines of values are searched."""

    text: str

    def line(self, key: str, value: object = None) -> int | None:
        """Return the line of a key with that value, else of the value, else of the key."""
        shown = str(value).split("\n")[0][:60] if value is not None else ""
        keys = [match.start() for match in re.finditer(rf"(?<![\w-])[\"']?{re.escape(key)}[\"']?\s*[:=]", self.text)]
        for at in keys if shown else ():
            end = self.text.find("\n", self.text.find("\n", at) + 1)
            if shown in self.text[at : end if end > 0 else None]:
                return self.text.count("\n", 0, at) + 1
        at = self.text.find(shown) if shown else -1
        place = at if at >= 0 else keys[0] if keys else -1
        return self.text.count("\n", 0, place) + 1 if place >= 0 else None


def _command(value: object) -> list[str]:
    if isinstance(value, list):
        return [str(word) for word in value]
    return command_of(value) if isinstance(value, str) else []


def _started(said: _Text, key: str, value: object, folder: str = "") -> PlatformSettings:
    settings = PlatformSettings(folder, _command(value))
    settings.command_line = said.line(key, value[0] if isinstance(value, list) and value else value)
    return settings


def _check(settings: PlatformSettings, said: _Text, key: str, path: object) -> None:
    if isinstance(path, str) and path:
        settings.health, settings.health_line = path, said.line(key, path)


def _railway(text: str, read: Callable[[str], Json]) -> Iterator[PlatformSettings]:
    data, said = read(text), _Text(text)
    deploy = table(data.get("deploy"))
    settings = _started(said, "startCommand", deploy.get("startCommand"))
    _check(settings, said, "healthcheckPath", deploy.get("healthcheckPath"))
    settings.dockerfile = text_of(dig(data, "build", "dockerfilePath"))
    yield settings


def railway_json(text: str) -> Iterator[PlatformSettings]:
    """Yield the settings of ``railway.json``. Raises: Broken."""
    return _railway(text, read_jsonc)


def railway_toml(text: str) -> Iterator[PlatformSettings]:
    """Yield the settings of ``railway.toml``. Raises: Broken."""
    return _railway(text, read_toml)


def nixpacks(text: str) -> Iterator[PlatformSettings]:
    """Yield the settings of Nixpacks. Raises: Broken."""
    data, said = (read_json(text) if text.lstrip().startswith("{") else read_toml(text)), _Text(text)
    settings = _started(said, "cmd", dig(data, "start", "cmd") or dig(data, "start"))
    settings.variables = list(table(data.get("variables")))
    _port_variable(settings, said, data.get("variables"))
    yield settings


def railpack(text: str) -> Iterator[PlatformSettings]:
    """Yield the settings of Railpack. Raises: Broken."""
    yield _started(_Text(text), "startCommand", dig(read_jsonc(text), "deploy", "startCommand"))


def zbpack(text: str) -> Iterator[PlatformSettings]:
    """Yield the settings of Zeabur. Raises: Broken."""
    data, said = read_jsonc(text), _Text(text)
    key = next((key for key in ("start_command", "entry") if text_of(data.get(key))), "start_command")
    yield _started(said, key, data.get(key), text_of(data.get("app_dir")) or "")


def heroku(text: str) -> Iterator[PlatformSettings]:
    """Yield the settings of ``heroku.yml``. Raises: Broken."""
    data, said = read_yaml(text), _Text(text)
    run = table(data.get("run"))
    name = next((name for name in _SERVING if name in run), next(iter(run), None))
    body = run.get(name) if name else None
    settings = _started(said, name or "run", dig(body, "command") if isinstance(body, dict) else body)
    docker = dig(data, "build", "docker", name or "web") or dig(data, "build", "docker", "web")
    settings.dockerfile = text_of(docker) or text_of(dig(docker, "dockerfile"))
    settings.target = text_of(dig(docker, "target"))
    settings.variables = list(table(dig(data, "build", "config")))
    yield settings


def app_json(text: str) -> Iterator[PlatformSettings]:
    """``app.json`` of Heroku and Dokku; another tool's says nothing of these. Raises: Broken."""
    data, said = read_jsonc(text), _Text(text)
    settings = PlatformSettings()
    checks = dig(data, "healthchecks", "web")
    for check in checks if isinstance(checks, list) else []:
        if settings.health is None:
            _check(settings, said, "path", dig(check, "path"))
        if (port := dig(check, "port")) is not None:
            settings.ports.append((port, said.line("port", port)))
    variables = data.get("env")
    if isinstance(variables, dict) and "expo" not in data:
        settings.variables = [name for name in variables if re.fullmatch(r"[A-Z][A-Z0-9_]+", name)]
        _port_variable(settings, said, {name: dig(spec, "value") or spec for name, spec in variables.items()})
    yield settings


def fly(text: str) -> Iterator[PlatformSettings]:
    """Yield the settings of ``fly.toml``. Raises: Broken."""
    data, said = read_toml(text), _Text(text)
    processes = table(data.get("processes"))
    name = next((name for name in _SERVING if name in processes), next(iter(processes), None))
    command: object = processes.get(name) if name else dig(data, "experimental", "cmd")
    entry = dig(data, "experimental", "entrypoint")
    settings = _started(said, name or "cmd", command or entry)
    services = data.get("services")
    for one in (data.get("http_service"), *(services if isinstance(services, list) else [services])):
        if (port := dig(one, "internal_port")) is not None:
            settings.ports.append((port, said.line("internal_port", port)))
        for kind in ("checks", "http_checks"):
            checks = dig(one, kind)
            for check in checks if isinstance(checks, list) else table(checks).values():
                _check_once(settings, said, dig(check, "path"))
    for check in table(data.get("checks")).values():
        _check_once(settings, said, dig(check, "path"))
    settings.variables = list(table(data.get("env")))
    if not settings.ports:
        _port_variable(settings, said, data.get("env"))
    settings.dockerfile = text_of(dig(data, "build", "dockerfile"))
    settings.target = text_of(dig(data, "build", "build-target"))
    yield settings


def _check_once(settings: PlatformSettings, said: _Text, path: object) -> None:
    if settings.health is None:
        _check(settings, said, "path", path)


def _port_variable(settings: PlatformSettings, said: _Text, variables: object) -> None:
    port = table(variables).get("PORT")
    if str(port).isdigit():
        settings.ports.append((port, said.line("PORT", port)))


def render(text: str) -> Iterator[PlatformSettings]:
    """Yield the settings of ``render.yaml``. Raises: Broken."""
    data, said = read_yaml(text), _Text(text)
    services = data.get("services")
    for one in services if isinstance(services, list) else []:
        spec = table(one)
        key = next((key for key in ("startCommand", "dockerCommand") if text_of(spec.get(key))), "startCommand")
        settings = _started(said, key, spec.get(key), text_of(spec.get("rootDir")) or "")
        _check(settings, said, "healthCheckPath", spec.get("healthCheckPath"))
        variables = spec.get("envVars")
        for variable in variables if isinstance(variables, list) else []:
            if name := text_of(table(variable).get("key")):
                settings.variables.append(name)
                if name == "PORT" and str(table(variable).get("value")).isdigit():
                    settings.ports.append((table(variable)["value"], said.line("value", table(variable)["value"])))
        settings.dockerfile = text_of(spec.get("dockerfilePath"))
        settings.context = text_of(spec.get("dockerContext")) or ""
        yield settings


def app_engine(text: str) -> Iterator[PlatformSettings]:
    """``app.yaml`` of App Engine, or of DigitalOcean's App Platform. Raises: Broken."""
    data, said = read_yaml(text), _Text(text)
    if "services" in data or "static_sites" in data or "workers" in data:
        services = data.get("services")
        for one in services if isinstance(services, list) else []:
            spec = table(one)
            settings = _started(said, "run_command", spec.get("run_command"), text_of(spec.get("source_dir")) or "")
            if (port := spec.get("http_port")) is not None:
                settings.ports.append((port, said.line("http_port", port)))
            _check(settings, said, "http_path", dig(spec, "health_check", "http_path"))
            settings.dockerfile = text_of(spec.get("dockerfile_path"))
            yield settings
    elif "runtime" in data:
        settings = _started(said, "entrypoint", dig(data, "entrypoint", "shell") or data.get("entrypoint"))
        _check(settings, said, "path", dig(data, "readiness_check", "path") or dig(data, "liveness_check", "path"))
        settings.variables = list(table(data.get("env_variables")))
        yield settings


def app_runner(text: str) -> Iterator[PlatformSettings]:
    """Yield the settings of App Runner. Raises: Broken."""
    data, said = read_yaml(text), _Text(text)
    settings = _started(said, "command", dig(data, "run", "command"))
    if (port := dig(data, "run", "network", "port")) is not None:
        settings.ports.append((port, said.line("port", port)))
    yield settings


def captain(text: str) -> Iterator[PlatformSettings]:
    """Yield the settings of a captain definition. Raises: Broken."""
    yield PlatformSettings(dockerfile=text_of(read_jsonc(text).get("dockerfilePath")))


_UNIT_START = re.compile(r"(?m)^ExecStart=[-@:+!|]*((?:[^\n]*\\\n)*[^\n]+)")


def systemd(text: str) -> Iterator[PlatformSettings]:
    """Yield the command of a systemd service unit, without the folder of the program on the machine."""
    if "[Service]" not in text or (match := _UNIT_START.search(text)) is None:
        return
    settings = PlatformSettings(command=command_of(re.sub(r"\\\n\s*", " ", match[1])))
    settings.command_line = text.count("\n", 0, match.start()) + 1
    for variable in re.finditer(r"(?m)^Environment=[\"']?(\w+)=([^\"'\n]*)", text):
        settings.variables.append(variable[1])
        if variable[1] == "PORT":
            settings.ports.append((variable[2].strip(), text.count("\n", 0, variable.start()) + 1))
    yield settings


def procfile(text: str) -> Iterator[PlatformSettings]:
    """Yield the process that serves, else the first one."""
    if (process := chosen_process(text)) is not None:
        body, line = process
        yield PlatformSettings(command=command_of(body), command_line=line)


def bake(text: str) -> Iterator[PlatformSettings]:
    """``docker-bake.hcl`` or ``.json``: the Dockerfile, context and target of each build. Raises: Broken."""
    if text.lstrip().startswith("{"):
        for one in table(read_json(text).get("target")).values():
            yield PlatformSettings(
                dockerfile=text_of(dig(one, "dockerfile")) or "Dockerfile", context=text_of(dig(one, "context")) or "",
                target=text_of(dig(one, "target")),
            )  # fmt: skip
        return
    for block in re.finditer(r"(?m)^target\s+\"[^\"\n]*\"\s*\{(.*?)^\}", text[:200_000], re.S):
        named = {
            key: match[1]
            for key in ("dockerfile", "context", "target")
            if (match := re.search(rf"(?m)^\s*{key}\s*=\s*\"([^\"\n]*)\"", block[1]))
        }
        if named:
            yield PlatformSettings(
                dockerfile=named.get("dockerfile", "Dockerfile"), context=named.get("context", ""),
                target=named.get("target"),
            )  # fmt: skip


_BUILD_COMMAND = re.compile(
    r"\b(?:docker|podman|buildah|nerdctl)\s+(?:buildx\s+)?(?:build|bud)\b((?:[^\n\\;&|]|\\\n)*)"
)
_BUILD_OPTION = re.compile(r"(?:^|\s)(?:-f|--file|--target)[=\s]+([^\s\"']+)")


def workflow(text: str) -> Iterator[PlatformSettings]:
    """Yield image builds in a pipeline: ``docker build -f``, and the steps that build and push."""
    for match in _BUILD_COMMAND.finditer(text):
        words = re.sub(r"\\\n", " ", match[1]).split()
        options = {"dockerfile": "", "target": ""}
        plain, skip = "", False
        for at, word in enumerate(words):
            key, _, value = word.partition("=")
            if skip:
                skip = False
            elif key in {"-f", "--file", "--target"}:
                options["target" if key == "--target" else "dockerfile"] = value or (
                    words[at + 1] if at + 1 < len(words) else ""
                )
                skip = not value
            elif word.startswith("-"):
                skip = not value and key not in _FLAGS
            elif not plain:
                plain = word.strip("\"'")
        if options["dockerfile"] and "$" not in options["dockerfile"] + plain:
            yield PlatformSettings(
                dockerfile=options["dockerfile"].strip("\"'"), context=plain, target=options["target"] or None
            )
    for block in re.finditer(r"docker/build-push-action@[^\n]*\n((?:[ \t]+[^\n]*\n|\n){0,40})", text + "\n"):
        body = re.split(r"(?m)^\s*-\s", block[1], maxsplit=1)[0]
        named = {
            key: setting[1]
            for key in ("file", "context", "target")
            if (setting := re.search(rf"(?m)^\s+{key}:\s*[\"']?([^\s\"'#]+)", body))
        }
        if "file" in named and "$" not in named["file"]:
            context = named.get("context", "")
            yield PlatformSettings(
                dockerfile=named["file"], context="" if "$" in context else context, target=named.get("target")
            )


_FLAGS = frozenset(
    ("--push", "--load", "--no-cache", "--pull", "-q", "--quiet", "--rm", "--squash", "--force-rm", "--provenance")
)

Reader = Callable[[str], Iterable[PlatformSettings]]
#: Files that say how a service is run, by their names. Those that come first decide.
PLATFORMS: dict[str, Reader] = {
    "railway.json": railway_json, "railway.toml": railway_toml, "railpack.json": railpack, "nixpacks.toml": nixpacks,
    "nixpacks.json": nixpacks, "heroku.yml": heroku, "fly.toml": fly, "render.yaml": render, "render.yml": render,
    "zbpack.json": zbpack, "app.yaml": app_engine, "app.yml": app_engine, "apprunner.yaml": app_runner,
    "captain-definition": captain, "app.json": app_json,
}  # fmt: skip
#: Files that only say which Dockerfile builds what.
BUILDERS: dict[str, Reader] = {"docker-bake.hcl": bake, "docker-bake.json": bake, "docker-bake.override.hcl": bake}

__all__ = ["BUILDERS", "PLATFORMS", "PlatformSettings", "procfile", "systemd", "texts", "workflow"]
