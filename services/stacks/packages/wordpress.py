"""Themes and plugins of WordPress, which say what they are in a comment at the beginning of a file."""

from __future__ import annotations

import re

from services.stacks.manifests.model import Manifest
from services.stacks.scan.model import Scan, ScannedFolder
from services.stacks.tree import join

#: Kind of the manifest that such a file is.
WORDPRESS = "wordpress"
_HEADER_BYTES = 8 << 10
#: Files of one folder, and of one source, that are read for it.
_MAX_FILES, _MAX_READ = 20, 400
_HEADER = re.compile(rb"(?mi)^[ \t/*#@]*(?:Theme|Plugin) Name:[ \t]*(\S[^\n]*)")
_PARTS_OF_THEMES = frozenset(("functions.php", "index.php", "theme.json", "header.php"))
_PLUGINS = frozenset(("plugins", "mu-plugins"))


def add_parts_of_wordpress(scan: Scan) -> None:
    """Give each folder of a theme or a plugin a manifest."""
    left = _MAX_READ
    scripted = "PHP" in scan.languages
    for folder in scan.folders.values():
        if not (scripted or "style.css" in folder.files) or folder.fixture or folder.test:
            continue
        if any(manifest.kind == WORDPRESS for manifest in folder.manifests):
            continue
        for name in _candidates(folder)[:left]:
            left -= 1
            path = join(folder.path, name)
            head = scan.tree.read(path, _HEADER_BYTES) or b""
            if match := _HEADER.search(head):
                manifest = Manifest(path, WORDPRESS, "composer", head.decode("utf-8", "replace"))
                manifest.name = match[1].decode("utf-8", "replace").strip(" \t\r*/")[:100]
                folder.manifests.append(manifest)
                break


def _candidates(folder: ScannedFolder) -> list[str]:
    """Return the files of a folder that may begin with such a comment."""
    if "style.css" in folder.files and not _PARTS_OF_THEMES.isdisjoint(folder.files):
        return ["style.css"]
    outer, _, name = folder.path.rpartition("/")
    if folder.path and outer.rpartition("/")[2] not in _PLUGINS:
        return []
    pages = sorted(
        (one for one in folder.files if one.endswith(".php") and one != "index.php"),
        key=lambda one: (one.removesuffix(".php") != name, one),
    )
    return pages if len(pages) <= _MAX_FILES else pages[:1]
