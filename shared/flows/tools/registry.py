"""Every tool by its name; undo and redo are the batch's own, because they concern more than the draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from shared.flows.draft import Draft
from shared.flows.tools.arguments import Arguments, Made
from shared.flows.tools.arrange import auto_layout
from shared.flows.tools.edges import add_edge, delete_edge, update_edge
from shared.flows.tools.groups import create_group, toggle_group_expansion, toggle_subtree_collapse, ungroup
from shared.flows.tools.nodes import add_node, delete_node, update_node
from shared.flows.tools.visuals import change_dimensions, change_visuals

Tool = Callable[[Draft, Arguments], Made]

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        "addNode": add_node,
        "updateNode": update_node,
        "deleteNode": delete_node,
        "addEdge": add_edge,
        "updateEdge": update_edge,
        "deleteEdge": delete_edge,
        "changeVisuals": change_visuals,
        "changeDimensions": change_dimensions,
        "createGroup": create_group,
        "ungroup": ungroup,
        "toggleGroupExpansion": toggle_group_expansion,
        "autoLayout": auto_layout,
        "toggleSubtreeCollapse": toggle_subtree_collapse,  # not offered to the model
    }
)
