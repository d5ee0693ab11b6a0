"""Instructions for diagrams: what stands there, what is asked, the calls that do it, what has to come out.

Diagrams are written ``Order > Pay -refused> Cancel; Help``: nodes by label, edges with their label, a node alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Call = Mapping[str, Any]
_ARROW = re.compile(r"\s+(?:-([^>]+))?>\s+")


@dataclass(frozen=True)
class FlowTask:
    name: str
    before: str
    message: str
    calls: Sequence[Call]
    after: str

    @property
    def reply(self) -> str:
        """The model's answer."""
        uses = [{"type": "tool_use", "id": str(number), **call} for number, call in enumerate(self.calls, 1)]
        return f"<thinking>\n{self.name}\n</thinking>\n<response>\n{json.dumps(uses, ensure_ascii=False)}\n</response>"


def diagram(text: str) -> dict[str, Any]:
    """The diagram as a flow's document; edges are called e1, e2 in their order."""
    ids: dict[str, str] = {}
    edges: list[dict[str, Any]] = []
    for chain in filter(None, map(str.strip, text.split(";"))):
        parts = _ARROW.split(chain)
        labels, arrows = parts[::2], parts[1::2]
        for label in labels:
            ids.setdefault(label, id_of(label))
        for source, arrow, target in zip(labels, arrows, labels[1:], strict=False):
            data = {"data": {"label": arrow}} if arrow else {}
            edges.append({"id": f"e{len(edges) + 1}", "source": ids[source], "target": ids[target], **data})
    nodes = [
        {"id": id, "position": {"x": 250 * number, "y": 0}, "data": {"label": label.rstrip("'")}}
        for number, (label, id) in enumerate(ids.items())
    ]
    return {"nodes": nodes, "edges": edges}


def id_of(label: str) -> str:
    """As a new node of that label is called; ``Review'`` is a second node with the label ``Review``."""
    return re.sub(r"\W+", "_", label.lower()).strip("_") + ("_2" if label.endswith("'") else "")


def add(label: str, after: str | None = None, edge: str | None = None, **more: str) -> Call:
    given = {"label": label, "parentNodeId": after, "edgeLabel": edge, **more}
    return {"name": "addNode", "input": {key: value for key, value in given.items() if value is not None}}


def rename(node: str, label: str) -> Call:
    return {"name": "updateNode", "input": {"nodeId": node, "label": label}}


def delete(node: str) -> Call:
    return {"name": "deleteNode", "input": {"nodeId": node}}


def link(source: str, target: str, label: str | None = None) -> Call:
    more = {} if label is None else {"label": label}
    return {"name": "addEdge", "input": {"sourceNodeId": source, "targetNodeId": target, **more}}


def relabel(edge: str, label: str) -> Call:
    return {"name": "updateEdge", "input": {"edgeId": edge, "label": label}}


def unlink(edge: str) -> Call:
    return {"name": "deleteEdge", "input": {"edgeId": edge}}


_SHOP = "Cart > Order > Pay > Ship"
_REVIEW = "Draft > Review -yes> Publish; Review -no> Draft"
_TEAM = "Lead > Design; Lead > Build; Lead > Test"

