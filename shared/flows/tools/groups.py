"""createGroup, ungroup, toggleGroupExpansion, toggleSubtreeCollapse."""

from __future__ import annotations

import time

from shared.flows import visuals
from shared.flows.document import Json, Kind, group_of, is_group, position_of, relative_parent
from shared.flows.draft import Draft
from shared.flows.tools.arguments import MAX_LABEL, Arguments, CallFailed, ToolResult, existing_node
from shared.flows.tools.nodes import check_node_limit
from shared.flows.tools.placement import place_group
from shared.flows.tools.subtrees import collapse
from shared.flows.tools.visibility import inside_collapsed, release, show_members

_TWO = "At least 2 memberIds are required"


def create_group(draft: Draft, arguments: Arguments) -> ToolResult:
    members = arguments.texts("memberIds", _TWO)
    if len(members) < 2:
        raise CallFailed(_TWO)
    label = arguments.text("label", MAX_LABEL)
    given = arguments.text("id")
    position = arguments.position()
    arguments.no_more()
    if given in draft.nodes:
        raise CallFailed(f'Node ID "{given}" already exists. Please choose a different ID.')
    around = _common_group(draft, members)
    check_node_limit(draft)
    key = given or draft.new_id()
    places = [position_of(draft.nodes[member].body) for member in members]
    x, y = position or (min(x for x, _ in places), sum(y for _, y in places) / len(places))
    body: Json = {
        "id": key,
        "type": "group",
        "position": {"x": x, "y": y},
        "data": {"label": label or f"Group {int(time.time() * 1000)}"},
        "isCollapsed": True,
    }
    if around:
        relative = all(relative_parent(draft.nodes[member].body) == around for member in members)
        body["parentId" if relative else "parentGroupId"] = around
        if inside_collapsed(draft, around):
            body["hidden"] = True
    draft.add(Kind.NODE, key, body)
    for member in members:
        draft.change(Kind.NODE, member, parentGroupId=key)
    show_members(draft, key)
    if position is None:
        place_group(draft, key, members)
    return ToolResult(group_id=key)


def ungroup(draft: Draft, arguments: Arguments) -> ToolResult:
    key = arguments.needed("groupId", "groupId is required")
    arguments.no_more()
    _existing_group(draft, key)
    if not draft.members(key):
        raise CallFailed("Group has no members")
    release(draft, key)
    for edge in draft.incident(key):
        draft.remove(Kind.EDGE, edge)
    draft.remove(Kind.NODE, key)
    for pointer in visuals.of_node(key):
        draft.remove(Kind.SETTING, pointer)
    return ToolResult(group_id=key)


def toggle_group_expansion(draft: Draft, arguments: Arguments) -> ToolResult:
    key = arguments.needed("groupId", "groupId is required")
    expand = arguments.flag("expand")
    arguments.no_more()
    _existing_group(draft, key)
    if draft.nodes[key].body.get("isCollapsed") is expand or "isCollapsed" not in draft.nodes[key].body:
        draft.change(Kind.NODE, key, isCollapsed=not expand)
    show_members(draft, key)
    if not expand:
        place_group(draft, key, draft.members(key))
    return ToolResult(group_id=key)


def toggle_subtree_collapse(draft: Draft, arguments: Arguments) -> ToolResult:
    """Hide or show everything that can be reached from a node; the node itself stays, in a cycle too."""
    key = arguments.needed("nodeId", "nodeId is required")
    collapsed = arguments.flag("collapsed")
    arguments.no_more()
    existing_node(draft, key)
    collapse(draft, key, collapsed)
    return ToolResult(node_id=key)


def _common_group(draft: Draft, members: list[str]) -> str:
    """Return the group that contains all members; empty without one."""
    unknown = [member for member in members if member not in draft.nodes]
    if unknown:
        raise CallFailed(f"Nodes not found: {', '.join(unknown)}", unknown[0])
    if len(set(members)) < len(members):
        raise CallFailed("Duplicate member IDs provided")
    around = {member: group_of(draft.nodes[member].body) for member in members}
    if len(set(around.values())) > 1:
        named = ", ".join(f"{member} ({group or 'no group'})" for member, group in around.items())
        raise CallFailed(f"Cannot group nodes from different parent groups: {named}")
    return around[members[0]]


def _existing_group(draft: Draft, key: str) -> None:
    if key not in draft.nodes or not (is_group(draft.nodes[key].body) or draft.members(key)):
        raise CallFailed(f"Group {key} not found", key)
