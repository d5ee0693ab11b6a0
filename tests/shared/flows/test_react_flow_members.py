"""React Flow's own parents and sizes: a layout keeps children in their parent's box and gives each node its size."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from shared.flows.document import Document, corner_of, position_of
from shared.flows.forms.mermaid import mermaid
from shared.flows.forms.svg import svg
from shared.flows.tools.visuals import arrange
from shared.flows.visuals import size_of
from tests.shared.flows.drafts import diagram, edge, node, run

Box = tuple[float, float, float, float]


def box(document: Document, key: str) -> Box:
    x, y = corner_of(document.nodes, key)
    width, height = size_of(document.settings, key, document.nodes[key].body)
    return x, y, x + width, y + height


def within(inner: Box, outer: Box) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def apart(one: Box, other: Box) -> bool:
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def laid_out(document: Document, direction: str = "LR") -> Document:
    batch, _ = run(document)
    arrange(batch.draft, "TB" if direction == "TB" else "LR")
    return batch.draft.document()


@pytest.mark.parametrize("direction", ["LR", "TB"])
@pytest.mark.parametrize("style", [{"width": 500, "height": 400}, {"width": 50, "height": "30px"}])
def test_children_stay_within_their_parent_in_its_own_coordinates(direction: str, style: dict[str, JsonValue]) -> None:
    document = laid_out(
        diagram(
            node("outer", type="group", position={"x": 600, "y": 300}, style=style),
            node("c1", position={"x": 10, "y": 50}, parentId="outer", extent="parent"),
            node("c2", position={"x": 210, "y": 50}, parentId="outer"),
            node("inner", position={"x": 1, "y": 1}, parentId="outer"),
            node("deep", parentId="inner"),
            node("free"),
            edges=(edge("c1", "c2"), edge("free", "c1"), edge("c2", "deep")),
        ),
        direction,
    )
    outer = box(document, "outer")
    for key in ("c1", "c2", "inner"):
        assert within(box(document, key), outer)
        assert min(position_of(document.nodes[key].body)) >= 0
    assert within(box(document, "deep"), box(document, "inner"))
    for one, other in (("c1", "c2"), ("c1", "inner"), ("c2", "inner"), ("outer", "free")):
        assert apart(box(document, one), box(document, other))
    if style["width"] == 500:
        assert outer[2] - outer[0] >= 500
        assert document.nodes["outer"].body["style"]["height"] >= 400  # type: ignore[call-overload,index,operator]


@pytest.mark.parametrize(
    "size",
    [
        {"measured": {"width": 500, "height": 300}},
        {"width": 500, "height": 300},
        {"style": {"width": "500px", "height": 300}},
    ],
)
def test_a_layout_gives_every_node_the_size_that_react_flow_has_of_it(size: dict[str, object]) -> None:
    large = node("b", **size)  # type: ignore[arg-type]
    document = laid_out(
        diagram("a", large, "c", "d", edges=(edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d")))
    )
    assert box(document, "b")[2] - box(document, "b")[0] == 500
    keys = list(document.nodes)
    assert all(apart(box(document, one), box(document, other)) for one in keys for other in keys if one < other)


def test_a_second_layout_moves_nothing() -> None:
    once = laid_out(diagram(node("outer", type="group"), node("c", parentId="outer"), "a", edges=(edge("a", "c"),)))
    batch, _ = run(once)
    assert not arrange(batch.draft, "LR")


def test_exports_draw_children_inside_of_their_parent() -> None:
    document = diagram(node("outer", position={"x": 100, "y": 100}), node("c", parentId="outer"), "a")
    assert '  subgraph outer["outer"]\n    c["c"]\n  end\n' in mermaid(document)
    assert svg(document).count("<rect") == 3
