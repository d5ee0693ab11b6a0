"""What a detection teaches: technologies that a model named and no rule knows, and which files gave them away."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from services.stacks.linguist.tables import Tables
from services.stacks.manifests.kinds import kind_of
from services.stacks.rules.technologies import TechnologyRules
from services.stacks.scan.filenames import is_plain
from shared.contracts.definitions import SightedFile, TechnologyKind
from shared.contracts.detect import Candidate, DetectResult, Evidence
from shared.stacks.proposals import Seen

_MAX_FILES = 10
_MAX_SEEN = 200
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def custom_sightings(result: DetectResult, rules: TechnologyRules, tables: Tables) -> list[Seen]:
    """Return the custom technologies of a result that only a model named."""
    match = [
        Seen(
            candidate.kind,
            candidate.id,
            candidate.name,
            service.path,
            candidate.confidence,
            resembling(rules, candidate.kind, candidate.id),
            files,
        )
        for service in result.services
        for candidate in service.candidates
        if candidate.custom
        and candidate.source == "llm"
        and _ID.fullmatch(candidate.id)
        and (files := list(_files(candidate, tables)))
    ]
    return match[:_MAX_SEEN]


def resembling(rules: TechnologyRules, kind: TechnologyKind, id: str) -> str | None:
    """Return a known technology of the kind with a similar spelling; a person decides whether it is meant."""
    known = [technology.id for technology in rules.of(kind)]
    return next(iter(difflib.get_close_matches(id, known, 1, 0.8)), None)


def _files(candidate: Candidate, tables: Tables) -> Iterable[SightedFile]:
    """Yield the cited files that could be in a rule: not those that prove another technology already."""
    for proof in candidate.evidence[:_MAX_FILES]:
        pattern = _pattern(candidate.kind, proof, tables)
        if pattern is not None:
            yield SightedFile(file=proof.file, line=proof.line, pattern=pattern)


def _pattern(kind: TechnologyKind, proof: Evidence, tables: Tables) -> str | None:
    """Return sources by their ending, all else by its name; None for a pattern that would match everywhere."""
    name = proof.file.rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    owners = tables.candidates(name)
    explained = (
        kind_of(name) is not None or name in tables.filenames or any(language in tables.counted for language in owners)
    )
    if explained or is_plain(stem or name) or re.search(r"[*?\[\]\\]", name):
        return None
    pattern = f"*.{ending}" if kind == "language" and stem and not owners else name
    return pattern if len(pattern) <= 200 else None
