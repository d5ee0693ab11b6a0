"""Every tool keeps the contract: its rules, and the exact text of its errors."""

from __future__ import annotations

import re

import pytest
from pydantic import JsonValue

from shared.flows.document import Json, id_of_label, label_of
from shared.flows.forms import mermaid
from shared.flows.visuals import LINES, SHAPES, merged, of_node, size_of
from tests.shared.flows.drafts import call, diagram, edge, error, node, run

TWO = diagram(node("login", "Login"), node("home", "Home"), edges=(edge("login", "home", "e1"),))
_LINES = ", ".join(LINES)
_TAKEN = 'Node ID "home" already exists. Please choose a different ID.'
GROUPED = diagram("a", "b", node("c", parentGroupId="g"), node("g", "G", type="group", isCollapsed=False))


@pytest.mark.parametrize(
    ("name", "params", "sentence"),
    [
        ("addNode", {}, "label is required"),
        ("addNode", {"label": ""}, "label is required"),
        ("addNode", {"label": None, "bogus": 1}, "label is required"),
        ("addNode", {"label": "login"}, 'Node ID "login" already exists. Please choose a different ID.'),
        ("addNode", {"label": "X", "id": "login"}, 'Node ID "login" already exists. Please choose a different ID.'),
        ("addNode", {"label": "Home page", "parentNodeId": "logn"}, "Parent node logn not found"),
        ("addNode", {"label": 5}, "label must be a string"),
        ("addNode", {"label": "X", "id": "i" * 10_000}, "id must be at most 256 characters long"),
        ("addNode", {"label": "X", "colour": "red"}, "Unknown parameter: colour"),
        ("addNode", {"label": "\ud800"}, "label must be well-formed text"),
        ("updateNode", {}, "nodeId is required"),
        ("updateNode", {"nodeId": "nope", "label": "X"}, "Node nope not found"),
        ("updateNode", {"nodeId": "login"}, "at least one of label, description and position is required"),
        ("updateNode", {"nodeId": "login", "position": {"x": 1}}, "position must be an object with x and y"),
        (
            "updateNode",
            {"nodeId": "login", "position": {"x": float("nan"), "y": 0}},
            "position must have finite numbers for x and y",
        ),
        (
            "updateNode",
            {"nodeId": "login", "position": {"x": 10**400, "y": 0}},
            "position must have finite numbers for x and y",
        ),
        (
            "updateNode",
            {"nodeId": "login", "position": {"x": True, "y": 0}},
            "position must have numbers for x and y",
        ),
        ("updateNode", {"nodeId": "login", "size": 5}, "size must be an object with width and height"),
        (
            "updateNode",
            {"nodeId": "login", "size": {"width": 59, "height": 50}},
            "size must have a width from 60 to 600",
        ),
        (
            "addNode",
            {"label": "X", "size": {"width": 90, "height": float("nan")}},
            "size must have a height from 24 to 320",
        ),
        ("addNode", {"label": "X", "shape": "star"}, f"shape must be one of: {', '.join(SHAPES)}"),
        ("addEdge", {"sourceNodeId": "login", "targetNodeId": "home", "line": 1}, f"line must be one of: {_LINES}"),
        ("updateEdge", {"edgeId": "e1", "line": "wavy"}, f"line must be one of: {_LINES}"),
        ("updateEdge", {"edgeId": "e1", "targetNodeId": "nope"}, "Target node nope not found"),
        ("updateEdge", {"edgeId": "e1", "label": "x", "sourceNodeId": "nope"}, "Source node nope not found"),
        ("createGroup", {"memberIds": ["login", "home"], "id": "home"}, _TAKEN),
        ("deleteNode", {}, "nodeId is required"),
        ("deleteNode", {"nodeId": "Login"}, "Node Login not found"),
        ("deleteNode", {"nodeId": "i" * 10_000}, f"Node {'i' * 10_000} not found"),
        ("addNode", {"label": "a\x00b"}, "label must be well-formed text"),
        ("addEdge", {"sourceNodeId": "login"}, "sourceNodeId and targetNodeId are required"),
        ("addEdge", {"sourceNodeId": "Login", "targetNodeId": "home"}, "Source node Login not found"),
        ("addEdge", {"sourceNodeId": "login", "targetNodeId": "Home"}, "Target node Home not found"),
        ("updateEdge", {"edgeId": "e1"}, "edgeId and label are required"),
        ("updateEdge", {"label": "x"}, "edgeId and label are required"),
        ("updateEdge", {"edgeId": "e9", "label": "x"}, "Edge e9 not found"),
        ("deleteEdge", {"edgeId": "e9"}, "Edge e9 not found"),
        ("undo", {}, "Nothing to undo"),
        ("redo", {}, "Nothing to redo"),
        ("undo", {"steps": 2}, "Unknown parameter: steps"),
        ("changeVisuals", {"color": "red"}, "target is required"),
        ("changeVisuals", {"target": "nowhere"}, "color is required"),
        ("changeVisuals", {"target": "nowhere", "color": "reddish"}, "Invalid color value provided"),
        (
            "changeVisuals",
            {"target": "nowhere", "color": "red", "property": "shadow"},
            "property must be one of: background, border, text",
        ),
        ("changeVisuals", {"target": "node", "color": "red"}, 'nodeId is required when target is "node"'),
        ("changeVisuals", {"target": "node", "color": "red", "nodeId": "nope"}, "Node nope not found"),
        ("changeVisuals", {"target": "nowhere", "color": "red"}, "Invalid target for changeVisuals"),
        ("changeDimensions", {"direction": "increase"}, "target is required"),
        ("changeDimensions", {"target": "zoom"}, 'direction must be "increase" or "decrease"'),
        (
            "changeDimensions",
            {"target": "zoom", "direction": "increase", "axis": "diagonal"},
            "axis must be one of: horizontal, vertical, both",
        ),
        (
            "changeDimensions",
            {"target": "node", "direction": "increase"},
            'nodeId is required when target is "node"',
        ),
        (
            "changeDimensions",
            {"target": "node", "direction": "increase", "nodeId": "nope"},
            "Node nope not found",
        ),
        ("changeDimensions", {"target": "moon", "direction": "increase"}, "Invalid target for changeDimensions"),
        ("createGroup", {}, "At least 2 memberIds are required"),
        ("createGroup", {"memberIds": ["login"]}, "At least 2 memberIds are required"),
        ("createGroup", {"memberIds": ["x", "login", "y"]}, "Nodes not found: x, y"),
        ("createGroup", {"memberIds": ["login", "login"]}, "Duplicate member IDs provided"),
        ("ungroup", {"groupId": "login"}, "Group login not found"),
        ("toggleGroupExpansion", {"groupId": "nope", "expand": True}, "Group nope not found"),
        ("toggleSubtreeCollapse", {"nodeId": "nope", "collapsed": True}, "Node nope not found"),
        ("toggleSubtreeCollapse", {"nodeId": "login", "collapsed": "yes"}, "collapsed must be a boolean"),
        ("explode", {}, "Unknown tool: explode"),
    ],
)
def test_a_wrong_call_fails_with_the_contracts_message_and_changes_nothing(
    name: str, params: Json, sentence: str
) -> None:
    assert error(TWO, name, **params) == sentence


