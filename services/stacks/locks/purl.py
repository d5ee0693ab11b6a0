"""Package URLs, as https://github.com/package-url/purl-spec writes them."""

from __future__ import annotations

import re
from urllib.parse import quote

_LOWER = frozenset(("golang", "composer", "hex", "pub"))


def purl(kind: str, name: str, version: str | None = None) -> str:
    """``name`` with its namespace, parts separated by ``/`` (Maven's also by ``:``)."""
    if kind == "pypi":
        name = re.sub(r"[-_.]+", "-", name).lower()
    elif kind in _LOWER:
        name = name.lower()
    if kind == "maven":
        name = name.replace(":", "/")
    path = "/".join(quote(part, safe="._~-") for part in name.split("/") if part)
    return f"pkg:{kind}/{path}" + (f"@{quote(version, safe='._~-')}" if version else "")


def parts(url: str) -> tuple[str, str | None, str, str | None]:
    """Type, namespace, name and version of a package URL that ``purl`` made; still percent-encoded."""
    whole, _, version = url.removeprefix("pkg:").partition("@")
    kind, _, path = whole.partition("/")
    namespace, _, name = path.rpartition("/")
    return kind, namespace or None, name, version or None
