"""``Gemfile``, gem specifications, ``composer.json``."""

from __future__ import annotations

import re

from services.stacks.manifests.formats import blank_comments, read_json
from services.stacks.manifests.model import Manifest, Scope, dig, first, table, text_of

_GEM = re.compile(r"""(?m)^([ \t]*)gem[ (]+["']([\w.-]+)["']((?:\s*,\s*["'][^"'\n]*["'])*)([^\n]*)""")
_GROUP = re.compile(r"(?m)^([ \t]*)group[ (]+([^\n]*?)\)?\s+do\b")
_END = "end"
_RUBY = re.compile(r"""(?m)^[ \t]*ruby[ (]+["']([^"'\n]+)["'](?:\s*,\s*["']([^"'\n]+)["'])?""")
_RUBY_FILE = re.compile(r"""(?m)^[ \t]*ruby[ (]+file:""")
_SPEC = re.compile(
    r"""(?m)^[ \t]*\w+\.add(?:_(runtime|development))?_dependency[ (]+["']([\w.-]+)["'](?:\s*,\s*["']([^"']+)["'])?"""
)
_DEV = re.compile(r":(?:test|development)\b|[\"'](?:test|development)[\"']")
_PROD = re.compile(r":(?:default|production|assets)\b")


def read_gemfile(manifest: Manifest) -> None:
    text = blank_comments(manifest.text, hashes=True)
    groups = _groups(text)
    for match in _GEM.finditer(text):
        inside = [words for start, end, words in groups if start <= match.start() < end]
        words = " ".join([*inside, match[4]])
        scope: Scope = "dev" if _DEV.search(words) and not _PROD.search(words) else "prod"
        versions = re.findall(r"[\"']([^\"']+)[\"']", match[3])
        manifest.depend(match[2], ", ".join(versions) or None, scope, match.start(2))
    said = _RUBY.search(text)
    if said:
        value = ", ".join(part for part in said.groups() if part)
        manifest.state("ruby", "Gemfile", value, manifest.line_at(said.start()))


def _groups(text: str) -> list[tuple[int, int, str]]:
    ranges = []
    for match in _GROUP.finditer(text):
        end = re.compile(rf"(?m)^{match[1]}end\b").search(text, match.end())
        ranges.append((match.start(), end.start() if end else len(text), match[2]))
    return ranges


def read_gemspec(manifest: Manifest) -> None:
    manifest.name = first(r"""\.name\s*=\s*["']([\w.-]+)["']""", manifest.text)
    manifest.state_by(re.search(r"""required_ruby_version\s*=\s*["']([^"']+)["']""", manifest.text), "ruby", "gemspec")
    for match in _SPEC.finditer(blank_comments(manifest.text, hashes=True)):
        manifest.depend(match[2], match[3], "dev" if match[1] == "development" else "prod", match.start(2))


def read_composer(manifest: Manifest) -> None:
    """Read a ``composer.json``. Raises: Broken."""
    data = manifest.data = read_json(manifest.text)
    manifest.name, manifest.version = text_of(data.get("name")), text_of(data.get("version"))
    for key, scope in (("require", "prod"), ("require-dev", "dev")):
        for name, version in table(data.get(key)).items():
            if name not in {"php", "php-64bit"}:
                manifest.depend(name.lower(), text_of(version), scope, section=key)  # type: ignore[arg-type]
    if value := text_of(dig(data, "config", "platform", "php")):
        manifest.state("php", "config.platform.php", value, manifest.line_of("php", "platform"))
    if value := text_of(dig(data, "require", "php")):
        manifest.state("php", "require.php", value, manifest.line_of("php", "require"))
    manifest.facts["type"] = text_of(data.get("type")) or ""
