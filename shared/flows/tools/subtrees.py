"""Collapsed subtrees: the root says ``data.collapsed``, what is below ``subtreeHidden``, and its edges are hidden."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shared.flows.document import Json, Kind, group_of, text_of
from shared.flows.draft import Draft
from shared.flows.tools.visibility import inside_collapsed, set_flag, set_hidden


def collapse(draft: Draft, root: str, collapsed: bool) -> None:
    """Hide or show everything below a node; after showing it nothing below is collapsed any more."""
    _mark_collapsed(draft, root, collapsed)
    below = descendants(draft, root)
    for key in below:
        if not collapsed:
            _mark_collapsed(draft, key, False)
        _set_below(draft, key, collapsed)
    _hide_edges(draft, below)


def descendants(draft: Draft, root: str) -> list[str]:
    """Return every node reachable along edges, and the members of groups on the way, each once, without the root."""
    seen, pending = {root: None}, [*draft.children(root)]
    while pending:
        key = pending.pop()
        if key in seen:
            continue
        seen[key] = None
        pending += draft.children(key)
        pending += draft.members(key)
    return list(seen)[1:]


@dataclass(frozen=True)
class Held:
    """What is collapsed away: nodes below collapsed ones, and nodes in collapsed groups."""

    below: frozenset[str] = frozenset()
    inside: frozenset[str] = frozenset()


def held(draft: Draft) -> Held:
    """Return what the collapsed nodes and groups hide; of two that lead to each other the first one stays."""
    below: set[str] = set()
    for root in sorted(draft.marked("collapsed"), key=lambda key: draft.nodes[key].rank):
        if root not in below:
            below.update(descendants(draft, root))
    inside: set[str] = set()
    pending = draft.marked("collapsed group")
    while pending:
        members = [key for key in draft.members(pending.pop()) if key not in inside]
        inside.update(members)
        pending += members
    return Held(frozenset(below), frozenset(inside))


def settle(draft: Draft, before: Held, mark: int) -> Held:
    """Hide and show what a call has put under something collapsed, or out of it; nodes that a client hid stay hidden.

    ``mark`` is where the call begins in the draft's journal.
    """
    now = held(draft)
    stale = {key for key in draft.marked("subtreeHidden") if key not in now.below}
    changed = [key for key in (*(before.below ^ now.below), *stale) if key in draft.nodes]
    for key in sorted(dict.fromkeys(changed), key=lambda key: draft.nodes[key].rank):
        set_flag(draft, Kind.NODE, key, "subtreeHidden", key in now.below)
    changed += [key for key in before.inside ^ now.inside if key in draft.nodes]
    for key in sorted(dict.fromkeys(changed), key=lambda key: draft.nodes[key].rank):
        set_flag(draft, Kind.NODE, key, "hidden", key in now.below or key in now.inside)
    _hide_edges(draft, changed)
    for edge in draft.added_edges(mark) if now.below else ():
        hide_edge(draft, edge)
    return now


def _set_below(draft: Draft, key: str, hidden: bool) -> None:
    set_flag(draft, Kind.NODE, key, "subtreeHidden", hidden)
    set_hidden(draft, key, inside_collapsed(draft, group_of(draft.nodes[key].body)))


def _hide_edges(draft: Draft, nodes: Iterable[str]) -> None:
    """Hide the edges that have an end in a hidden subtree, and show the others at these nodes."""
    for edge in dict.fromkeys(edge for key in nodes for edge in draft.incident(key)):
        hide_edge(draft, edge)


def hide_edge(draft: Draft, edge: str) -> None:
    ends = (text_of(draft.edges[edge].body, name) for name in ("source", "target"))
    set_flag(draft, Kind.EDGE, edge, "hidden", any(_is_below(draft, end) for end in ends if end in draft.nodes))


def _mark_collapsed(draft: Draft, key: str, collapsed: bool) -> None:
    body = draft.nodes[key].body
    if _is_collapsed(body) is not collapsed:
        data = body.get("data")
        marked: Json = {**(data if isinstance(data, dict) else {}), "collapsed": collapsed}
        draft.change(Kind.NODE, key, data=marked)


def _is_collapsed(body: Json) -> bool:
    data = body.get("data")
    return isinstance(data, dict) and data.get("collapsed") is True


def _is_below(draft: Draft, key: str) -> bool:
    return draft.nodes[key].body.get("subtreeHidden") is True