TASKS: Sequence[FlowTask] = (
    FlowTask("a first node", "", "Begin with a node Start.", [add("Start")], "Start"),
    FlowTask(
        "a chain from nothing", "", "Draw the steps Order, Pay, Ship, one after the other.",
        [add("Order"), add("Pay", "order"), add("Ship", "pay")], "Order > Pay > Ship",
    ),
    FlowTask("a last step", _SHOP, "After shipping comes Feedback.", [add("Feedback", "ship")], _SHOP + " > Feedback"),
    FlowTask(
        "a first step", _SHOP, "People browse before they fill the cart.",
        [add("Browse"), link("browse", "cart")], "Browse > Cart > Order > Pay > Ship",
    ),
    FlowTask(
        "a branch with labels", "Apply", "Applying leads to Accept when complete, else to Ask back.",
        [add("Accept", "apply", "complete"), add("Ask back", "apply", "else")],
        "Apply -complete> Accept; Apply -else> Ask back",
    ),
    FlowTask("a new name", _SHOP, "Call the cart Basket.", [rename("cart", "Basket")], "Basket > Order > Pay > Ship"),
    FlowTask("an end less", _SHOP, "Leave out shipping.", [delete("ship")], "Cart > Order > Pay"),
    FlowTask("a gap", _SHOP, "Delete Pay and leave a gap there.", [delete("pay")], "Cart > Order; Ship"),
    FlowTask(
        "a gap that is closed", _SHOP, "Remove Pay; orders are shipped at once.",
        [delete("pay"), link("order", "ship")], "Cart > Order > Ship",
    ),
    FlowTask("a link", "A > B; C", "Connect B with C.", [link("b", "c")], "A > B > C"),
    FlowTask("a link with a label", "A; B", "A leads to B on success.", [link("a", "b", "success")], "A -success> B"),
    FlowTask("a label for an edge", "A > B", 'Write "later" on the edge.', [relabel("e1", "later")], "A -later> B"),
    FlowTask("no label any more", "A -now> B", "Take the label off the edge.", [relabel("e1", "")], "A > B"),
    FlowTask("an edge less", "A > B > C", "B does not lead to C.", [unlink("e2")], "A > B; C"),
    FlowTask("the other way", "A > B", "Turn the arrow round.", [unlink("e1"), link("b", "a")], "B > A"),
    FlowTask(
        "a step between", _SHOP, "Between Pay and Ship somebody has to Pack.",
        [unlink("e3"), add("Pack", "pay"), link("pack", "ship")], "Cart > Order > Pay > Pack > Ship",
    ),
    FlowTask(
        "one end for two", "A > B; A > C", "B and C both end in Done.",
        [add("Done", "b"), link("c", "done")], "A > B > Done; A > C > Done",
    ),
    FlowTask(
        "another order", "A > B > C", "C comes before B.",
        [unlink("e1"), unlink("e2"), link("a", "c"), link("c", "b")], "A > C > B",
    ),
    FlowTask("a way back", _SHOP, "When paying fails, back to the order.", [link("pay", "order", "fails")],
             _SHOP + "; Pay -fails> Order"),
    FlowTask(
        "at the same time", "Plan", "Planning starts Design, Build and Test at the same time.",
        [add("Design", "plan"), add("Build", "plan"), add("Test", "plan")], "Plan > Design; Plan > Build; Plan > Test",
    ),
    FlowTask(
        "together again", _TEAM, "All three report to Release.",
        [add("Release", "design"), link("build", "release"), link("test", "release")],
        _TEAM + "; Design > Release; Build > Release; Test > Release",
    ),
    FlowTask(
        "a name and a step", "Draft > Send", "Rename Send to Publish and add Archive after it.",
        [rename("send", "Publish"), add("Archive", "send")], "Draft > Publish > Archive",
    ),
    FlowTask(
        "no error paths", "Load -error> Log; Load > Parse -error> Mail; Parse > Save",
        "Remove all error paths with their ends.", [delete("log"), delete("mail")], "Load > Parse > Save",
    ),
    FlowTask(
        "a second one of that name", "Review > Fix", "After Fix comes another Review.",
        [add("Review", "fix", onConflict="suffix")], "Review > Fix > Review'",
    ),
    FlowTask(
        "nothing left", _TEAM, "Clear everything.", [delete(id) for id in ("lead", "design", "build", "test")], "",
    ),
    FlowTask(
        "one becomes two", "In > Check > Out", "Split Check into Count and Weigh.",
        [rename("check", "Count"), unlink("e2"), add("Weigh", "check"), link("weigh", "out")],
        "In > Count > Weigh > Out",
    ),
    FlowTask(
        "another parent", "A > X; B", "X belongs to B, not to A.", [unlink("e1"), link("b", "x")], "A; B > X",
    ),
    FlowTask(
        "a description changes no diagram", _SHOP, 'Describe Pay as "card or invoice".',
        [{"name": "updateNode", "input": {"nodeId": "pay", "description": "card or invoice"}}], _SHOP,
    ),
    FlowTask(
        "a colour changes no diagram", _SHOP, "Make the cart red.",
        [{"name": "changeVisuals", "input": {"target": "node", "nodeId": "cart", "color": "red"}}], _SHOP,
    ),
    FlowTask(
        "a layout changes no diagram", _TEAM, "Tidy this up.", [{"name": "autoLayout", "input": {}}], _TEAM,
    ),
    FlowTask("a question", _SHOP, "How many steps are there?", [], _SHOP),
    FlowTask(
        "other scripts", "", "Draw Prüfen, then 出荷.", [add("Prüfen", id="p"), add("出荷", "p")], "Prüfen > 出荷",
    ),
    FlowTask(
        "signs of markup", "A", 'After A comes "<b>B & C</b>".', [add("<b>B & C</b>", "a")], "A > <b>B & C</b>",
    ),
    FlowTask(
        "eight in a row", "", "Number eight steps from Step 1 to Step 8.",
        [add("Step 1"), *(add(f"Step {n}", f"step_{n - 1}") for n in range(2, 9))],
        " > ".join(f"Step {n}" for n in range(1, 9)),
    ),
    FlowTask(
        "a star", "Hub", "Five spokes, Spoke 1 to Spoke 5, around the hub.",
        [add(f"Spoke {n}", "hub") for n in range(1, 6)], "; ".join(f"Hub > Spoke {n}" for n in range(1, 6)),
    ),
    FlowTask(
        "a tree", "CEO", "Under the CEO a CTO and a CFO, under the CTO Web and Data.",
        [add("CTO", "ceo"), add("CFO", "ceo"), add("Web", "cto"), add("Data", "cto")],
        "CEO > CTO; CEO > CFO; CTO > Web; CTO > Data",
    ),
    FlowTask(
        "all of them", "one > two > three", "Write all names in capital letters.",
        [rename("one", "ONE"), rename("two", "TWO"), rename("three", "THREE")], "ONE > TWO > THREE",
    ),
    FlowTask(
        "two labels", "Toss > Heads; Toss > Tails", "Each side comes with 50 %.",
        [relabel("e1", "50 %"), relabel("e2", "50 %")], "Toss -50 %> Heads; Toss -50 %> Tails",
    ),
    FlowTask(
        "the lonely one", "A > B; C > D; E", "Hang the node without links behind D.", [link("d", "e")],
        "A > B; C > D > E",
    ),
    FlowTask(
        "a longer way to yes", _REVIEW, "A yes goes through Legal first.",
        [unlink("e2"), add("Legal", "review", "yes"), link("legal", "publish")],
        "Draft > Review -yes> Legal > Publish; Review -no> Draft",
    ),
    FlowTask(
        "undone at once", "A > B", "Delete B. No, take that back.",
        [delete("b"), {"name": "undo", "input": {}}], "A > B",
    ),
    FlowTask(
        "a copy beside it", "Buy -eu> Ship", "The same for us: Buy leads to Customs, that to Ship.",
        [add("Customs", "buy", "us"), link("customs", "ship")], "Buy -eu> Ship; Buy -us> Customs > Ship",
    ),
)  # fmt: skip
