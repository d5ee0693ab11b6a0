"""Functional languages: Elixir, Erlang, Gleam, Scala, Clojure, Haskell, OCaml, Elm."""

from __future__ import annotations

import re

from services.stacks.manifests.formats import blank_comments, read_json, read_toml, read_yaml
from services.stacks.manifests.model import Manifest, Scope, dig, first, table, text_of

_MIX_DEPENDENCY = re.compile(r"""\{\s{0,40}:(\w{1,80})\s{0,40},\s{0,40}(?:"([^"\n]{0,80})")?([^{}]{0,600})\}""")
_REBAR = re.compile(r"""\{\s*(\w+)\s*,\s*(?:"([^"]*)"|\{)|(?<=[\[,\s])(\w+)(?=\s*[,\]])""")


_MIX_OPTION = re.compile(r"\b(?:git|github|path|in_umbrella|hex|only|runtime|optional)\b")


def read_mix(manifest: Manifest) -> None:
    text = blank_comments(manifest.text, hashes=True)
    manifest.name = first(r"\bapp:\s*:(\w+)", text)
    manifest.version = first(r"\bversion:\s*\"([^\"]+)\"", text)
    manifest.state_by(re.search(r"\belixir:\s*\"([^\"]+)\"", text), "elixir", "mix.exs")
    if match := re.search(r"\bapps_path:\s*\"([^\"]+)\"", text):
        manifest.facts["apps_path"] = match[1]
    if re.search(r"\bmod:\s*\{", text):
        manifest.facts["application"] = "yes"
    for match in _MIX_DEPENDENCY.finditer(text):
        if match[2] is None and not _MIX_OPTION.search(match[3] or ""):
            continue
        only = re.search(r"only:\s*(\[[^\]]*\]|:\w+)", match[3] or "")
        scope: Scope = "dev" if only and ":prod" not in only[1] else "prod"
        if scope == "prod" and re.search(r"\boptional:\s*true\b", match[3] or ""):
            scope = "optional"
        manifest.depend(match[1], match[2], scope, match.start(1))


def read_rebar(manifest: Manifest) -> None:
    text = re.sub(r"%[^\n]*", lambda match: " " * len(match[0]), manifest.text)
    if match := re.search(r"\{\s*deps\s*,\s*\[(.*?)\]\s*\}\s*\.", text, re.S):
        for item in _REBAR.finditer(match[1]):
            manifest.depend(item[1] or item[3], item[2], "prod", match.start(1) + item.start())
    manifest.state_by(re.search(r"minimum_otp_vsn\s*,\s*\"([^\"]+)\"", text), "erlang", "rebar.config")


def read_gleam(manifest: Manifest) -> None:
    """Read a ``gleam.toml``. Raises: Broken."""
    data = manifest.data = read_toml(manifest.text)
    manifest.name, manifest.version = text_of(data.get("name")), text_of(data.get("version"))
    manifest.facts["target"] = text_of(data.get("target")) or "erlang"
    for name, version in table(data.get("dependencies")).items():
        manifest.depend(name, text_of(version), "prod")
    for key in ("dev-dependencies", "dev_dependencies"):
        for name, version in table(data.get(key)).items():
            manifest.depend(name, text_of(version), "dev")
    if value := text_of(data.get("gleam")):
        manifest.state("gleam", "gleam.toml", value, manifest.line_of("gleam"))


_SBT = re.compile(r"""["']([\w.-]+)["']\s*%%?%?\s*["']([\w.-]+)["']\s*%\s*(?:["']([^"']+)["']|(\w+))([^\n,]*)""")


_MILL = re.compile(r"""(?:ivy|mvn)"([\w.-]+)::?:?([\w.-]+):([^"]+)\"""")


_CLOJURE = re.compile(
    r"""(?<![\w./-])([\w.-]{1,150}(?:/[\w.-]{1,150})?)\s{1,40}(?:"([^"]+)"|\{\s*:(?:mvn/version|git/\w+|local/root)\s+"([^"]+)")"""
)


def read_sbt(manifest: Manifest) -> None:
    text = blank_comments(manifest.text)
    manifest.name = first(r"\bname\s*:=\s*\"([^\"]+)\"", text)
    manifest.state_by(re.search(r"\bscalaVersion\s*:=\s*\"([^\"]+)\"", text), "scala", "scalaVersion")
    for match in _SBT.finditer(text):
        scope: Scope = "test" if re.search(r"%\s*[\"']?[Tt]est", match[5]) else "prod"
        manifest.depend(f"{match[1]}:{match[2]}", match[3], scope, match.start())
    for match in re.finditer(r"enablePlugins\(([^)]*)\)", text):
        for name in re.findall(r"\w+", match[1]):
            manifest.depend(f"sbt-plugin:{name}", None, "prod", match.start())
    manifest.facts["members"] = "\n".join(re.findall(r"\(project\s+in\s+file\(\s*\"([^\"]+)\"\s*\)\)", text))


