"""Settings whose names say little: what a text holds decides which tool reads it, or that none is known."""

from __future__ import annotations

import re

from services.stacks.manifests.model import Manifest, first

_HUGO = re.compile(r"""(?mi)^[ \t]*["']?(?:baseURL|languageCode|contentDir|publishDir|disableKinds)["']?\s*[:=]""")
_ZOLA = re.compile(r"(?m)^[ \t]*(?:base_url\s*=|compile_sass\s*=|build_search_index\s*=)")
_JEKYLL = re.compile(
    r"(?m)^[ \t]*[\"']?(?:remote_theme|theme|markdown|kramdown|permalink|plugins|gems|baseurl|collections|defaults"
    r"|exclude|highlighter|include|sass|title|description)[\"']?\s*[:=]"
)
_HEXO = re.compile(r"(?m)^(?:source_dir|public_dir|tag_dir|category_dir|skip_render|new_post_name|default_layout)\s*:")
_CODE_URI = re.compile(r"""(?m)^[ \t]*["']?CodeUri["']?\s*:\s*["']?([^\s"',}]+)""")
_OPENFAAS = re.compile(r"(?m)^provider:[ \t]*\n[ \t]+name:\s*(?:openfaas|faas)\b")


def read_config(manifest: Manifest) -> None:
    """Read ``config.toml`` and its relatives: Hugo's, Zola's, or another tool's."""
    if _ZOLA.search(manifest.text) and manifest.path.endswith(".toml"):
        manifest.kind, manifest.ecosystem = "zola", "site"
    elif _HUGO.search(manifest.text):
        manifest.kind, manifest.ecosystem = "hugo", "hugo"
    else:
        manifest.kind = ""


def read_underscore_config(manifest: Manifest) -> None:
    """``_config.yml``: Hexo's says where its sources are; Jekyll's may say anything."""
    if _HEXO.search(manifest.text):
        manifest.kind = "hexo"
    elif _JEKYLL.search(manifest.text):
        manifest.facts["jekyll"] = "yes"


def read_sam(manifest: Manifest) -> None:
    """Read a CloudFormation template with serverless functions, and the folders of their code."""
    if "AWS::Serverless" not in manifest.text:
        manifest.kind = ""
    manifest.facts["functions"] = "\n".join(dict.fromkeys(match[1] for match in _CODE_URI.finditer(manifest.text)))


def read_openfaas(manifest: Manifest) -> None:
    if not _OPENFAAS.search(manifest.text):
        manifest.kind = ""


def read_host(manifest: Manifest) -> None:
    """``host.json`` of an Azure function app."""
    if not re.search(r'"version"\s*:\s*"\d|"extensionBundle"|"functionTimeout"', manifest.text):
        manifest.kind = ""


def read_book(manifest: Manifest) -> None:
    """Read ``book.json`` of GitBook and ``book.toml`` of mdBook, which books show in their settings."""
    if not re.search(r"(?m)\[book\]|\"(?:plugins|gitbook|structure|root|title|language|links)\"\s*:", manifest.text):
        manifest.kind = ""


def read_unity(manifest: Manifest) -> None:
    """``ProjectSettings/ProjectVersion.txt``."""
    version = first(r"m_EditorVersion:\s*(\S+)", manifest.text)
    if version is None:
        manifest.kind = ""
    else:
        manifest.state("unity", "ProjectVersion.txt", version, 1)


def read_grails(manifest: Manifest) -> None:
    """Read ``application.properties`` next to ``grails-app``, from before Grails was built by Gradle."""
    if "app.grails.version" not in manifest.text:
        manifest.kind = ""
    manifest.name = first(r"(?m)^app\.name\s*=\s*(\S+)", manifest.text)
    manifest.state_by(re.search(r"app\.grails\.version\s*=\s*(\S+)", manifest.text), "grails", "application.properties")
