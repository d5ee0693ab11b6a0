"""The demo model edits diagrams, plans searches and states values by rules, and refuses the rest in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.llm.scripted.demo.model import answer
from shared.llm.scripted.script import ScriptedFault, ScriptedRequest

FLOW: dict[str, list[dict[str, Any]]] = {
    "nodes": [
        {"id": "cart", "data": {"label": "Cart"}},
        {"id": "payment", "data": {"label": "Payment"}},
        {"id": "done", "data": {"label": "Order done"}},
    ],
    "edges": [
        {"id": "e1", "source": "cart", "target": "payment"},
        {"id": "e2", "source": "payment", "target": "done"},
    ],
}


def ask(role: str, *messages: str) -> tuple[str, ScriptedFault | None]:
    reply, fault = answer(ScriptedRequest("groq", "m", role, 1, False, messages, messages[-1]))
    return reply.content, fault


def edit(request: str) -> tuple[str, ScriptedFault | None]:
    state = f"Current Flow State:\n{json.dumps(FLOW, indent=2)}\n\nVisual Settings:\n{{}}\n\nUser Request: {request}"
    return ask("flows.edit", "system", state)


def calls(request: str) -> list[tuple[str, dict[str, Any]]]:
    text, fault = edit(request)
    assert fault is None, text
    listed = json.loads(text.partition("<response>")[2].partition("</response>")[0])
    return [(call["name"], call["input"]) for call in listed]


def nodes_and_edges(request: str) -> tuple[set[str], set[tuple[str, str]]]:
    """The diagram after the calls, by their meaning."""
    labels = {str(node["id"]): str(node["data"]["label"]) for node in FLOW["nodes"]}
    edges = {str(edge["id"]): (str(edge["source"]), str(edge["target"])) for edge in FLOW["edges"]}
    for number, (name, given) in enumerate(calls(request)):
        if name == "addNode":
            new = given["label"].lower().replace(" ", "_").strip("?")
            labels[new] = given["label"]
            if "parentNodeId" in given:
                edges[f"new {number}"] = (given["parentNodeId"], new)
        elif name == "addEdge":
            edges[f"new {number}"] = (given["sourceNodeId"], given["targetNodeId"])
        elif name == "deleteEdge":
            del edges[given["edgeId"]]
        elif name == "updateNode":
            labels[given["nodeId"]] = given["label"]
        elif name == "deleteNode":
            del labels[given["nodeId"]]
            edges = {key: pair for key, pair in edges.items() if given["nodeId"] not in pair}
    return set(labels.values()), {(labels[source], labels[target]) for source, target in edges.values()}


OLD = {"Cart", "Payment", "Order done"}
CHAIN = {("Cart", "Payment"), ("Payment", "Order done")}


@pytest.mark.parametrize(
    ("request_text", "labels", "edges"),
    [
        ("add a review step", OLD | {"Review"}, CHAIN | {("Order done", "Review")}),
        ("Please add a review after cart.", OLD | {"Review"},
         {("Cart", "Review"), ("Review", "Payment"), ("Payment", "Order done")}),
        ('insert a node called "Fraud check" before payment', OLD | {"Fraud check"},
         {("Cart", "Fraud check"), ("Fraud check", "Payment"), ("Payment", "Order done")}),
        ("add shipping between payment and order done", OLD | {"Shipping"},
         {("Cart", "Payment"), ("Payment", "Shipping"), ("Shipping", "Order done")}),
        ("add a review step and connect it to payment", OLD | {"Review"}, CHAIN | {("Review", "Payment")}),
        ("add a login at the start", OLD | {"Login"}, CHAIN | {("Login", "Cart")}),
        ("rename the payment node to Checkout", {"Cart", "Checkout", "Order done"},
         {("Cart", "Checkout"), ("Checkout", "Order done")}),
        ("change the label of cart to Basket and delete order done", {"Basket", "Payment"}, {("Basket", "Payment")}),
        ("connect cart to order done", OLD, CHAIN | {("Cart", "Order done")}),
        ("remove the edge between cart and payment", OLD, {("Payment", "Order done")}),
        ("delete the payment step", {"Cart", "Order done"}, set()),
    ],
)  # fmt: skip
def test_an_edit_does_what_it_says(request_text: str, labels: set[str], edges: set[tuple[str, str]]) -> None:
    assert nodes_and_edges(request_text) == (labels, edges)


@pytest.mark.parametrize(
    ("request_text", "call"),
    [
        ("make payment red", ("changeVisuals", {"target": "node", "nodeId": "payment", "color": "red"})),
        ("set the background to white", ("changeVisuals", {"target": "background", "color": "white"})),
        ("make all nodes bigger", ("changeDimensions", {"target": "all_nodes", "direction": "increase"})),
        ("group cart and payment as Shop", ("createGroup", {"memberIds": ["cart", "payment"], "label": "Shop"})),
        ("undo the last change", ("undo", {})),
    ],
)
def test_looks_groups_and_history(request_text: str, call: tuple[str, dict[str, Any]]) -> None:
    assert calls(request_text) == [call]


@pytest.mark.parametrize(
    ("request_text", "reason"),
    [
        ("sing a song", "does not understand"),
        ("make it beautiful", "does not see what to add"),
        ("make everything look nicer", "does not see what to add"),
        ("delete the moon", "no node 'the moon'"),
        ("connect cart to payment", "connected to Payment already"),
        ("add a cart", "a node 'Cart' already"),
        ("swap cart and payment", "does not understand"),
        ("Previous tool execution results:\n\nfailed", "failed"),
    ],
)
def test_an_edit_outside_of_the_rules_is_refused_and_never_half_done(request_text: str, reason: str) -> None:
    text, fault = edit(request_text)
    assert fault is not None
    assert fault.kind == "refusal"
    assert reason in text
    assert "<response>" not in text


@pytest.mark.parametrize("state", ["json", "lines"])
@pytest.mark.parametrize(
    "request_text", ["add packing before ship", "add packing between paid and ship", "add a packing step after paid"]
)
def test_a_step_in_a_labelled_edge_keeps_the_label(request_text: str, state: str) -> None:
    nodes = [{"id": "a", "data": {"label": "Paid"}}, {"id": "b", "data": {"label": "Ship"}}]
    flow = {"nodes": nodes, "edges": [{"id": "e", "source": "a", "target": "b", "label": "yes"}]}
    shown = json.dumps(flow) if state == "json" else "a | Paid\nb | Ship\ne | a -> b | yes"
    said = f"Current Flow State:\n{shown}\n\nVisual Settings:\n{{}}\n\nUser Request: {request_text}"
    text, fault = ask("flows.edit", "system", said)
    assert fault is None, text
    listed = json.loads(text.partition("<response>")[2].partition("</response>")[0])
    edges = [call["input"] for call in listed if call["name"] == "addEdge"]
    assert edges == [
        {"sourceNodeId": "a", "targetNodeId": "packing", "label": "yes"},
        {"sourceNodeId": "packing", "targetNodeId": "b"},
    ]
    assert {"type": "tool_use", "name": "deleteEdge", "input": {"edgeId": "e"}} in [
        {name: value for name, value in call.items() if name != "id"} for call in listed
    ]


TABLES = (
    "The tables:\n\n- parts. Facets: none. Fields: price: float, made: int.\n"
    "- people. Facets: none. Fields: none.\nusually 7."
)


def test_a_search_asks_every_table_in_the_words_of_the_question() -> None:
    plan = json.loads(ask("search.plan", TABLES, json.dumps({"question": "what moves water?"}))[0])
    assert [(query["table"], query["query_text"], query["limit"]) for query in plan["queries"]] == [
        ("parts", "what moves water?", 7),
        ("people", "what moves water?", 7),
    ]


def test_a_search_reads_bounds_of_fields_that_it_names() -> None:
    plan = json.loads(ask("search.plan", TABLES, json.dumps({"question": "parts with a price under 50"}))[0])
    assert plan["queries"][0] == {
        "table": "parts", "search_mode": "master", "query_text": "parts", "limit": 7, "filters": {"price": {"lt": 50}},
    }  # fmt: skip


def test_an_answer_quotes_the_record_that_shares_words_and_no_weak_one() -> None:
    hits = {
        "parts": [
            {"id": "1", "name": "Pump", "weak": False, "text": "It is blue. It moves water through pipes."},
            {"id": "2", "name": "Lamp", "weak": False, "text": "Gives light."},
            {"id": "3", "name": "Water bottle", "weak": True, "text": "Water moves in it."},
        ]
    }
    question = {"question": "what moves water?", "verdict": "found", "hits": hits}
    said = json.loads(ask("search.answer", "system", json.dumps(question))[0])
    assert said == {
        "answered": True,
        "sentences": [
            {"text": "Pump: It moves water through pipes.", "citations": [{"table": "parts", "id": "1"}]},
        ],
    }
    weak = {**question, "verdict": "weak", "hits": {"parts": hits["parts"][2:]}}
    assert json.loads(ask("search.answer", "system", json.dumps(weak))[0])["answered"] is False


def test_an_answer_quotes_a_sentence_and_no_heading() -> None:
    record = {
        "id": "h.md",
        "name": "Holidays",
        "weak": False,
        "text": "# Holidays\n\nEverybody has 28 days. Ask first.",
    }
    question = {"question": "how many days of holiday?", "verdict": "found", "hits": {"book": [record]}}
    said = json.loads(ask("search.answer", "system", json.dumps(question))[0])
    assert [sentence["text"] for sentence in said["sentences"]] == ["Holidays: Everybody has 28 days."]


def test_a_next_plan_repeats_nothing() -> None:
    first = {"strategy": "initial", "queries": [{"table": "parts", "query_text": "what moves water?"}]}
    question: dict[str, Any] = {
        "user_message": "what moves water?", "zero_result_tables": ["parts"], "attempts": [first],
    }  # fmt: skip
    plans = []
    for _ in range(3):
        plan = json.loads(ask("search.reflect", TABLES, json.dumps(question))[0])
        plans.append((plan["strategy"], [(query["table"], query["query_text"]) for query in plan["new_queries"]]))
        question["attempts"].append({"strategy": plan["strategy"], "queries": plan["new_queries"]})
    assert plans == [
        ("rewrite", [("parts", "moves water")]),
        ("pivot", [("people", "what moves water?")]),
        ("relax", []),
    ]


CREATE = 'The author\'s instruction is of the type "describe".'


def test_a_document_states_the_values_of_its_instruction() -> None:
    assert ask("documents.instruction", CREATE, "Say in one sentence what a total of 12 means.") == (
        "The total is 12.",
        None,
    )
    data = "Describe <data-1>\n| city | amount |\n|---|---|\n| Oslo | 8 |\n| Rome | 4 |\n</data-1>"
    assert ask("documents.instruction", CREATE, data)[0] == (
        "The table has 2 rows and the columns city, amount. The amount goes from 4 to 8, 12 in total."
    )


@pytest.mark.parametrize("instruction", ["Write a poem about the sea.", "Translate this into French."])
def test_a_document_gets_no_invented_prose(instruction: str) -> None:
    text, fault = ask("documents.instruction", CREATE, instruction)
    assert fault is not None
    assert "demo model" in text


def test_a_role_without_rules_is_refused() -> None:
    assert ask("someone.else", "system", "hello")[1] is not None
