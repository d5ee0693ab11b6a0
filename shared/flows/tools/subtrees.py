"""Collapsed subtrees: the root says ``data.collapsed``, what is below ``subtreeHidden``, and its edges are hidden."""

from __future__ import annotations

from collections.abc import Iterable

from shared.flows.document import Json, Kind, is_group, text_of
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


def show_released(draft: Draft, keys: Iterable[str]) -> None:
    """Show of these nodes, and of what is below, whatever no collapsed node holds now that an edge or node is gone."""
    hidden = [key for key in keys if key in draft.nodes and _is_below(draft, key)]
    if not hidden:
        return
    held = {key for root, item in draft.nodes.items() if _is_collapsed(item.body) for key in descendants(draft, root)}
    free = [
        key
        for start in hidden
        for key in (start, *descendants(draft, start))
        if key not in held and _is_below(draft, key)
    ]
    for key in free:
        _set_below(draft, key, False)
    _hide_edges(draft, free)


def descendants(draft: Draft, root: str) -> list[str]:
    """Every node reachable along edges, and the members of groups on the way, each once, without the root."""
    seen, pending = {root: None}, [*draft.children(root)]
    while pending:
        key = pending.pop()
        if key in seen:
            continue
        seen[key] = None
        pending += draft.children(key)
        if is_group(draft.nodes[key].body):
            pending += draft.members(key)
    return list(seen)[1:]


def _set_below(draft: Draft, key: str, hidden: bool) -> None:
    set_flag(draft, Kind.NODE, key, "subtreeHidden", hidden)
    set_hidden(draft, key, inside_collapsed(draft, text_of(draft.nodes[key].body, "parentGroupId")))


def _hide_edges(draft: Draft, nodes: Iterable[str]) -> None:
    """Hide the edges that have an end in a hidden subtree, and show the others at these nodes."""
    for edge in dict.fromkeys(edge for key in nodes for edge in draft.incident(key)):
        ends = (text_of(draft.edges[edge].body, name) for name in ("source", "target"))
        hidden = any(_is_below(draft, end) for end in ends if end in draft.nodes)
        set_flag(draft, Kind.EDGE, edge, "hidden", hidden)


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
