"""``.gitignore`` and ``.gitattributes`` of a tree, read when the tree is whole: order in an archive means nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from services.stacks.globs import glob_regex
from services.stacks.tree import Tree, ancestors, join

_MOST_LINES = 2000


@dataclass(slots=True)
class IgnoreFile:
    """One ``.gitignore``: the last pattern that matches decides."""

    folder: str
    patterns: list[tuple[re.Pattern[str], bool, bool, bool]] = field(default_factory=list)
    #: (pattern, only folders, matched against the path below the ignore file, negated)

    def verdict(self, path: str, name: str, is_folder: bool) -> bool | None:
        below = path[len(self.folder) + 1 :] if self.folder else path
        for pattern, only_folders, anchored, negated in reversed(self.patterns):
            if (is_folder or not only_folders) and pattern.fullmatch(below if anchored else name):
                return not negated
        return None


def ignored(tree: Tree) -> tuple[set[str], set[str]]:
    """The folders and the files that the tree's own ignore files leave out."""
    rules: dict[str, IgnoreFile] = {}
    for path in sorted(path for path, folder in tree.folders.items() if ".gitignore" in folder.files):
        rules[path] = _parse(path, tree.text(join(path, ".gitignore")) or "")
    folders: set[str] = set()
    files: set[str] = set()
    if not rules:
        return folders, files
    for folder in tree.ordered():
        above = [rules[path] for path in ancestors(folder.path) if path in rules]
        if not above:
            continue
        if folder.path and (_outer(folder.path) in folders or _says(above, folder.path, is_folder=True)):
            folders.add(folder.path)
            continue
        simple = _names_matcher(above)
        for name in folder.files:
            if simple is not None and not simple.search(name):
                continue
            path = join(folder.path, name)
            if _says(above, path, is_folder=False):
                files.add(path)
    return folders, files


def _outer(path: str) -> str:
    return path.rpartition("/")[0]


def _says(above: list[IgnoreFile], path: str, is_folder: bool) -> bool:
    name = path.rpartition("/")[2]
    for rules in above:
        if rules.folder == path:
            continue  # an ignore file does not speak about its own folder
        verdict = rules.verdict(path, name, is_folder)
        if verdict is not None:
            return verdict
    return False


def _names_matcher(above: list[IgnoreFile]) -> re.Pattern[str] | None:
    """One pattern that every ignorable name matches, or None when paths decide too."""
    parts = []
    for rules in above:
        for pattern, only_folders, anchored, negated in rules.patterns:
            if only_folders or negated:
                continue
            if anchored:
                return None
            parts.append(pattern.pattern)
    return re.compile("^(?:" + "|".join(parts) + r")\Z") if parts else re.compile(r"(?!)")


def _parse(folder: str, text: str) -> IgnoreFile:
    rules = IgnoreFile(folder)
    for raw in text.splitlines()[:_MOST_LINES]:
        line = raw.rstrip()
        if not line or line.startswith("#") or len(line) > 500:
            continue
        negated = line.startswith("!")
        line = line[1:] if negated else line
        only_folders = line.endswith("/")
        line = line.rstrip("/")
        anchored = "/" in line
        line = line.removeprefix("/")
        if line.startswith("**/") and "/" not in line[3:]:
            line, anchored = line[3:], False
        if line:
            rules.patterns.append((re.compile(glob_regex(line)), only_folders, anchored, negated))
    return rules
