"""Files of other programs: nodes, edges, labels and places are read, the rest is named; or the file is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from shared.errors import InvalidRequest
from shared.flows.document import Document, Kind, label_of, position_of
from shared.flows.incoming import import_document

LANGFLOW: dict[str, Any] = {
    "name": "Support bot",
    "description": "",
    "data": {
        "nodes": [
            {
                "id": "in-1",
                "type": "genericNode",
                "position": {"x": 0, "y": 0},
                "data": {"type": "ChatInput", "node": {"display_name": "Chat Input", "template": {}}},
            },
            {"id": "out-1", "type": "genericNode", "position": {"x": 400, "y": 0}, "data": {"type": "ChatOutput"}},
        ],
        "edges": [{"id": "e1", "source": "in-1", "target": "out-1", "sourceHandle": "{œdataTypeœ: œChatInputœ}"}],
        "viewport": {"x": 0, "y": 0, "zoom": 1},
    },
    "is_component": False,
    "last_tested_version": "1.1.1",
}
FLOWISE: dict[str, Any] = {
    "nodes": [
        {
            "id": "chatOpenAI_0",
            "position": {"x": 10, "y": 20},
            "type": "customNode",
            "data": {"id": "chatOpenAI_0", "label": "ChatOpenAI", "name": "chatOpenAI", "inputs": {"temperature": 0.9}},
            "width": 300,
            "height": 670,
        },
        {
            "id": "chain_0",
            "position": {"x": 500, "y": 20},
            "type": "customNode",
            "data": {"label": "Conversation Chain"},
        },
    ],
    "edges": [{"source": "chatOpenAI_0", "target": "chain_0", "type": "buttonedge", "id": "x-y"}],
}
N8N = {
    "name": "Orders",
    "nodes": [
        {
            "parameters": {"path": "orders"},
            "id": "11",
            "name": "Webhook",
            "type": "n8n-nodes-base.webhook",
            "typeVersion": 2,
            "position": [100, 300],
            "credentials": {"http": {"id": "1"}},
        },
        {"parameters": {}, "name": "Paid?", "type": "n8n-nodes-base.if", "typeVersion": 2, "position": [320, 300]},
        {"id": "13", "name": "Ship", "type": "n8n-nodes-base.set", "position": [540, 200]},
        {"id": "14", "name": "Remind", "type": "n8n-nodes-base.set", "position": [540, 400]},
        {"id": "15", "name": "Model", "type": "@n8n/n8n-nodes-langchain.lmChatOpenAi", "position": [540, 600]},
    ],
    "connections": {
        "Webhook": {"main": [[{"node": "Paid?", "type": "main", "index": 0}]]},
        "Paid?": {"main": [[{"node": "Ship", "type": "main"}], [{"node": "Remind", "type": "main"}]]},
        "Model": {"ai_languageModel": [[{"node": "Remind", "type": "ai_languageModel"}]]},
    },
    "settings": {"executionOrder": "v1"},
    "pinData": {},
    "active": False,
}
NODE_RED: list[Any] = [
    {"id": "t1", "type": "tab", "label": "Heating"},
    {"id": "n1", "type": "inject", "z": "t1", "name": "Every hour", "x": 120, "y": 80, "wires": [["n2"]]},
    {"id": "n2", "type": "switch", "z": "t1", "name": "", "x": 300, "y": 80, "wires": [["n3"], ["n4"]]},
    {"id": "n3", "type": "debug", "z": "t1", "name": "Warm", "x": 480, "y": 60, "wires": []},
    {"id": "n4", "type": "mqtt out", "z": "t1", "name": "Cold", "broker": "b1", "x": 480, "y": 160, "wires": []},
    {"id": "b1", "type": "mqtt-broker", "name": "House", "broker": "localhost"},
]
EXCALIDRAW = {
    "type": "excalidraw",
    "version": 2,
    "source": "https://excalidraw.com",
    "elements": [
        {
            "id": "r1",
            "type": "rectangle",
            "x": 10,
            "y": 20,
            "width": 180,
            "height": 80,
            "strokeColor": "#1e1e1e",
            "backgroundColor": "#a5d8ff",
            "boundElements": [{"id": "t1", "type": "text"}, {"id": "a1", "type": "arrow"}],
            "link": "https://x.io",
        },
        {"id": "t1", "type": "text", "x": 20, "y": 40, "text": "Order", "containerId": "r1"},
        {
            "id": "d1",
            "type": "diamond",
            "x": 300,
            "y": 20,
            "width": 120,
            "height": 100,
            "backgroundColor": "transparent",
        },
        {"id": "t2", "type": "text", "x": 320, "y": 40, "text": "Paid?", "containerId": "d1"},
        {
            "id": "a1",
            "type": "arrow",
            "x": 190,
            "y": 60,
            "points": [[0, 0], [110, 0]],
            "startBinding": {"elementId": "r1", "focus": 0},
            "endBinding": {"elementId": "d1", "focus": 0},
            "strokeStyle": "dashed",
        },
        {"id": "t3", "type": "text", "x": 0, "y": 0, "text": "then", "containerId": "a1"},
        {"id": "a2", "type": "arrow", "x": 0, "y": 0, "startBinding": {"elementId": "r1"}, "endBinding": None},
        {"id": "p1", "type": "freedraw", "x": 0, "y": 0},
        {"id": "gone", "type": "ellipse", "x": 0, "y": 0, "isDeleted": True},
    ],
    "appState": {"gridSize": None, "viewBackgroundColor": "#ffffff"},
    "files": {},
}


def imported(content: Any) -> tuple[str | None, Document, list[str]]:
    name, document, warnings = import_document("json", json.dumps(content, indent=1, ensure_ascii=False))
    return name, document, [warning.text for warning in warnings]


def nodes(document: Document) -> dict[str, tuple[str, float, float]]:
    return {key: (label_of(item.body), *position_of(item.body)) for key, item in document.nodes.items()}


def edges(document: Document) -> list[tuple[object, object, str]]:
    return [(body["source"], body["target"], label_of(body)) for body in document.listed(Kind.EDGE)]


def test_langflow() -> None:
    name, document, warnings = imported(LANGFLOW)
    assert name == "Support bot"
    assert nodes(document) == {"in-1": ("Chat Input", 0, 0), "out-1": ("ChatOutput", 400, 0)}
    assert edges(document) == [("in-1", "out-1", "")]
    assert document.nodes["in-1"].body["type"] == "genericNode"
    assert warnings == [
        "`last_tested_version` is not part of a flow and was left out",
        "`viewport` is not part of a flow and was left out",
    ]
    assert nodes(imported({"flows": [LANGFLOW]})[1]) == nodes(document)


def test_flowise() -> None:
    _, document, warnings = imported(FLOWISE)
    assert nodes(document) == {"chatOpenAI_0": ("ChatOpenAI", 10, 20), "chain_0": ("Conversation Chain", 500, 20)}
    assert edges(document) == [("chatOpenAI_0", "chain_0", "")]
    assert document.nodes["chatOpenAI_0"].body == FLOWISE["nodes"][0]
    assert warnings == []
    as_text = {"ChatFlow": [{"name": "Bot", "flowData": json.dumps(FLOWISE)}]}
    assert nodes(imported(as_text)[1]) == nodes(document)


def test_n8n() -> None:
    name, document, warnings = imported(N8N)
    assert name == "Orders"
    assert nodes(document) == {
        "11": ("Webhook", 100, 300),
        "Paid?": ("Paid?", 320, 300),
        "13": ("Ship", 540, 200),
        "14": ("Remind", 540, 400),
        "15": ("Model", 540, 600),
    }
    assert edges(document) == [
        ("11", "Paid?", ""),
        ("Paid?", "13", "true"),
        ("Paid?", "14", "false"),
        ("15", "14", "ai_languageModel"),
    ]
    assert warnings == [
        "`settings` of 1 workflow was left out",
        "`parameters` of 1 node was left out",
        "`credentials` of 1 node was left out",
    ]


def test_node_red() -> None:
    name, document, warnings = imported(NODE_RED)
    assert name == "Heating"
    assert nodes(document) == {
        "n1": ("Every hour", 34, 42),
        "n2": ("switch", 214, 42),
        "n3": ("Warm", 394, 22),
        "n4": ("Cold", 394, 122),
    }
    assert edges(document) == [("n1", "n2", ""), ("n2", "n3", "output 1"), ("n2", "n4", "output 2")]
    assert warnings == ["`broker` of 1 node was left out", "1 configuration nodes were left out (mqtt-broker)"]


def test_node_red_tabs_become_groups_below_each_other() -> None:
    second = [
        {"id": "t2", "type": "tab", "label": "Light"},
        {"id": "m1", "type": "inject", "z": "t2", "name": "Dusk", "x": 120, "y": 80, "wires": [["m2", "gone"]]},
        {"id": "m2", "type": "debug", "z": "t2", "g": "g1", "name": "On", "x": 300, "y": 80, "wires": []},
        {
            "id": "g1",
            "type": "group",
            "z": "t2",
            "name": "Lamps",
            "x": 10,
            "y": 10,
            "w": 100,
            "h": 100,
            "nodes": ["m2"],
        },
    ]
    _, document, warnings = imported([*NODE_RED, *second])
    groups = {key: item.body.get("parentGroupId") for key, item in document.nodes.items()}
    assert groups == {
        "t1": None,
        "t2": None,
        "g1": "t2",
        "n1": "t1",
        "n2": "t1",
        "n3": "t1",
        "n4": "t1",
        "m1": "t2",
        "m2": "g1",
    }
    assert nodes(document)["m1"][2] > nodes(document)["n4"][2] + 76
    assert "a wire from m1 to gone, which is not there" in warnings


def test_excalidraw() -> None:
    _, document, warnings = imported(EXCALIDRAW)
    assert nodes(document) == {"r1": ("Order", 10, 20), "d1": ("Paid?", 300, 20)}
    assert edges(document) == [("r1", "d1", "then")]
    assert document.nodes["d1"].body["data"] == {"label": "Paid?", "shape": "diamond"}
    assert document.listed(Kind.EDGE)[0]["data"] == {"line": "dotted", "label": "then"}
    settings = {key: item.body["value"] for key, item in document.settings.items()}
    assert settings["/colors/perNode/r1/background"] == "#a5d8ff"
    assert settings["/dimensions/node/overrides/d1/height"] == 100
    assert warnings == [
        "`appState` of 1 drawing was left out",
        "`link` of 1 element was left out",
        "1 x freedraw was left out",
        "1 x arrow without a shape at both ends was left out",
    ]


@pytest.mark.parametrize(
    "holder",
    [
        {"graph": FLOWISE},
        {"workflow": {"graph": FLOWISE}},
        {"name": "x", "flowData": json.dumps(FLOWISE)},
        {"elements": [*FLOWISE["nodes"], *FLOWISE["edges"]]},
    ],
    ids=["graph", "Dify", "flowData", "React Flow 9"],
)
def test_nodes_inside_of_members_are_found(holder: dict[str, Any]) -> None:
    _, document, _ = imported(holder)
    assert list(document.nodes) == ["chatOpenAI_0", "chain_0"]
    assert edges(document) == [("chatOpenAI_0", "chain_0", "")]


def test_json_canvas() -> None:
    canvas = {
        "nodes": [
            {"id": "a", "type": "text", "text": "Idea", "x": 0, "y": 0},
            {"id": "b", "type": "text", "text": "Plan", "x": 300, "y": 5},
        ],
        "edges": [{"id": "e", "fromNode": "a", "toNode": "b", "label": "then"}],
    }
    _, document, _ = imported(canvas)
    assert nodes(document) == {"a": ("Idea", 0, 0), "b": ("Plan", 300, 5)}
    assert edges(document) == [("a", "b", "then")]


@pytest.mark.parametrize("member", ["connections", "links", "edge", "viewport", "groups", "meta"])
def test_a_member_that_is_not_read_is_named_with_its_line(member: str) -> None:
    content = {"nodes": [{"id": "a"}, {"id": "b"}], member: [{"source": "a", "target": "b"}]}
    _, document, warnings = import_document("json", json.dumps(content, indent=1))
    assert len(document.nodes) == 2
    (warning,) = warnings
    assert warning.text == f"`{member}` is not part of a flow and was left out"
    assert json.dumps(content, indent=1).splitlines()[warning.line - 1].strip().startswith(f'"{member}"')


AB: list[dict[str, Any]] = [{"id": "a", "position": {"x": 0, "y": 0}}, {"id": "b", "position": {"x": 300, "y": 0}}]
AB_EDGE = {"id": "e", "source": "a", "target": "b"}
WIRED = [
    {"id": "a", "type": "inject", "z": "t", "x": 86, "y": 38, "wires": [["b"]]},
    {"id": "b", "type": "debug", "z": "t", "x": 386, "y": 38, "wires": []},
]
N8N_NODES = [
    {"id": "a", "name": "A", "type": "n8n-nodes-base.set", "position": [0, 0]},
    {"id": "b", "name": "B", "type": "n8n-nodes-base.set", "position": {"x": 300, "y": 0}},
]
N8N_AB = {"nodes": N8N_NODES, "connections": {"A": {"main": [[{"node": "B"}]]}}}


@pytest.mark.parametrize(
    "content",
    [
        {"nodes": AB, "edges": [AB_EDGE]},
        json.dumps({"nodes": AB, "edges": [AB_EDGE]}),
        [{"nodes": AB, "edges": [AB_EDGE]}],
        [*AB, AB_EDGE],
        {"nodes": {"a": AB[0], "b": AB[1]}, "edges": {"e": AB_EDGE}},
        {"nodes": AB, "edges": [{"from": "a", "to": "b"}]},
        {"elements": {"nodes": [{**AB[0], "id": None, "data": {"id": "a"}}, AB[1]], "edges": [{"data": AB_EDGE}]}},
        {"elements": [{"data": {"id": "a"}, "position": {"x": 0, "y": 0}}, AB[1], {"data": AB_EDGE}]},
        {"flows": [{"id": "t", "type": "tab"}, *WIRED], "rev": "1"},
        {"id": "t", "label": "Sheet", "nodes": WIRED, "configs": []},
        WIRED,
        N8N_AB,
        [N8N_AB],
        {"data": N8N_AB},
        {"workflowData": N8N_AB},
    ],
)  # fmt: skip
def test_the_same_flow_is_read_however_a_program_wraps_it(content: Any) -> None:
    _, document, _ = imported(content)
    assert {key: position_of(item.body) for key, item in document.nodes.items()} == {"a": (0, 0), "b": (300, 0)}
    assert edges(document) == [("a", "b", "")]


def test_counted_ids_become_texts_and_react_elements_their_words() -> None:
    bold = {"type": "div", "props": {"children": ["Hi ", {"type": "b", "props": {"children": "you"}}]}}
    content = {
        "nodes": [{"id": 1, "data": {"label": bold}}, {"id": 2, "label": "B"}],
        "edges": [{"source": 1, "target": 2}],
    }
    _, document, warnings = imported(content)
    assert [label_of(item.body) for item in document.nodes.values()] == ["Hi you", "B"]
    assert edges(document) == [("1", "2", "")]
    assert warnings == ["`label` is a React element: only its words were kept"]


@pytest.mark.parametrize(
    ("form", "text", "named"),
    [
        *((form, text, named) for form in ("json", "mermaid") for text, named in (
            ('<mxfile host="app"><diagram/></mxfile>', "a draw.io file"),
            ('<?xml version="1.0"?>\n<mxGraphModel/>', "a draw.io file"),
            ('<?xml version="1.0"?>\n<bpmn:definitions xmlns:bpmn="x"/>', "a BPMN model"),
            ('<?xml version="1.0"?><svg/>', "an SVG picture"),
            ("<graphml></graphml>", "a GraphML or GEXF file"),
            ("<html></html>", "XML or HTML"),
            ("digraph G {\n a -> b;\n}", "DOT"),
            ("strict graph { a -- b }", "DOT"),
            ("graph {\n a -- b }", "DOT"),
            ("@startuml\nA -> B\n@enduml", "PlantUML"),
        )),
        ("json", "flowchart LR\n A --> B", "Mermaid, which is not JSON"),
        ("json", "app:\n  name: x", "YAML"),
        ("mermaid", '{"nodes": []}', "JSON, which is not Mermaid"),
        ("json", json.dumps({"libraryItems": []}), "library of Excalidraw"),
        ("json", json.dumps({"document": {"store": {}}, "session": {}}), "tldraw"),
        ("json", json.dumps({"last_node_id": 1, "nodes": [{"id": 1, "pos": [0, 0]}], "links": []}), "ComfyUI"),
        ("json", json.dumps({"3": {"class_type": "KSampler", "inputs": {}}}), "ComfyUI"),
        ("json", json.dumps({"drawflow": {"Home": {"data": {}}}}), "Drawflow"),
    ],
)  # fmt: skip
def test_other_notations_are_refused_by_name(form: str, text: str, named: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(named)):
        import_document(form, text)


def test_markdown_around_a_diagram_is_left_out_and_lines_stay() -> None:
    chart = "# Title\n\n```mermaid\nflowchart LR\n  A --> B\n  what |is\n```\n\n```mermaid\nflowchart LR\n  C\n```\n"
    _, document, warnings = import_document("mermaid", f"\ufeff{chart}")
    assert list(document.nodes) == ["A", "B"]
    assert [(warning.line, warning.text) for warning in warnings] == [
        (6, "what |is"),
        (9, "a further diagram was left out"),
    ]
    assert list(import_document("json", '```json\n{"nodes": [{"id": "a"}]}\n```')[1].nodes) == ["a"]
    assert list(import_document("mermaid", "graph\n  A{Is it}")[1].nodes) == ["A"]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({"store": {"shape:a": {"id": "shape:a", "typeName": "shape"}}, "schema": {"schemaVersion": 2}}, "tldraw"),
        ({"tldrawFileFormatVersion": 1, "records": []}, "tldraw"),
        ({"cells": [{"type": "standard.Rectangle"}]}, "JointJS"),
        ({"id": "light", "initial": "off", "states": {"off": {}}}, "state machine"),
        ({"flows": [LANGFLOW, LANGFLOW]}, "2 flows"),
        ([LANGFLOW, LANGFLOW], "2 flows"),
        ({"type": "excalidraw", "elements": []}, "no nodes"),
        ({"nodes": [], "connections": {}}, "no nodes"),
        ({"nodes": [], "edges": []}, "no nodes"),
        ({"data": {"nodes": []}}, "no nodes"),
        ({"vertices": [], "arcs": []}, "`vertices`, `arcs`"),
        ({}, "no `nodes`"),
        ([], "JSON object"),
        ([1, 2], "JSON object"),
        ("text", "JSON object"),
        (None, "JSON object"),
    ],
)
def test_a_file_without_a_flow_is_refused_by_name_and_never_an_empty_flow(content: Any, named: str) -> None:
    with pytest.raises(InvalidRequest, match=named):
        imported(content)


def test_a_chart_without_nodes_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no nodes"):
        import_document("mermaid", "flowchart LR")