def test_members_of_different_groups_cannot_be_grouped() -> None:
    sentence = error(GROUPED, "createGroup", memberIds=["a", "c"])
    assert sentence is not None
    assert sentence.startswith("Cannot group nodes from different parent groups: ")


def test_an_empty_group_cannot_be_dissolved() -> None:
    assert error(diagram(node("g", type="group")), "ungroup", groupId="g") == "Group has no members"


@pytest.mark.parametrize(
    ("label", "key"),
    [("My Node", "my_node"), ("My@Node#123!", "my_node_123"), ("Café", "caf"), ("__x__", "x"), ("日本 語", "日本_語")],
)
def test_an_id_is_made_from_the_label(label: str, key: str) -> None:
    assert id_of_label(label) == key


def test_a_label_without_letters_gets_a_random_id_every_time() -> None:
    _, outcomes = run(diagram(), call("addNode", label="🎉"), call("addNode", label="🎉"))
    ids = [outcome.node_id or "" for outcome in outcomes]
    assert all(re.fullmatch(r"\d+_[0-9a-z]{9}", key) for key in ids)
    assert len(set(ids)) == 2


def test_a_child_stands_right_of_its_parent_with_a_labelled_edge() -> None:
    batch, _ = run(
        diagram(node("login", "Login", position={"x": 10, "y": 20})),
        call("addNode", label="Home", description="Start", parentNodeId="Login", edgeLabel="ok"),
    )
    assert batch.draft.nodes["home"].body == {
        "id": "home",
        "type": "default",
        "position": {"x": 210, "y": 20},
        "data": {"label": "Home", "description": "Start"},
    }
    (added,) = batch.draft.edges.values()
    assert (added.body["source"], added.body["target"], label_of(added.body)) == ("login", "home", "ok")


