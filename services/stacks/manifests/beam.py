"""``mix.exs``, ``rebar.config``, ``gleam.toml``."""

from __future__ import annotations

import re

from services.stacks.manifests.formats import blank_comments, read_toml
from services.stacks.manifests.model import Manifest, Scope, table, text_of

_MIX_DEPENDENCY = re.compile(r"""\{\s{0,40}:(\w{1,80})\s{0,40},\s{0,40}(?:"([^"\n]{0,80})")?([^{}]{0,600})\}""")
_REBAR = re.compile(r"""\{\s*(\w+)\s*,\s*(?:"([^"]*)"|\{)|(?<=[\[,\s])(\w+)(?=\s*[,\]])""")


def read_mix(manifest: Manifest) -> None:
    text = blank_comments(manifest.text, hashes=True)
    if match := re.search(r"\bapp:\s*:(\w+)", text):
        manifest.name = match[1]
    if match := re.search(r"\bversion:\s*\"([^\"]+)\"", text):
        manifest.version = match[1]
    if match := re.search(r"\belixir:\s*\"([^\"]+)\"", text):
        manifest.state("elixir", "mix.exs", match[1], manifest.line_at(match.start()))
    if match := re.search(r"\bapps_path:\s*\"([^\"]+)\"", text):
        manifest.facts["apps_path"] = match[1]
    if re.search(r"\bmod:\s*\{", text):
        manifest.facts["application"] = "yes"
    for match in _MIX_DEPENDENCY.finditer(text):
        if match[2] is None and not re.search(r"\b(?:git|github|path|in_umbrella|hex|only|runtime)\b", match[3] or ""):
            continue
        only = re.search(r"only:\s*(\[[^\]]*\]|:\w+)", match[3] or "")
        scope: Scope = "dev" if only and ":prod" not in only[1] else "prod"
        manifest.depend(match[1], match[2], scope, match.start(1))


def read_rebar(manifest: Manifest) -> None:
    text = re.sub(r"%[^\n]*", lambda match: " " * len(match[0]), manifest.text)
    if match := re.search(r"\{\s*deps\s*,\s*\[(.*?)\]\s*\}\s*\.", text, re.S):
        for item in _REBAR.finditer(match[1]):
            manifest.depend(item[1] or item[3], item[2], "prod", match.start(1) + item.start())
    if match := re.search(r"minimum_otp_vsn\s*,\s*\"([^\"]+)\"", text):
        manifest.state("erlang", "rebar.config", match[1], manifest.line_at(match.start()))


def read_gleam(manifest: Manifest) -> None:
    """Raises: Broken."""
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
