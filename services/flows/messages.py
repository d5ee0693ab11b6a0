"""The messages to the model: the request with the state of the flow, and the outcomes of its calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from services.flows.state import state_of
from shared.flows.calls import Call, CallOutcome
from shared.flows.document import Document, Json, description_of, label_of, text_of
from shared.flows.tools.table import OFFERED, ToolSpec
from shared.flows.visuals import merged
from shared.llm.chat import Prompts

_PARAMETERS = 400  #: characters of a call that a retry repeats
_LISTED = 300  #: nodes, and edges, that a retry lists
_SETTINGS = 20_000  #: characters of visual settings


def request_message(
    prompts: Prompts, document: Document, message: str, topic: str, tokens: int, *, brief: bool = False
) -> str:
    """Return a message with the current flow; of one that is larger than ``tokens``, the parts that concern the topic.

    ``brief``: tools in a line each, and no visual settings, for a small window.
    """
    if brief:
        tools, settings = "\n".join(map(_tool_line, OFFERED)), "(left out: the model's window is too small)"
    else:
        tools = "\n\n".join(
            f"{tool.name}: {tool.description}\nParameters: {json.dumps(tool.parameters, indent=2)}" for tool in OFFERED
        )
        settings = json.dumps(merged(document.settings), indent=2, ensure_ascii=False)[:_SETTINGS]
    flow = state_of(document, topic, tokens)
    return prompts.render("flows.request", flow=flow, settings=settings, tools=tools, message=message).text.rstrip()


def retry_message(prompts: Prompts, document: Document, outcomes: Sequence[CallOutcome], atomic: bool) -> str:
    nodes = sorted(document.nodes.items(), key=lambda pair: pair[1].rank)
    edges = sorted(document.edges.items(), key=lambda pair: pair[1].rank)
    return prompts.render(
        "flows.retry",
        outcomes=[_outcome(outcome) for outcome in outcomes],
        nodes=[_node(key, item.body) for key, item in nodes[:_LISTED]] + _more(len(nodes)),
        nodes_count=len(nodes),
        edges=[_edge(item.body) for _, item in edges[:_LISTED]] + _more(len(edges)),
        edges_count=len(edges),
        atomic=atomic,
    ).text.rstrip()


def unreadable_message(prompts: Prompts, error: str) -> str:
    return prompts.render("flows.unreadable", error=error).text.rstrip()


def call_text(call: Call) -> str:
    """``addNode({"label":"Login"})``."""
    params = json.dumps(call.params, ensure_ascii=False, separators=(",", ":"))
    return f"{call.name}({params if len(params) <= _PARAMETERS else params[:_PARAMETERS] + '…'})"


def _tool_line(tool: ToolSpec) -> str:
    """``addNode(label, id?, onConflict?: error|suffix|reuse): Creates a new node.``"""
    properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    parameters = [f"{name}{'' if name in required else '?'}{_choices(schema)}" for name, schema in properties.items()]
    return f"{tool.name}({', '.join(parameters)}): {tool.description.partition('. ')[0].rstrip('.')}."


def _choices(schema: JsonValue) -> str:
    choices = schema.get("enum") if isinstance(schema, dict) else None
    return f": {'|'.join(map(str, choices))}" if isinstance(choices, list) else ""


def _outcome(outcome: CallOutcome) -> Mapping[str, object]:
    made = ""
    if outcome.call.name in ("addNode", "addEdge", "createGroup"):
        kinds = (("node", outcome.node_id), ("edge", outcome.edge_id), ("group", outcome.group_id))
        made = next((f'{kind} with ID: "{key}"' for kind, key in kinds if key), "")
    return {
        "call": call_text(outcome.call),
        "error": outcome.error or "",
        "suggestions": ", ".join(outcome.suggestions),
        "rolled_back": outcome.rolled_back,
        "made": made,
    }


def _node(key: str, body: Json) -> str:
    description = description_of(body)
    line = f'"{_line(label_of(body))}" (ID: "{key}")'
    return f"{line} - {_line(description)}" if description else line


def _edge(body: Json) -> str:
    label = label_of(body)
    line = f"{text_of(body, 'source')} → {text_of(body, 'target')}"
    return f"{line} [{_line(label)}]" if label else line


def _more(count: int) -> list[str]:
    return [f"… and {count - _LISTED} more"] if count > _LISTED else []


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