@pytest.mark.parametrize("name", ["node-1", "Login Page", "login page", "ログイン"])
def test_a_parent_is_found_by_id_then_label_then_sanitized_id(name: str) -> None:
    document = diagram("node-1", node("login_page", "Login Page"), node("ログイン", "x"))
    batch, (outcome,) = run(document, call("addNode", label="Child", parentNodeId=name))
    assert outcome.success
    assert len(batch.draft.edges) == 1


def test_an_ambiguous_parent_label_is_an_error_but_an_exact_id_wins() -> None:
    document = diagram(node("a", "Same"), node("b", "Same"), node("Same2", "a"))
    assert error(document, "addNode", label="X", parentNodeId="Same") == "Parent node Same is ambiguous"
    batch, _ = run(document, call("addNode", label="X", parentNodeId="a"))
    assert next(iter(batch.draft.edges.values())).body["source"] == "a"


def test_given_ids_are_kept_verbatim_and_a_conflict_can_be_settled() -> None:
    batch, outcomes = run(
        diagram(node("login")),
        call("addNode", label="X", id="My Own-ID"),
        call("addNode", label="Login", onConflict="suffix"),
        call("addNode", label="Login", onConflict="reuse"),
    )
    assert [outcome.node_id for outcome in outcomes] == ["My Own-ID", "login_2", "login"]
    assert len(batch.draft.nodes) == 3


def test_deleting_a_node_removes_its_edges_and_settings() -> None:
    batch, outcomes = run(
        diagram("a", "b", "c", edges=(edge("a", "b"), edge("b", "c"), edge("a", "c"))),
        call("changeVisuals", target="node", nodeId="b", color="red"),
        call("changeDimensions", target="node", nodeId="b", direction="increase"),
        call("deleteNode", nodeId="b"),
    )
    assert all(outcome.success for outcome in outcomes)
    assert list(batch.draft.edges) == ["a-c"]
    assert not batch.draft.settings
    assert set(batch.draft.nodes) == {"a", "c"}


def test_edges_may_be_loops_duplicates_and_cycles_and_their_labels_change() -> None:
    batch, outcomes = run(
        TWO,
        call("addEdge", sourceNodeId="login", targetNodeId="login"),
        call("addEdge", sourceNodeId="login", targetNodeId="home", label="again"),
        call("addEdge", sourceNodeId="home", targetNodeId="login"),
        call("updateEdge", edgeId="e1", label="go"),
    )
    assert all(outcome.success for outcome in outcomes)
    assert batch.draft.edges["e1"].body["data"] == {"label": "go"}
    batch.run([call("updateEdge", edgeId="e1", label="")])
    assert label_of(batch.draft.edges["e1"].body) == ""


def test_an_edge_gets_other_ends_and_another_line_and_keeps_the_rest() -> None:
    document = diagram("a", "b", "c", edges=({**edge("a", "b", "e1"), "animated": True, "data": {"label": "go"}},))
    batch, outcomes = run(
        document,
        call("updateEdge", edgeId="e1", sourceNodeId="c", line="dotted_open"),
        call("addEdge", sourceNodeId="a", targetNodeId="c", line="thick"),
    )
    assert all(outcome.success for outcome in outcomes)
    assert batch.draft.edges["e1"].body == {
        "id": "e1", "source": "c", "target": "b", "animated": True, "data": {"label": "go", "line": "dotted_open"},
    }  # fmt: skip
    assert batch.draft.edges[outcomes[1].edge_id or ""].body["data"] == {"line": "thick"}
    batch.run([call("updateEdge", edgeId="e1", line="arrow", targetNodeId="a")])
    assert batch.draft.edges["e1"].body["data"] == {"label": "go"}
    assert batch.draft.edges["e1"].body["target"] == "a"