def read_mill(manifest: Manifest) -> None:
    text = blank_comments(manifest.text)
    manifest.state_by(re.search(r"\bscalaVersion\s*=\s*\"([^\"]+)\"", text), "scala", "scalaVersion")
    for match in _MILL.finditer(text):
        manifest.depend(f"{match[1]}:{match[2]}", match[3], "prod", match.start())


def read_clojure(manifest: Manifest) -> None:
    text = re.sub(r";[^\n]*", lambda match: " " * len(match[0]), manifest.text)
    if match := re.search(r"\(defproject\s+([\w./-]+)\s+\"([^\"]+)\"", text):
        manifest.name, manifest.version = match[1], match[2]
    if re.search(r":main\s+\^?[\w:.-]", text):
        manifest.facts["executable"] = "yes"
    for match in _CLOJURE.finditer(text):
        name = match[1] if "/" in match[1] else f"{match[1]}/{match[1]}"
        version = match[2] or match[3]
        if name == "org.clojure/clojure":
            manifest.state("clojure", manifest.kind, version, manifest.line_at(match.start()))
        manifest.depend(name.replace("/", ":"), version, "prod", match.start(1))


def read_cabal(manifest: Manifest) -> None:
    text = re.sub(r"--[^\n]*", lambda match: " " * len(match[0]), manifest.text)
    manifest.name = first(r"(?mi)^name:\s*([\w-]+)", text)
    if match := re.search(r"(?mi)^executable[ \t]+([\w-]+)", text):
        manifest.facts["executable"] = match[1]
    for block in re.finditer(r"(?mis)^([ \t]*)build-depends:(.*?)(?=^\1\w[\w-]*:|^\S|\Z)", text):
        for match in re.finditer(r"([A-Za-z][\w-]*)([^,\n]*)", block[2]):
            manifest.depend(match[1], match[2].strip() or None, "prod", block.start(2) + match.start())


def read_hpack(manifest: Manifest) -> None:
    """Read a ``package.yaml`` of hpack. Raises: Broken."""
    data = manifest.data = read_yaml(manifest.text)
    manifest.name = text_of(data.get("name"))
    if "executables" in data or "executable" in data:
        manifest.facts["executable"] = "yes"
    wanted = data.get("dependencies")
    for one in wanted if isinstance(wanted, list) else []:
        if isinstance(one, str) and one.split():
            manifest.depend(one.split()[0], " ".join(one.split()[1:]) or None, "prod")


def read_dune(manifest: Manifest) -> None:
    manifest.name = first(r"\(name\s+([\w-]+)\)", manifest.text)
    if match := re.search(r"\(depends(.*?)\)\s*\)?\s*(?:\(|\Z)", manifest.text, re.S):
        for item in re.finditer(r"(?<=[\s(])([a-z][\w-]*)", match[1]):
            manifest.depend(item[1], None, "prod", match.start(1) + item.start())


def read_opam(manifest: Manifest) -> None:
    if match := re.search(r"(?ms)^depends:\s*\[(.*?)^\]", manifest.text):
        for item in re.finditer(r"\"([\w-]+)\"", match[1]):
            manifest.depend(item[1], None, "prod", match.start(1) + item.start())


def read_elm(manifest: Manifest) -> None:
    """Read an ``elm.json``. Raises: Broken."""
    data = manifest.data = read_json(manifest.text)
    manifest.name = text_of(data.get("name"))
    direct = table(dig(data, "dependencies", "direct")) or table(data.get("dependencies"))
    for name, version in direct.items():
        manifest.depend(name, text_of(version), "prod")
    if value := text_of(data.get("elm-version")):
        manifest.state("elm", "elm.json", value, manifest.line_of("elm-version"))
    if data.get("type") == "application":
        manifest.facts["executable"] = "yes"


def cabal_packages(text: str) -> list[str]:
    """Return the folders that ``cabal.project`` names, directly, by their ``.cabal`` files, or by globs."""
    plain = re.sub(r"--[^\n]*", "", text)
    block = re.search(r"(?m)^(?:optional-)?packages:((?:.*\n?)(?:[ \t]+\S.*\n?|[ \t]*\n)*)", plain)
    listed = re.split(r"[\s,]+", block[1].strip()) if block else []
    return [
        path.rpartition("/")[0] if path.endswith(".cabal") else path for path in listed if path not in {"", ".", "./"}
    ]
