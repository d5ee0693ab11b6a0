"""``Did you mean``: names similar to the one that was not found; the error text itself stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches

from shared.flows.calls import CallOutcome
from shared.flows.document import label_of
from shared.flows.draft import Draft
from shared.flows.tools.table import TOOLS

MOST = 3
_LOOKED_UP = 5  #: failures of one batch that get suggestions
_CANDIDATES = 2_000  #: names compared for each


def suggest(draft: Draft, outcomes: Sequence[CallOutcome]) -> list[CallOutcome]:
    """Return the outcomes, with suggestions for the first failed ones."""
    left = _LOOKED_UP
    answered: list[CallOutcome] = []
    for outcome in outcomes:
        if outcome.error is not None and left and (near := _near(draft, outcome)):
            left -= 1
            outcome = replace(outcome, suggestions=tuple(near))  # noqa: PLW2901
        answered.append(outcome)
    return answered


def _near(draft: Draft, outcome: CallOutcome) -> list[str]:
    if outcome.wanted is not None and len(outcome.wanted) <= 100:
        return closest(outcome.wanted, _names(draft, outcome))
    if outcome.error is not None and outcome.error.startswith("Unknown tool"):
        return closest(outcome.call.name, TOOLS)
    return []


def _names(draft: Draft, outcome: CallOutcome) -> Iterable[str]:
    if outcome.call.name in ("updateEdge", "deleteEdge"):
        return draft.edges
    labels = (label_of(item.body) for item in draft.nodes.values()) if outcome.call.name == "addNode" else ()
    return (*draft.nodes, *labels)


def closest(name: str, among: Iterable[str]) -> list[str]:
    """Return the few names most similar to the given one, best first."""
    near = {other: None for other in among if 0 < len(other) <= 100 and abs(len(other) - len(name)) <= 3}
    first = [other for other in near if other[:1].lower() == name[:1].lower()]
    candidates = (first + [other for other in near if other[:1].lower() != name[:1].lower()])[:_CANDIDATES]
    return get_close_matches(name, candidates, n=MOST, cutoff=0.6)
