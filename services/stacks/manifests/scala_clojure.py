"""The build files of Scala and Clojure: sbt, Mill, Leiningen, ``deps.edn``."""

from __future__ import annotations

import re

from services.stacks.manifests.formats import blank_comments
from services.stacks.manifests.model import Manifest, Scope

_SBT = re.compile(r"""["']([\w.-]+)["']\s*%%?%?\s*["']([\w.-]+)["']\s*%\s*(?:["']([^"']+)["']|(\w+))([^\n,]*)""")


_MILL = re.compile(r"""(?:ivy|mvn)"([\w.-]+)::?:?([\w.-]+):([^"]+)\"""")


_CLOJURE = re.compile(
    r"""(?<![\w./-])([\w.-]{1,150}(?:/[\w.-]{1,150})?)\s{1,40}(?:"([^"]+)"|\{\s*:(?:mvn/version|git/\w+|local/root)\s+"([^"]+)")"""
)


def read_sbt(manifest: Manifest) -> None:
    text = blank_comments(manifest.text)
    if match := re.search(r"\bname\s*:=\s*\"([^\"]+)\"", text):
        manifest.name = match[1]
    if match := re.search(r"\bscalaVersion\s*:=\s*\"([^\"]+)\"", text):
        manifest.state("scala", "scalaVersion", match[1], manifest.line_at(match.start()))
    for match in _SBT.finditer(text):
        scope: Scope = "test" if re.search(r"%\s*[\"']?[Tt]est", match[5]) else "prod"
        manifest.depend(f"{match[1]}:{match[2]}", match[3], scope, match.start())
    for match in re.finditer(r"enablePlugins\(([^)]*)\)", text):
        for name in re.findall(r"\w+", match[1]):
            manifest.depend(f"sbt-plugin:{name}", None, "prod", match.start())
    manifest.facts["members"] = "\n".join(re.findall(r"\(project\s+in\s+file\(\s*\"([^\"]+)\"\s*\)\)", text))


def read_mill(manifest: Manifest) -> None:
    text = blank_comments(manifest.text)
    if match := re.search(r"\bscalaVersion\s*=\s*\"([^\"]+)\"", text):
        manifest.state("scala", "scalaVersion", match[1], manifest.line_at(match.start()))
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
