"""The smaller ecosystems: mobile, scientific and others, a function for each manifest."""

from __future__ import annotations

import re
from collections.abc import Mapping

from services.stacks.manifests.formats import blank_comments, read_json, read_jsonc, read_toml, read_yaml
from services.stacks.manifests.model import Manifest, Scope, dig, first, table, text_of


def read_swift(manifest: Manifest) -> None:
    text = blank_comments(manifest.text)
    manifest.state_by(re.search(r"swift-tools-version:\s*([\d.]+)", manifest.text), "swift", "swift-tools-version")
    manifest.name = first(r"Package\(\s*name:\s*\"([^\"]+)\"", text)
    if match := re.search(r"\.executable(?:Target)?\(\s*name:\s*\"([^\"]+)\"", text):
        manifest.facts["executable"] = match[1]
    elif ".executableTarget(" in text or ".executable(" in text:
        manifest.facts["executable"] = "yes"
    for match in re.finditer(r"\.package\([^)]*?url:\s*\"([^\"]+)\"(?:[^)\"]*\"([\d][^\"]*)\")?", text, re.S):
        name = re.sub(r"\.git$", "", match[1]).rpartition("/")[2].lower()
        manifest.depend(name, match[2], "prod", match.start(1))


def read_pubspec(manifest: Manifest) -> None:
    """Read a ``pubspec.yaml``. Raises: Broken."""
    data = manifest.data = read_yaml(manifest.text)
    manifest.name, manifest.version = text_of(data.get("name")), text_of(data.get("version"))
    for runtime, key in (("dart", "sdk"), ("flutter", "flutter")):
        if value := text_of(dig(data, "environment", key)):
            manifest.state(runtime, "pubspec.yaml", value, manifest.line_of(key, "environment"))
    for key, scope in (("dependencies", "prod"), ("dev_dependencies", "dev")):
        for name, spec in table(data.get(key)).items():
            manifest.depend(name, text_of(spec), scope, section=key)  # type: ignore[arg-type]


def _shards(manifest: Manifest, wanted: Mapping[str, object], scope: Scope) -> None:
    for name, spec in wanted.items():
        manifest.depend(name, text_of(table(spec).get("version")) or text_of(spec), scope)


def read_shard(manifest: Manifest) -> None:
    """Read a ``shard.yml``. Raises: Broken."""
    data = manifest.data = read_yaml(manifest.text)
    manifest.name = text_of(data.get("name"))
    if "targets" in data:
        manifest.facts["executable"] = next(iter(table(data.get("targets"))), "yes")
    _shards(manifest, table(data.get("dependencies")), "prod")
    _shards(manifest, table(data.get("development_dependencies")), "dev")
    if value := text_of(data.get("crystal")):
        manifest.state("crystal", "shard.yml", value, manifest.line_of("crystal"))


def read_julia(manifest: Manifest) -> None:
    """Read a ``Project.toml`` of Julia. Raises: Broken."""
    data = manifest.data = read_toml(manifest.text)
    manifest.name = text_of(data.get("name"))
    manifest.package = bool({"deps", "uuid", "name", "compat"} & set(data))
    for name in table(data.get("deps")):
        manifest.depend(name, text_of(dig(data, "compat", name)), "prod")
    if value := text_of(dig(data, "compat", "julia")):
        manifest.state("julia", "Project.toml", value, manifest.line_of("julia", "compat"))


def read_renv(manifest: Manifest) -> None:
    """Read a ``renv.lock``. Raises: Broken."""
    data = manifest.data = read_json(manifest.text)
    if value := text_of(dig(data, "R", "Version")):
        manifest.state("r", "renv.lock", value, manifest.line_of("Version", "R"))
    for name, spec in table(data.get("Packages")).items():
        manifest.depend(name, text_of(table(spec).get("Version")), "prod")


def read_description(manifest: Manifest) -> None:
    manifest.name = first(r"(?m)^Package:\s*(\S+)", manifest.text)
    manifest.package = manifest.name is not None or "Imports:" in manifest.text
    for block in re.finditer(r"(?ms)^(Depends|Imports|Suggests):(.*?)(?=^\S|\Z)", manifest.text):
        for item in re.finditer(r"([A-Za-z][\w.]*)\s*(?:\(([^)]*)\))?\s*(?:,|$)", block[2], re.M):
            if item[1] == "R":
                manifest.state("r", "DESCRIPTION", item[2] or "", manifest.line_at(block.start(2) + item.start()))
            else:
                scope: Scope = "dev" if block[1] == "Suggests" else "prod"
                manifest.depend(item[1], item[2], scope, block.start(2) + item.start())


def read_cpanfile(manifest: Manifest) -> None:
    for match in re.finditer(
        r"""(?m)^[ \t]*requires\s{0,9}\(?\s{0,9}["']([\w:]+)["'](?:\s*(?:=>|,)\s*["']([^"']+)["'])?""", manifest.text
    ):
        if match[1] == "perl":
            manifest.state("perl", "cpanfile", match[2] or "", manifest.line_at(match.start()))
        else:
            manifest.depend(match[1], match[2], "prod", match.start(1))