def test_a_node_is_made_and_changed_with_place_size_and_shape() -> None:
    size: Json = {"width": 90, "height": 120}
    batch, outcomes = run(
        diagram("a"),
        call("addNode", label="B", id="b", position={"x": 7, "y": -3}, size=size, shape="diamond", description="why"),
        call("updateNode", nodeId="a", shape="cylinder", size=size),
        call("createGroup", memberIds=["a", "b"], id="g", label="G"),
    )
    assert all(outcome.success for outcome in outcomes)
    made = batch.draft.nodes["b"].body
    assert made["position"] == {"x": 7, "y": -3}
    assert made["data"] == {"label": "B", "description": "why", "shape": "diamond"}
    assert size_of(batch.draft.settings, "b", made) == size_of(batch.draft.settings, "a") == (90, 120)
    assert batch.draft.nodes["a"].body["parentGroupId"] == "g"
    batch.run([call("updateNode", nodeId="b", shape="rect")])
    assert batch.draft.nodes["b"].body["data"] == {"label": "B", "description": "why"}


def test_every_shape_and_line_of_mermaid_has_a_name() -> None:
    assert set(SHAPES) == set(mermaid.SHAPES)
    assert set(LINES) == set(mermaid.LINES)


def at(settings: JsonValue, *path: str) -> JsonValue:
    for name in path:
        assert isinstance(settings, dict)
        settings = settings[name]
    return settings


def test_sizes_step_by_a_tenth_from_where_they_are() -> None:
    batch, _ = run(TWO, call("changeDimensions", target="all_nodes", direction="increase"))
    default = at(merged(batch.draft.settings), "dimensions", "node", "default")
    assert default == {"width": 189.2, "height": 83.6, "borderRadius": 4}
    batch.run([call("changeDimensions", target="all_nodes", direction="decrease", axis="horizontal")])
    default = at(merged(batch.draft.settings), "dimensions", "node", "default")
    assert default == {"width": 170.28, "height": 83.6, "borderRadius": 4}
    batch.run([call("changeDimensions", target="node", nodeId="home", direction="increase", axis="vertical")])
    assert at(merged(batch.draft.settings), "dimensions", "node", "overrides") == {"home": {"height": 91.96}}


@pytest.mark.parametrize(
    ("target", "direction", "path", "limit"),
    [
        ("zoom", "increase", ("zoom",), 2.5),
        ("zoom", "decrease", ("zoom",), 0.2),
        ("layout_spacing", "increase", ("dagre", "horizontal"), 400),
        ("layout_spacing", "decrease", ("dagre", "vertical"), 10),
        ("all_nodes", "increase", ("node", "default", "width"), 600),
        ("all_nodes", "decrease", ("node", "default", "height"), 24),
    ],
)
def test_sizes_stop_at_their_limits(target: str, direction: str, path: tuple[str, ...], limit: float) -> None:
    batch, _ = run(TWO, *[call("changeDimensions", target=target, direction=direction)] * 40)
    assert at(merged(batch.draft.settings), "dimensions", *path) == limit


def test_colours_go_where_the_target_says_and_background_is_the_default_property() -> None:
    batch, outcomes = run(
        TWO,
        call("changeVisuals", target="background", color="linear-gradient(90deg, red, #00f)"),
        call("changeVisuals", target="all_nodes", color="hsl(120, 50%, 50%)", property="border"),
        call("changeVisuals", target="node", nodeId="home", color="#fff"),
    )
    assert all(outcome.success for outcome in outcomes)
    colors = at(merged(batch.draft.settings), "colors")
    assert colors == {
        "background": "linear-gradient(90deg, red, #00f)",
        "allNodes": {"background": "#1a192b", "border": "hsl(120, 50%, 50%)", "text": "#ffffff"},
        "perNode": {"home": {"background": "#fff"}},
    }
    assert set(batch.draft.settings) & set(of_node("home"))


