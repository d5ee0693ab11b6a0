"""Which package of a source a command or a Dockerfile elsewhere is about: by the paths and names that it mentions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from services.stacks.packages.package import Package
from services.stacks.packages.ranking import is_aggregator
from services.stacks.tree import ancestors, resolved

_TOKEN = re.compile(r"[^\s\"'`,;()\[\]{}&|<>=]+")
#: Options of package managers and task runners whose value is the name or the folder of a package.
_NAMED = re.compile(
    r"(?:--filter|-F|--workspace|-w|--scope|--package|--project|-p|--pkg|--bin|--cwd|--prefix|-C|--dir|--directory|--to"
    r"|workspace|\bnx\s+(?:run|serve|build|start)|\bcd)[=\s]+[\"']?([@\w./-]+)"
)
_MAX_TEXT = 20_000
#: Weight of a text that says what is started, or where.
STARTS = 4


@dataclass
class Members:
    """The packages of a source by their folders and names."""

    packages: Mapping[str, Package]
    by_name: dict[str, str | None] = field(init=False)  #: None where two packages share a name

    def __post_init__(self) -> None:
        self.by_name = {}
        for path, package in self.packages.items():
            if not path:
                continue
            names = {manifest.name for manifest in package.manifests if manifest.name} | {path.rpartition("/")[2]}
            for name in names:
                self.by_name[name] = path if self.by_name.get(name, path) == path else None

    def mentioned(self, text: str, folder: str) -> Counter[str]:
        """Count how often a text at ``folder`` mentions each package other than that of the folder."""
        counts: Counter[str] = Counter()
        if len(self.packages) < 2:
            return counts
        for match in _NAMED.finditer(text[:_MAX_TEXT]):
            name = match[1].removesuffix("...").split(":")[0]
            place = self._of_path(name, folder) or self.by_name.get(name)
            if place and place != folder:
                counts[place] += 2
        for match in _TOKEN.finditer(text[:_MAX_TEXT]):
            place = self._of_path(match[0], folder)
            if place and place != folder:
                counts[place] += 1
        return counts

    def _of_path(self, token: str, folder: str) -> str | None:
        """Return the package in which a path, also one inside of an image, or a dotted module lies."""
        token = re.sub(
            r"^(?:/(?:usr/src/app|usr/src|app|workspace|srv|code|opt/app|opt|src|home/\w+(?:/app)?)(?=/))", "", token
        )
        if "/" not in token and "." in token and ":" in token:
            token = token.partition(":")[0].replace(".", "/")
        place = resolved(folder, token.lstrip("/").split("*")[0])
        if not place or place == folder:
            return None
        for above in ancestors(place):
            if above == folder:
                return None
            if above in self.packages:
                return above or None
        return None

    def nearest(self, folder: str) -> str | None:
        """Return the package at the folder or around it, else the only one of the source."""
        for above in ancestors(folder):
            if above in self.packages:
                return above
        return next(iter(self.packages)) if len(self.packages) == 1 else None

    def of_command(self, text: str, folder: str) -> str | None:
        """Return the package that a command at a folder starts."""
        own = self.nearest(folder)
        counts = self.mentioned(text, folder)
        if not counts:
            return own
        best, count = counts.most_common(1)[0]
        tied = [path for path, other in counts.items() if other == count and path != best]
        gathers = own is None or is_aggregator(self.packages[own]) or not self.packages[own].sources
        if tied or not (gathers or _runs_inside(text, best, folder)):
            return own
        return best

    def of_file(self, path: str, texts: Iterable[tuple[str, int]], context: str) -> str | None:
        """Return the package that a Dockerfile builds; ``texts``, with weights, mention it from the context on."""
        folder = path.rpartition("/")[0]
        package = self.packages.get(folder)
        if package is not None and package.manifests and not is_aggregator(package):
            return folder
        own = self.nearest(folder)
        around = self.packages.get(own) if own is not None else None
        if around is not None and around.sources and not is_aggregator(around):
            texts = [text for text in texts if text[1] >= STARTS]  # a program may copy the pages of a member
        return self._scored(path, texts, context) or own

    def _scored(self, path: str, texts: Iterable[tuple[str, int]], context: str) -> str | None:
        counts: Counter[str] = Counter()
        for text, weight in texts:
            mentioned = self.mentioned(text, context)
            for place, count in mentioned.items():
                counts[place] += min(count, 3) * weight
        words = set(re.split(r"[/._-]+", path.lower()))
        for place, package in self.packages.items():
            if not package.sources or package.manifest("Chart.yaml"):
                counts.pop(place, None)  # a chart, or a list of members, is not what an image runs
            elif place and place.rpartition("/")[2].lower() in words:
                counts[place] += 3
        ranked = counts.most_common(2)
        if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
            return None
        return ranked[0][0]


def _runs_inside(text: str, place: str, folder: str) -> bool:
    """Return whether a command changes into a package or runs it by name, instead of only using one of its files."""
    below = place[len(folder) :].lstrip("/") if folder else place
    return re.search(rf"\bcd\s+(?:\./)?{re.escape(below)}\b", text) is not None or _NAMED.search(text) is not None
