"""Exported Mermaid is imported unchanged, and nothing in a label ever becomes markup."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from shared.errors import InvalidRequest
from shared.flows.document import Document, Item, Json, Kind, document_of, is_group, label_of, position_of, text_of
from shared.flows.errors import FlowTooLarge
from shared.flows.forms.dot import dot
from shared.flows.forms.mermaid import SHAPES, mermaid
from shared.flows.forms.mermaid_import import read_mermaid
from shared.flows.forms.svg import svg
from shared.flows.visuals import all_nodes_color, node_color
from tests.shared.flows.drafts import diagram, edge, node

label = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12).filter(
    lambda text: text != "\u200b"
)
ident = label.filter(bool)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    keys = draw(st.lists(ident, unique=True, max_size=7))
    groups = [key for key in keys if draw(st.booleans())][:3]
    nodes: list[JsonValue] = []
    for key in keys:
        around = draw(
            st.sampled_from([None, *groups[: groups.index(key)]]) if key in groups else st.sampled_from([None, *groups])
        )
        body: Json = {"id": key, "type": "default", "position": {"x": 0, "y": 0}, "data": {"label": draw(label)}}
        if key in groups:
            body |= {"type": "group", "isCollapsed": False}
        if around is not None:
            body["parentGroupId"] = around
        nodes.append(body)
    edges: list[JsonValue] = []
    for number in range(draw(st.integers(0, 6)) if keys else 0):
        body = edge(draw(st.sampled_from(keys)), draw(st.sampled_from(keys)), f"e{number + 1}")
        if words := draw(label):
            body["data"] = {"label": words}
        edges.append(body)
    colors = {node_color(key, "border"): Item(0, {"value": "#ff0000"}) for key in keys[:2]}
    return document_of(nodes, edges, {**colors, all_nodes_color("text"): Item(0, {"value": "red"})})


def essence(document: Document) -> tuple[object, ...]:
    nodes = {
        key: (label_of(item.body), is_group(item.body), text_of(item.body, "parentGroupId"))
        for key, item in document.nodes.items()
    }
    edges = [(text_of(body, "source"), text_of(body, "target"), label_of(body)) for body in document.listed(Kind.EDGE)]
    return nodes, edges, {key: item.body for key, item in document.settings.items()}


@pytest.mark.slow
@given(documents())
def test_exported_mermaid_is_imported_with_ids_labels_edges_groups_and_colours(document: Document) -> None:
    back, warnings = read_mermaid(mermaid(document))
    assert warnings == []
    assert essence(back) == essence(document)


_ELEMENTS = {"svg", "defs", "marker", "path", "g", "title", "rect", "text"}


@given(documents())
def test_svg_is_well_formed_and_holds_no_element_of_a_label(document: Document) -> None:
    root = ET.fromstring(svg(document))
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= _ELEMENTS
    assert all(not name.startswith("on") and "href" not in name for element in root.iter() for name in element.attrib)


@given(documents())
def test_dot_is_read_by_graphviz_where_there_is_one(document: Document) -> None:
    text = dot(document)
    assert text.count("{") >= 1
    if graphviz := shutil.which("dot"):
        subprocess.run([graphviz, "-Tcanon"], input=text.encode(), check=True, capture_output=True, timeout=20)


def test_labels_cannot_end_their_dot_string() -> None:
    document = diagram(node('a"]; evil [', 'x" \\N "y\n\\'), edges=(edge('a"]; evil [', 'a"]; evil ['),))
    assert '"a\\"]; evil [" [label="x\\" \\\\N \\"y\\n\\\\"];' in dot(document)


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", '"] --> evil["', "`md`", "a;b", "#quot;", "%% x", "</title><script>", "]]>", "a\nb"],
)
def test_labels_are_inert_in_every_form(text: str) -> None:
    document = diagram(node("a", text), node("b"), edges=(edge("a", "b") | {"data": {"label": text}},))
    for form in (mermaid(document), svg(document), dot(document)):
        assert "<script" not in form or form.startswith("digraph")
    assert essence(read_mermaid(mermaid(document))[0])[0] == essence(document)[0]


SAMPLE = """
---
title: Shop
---
flowchart TD
    %% a comment
    A[Start] --> B{Is it?}
    B -->|Yes| C(Round one)
    B -- no --> D((Circle)); D --- E
    A & C -.-> F & G
    F ==> G -. maybe .-> H["quoted; [text] #quot;x#quot;"]
    subgraph one [The group]
      direction LR
      C --> I([Stadium])
      subgraph two
        J
      end
    end
    one --> J:::hot
    click A "https://example.com"
    style A fill:#f9f,stroke:#333
    I-->J
    node-1-->node-2
