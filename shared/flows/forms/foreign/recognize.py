"""Which program wrote a JSON file: its flow, or a refusal that names the program."""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson
from pydantic import JsonValue

from shared.contracts.flow_routes import ImportWarning
from shared.errors import InvalidRequest
from shared.flows.document import Json
from shared.flows.forms.foreign import excalidraw, n8n, node_red, react_flow
from shared.flows.forms.foreign.found import ForeignFlow

_MAX_WARNINGS = 1_000


def read_foreign(content: JsonValue) -> ForeignFlow:
    """Return the flow of a parsed file. Raises: InvalidRequest when it holds none that can be read."""
    content = _out_of_wrappers(content)
    if isinstance(content, dict) and n8n.reads(content):
        return n8n.read(content)
    if (nodes := node_red.listed(content)) is not None:
        return node_red.read(nodes)
    if isinstance(content, dict) and excalidraw.reads(content):
        return excalidraw.read(content)
    if isinstance(content, dict) and (other := _other_program(content)):
        raise _refused(other)
    within = react_flow.inside(content)
    if within is not None:
        holder, path = within
        return react_flow.read(content if isinstance(content, dict) else holder, holder, path)
    raise _refused(_reason(content))


def _out_of_wrappers(content: JsonValue) -> JsonValue:
    """Return a file out of a JSON text, a list of one flow, or the answer of an API around an n8n workflow."""
    if isinstance(content, str) and content.lstrip().startswith(("{", "[")):
        try:
            content = orjson.loads(content)
        except orjson.JSONDecodeError:
            return content
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        (only,) = content
        content = only if n8n.reads(only) or react_flow.inside(only) is not None else content
    if isinstance(content, dict):
        inner = next(
            (each for name in ("data", "workflow", "workflowData") if n8n.reads(each := content.get(name))), None
        )
        return content if inner is None else inner
    return content


def without_nodes() -> InvalidRequest:
    return _refused("It holds no nodes. Import a file with at least one node.")


def warnings_of(flow: ForeignFlow, text: str) -> list[ImportWarning]:
    """Return what was left out, each with the line of the file where it first appears."""
    return list(_warnings(flow, text))[:_MAX_WARNINGS]


def _warnings(flow: ForeignFlow, text: str) -> Iterator[ImportWarning]:
    for member, sentence in flow.sentences():
        match = re.search(rf'"{re.escape(member)}"', text)
        yield ImportWarning(line=text.count("\n", 0, match.start()) + 1 if match else 1, text=sentence[:500])


#: Members by which files of other programs are known, and what each is.
_UNSUPPORTED = (
    (("store", "tldrawFileFormatVersion", "records", "session"), "a tldraw file"),
    (("libraryItems",), "a library of Excalidraw, not a drawing"),
    (("last_node_id", "last_link_id"), "a ComfyUI workflow"),
    (("drawflow",), "a Drawflow file"),
    (("zaps",), "a Zapier export"),
    (("dag_id",), "an Airflow DAG"),
    (("$schema", "triggers"), "a Power Automate flow"),
    (("cells",), "a JointJS or X6 diagram"),
    (("mxGraphModel", "mxfile"), "a draw.io file"),
    (("states", "States"), "a state machine (XState or Step Functions)"),
    (("resources", "stencilset"), "a model of another editor"),
)


def _reason(content: JsonValue) -> str:
    several = react_flow.count_of_flows(content)
    if several > 1:
        return f"It holds {several} flows. Import one at a time."
    if not isinstance(content, dict):
        return "A flow is a JSON object with `nodes` and `edges`."
    if "nodes" in content:
        return "Its `nodes` are not a list. Send `nodes` and `edges` as lists, as React Flow writes them."
    named = ", ".join(f"`{name[:40]}`" for name in list(content)[:8])
    return (
        f"It has no `nodes`{f', only {named}' if named else ''}. Send `nodes` and `edges`, as React Flow writes them."
    )


def _other_program(content: Json) -> str:
    """Return why a file of a program that is known, and not read, is refused; empty for others."""
    if isinstance(content.get("nodes"), list) and "last_node_id" not in content:
        return ""
    for members, what in _UNSUPPORTED:
        if any(member in content for member in members):
            return f"This is {what}, which is not supported. Draw it as Mermaid, or send `nodes` and `edges`."
    if content and all(isinstance(each, dict) and "class_type" in each for each in content.values()):
        return "This is a ComfyUI workflow, which is not supported. Draw it as Mermaid, or send `nodes` and `edges`."
    return ""


def _refused(reason: str) -> InvalidRequest:
    return InvalidRequest(f"The text holds no flow that can be read. {reason}", [(["body", "text"], reason)])
