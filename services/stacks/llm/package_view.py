"""What a model is shown of a package, and how it becomes less for a small window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from services.stacks.llm.questions import Subject, redacted
from services.stacks.packages.survey import Survey
from services.stacks.tree import join
from shared.llm.chat import ChatMessage, Compacted
from shared.llm.compact import tokens_in

_MARK = ("BEGIN PACKAGE", "END PACKAGE")


@dataclass(frozen=True)
class Detail:
    """How many names and files of a package, and how many characters of a file."""

    names: int
    files: int
    characters: int


WHOLE = Detail(150, 6, 3000)
_LESS = (Detail(80, 4, 1200), Detail(40, 3, 500), Detail(20, 2, 250), Detail(12, 1, 160), Detail(6, 0, 0))


def compacted(prompt: Callable[[Detail], str], turns: Sequence[ChatMessage], tokens: int) -> Compacted | None:
    """Return a shorter prompt; ``turns``: the messages since the first. None when even the names are too much."""
    for detail in _LESS:
        messages = (ChatMessage("user", prompt(detail)), *turns)
        if tokens_in(messages) <= tokens:
            return Compacted(messages, ("names and texts of files",))
    return None


def shown(survey: Survey, subject: Subject, detail: Detail = WHOLE) -> str:
    """Return a package as the model sees it: names, then the beginnings of the most informative files."""
    paths = [join(folder.path, name) for folder in subject.folders for name in sorted(folder.files)]
    names = "\n".join(f"  {path}" for path in paths[: detail.names])
    if len(paths) > detail.names:
        names += f"\n  ... and {len(paths) - detail.names} more"
    parts = [f'{_MARK[0]}\nroot: "{subject.root}"\nasked for: {", ".join(subject.kinds)}\nfiles:\n{names}']
    beginnings = 0
    for path in sorted(paths, key=lambda path: (path.count("/"), _dull(path), path)):
        if beginnings == detail.files:
            break
        head = survey.scan.tree.read(path, detail.characters)
        if head is None or b"\0" in head or not head.strip():
            continue
        text = redacted(head.decode("utf-8", "replace"))
        for mark in _MARK:
            text = text.replace(mark, mark.lower())
        parts.append(f"--- {path}\n{text.rstrip()}")
        beginnings += 1
    return "\n".join([*parts, _MARK[1]])


def _dull(path: str) -> int:
    name = path.rpartition("/")[2].lower()
    secret = name.startswith(".env") or name.endswith((".pem", ".key", ".lock", "-lock.json", "-lock.yaml"))
    return 2 if secret else int(name.startswith((".", "readme", "license")) or name.endswith((".md", ".txt", ".svg")))
