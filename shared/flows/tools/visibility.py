"""Which nodes a group hides: those inside, when it is collapsed; groups in a cycle of groups are handled."""

from __future__ import annotations

from collections.abc import Iterator

from shared.flows.document import Json, Kind, group_of, is_group, position_of, relative_parent, text_of
from shared.flows.draft import Draft


def inside_collapsed(draft: Draft, group: str) -> bool:
    """Return whether the group, or one around it, is collapsed."""
    return any(draft.nodes[key].body.get("isCollapsed") is True for key in groups_around(draft, group))


def groups_around(draft: Draft, group: str) -> Iterator[str]:
    """Yield the group itself, then its ancestors."""
    seen: set[str] = set()
    while group in draft.nodes and group not in seen:
        seen.add(group)
        yield group
        group = group_of(draft.nodes[group].body)


def show_members(draft: Draft, group: str) -> None:
    """Hide or show everything inside a group, as the groups around it say."""
    pending = [(group, inside_collapsed(draft, group))]
    seen = {group}
    while pending:
        around, hidden = pending.pop()
        for key in draft.members(around):
            if key in seen:
                continue
            seen.add(key)
            set_hidden(draft, key, hidden)
            body = draft.nodes[key].body
            if is_group(body):
                pending.append((key, hidden or body.get("isCollapsed") is True))


def set_hidden(draft: Draft, key: str, hidden: bool) -> None:
    """Hide or show a node as the groups around it say; below a collapsed node it stays hidden."""
    set_flag(draft, Kind.NODE, key, "hidden", hidden or draft.nodes[key].body.get("subtreeHidden") is True)


def set_flag(draft: Draft, kind: Kind, key: str, name: str, value: bool) -> None:
    """Give a member that is true or false its value; an absent one is false already."""
    body = (draft.nodes if kind is Kind.NODE else draft.edges)[key].body
    if bool(body.get(name)) is not value:
        draft.change(kind, key, **{name: value})


def release(draft: Draft, group: str) -> None:
    """Move a group's members to the group around it, and show them unless that one hides them.

    Positions relative to the group become relative to the group's parent.
    """
    body = draft.nodes[group].body
    around = group_of(body)
    attached = draft.attached(group)
    for key in attached:
        _detach(draft, key, group, around if around != group and around in draft.nodes else "", relative_parent(body))
    hidden = inside_collapsed(draft, around) if around != group else False
    for key in attached:
        set_hidden(draft, key, hidden or inside_collapsed(draft, group_of(draft.nodes[key].body)))
        if draft.members(key):
            show_members(draft, key)


def _detach(draft: Draft, key: str, group: str, around: str, parent: str) -> None:
    """Give one node the group ``around``, and the ``parent`` that its position counts from."""
    body = draft.nodes[key].body
    changed: Json = {}
    gone: list[str] = []
    if relative_parent(body) == group:
        (x, y), (left, top) = position_of(body), position_of(draft.nodes[group].body)
        changed["position"] = {"x": x + left, "y": y + top}
        gone += [name for name in ("parentId", "parentNode", "extent", "expandParent") if name in body]
        if parent and parent == around:
            changed["parentId"] = parent
            gone.remove("parentId") if "parentId" in gone else None
    if text_of(body, "parentGroupId") == group:
        stays = (
            changed.get("parentId", relative_parent(body))
            if relative_parent(body) != group
            else changed.get("parentId")
        )
        if around and stays != around:
            changed["parentGroupId"] = around
        else:
            gone.append("parentGroupId")
    draft.change(Kind.NODE, key, gone, **changed)
