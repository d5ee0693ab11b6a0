"""What ``.gitattributes`` say about languages and about what does not count."""

from __future__ import annotations

import re
from dataclasses import dataclass

from services.stacks.globs import glob_regex
from services.stacks.tree import Tree, join

_MOST_LINES = 2000


_ATTRIBUTE = re.compile(r"^(-?)(?:linguist-)?(vendored|generated|documentation|detectable)(?:=(\w+))?$")


@dataclass(frozen=True)
class Attributes:
    """What ``.gitattributes`` say about languages: (pattern, anchored, folder, settings), later ones win."""

    rules: tuple[tuple[re.Pattern[str], bool, str, dict[str, str]], ...]

    def of(self, path: str, name: str) -> dict[str, str]:
        settings_here: dict[str, str] = {}
        for pattern, anchored, folder, settings in self.rules:
            if folder and not path.startswith(folder + "/"):
                continue
            below = path[len(folder) + 1 :] if folder else path
            if pattern.fullmatch(below if anchored else name):
                settings_here.update(settings)
        return settings_here


def attributes(tree: Tree) -> Attributes:
    rules = []
    for path in sorted(path for path, folder in tree.folders.items() if ".gitattributes" in folder.files):
        text = tree.text(join(path, ".gitattributes")) or ""
        for line in text.splitlines()[:_MOST_LINES]:
            words = line.split()
            if len(words) < 2 or line.startswith("#") or "linguist" not in line:
                continue
            settings = dict(filter(None, (_setting(word) for word in words[1:])))
            if settings:
                glob = words[0]
                anchored = "/" in glob.rstrip("/")
                glob = glob.removeprefix("/") + ("**" if glob.endswith("/") else "")
                rules.append((re.compile(glob_regex(glob)), anchored, path, settings))
    return Attributes(tuple(rules))


def _setting(word: str) -> tuple[str, str] | None:
    if word.startswith("linguist-language="):
        return "language", word.partition("=")[2]
    if "linguist-" not in word:
        return None
    match = _ATTRIBUTE.match(word)
    if not match:
        return None
    value = "false" if match[1] else (match[3] or "true")
    return match[2], value
