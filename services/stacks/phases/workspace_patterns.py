"""Patterns of a workspace, expanded under a budget and matched against the folders that hold a manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from services.stacks.budget import Budget
from services.stacks.globs import glob_regex

#: Of one workspace, its braces expanded.
MAX_PATTERNS = 1000
_MAX_LENGTH = 1000
_GROUP = re.compile(r"\{([^{}]*)\}")
_MAGIC = re.compile(r"[*?\[\\]")


def expand_braces(glob: str, limit: int) -> tuple[list[str], bool]:
    """Expand ``{a,b}`` groups, nested ones too; return at most ``limit`` patterns and whether that is all of them."""
    pending: list[str] = [glob]
    expanded: list[str] = []
    complete = True
    while pending and len(expanded) < limit:
        pattern = pending.pop()
        group = _GROUP.search(pattern)
        if group is None:
            expanded.append(pattern)
            continue
        parts = group[1].split(",")
        complete = complete and len(parts) <= limit
        pending += [pattern[: group.start()] + part + pattern[group.end() :] for part in reversed(parts[:limit])]
    return expanded, complete and not pending


@dataclass
class _Run:
    """Consecutive patterns that all add or all take away."""

    negated: bool
    paths: set[str] = field(default_factory=set)
    globs: list[str] = field(default_factory=list)
    regex: re.Pattern[str] | None = None


@dataclass(frozen=True)
class WorkspacePatterns:
    """The patterns of one workspace; a later negation takes away what an earlier pattern added."""

    runs: Sequence[_Run]
    complete: bool

    @classmethod
    def of(cls, globs: Iterable[str]) -> WorkspacePatterns:
        runs: list[_Run] = []
        left, complete = MAX_PATTERNS, True
        for glob in globs:
            if not left or len(glob) > _MAX_LENGTH:
                complete = False
                continue
            negated = glob.startswith("!")
            expanded, whole = expand_braces(glob.removeprefix("!").removeprefix("./").strip("/"), left)
            left -= len(expanded)
            complete = complete and whole
            if not runs or runs[-1].negated is not negated:
                runs.append(_Run(negated))
            for pattern in expanded:
                if _MAGIC.search(pattern):
                    runs[-1].globs.append(pattern)
                else:
                    runs[-1].paths.add(pattern)
        for run in runs:
            if run.globs:
                run.regex = re.compile("|".join(f"(?:{glob_regex(glob)})" for glob in dict.fromkeys(run.globs)))
        return cls(runs, complete)

    def chosen(self, below: str, work: Budget) -> bool:
        """Return whether the folder is a member."""
        chosen = False
        for run in self.runs:
            if chosen is not run.negated:
                continue
            if below in run.paths or (run.regex and work.take(len(run.globs)) and run.regex.fullmatch(below)):
                chosen = not run.negated
        return chosen