"""


def test_a_mermaid_chart_is_read_and_what_is_not_understood_is_reported() -> None:
    document, warnings = read_mermaid(SAMPLE)
    labels = {key: label_of(item.body) for key, item in document.nodes.items()}
    assert labels == {
        "A": "Start",
        "B": "Is it?",
        "C": "Round one",
        "D": "Circle",
        "E": "E",
        "F": "F",
        "G": "G",
        "H": 'quoted; [text] "x"',
        "one": "The group",
        "I": "Stadium",
        "two": "two",
        "J": "J",
        "node-1": "node-1",
        "node-2": "node-2",
    }
    edges = {(text_of(body, "source"), text_of(body, "target")): body for body in document.listed(Kind.EDGE)}
    assert set(edges) == {
        *[("A", "B"), ("B", "C"), ("B", "D"), ("D", "E"), ("A", "F"), ("A", "G"), ("C", "F"), ("C", "G"), ("F", "G")],
        *[("G", "H"), ("C", "I"), ("I", "J"), ("one", "J"), ("node-1", "node-2")],
    }
    assert edges["B", "C"]["data"] == {"label": "Yes"}
    assert edges["B", "D"]["data"] == {"label": "no"}
    assert edges["D", "E"]["data"] == {"line": "open"}
    assert edges["G", "H"]["data"] == {"label": "maybe", "line": "dotted"}
    groups = {key: text_of(item.body, "parentGroupId") for key, item in document.nodes.items()}
    assert (groups["I"], groups["two"], groups["J"], groups["A"]) == ("one", "one", "two", "")
    reported = [(warning.line, warning.text) for warning in warnings]
    assert reported == [
        (13, "direction LR"),
        (19, "one --> J:::hot"),
        (20, 'click A "https://example.com"'),
    ]
    assert document.settings[node_color("A", "background")].body == {"value": "#f9f"}


@pytest.mark.parametrize("direction", ["TD", "TB", "LR", "RL", "BT"])
def test_the_direction_of_a_chart_is_the_direction_of_its_layout(direction: str) -> None:
    document, _ = read_mermaid(f"graph {direction};A-->B-->C")
    (ax, ay), (bx, by) = [position_of(item.body) for item in list(document.nodes.values())[:2]]
    assert {"LR": bx > ax, "RL": bx < ax, "BT": by < ay}.get(direction, by > ay)


@pytest.mark.parametrize("direction", ["TD", "LR", "RL", "BT"])
def test_a_chart_comes_back_in_its_direction_and_without_colours_that_it_had_not(direction: str) -> None:
    document, _ = read_mermaid(f"flowchart {direction}\n  A[one] --> B[two]\n  A --> C[three]\n")
    lines = mermaid(document).splitlines()
    assert lines[0] == f"flowchart {direction}"
    assert not [line for line in lines if "classDef" in line or "style" in line]
    assert f"rankdir={direction.replace('TD', 'TB')};" in dot(document)
    assert mermaid(document, "TB").startswith("flowchart TB\n")


@pytest.mark.parametrize("text", ["", "hello", "sequenceDiagram\nA->>B: x", "%% only a comment"])
def test_what_is_no_flowchart_is_refused_with_the_line(text: str) -> None:
    with pytest.raises(InvalidRequest):
        read_mermaid(text)


@pytest.mark.parametrize("line", ["A[unclosed", 'A["x] --> B', "end", "A -- x", "A |x| B", "A --> |", "A & --> B"])
def test_half_a_statement_is_reported_and_changes_nothing(line: str) -> None:
    document, warnings = read_mermaid(f"graph LR\nX\n{line}\nY")
    assert [(warning.line, warning.text) for warning in warnings] == [(3, line)]
    assert list(document.nodes) == ["X", "Y"]


def test_a_chain_of_too_many_edges_is_refused_before_it_is_built() -> None:
    many = " & ".join(f"n{number}" for number in range(400))
    with pytest.raises(FlowTooLarge):
        read_mermaid(f"graph LR\n{many} --> {many}")


@given(st.text(st.sampled_from('AB-=.>|[](){}"&;#%x \n'), max_size=60))
def test_any_text_is_read_or_reported(text: str) -> None:
    document, warnings = read_mermaid("graph LR\n" + text)
    assert all(1 < warning.line <= text.count("\n") + 2 for warning in warnings)
    for body in document.listed(Kind.EDGE):
        assert {text_of(body, "source"), text_of(body, "target")} <= set(document.nodes)


def lines_in(picture: str) -> list[tuple[str, str]]:
    """Start and end of every straight line."""
    return re.findall(r'<path d="M([-\d.]+ [-\d.]+) L([-\d.]+ [-\d.]+)"', picture)


def placed(key: str, x: float, y: float, **more: JsonValue) -> Json:
    return {**node(key), "position": {"x": x, "y": y}, **more}


def test_an_edge_into_a_collapsed_group_ends_at_its_box() -> None:
    members = [placed(key, 300, 0, parentGroupId="g", hidden=True) for key in ("b", "c")]
    group = placed("g", 300, 100, type="group", isCollapsed=True)
    document = diagram(placed("a", 0, 100), group, *members, edges=(edge("a", "b"), edge("a", "c"), edge("b", "c")))
    assert lines_in(svg(document)) == [("172 138", "300 138")]
    expanded = diagram(
        placed("a", 0, 100),
        {**group, "isCollapsed": False},
        *[{**m, "hidden": False} for m in members],
        edges=(edge("a", "b"),),
    )
    assert len(lines_in(svg(expanded))) == 1


def test_edges_there_and_back_are_two_lines_with_both_labels() -> None:
    there: Json = {**edge("a", "b"), "data": {"label": "sends"}}
    back: Json = {**edge("b", "a"), "data": {"label": "answers"}}
    picture = svg(diagram(placed("a", 0, 0), placed("b", 400, 0), edges=(there, back)))
    first, second = lines_in(picture)
    assert first[0] != second[1]
    assert first[1] != second[0]
    assert ">sends<" in picture
    assert ">answers<" in picture
    heights = re.findall(r'<text x="[\d.]+" y="([\d.]+)" text-anchor="middle" fill="#b9b5d6"', picture)
    assert abs(float(heights[0]) - float(heights[1])) >= 12
    three = svg(diagram(placed("a", 0, 0), placed("b", 400, 0), edges=(there, edge("a", "b", "x"), back)))
    assert len(set(lines_in(three))) == 3


def test_hidden_edges_are_not_drawn_and_self_loops_are_curves() -> None:
    hidden: Json = {**edge("a", "b"), "hidden": True}
    picture = svg(diagram(placed("a", 0, 0), placed("b", 400, 0), edges=(hidden, edge("b", "b"))))
    assert lines_in(picture) == []
    assert picture.count("marker-end") == 1


@pytest.mark.parametrize("line", ["dotted", "thick", "open"])
def test_svg_and_dot_draw_the_kind_of_a_line(line: str) -> None:
    document = diagram(placed("a", 0, 0), placed("b", 400, 0), edges=({**edge("a", "b"), "data": {"line": line}},))
    plain = diagram(placed("a", 0, 0), placed("b", 400, 0), edges=(edge("a", "b"),))
    marks = {"dotted": ("stroke-dasharray", "style=dashed"), "thick": ('stroke-width="3"', "style=bold")}
    if line == "open":
        assert "marker-end" not in svg(document)
        assert "arrowhead=none" in dot(document)
    else:
        assert marks[line][0] in svg(document)
        assert marks[line][1] in dot(document)
    assert svg(plain).count("marker-end") == 1


def test_every_shape_is_drawn_as_another_figure() -> None:
    figures = set()
    for shape in SHAPES:
        picture = svg(diagram({**placed("a", 0, 0), "data": {"label": "a", "shape": shape}}))
        figure = picture.partition("</title>")[2].partition("<text")[0]
        assert figure
        figures.add(figure)
        assert dot(diagram({**placed("a", 0, 0), "data": {"label": "a", "shape": shape}}))
    assert len(figures) == len(SHAPES)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_what_is_exported() -> None:
    group = node("g", type="group", isCollapsed=False)
    shapes: list[Json] = [
        {**node(shape), "data": {"label": shape, "shape": shape}, "parentGroupId": "g"} for shape in SHAPES
    ]
    text = dot(diagram(group, *shapes, "x", edges=(edge("x", "g"), edge("g", "x"))))
    ran = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("key", ["A", "x", "end1", "graphics", "class_a", "n2", "TBD", "E"])
def test_an_id_that_is_a_name_is_kept_in_exports(key: str) -> None:
    chart = mermaid(diagram(key, "a b", edges=(edge(key, "a b"),)))
    assert f"  {key} --> n1\n" in chart
    assert chart.count("%% id") == 1


@pytest.mark.parametrize("key", ["end", "End", "GRAPH", "default", "node", "1a", "a-b", "_x", "é", "a\n"])
def test_an_id_that_mermaid_or_dot_would_read_otherwise_is_numbered(key: str) -> None:
    chart = mermaid(diagram("n1", key, edges=(edge("n1", key),)))
    assert "  n1 --> n2\n" in chart
    assert essence(read_mermaid(chart)[0])[0] == {"n1": ("n1", False, ""), key: (key, False, "")}
