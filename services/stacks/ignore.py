"""``.gitignore`` and ``.gitattributes`` of a tree, read when the tree is whole: order in an archive means nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from services.stacks.tree import Tree, ancestors, join

_MOST_LINES = 2000
_ATTRIBUTE = re.compile(r"^(-?)(?:linguist-)?(vendored|generated|documentation|detectable)(?:=(\w+))?$")


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


def glob_regex(glob: str) -> str:
    """A path glob (``*``, ``?``, ``[..]``, ``**``) as a regular expression for a full match.

    What stands between two stars is matched at the first place where it fits and never again, which is enough, and
    no name can make the match slow.
    """
    chunks = [[""]]  # between ``**``; each a list of pieces between ``*``
    leads = [""]
    at = 0
    while at < len(glob):
        width, piece = _piece(glob, at)
        if piece is None:
            chunks.append([""])
            leads.append(glob[at : at + width])
        elif piece == "*":
            chunks[-1].append("")
        else:
            chunks[-1][-1] += piece
        at += width
    out = ""
    for number, (lead, pieces) in enumerate(zip(leads, chunks, strict=True)):
        last = number == len(chunks) - 1
        body = pieces[0] + "".join(
            f"[^/]*{piece}" if last and place == len(pieces) - 1 else f"(?>[^/]*?{piece})"
            for place, piece in enumerate(pieces)
            if place
        )
        jump = {"": "", "**/": "(?:.*?/)?" if not last else "(?:.*/)?"}.get(lead, ".*?" if not last else ".*")
        out += f"(?>{jump}{body})" if lead and not last else f"{jump}{body}"
    try:
        re.compile(out)
    except re.error:
        return re.escape(glob)
    return out


def _piece(glob: str, at: int) -> tuple[int, str | None]:
    """How many characters stand for what: ``*``, a pattern of one character, or None for a ``**``."""
    char = glob[at]
    if glob.startswith("**", at):
        return (3 if glob.startswith("**/", at) else 2), None
    if char == "*":
        return 1, "*"
    if char == "?":
        return 1, "[^/]"
    if char == "[" and (end := glob.find("]", at + 2)) > 0:
        inner = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
        return end + 1 - at, "[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]"
    if char == "\\" and at + 1 < len(glob):
        return 2, re.escape(glob[at + 1])
    return 1, re.escape(char)


@dataclass(frozen=True)
class Attributes:
    """What ``.gitattributes`` say about languages: (pattern, anchored, folder, settings), later ones win."""

    rules: tuple[tuple[re.Pattern[str], bool, str, dict[str, str]], ...]

    def of(self, path: str, name: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for pattern, anchored, folder, settings in self.rules:
            if folder and not path.startswith(folder + "/"):
                continue
            below = path[len(folder) + 1 :] if folder else path
            if pattern.fullmatch(below if anchored else name):
                found.update(settings)
        return found


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
    found = _ATTRIBUTE.match(word)
    if not found:
        return None
    value = "false" if found[1] else (found[3] or "true")
    return found[2], value