def test_a_group_collapses_its_members_and_expands_them_again() -> None:
    document = diagram(node("a", position={"x": 10, "y": 0}), node("b", position={"x": 30, "y": 50}), "c")
    batch, (made,) = run(document, call("createGroup", memberIds=["a", "b"]))
    group = made.group_id or ""
    body = batch.draft.nodes[group].body
    assert (body["type"], body["isCollapsed"], body["position"]) == ("group", True, {"x": 10, "y": 25})
    assert re.fullmatch(r"Group \d+", label_of(body))
    assert [batch.draft.nodes[key].body["hidden"] for key in "ab"] == [True, True]
    assert [batch.draft.nodes[key].body["parentGroupId"] for key in "ab"] == [group, group]
    batch.run([call("toggleGroupExpansion", groupId=group, expand=True)])
    assert [batch.draft.nodes[key].body["hidden"] for key in "ab"] == [False, False]
    assert batch.draft.nodes[group].body["isCollapsed"] is False


@pytest.mark.parametrize("how", ["ungroup", "deleteNode"])
def test_members_of_a_dissolved_group_go_to_the_group_around_it(how: str) -> None:
    batch, (inner,) = run(diagram("a", "b", "c"), call("createGroup", memberIds=["a", "b"], label="Inner"))
    group = inner.group_id or ""
    (outer,) = batch.run([call("createGroup", memberIds=[group, "c"], label="Outer")])
    around = outer.group_id or ""
    assert batch.draft.nodes[group].body["hidden"] is True
    batch.run([call(how, **{"groupId" if how == "ungroup" else "nodeId": group})])
    assert batch.draft.nodes["a"].body["parentGroupId"] == around
    assert batch.draft.nodes["a"].body["hidden"] is True  # the outer one is still collapsed
    batch.run([call(how, **{"groupId" if how == "ungroup" else "nodeId": around})])
    assert set(batch.draft.nodes) == {"a", "b", "c"}
    assert not any(item.body.get("hidden") or item.body.get("parentGroupId") for item in batch.draft.nodes.values())


def test_expanding_an_outer_group_keeps_the_inside_of_a_collapsed_inner_one_hidden() -> None:
    batch, (inner,) = run(diagram("a", "b", "c"), call("createGroup", memberIds=["a", "b"]))
    (outer,) = batch.run([call("createGroup", memberIds=[inner.group_id, "c"])])
    batch.run([call("toggleGroupExpansion", groupId=outer.group_id, expand=True)])
    hidden = {key: bool(item.body.get("hidden")) for key, item in batch.draft.nodes.items()}
    assert hidden == {"a": True, "b": True, "c": False, inner.group_id: False, outer.group_id: False}


def test_a_child_of_a_grouped_node_joins_the_group() -> None:
    batch, _ = run(GROUPED, call("addNode", label="D", parentNodeId="c"))
    assert batch.draft.nodes["d"].body["parentGroupId"] == "g"


def test_a_subtree_collapses_without_its_root_even_in_a_cycle() -> None:
    ring = diagram("a", "b", "c", edges=(edge("a", "b"), edge("b", "a"), edge("b", "c")))
    batch, _ = run(ring, call("toggleSubtreeCollapse", nodeId="a", collapsed=True))
    assert {key for key, item in batch.draft.nodes.items() if item.body.get("hidden")} == {"b", "c"}
    batch.run([call("toggleSubtreeCollapse", nodeId="a", collapsed=False)])
    assert not any(item.body.get("hidden") for item in batch.draft.nodes.values())


def test_a_subtree_of_four_hundred_chained_diamonds_collapses_whole() -> None:
    names = [f"{step}{part}" for step in range(400) for part in "abcd"]
    edges = [
        edge(f"{step}{source}", f"{step}{target}") for step in range(400) for source, target in ("ab", "ac", "bd", "cd")
    ] + [edge(f"{step}d", f"{step + 1}a") for step in range(399)]
    batch, (outcome,) = run(
        diagram(*names, edges=tuple(edges)), call("toggleSubtreeCollapse", nodeId="0a", collapsed=True)
    )
    assert outcome.success
    assert sum(bool(item.body.get("hidden")) for item in batch.draft.nodes.values()) == len(names) - 1


def test_markup_in_a_label_is_kept_as_it_is() -> None:
    label = "<script>alert(1)</script>"
    batch, (outcome,) = run(diagram(), call("addNode", label=label))
    assert outcome.node_id == "script_alert_1_script"
    assert label_of(batch.draft.nodes["script_alert_1_script"].body) == label
