"""Which nodes a group hides: those inside, when it is collapsed; groups in a cycle of groups are handled."""

from __future__ import annotations

from collections.abc import Iterator

from shared.flows.document import Kind, is_group, text_of
from shared.flows.draft import Draft


def inside_collapsed(draft: Draft, group: str) -> bool:
    """Whether the group, or one around it, is collapsed."""
    return any(draft.nodes[key].body.get("isCollapsed") is True for key in groups_around(draft, group))


def groups_around(draft: Draft, group: str) -> Iterator[str]:
    """The group itself, then its ancestors."""
    seen: set[str] = set()
    while group in draft.nodes and group not in seen:
        seen.add(group)
        yield group
        group = text_of(draft.nodes[group].body, "parentGroupId")


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
    """Move a group's members to the group around it, and show them unless that one hides them."""
    around = text_of(draft.nodes[group].body, "parentGroupId")
    members = draft.members(group)
    for key in members:
        if around and around != group and around in draft.nodes:
            draft.change(Kind.NODE, key, parentGroupId=around)
        else:
            draft.change(Kind.NODE, key, ("parentGroupId",))
    hidden = inside_collapsed(draft, around) if around != group else False
    for key in members:
        set_hidden(draft, key, hidden)
        if is_group(draft.nodes[key].body):
            show_members(draft, key)