def read_nimble(manifest: Manifest) -> None:
    for match in re.finditer(r"requires[ (]+\"([^\"]+)\"", manifest.text):
        name, _, version = match[1].partition(" ")
        if name == "nim":
            manifest.state("nim", "nimble", version, manifest.line_at(match.start()))
        else:
            manifest.depend(name.lower(), version or None, "prod", match.start(1))
    manifest.name = manifest.path.rpartition("/")[2].removesuffix(".nimble")
    if program := re.search(r"(?m)^bin\s*=(?:\s*@\[\s*\"([^\"\n]+)\")?", manifest.text):
        manifest.facts["executable"] = program[1] or "yes"


def read_rockspec(manifest: Manifest) -> None:
    text = re.sub(r"--[^\n]*", lambda match: " " * len(match[0]), manifest.text)
    manifest.name = first(r"(?m)^[ \t]*package\s*=\s*[\"']([^\"'\n]+)", text)
    if match := re.search(r"\bdependencies\s*=\s*\{([^}]{0,20000})\}", text):
        for one in re.finditer(r"[\"']([\w.-]+)([^\"'\n]*)[\"']", match[1]):
            at = match.start(1) + one.start(1)
            if one[1] == "lua":
                manifest.state("lua", "rockspec", one[2], manifest.line_at(at))
            else:
                manifest.depend(one[1], one[2].strip() or None, "prod", at)


def read_dub(manifest: Manifest) -> None:
    """``dub.json`` or ``dub.sdl``. Raises: Broken."""
    if manifest.path.endswith(".sdl"):
        if match := re.search(r"(?m)^name\s+\"([^\"\n]+)\"", manifest.text):
            manifest.name = match[1]
        kind = re.search(r"(?m)^targetType\s+\"([^\"\n]+)\"", manifest.text)
        library = kind is not None and "ibrary" in kind[1]
        for one in re.finditer(r"(?m)^dependency\s+\"([^\"\n]+)\"(?:\s+version=\"([^\"\n]*)\")?", manifest.text):
            manifest.depend(one[1], one[2], "prod", one.start(1))
    else:
        data = manifest.data = read_jsonc(manifest.text)
        manifest.name = text_of(data.get("name"))
        library = "ibrary" in (text_of(data.get("targetType")) or "")
        for name, version in table(data.get("dependencies")).items():
            manifest.depend(name, text_of(version), "prod")
    if not library:
        manifest.facts["program"] = manifest.name or "yes"


def read_generic_toml(manifest: Manifest) -> None:
    """Read the name in any other TOML manifest. Raises: Broken."""
    data = manifest.data = read_toml(manifest.text)
    manifest.name = text_of(data.get("name")) or text_of(dig(data, "package", "name"))


def read_terraform(manifest: Manifest) -> None:
    manifest.state_by(re.search(r"required_version\s*=\s*\"([^\"]+)\"", manifest.text), "terraform", "required_version")
    for match in re.finditer(r"source\s*=\s*\"([\w.-]+/[\w-]+)\"(?:\s*version\s*=\s*\"([^\"]+)\")?", manifest.text):
        manifest.depend(match[1], match[2], "prod", match.start())


def read_dbt(manifest: Manifest) -> None:
    """``dbt_project.yml``. Raises: Broken."""
    data = manifest.data = read_yaml(manifest.text)
    manifest.name, manifest.version = text_of(data.get("name")), text_of(data.get("version"))
    wanted = data.get("require-dbt-version")
    first_wanted = wanted[0] if isinstance(wanted, list) and wanted else wanted
    if value := text_of(first_wanted):
        manifest.state("dbt", "dbt_project.yml", value, manifest.line_of("require-dbt-version"))


def read_chart(manifest: Manifest) -> None:
    """``Chart.yaml`` of Helm: charts that it depends on. Raises: Broken."""
    data = manifest.data = read_yaml(manifest.text)
    manifest.package = "apiVersion" in data and "name" in data
    manifest.name, manifest.version = text_of(data.get("name")), text_of(data.get("version"))
    if text_of(data.get("type")) != "library":
        manifest.facts["application"] = "yes"
    listed = data.get("dependencies")
    for one in listed if isinstance(listed, list) else []:
        if name := text_of(table(one).get("name")):
            match = re.search(rf"(?m)^[ \t-]*name:[ \t]*[\"']?{re.escape(name)}[\"']?[ \t]*$", manifest.text)
            scope: Scope = "optional" if text_of(table(one).get("condition")) else "prod"
            manifest.depend(name, text_of(table(one).get("version")), scope, match.start() if match else None)


def read_nothing(manifest: Manifest) -> None:
    """Read nothing: the file's existence is the whole information."""
