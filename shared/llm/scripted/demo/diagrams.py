"""Edits of a diagram: add, rename, connect, delete, color and group what the request names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from shared.llm.scripted.demo.query import NotUnderstood
from shared.llm.scripted.demo.words import stem

CAN = (
    "It adds, renames, connects, disconnects, deletes, colors, resizes and groups nodes by their labels, for example: "
    "add a review step after cart; rename payment to checkout; connect cart to review; delete payment; undo."
)
Call = Mapping[str, JsonValue]
_STATE = re.compile(r"Current Flow State:\n(.*?)\n\nVisual Settings:", re.DOTALL)
_REQUEST = re.compile(r"\nUser Request: (.*)\Z", re.DOTALL)
_NODE_LINE = re.compile(r"^(\S+) \| (.*)$")
_EDGE_LINE = re.compile(r"^(\S+) \| (\S+) -> (\S+)(?: \| (.+))?")
_VERBS = (
    "add|insert|create|put|append|rename|relabel|call|connect|link|join|disconnect|unlink|delete|remove|drop|color|colour"
    "|make|paint|set|change|turn|group|ungroup|undo|redo|draw|place|move|zoom|describe|arrange|lay|swap|replace"
)
_SPLIT = re.compile(
    rf"\s*(?:;|\n+|\.(?=\s|$)|,?\s+(?:and\s+)?then\s+|,?\s+and\s+(?=(?:{_VERBS})\b)|,\s*(?=(?:{_VERBS})\b))\s*", re.I
)
_ARTICLE = re.compile(r"^(?:the|a|an|another|one|new|my|our)\s+", re.I)
_NOUN = r"(?:nodes?|steps?|boxes|box|states?|stages?|blocks?|shapes?|tasks?|items?|elements?)"
_POLITE = re.compile(r"^(?:please|can you|could you|would you|kindly|now|also|i want to|let us|let's)\s+", re.I)
_PLACED = re.compile(
    r"^(?P<what>.+?)\s+(?P<where>right after|directly after|after|behind|following|below|under|right before|before"
    r"|in front of|ahead of|above|between|at the (?:very )?(?:end|start|beginning)|to the (?:end|start|beginning)"
    r"|in between|to|from|next to)(?:\s+(?P<anchor>.+))?$",
    re.I,
)
_AFTER = {"after", "right after", "directly after", "behind", "following", "below", "under", "to", "from", "next to"}
_BEFORE = {"before", "right before", "in front of", "ahead of", "above"}
_COLORS = frozenset(
    (
        "red green blue yellow orange purple pink brown black white gray grey cyan magenta teal navy maroon olive "
        "lime gold silver indigo violet turquoise coral salmon beige lightblue darkblue lightgreen darkgreen "
        "lightgray darkgray darkred lightyellow skyblue tomato crimson"
    ).split()
)


@dataclass(frozen=True)
class Node:
    id: str
    label: str
    group: bool = False


@dataclass(frozen=True)
class Edge:
    id: str
    source: str
    target: str
    label: str = ""


@dataclass
class Diagram:
    """The state that a request shows, with what the calls so far have changed."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    connects: bool = False  #: whether the request connects nodes itself

    def node(self, text: str) -> Node:
        """Return the node that a text names; ``it`` is the one that was added last. Raises: NotUnderstood."""
        wanted = _without_article(text)
        if wanted.lower() in {"it", "that", "this"} and self.nodes:
            return self.nodes[-1]
        for name in dict.fromkeys([wanted, _without_noun(wanted)]):
            matches = [node for node in self.nodes if _key(name) in {_key(node.id), _key(node.label)}]
            if not matches:
                matches = [node for node in self.nodes if _stems(name) == _stems(node.label)]
            if not matches:
                matches = [node for node in self.nodes if _stems(name) and _stems(name) <= _stems(node.label)]
            if len(matches) == 1:
                return matches[0]
            if matches:
                names = ", ".join(repr(node.label) for node in matches)
                raise NotUnderstood(f"{text!r} names several nodes: {names}.")
        there = ", ".join(repr(node.label) for node in self.nodes[:20]) or "none"
        raise NotUnderstood(f"The diagram has no node {text!r}; it has {there}.")

    def has(self, text: str) -> bool:
        try:
            self.node(text)
        except NotUnderstood:
            return False
        return True

    def out(self, node: Node) -> list[Edge]:
        return [edge for edge in self.edges if edge.source == node.id]

    def into(self, node: Node) -> list[Edge]:
        return [edge for edge in self.edges if edge.target == node.id]


def read(message: str) -> tuple[Diagram, str]:
    """Return the diagram and the person's request. Raises: NotUnderstood."""
    state, request = _STATE.search(message), _REQUEST.search(message)
    if state is None or request is None:
        raise NotUnderstood("It does not find the diagram in this message.")
    return _diagram(state[1]), request[1].strip()


def _diagram(state: str) -> Diagram:
    try:
        document = json.loads(state)
    except ValueError:
        return _listed(state)
    nodes = [
        Node(node["id"], str((node.get("data") or {}).get("label") or node["id"]), "isCollapsed" in node)
        for node in document.get("nodes", ())
    ]
    edges = [
        Edge(edge["id"], edge["source"], edge["target"], str(edge.get("label") or ""))
        for edge in document.get("edges", ())
    ]
    return Diagram(nodes, edges)


def _listed(state: str) -> Diagram:
    """Read the short form, with one node or edge on a line."""
    diagram = Diagram()
    for line in state.splitlines():
        if edge := _EDGE_LINE.match(line):
            diagram.edges.append(Edge(edge[1], edge[2], edge[3], edge[4] or ""))
        elif node := _NODE_LINE.match(line):
            diagram.nodes.append(Node(node[1], node[2]))
    return diagram


def calls_for(diagram: Diagram, request: str) -> list[Call]:
    """Return the tool calls of a request. Raises: NotUnderstood."""
    calls: list[Call] = []
    diagram.connects = re.search(r"\b(?:connect|link|join)\b", request, re.I) is not None
    for clause in _SPLIT.split(request.strip().strip(".!")):
        text = clause.strip(" ,.!?")
        while (polite := _POLITE.match(text)) is not None:
            text = text[polite.end() :]
        if text:
            calls += _calls_of(diagram, text)
    if not calls:
        raise NotUnderstood("It finds no edit in this request.")
    return calls


def _calls_of(diagram: Diagram, text: str) -> list[Call]:
    for pattern, rule in _RULES:
        if (match := pattern.fullmatch(text)) is not None and (calls := rule(diagram, match)) is not None:
            return calls
    raise NotUnderstood(f"It does not understand {text!r}.")


# Adding


def _add(diagram: Diagram, match: re.Match[str]) -> list[Call] | None:
    placed = _PLACED.match(match["rest"])
    if placed is not None and not _quoted_whole(match["rest"]):
        where, anchor = placed["where"].lower(), (placed["anchor"] or "").strip()
        labels = _labels(placed["what"])
        if where.startswith(("at the", "to the")) or anchor.lower() in {"the end", "the start", "the beginning"}:
            return _chain(diagram, labels, at_start="end" not in f"{where} {anchor}".lower())
        if anchor:
            return _placed(diagram, labels, where, anchor)
    return _chain(diagram, _labels(match["rest"]), at_start=False)


def _placed(diagram: Diagram, labels: Sequence[str], where: str, anchor: str) -> list[Call]:
    if where in {"between", "in between"}:
        pair = re.split(r"\s+and\s+|\s*,\s*", anchor, maxsplit=1)
        if len(pair) != 2:
            raise NotUnderstood("Between which two nodes?")
        return _between(diagram, labels, diagram.node(pair[0]), diagram.node(pair[1]))
    target = re.sub(r"\s+(?:step|node)$", "", anchor, flags=re.I) if not diagram.has(anchor) else anchor
    node = diagram.node(target)
    if where in _BEFORE:
        edges = diagram.into(node)
        calls, last = _line(diagram, labels, edges[0] if len(edges) == 1 else None)
        for edge in edges:
            calls.append(_delete_edge(diagram, edge))
            if len(edges) > 1:
                calls.append(_edge(diagram, edge.source, _id(labels[0]), edge.label))
        return [*calls, _edge(diagram, last, node.id)]
    edges = diagram.out(node)
    calls, last = _line(diagram, labels, edges[0] if len(edges) == 1 else Edge("", node.id, ""))
    if len(edges) == 1:  # a step in the middle of a chain
        calls += [_delete_edge(diagram, edges[0]), _edge(diagram, last, edges[0].target)]
    return calls


def _between(diagram: Diagram, labels: Sequence[str], first: Node, second: Node) -> list[Call]:
    edge = next((e for e in diagram.edges if {e.source, e.target} == {first.id, second.id}), None)
    target = second.id if edge is None else edge.target
    calls, last = _line(diagram, labels, edge or Edge("", first.id, ""))
    removed = [_delete_edge(diagram, edge)] if edge is not None else []
    return [*calls, *removed, _edge(diagram, last, target)]


def _chain(diagram: Diagram, labels: Sequence[str], *, at_start: bool) -> list[Call]:
    """Add nodes at the end or the start of the diagram, where there is one."""
    grown = [node for node in diagram.nodes if not node.group]
    if at_start:
        first = [node for node in grown if not diagram.into(node)]
        calls, last = _line(diagram, labels, None)
        return [*calls, *([_edge(diagram, last, first[0].id)] if len(first) == 1 else [])]
    ends = [node for node in grown if not diagram.out(node)]
    if diagram.connects:
        return _separate(diagram, labels)
    return _line(diagram, labels, Edge("", ends[0].id, "") if len(ends) == 1 else None)[0]


def _separate(diagram: Diagram, labels: Sequence[str]) -> list[Call]:
    """Add nodes that the request connects itself."""
    return [call for label in labels for call in _line(diagram, [label], None)[0]]


def _line(diagram: Diagram, labels: Sequence[str], edge: Edge | None) -> tuple[list[Call], str]:
    """Add nodes one after the other; return the calls and the last node's id.

    The first node follows the source of ``edge``, which it takes the place of, under its label.
    """
    calls: list[Call] = []
    parent = None if edge is None else edge.source
    edge_label = "" if edge is None else edge.label
    for label in labels:
        name = _id(label)
        if any(name in {node.id, _id(node.label)} for node in diagram.nodes):
            raise NotUnderstood(f"The diagram has a node {label!r} already.")
        given: dict[str, JsonValue] = {"label": label}
        diagram.nodes.append(Node(name, label))
        if parent is not None and edge_label:
            calls += [_call("addNode", given), _edge(diagram, parent, name, edge_label)]
        elif parent is not None:
            diagram.edges.append(Edge("", parent, name))
            calls.append(_call("addNode", {**given, "parentNodeId": parent}))
        else:
            calls.append(_call("addNode", given))
        parent, edge_label = name, ""
    assert parent is not None
    return calls, parent


#: What names no new node: "make it beautiful" asks for a change of the diagram.
_PRONOUN = re.compile(r"(?:it|this|that|these|those|them|everything|all)\b", re.IGNORECASE)


def _labels(text: str) -> list[str]:
    """Read the labels of new nodes: ``a review step``, ``nodes A, B and C``."""
    text = re.sub(
        rf"^(?:(?:the|a|an|two|three|new|some)\s+)*{_NOUN}\s+(?:called|named|labell?ed|with the label)\s+",
        "",
        text,
        flags=re.I,
    )
    several = re.match(
        r"^(?:(?:the|two|three|four|new|some)\s+)*(?:nodes|steps|boxes|stages|states):?\s+(.+)$", text, re.I
    )
    text = several[1] if several is not None else re.sub(rf"^(?:(?:the|a|an|new)\s+)*{_NOUN}\s+(?=[\"'“A-Z])", "", text)
    quoted = re.findall(r"[\"“]([^\"”]+)[\"”]|(?<!\w)'([^']+)'", text)
    if quoted:
        return [first or second for first, second in quoted]
    pieces = re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", text)
    listed = several is not None or all(re.match(r"(?:a|an|another|the)\s", piece, re.I) for piece in pieces)
    labels = [_label(piece) for piece in (pieces if listed else [text])]
    if not all(labels) or _PRONOUN.match(text):
        raise NotUnderstood(f"It does not see what to add for {text!r}.")
    return labels


def _label(text: str) -> str:
    previous = ""
    while previous != text:
        previous, text = text, _ARTICLE.sub("", text)
    text = re.sub(rf"^{_NOUN}\s+(?:called|named|labell?ed|for)\s+", "", text, flags=re.I)
    text = re.sub(rf"\s+{_NOUN}$", "", text, flags=re.I).strip(" \"'“”`.,")
    return text[:1].upper() + text[1:]


# Changing


def _rename(diagram: Diagram, match: re.Match[str]) -> list[Call] | None:
    node = diagram.node(match["node"])
    label = _label(match["label"]) if not _quoted_whole(match["label"]) else match["label"].strip("\"'“”`")
    diagram.nodes[diagram.nodes.index(node)] = Node(node.id, label, node.group)
    return [_call("updateNode", {"nodeId": node.id, "label": label})]


def _describe(diagram: Diagram, match: re.Match[str]) -> list[Call] | None:
    node = diagram.node(match["node"])
    return [_call("updateNode", {"nodeId": node.id, "description": match["text"].strip("\"'“”`")})]


def _connect(diagram: Diagram, match: re.Match[str]) -> list[Call] | None:
    source, target = diagram.node(match["source"]), diagram.node(match["target"])
    if any((edge.source, edge.target) == (source.id, target.id) for edge in diagram.edges):
        raise NotUnderstood(f"{source.label} is connected to {target.label} already.")
    return [_edge(diagram, source.id, target.id, (match["label"] or "").strip("\"'“”` "))]


def _disconnect(diagram: Diagram, match: re.Match[str]) -> list[Call] | None:
    first, second = diagram.node(match["source"]), diagram.node(match["target"])
    edges = [edge for edge in diagram.edges if {edge.source, edge.target} == {first.id, second.id}]
    if not edges:
        raise NotUnderstood(f"{first.label} and {second.label} are not connected.")
    return [_delete_edge(diagram, edge) for edge in edges]


def _delete(diagram: Diagram, match: re.Match[str]) -> list[Call] | None:
    text = match["node"]
    if diagram.has(text):
        nodes = [diagram.node(text)]
    else:
        nodes = [diagram.node(part) for part in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", text)]
    for node in nodes:
        diagram.nodes.remove(node)
        diagram.edges = [edge for edge in diagram.edges if node.id not in {edge.source, edge.target}]
    return [_call("deleteNode", {"nodeId": node.id}) for node in nodes]


def _color(diagram: Diagram, match: re.Match[str]) -> list[Call] | None:
    color = match["color"].strip("\"'`").lower()
    plain = color.replace(" ", "")
    if not (plain in _COLORS or re.fullmatch(r"#[0-9a-f]{3,8}|(?:rgb|hsl)a?\([\d., %]+\)", color)):
        return None
    what = _without_article(match["what"])
    if what.lower() in {"background", "canvas", "background color", "background of the diagram"}:
        return [_call("changeVisuals", {"target": "background", "color": plain})]
    if re.fullmatch(rf"(?:all|every|each|all of)?\s*(?:the\s+)?{_NOUN}|everything", what, re.I):
        return [_call("changeVisuals", {"target": "all_nodes", "color": plain})]
    node = diagram.node(re.sub(r"(?:'s)? (?:color|colour)$|^(?:color|colour) of ", "", what))
    return [_call("changeVisuals", {"target": "node", "nodeId": node.id, "color": plain})]


def _resize(diagram: Diagram, match: re.Match[str]) -> list[Call] | None:
    larger = match["size"].lower() in {"bigger", "larger", "wider", "taller"}
    what, direction = _without_article(match["what"]), "increase" if larger else "decrease"
    if re.fullmatch(rf"(?:all|every|each|all of)?\s*(?:the\s+)?{_NOUN}|everything", what, re.I):
        return [_call("changeDimensions", {"target": "all_nodes", "direction": direction})]
    return [_call("changeDimensions", {"target": "node", "nodeId": diagram.node(what).id, "direction": direction})]


def _zoom(_diagram: Diagram, match: re.Match[str]) -> list[Call] | None:
    direction = "increase" if match["way"].lower() == "in" else "decrease"
    return [_call("changeDimensions", {"target": "zoom", "direction": direction})]


def _group(diagram: Diagram, match: re.Match[str]) -> list[Call] | None:
    nodes = [diagram.node(part) for part in re.split(r"\s*,\s*(?:and\s+)?|\s+(?:and|with)\s+", match["nodes"])]
    if len(nodes) < 2:
        raise NotUnderstood("A group needs at least two nodes.")
    members: list[JsonValue] = [node.id for node in nodes]
    label = (match["label"] or "").strip("\"'“”` ")
    return [_call("createGroup", {"memberIds": members} | ({"label": label} if label else {}))]


def _ungroup(diagram: Diagram, match: re.Match[str]) -> list[Call] | None:
    return [_call("ungroup", {"groupId": diagram.node(match["node"]).id})]


def _history(_diagram: Diagram, match: re.Match[str]) -> list[Call] | None:
    return [_call("redo" if match[0].lower().startswith("redo") else "undo", {})]


def _arrange(_diagram: Diagram, _match: re.Match[str]) -> list[Call] | None:
    return [_call("autoLayout", {})]


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.I | re.DOTALL)


_LABELLED = r"(?:,?\s+(?:labell?ed|with the label|with label|saying|called|as|named)\s+(?P<label>.+))?"
_EDGE_NOUN = r"(?:edge|edges|connection|link|arrow|line)"
_RULES: Sequence[tuple[re.Pattern[str], Callable[[Diagram, re.Match[str]], list[Call] | None]]] = (
    (_rule(r"(?:undo|redo|revert|take back)(?:\s+(?:it|that|this|the last (?:change|edit|step|one)|the change|again))?"), _history),
    (_rule(r"(?:auto[- ]?layout|arrange|lay out|tidy(?: up)?|clean up)(?:\s+(?:it|everything|the (?:nodes|diagram|flow)|all nodes))?"), _arrange),
    (_rule(r"zoom\s+(?P<way>in|out)"), _zoom),
    (_rule(rf"(?:add|draw|create|insert|make)\s+(?:an?|the|new)?\s*{_EDGE_NOUN}\s+(?:from|between)\s+(?P<source>.+?)\s+(?:to|and|with)\s+(?P<target>.+?){_LABELLED}"), _connect),
    (_rule(rf"(?:connect|link|join)\s+(?P<source>.+?)\s+(?:to|with|and|into)\s+(?P<target>.+?){_LABELLED}"), _connect),
    (_rule(rf"(?:delete|remove|drop|cut)\s+(?:the\s+)?{_EDGE_NOUN}\s+(?:from|between)\s+(?P<source>.+?)\s+(?:to|and)\s+(?P<target>.+)"), _disconnect),
    (_rule(r"(?:disconnect|unlink|detach)\s+(?P<source>.+?)\s+(?:from|and)\s+(?P<target>.+)"), _disconnect),
    (_rule(r"(?:rename|relabel)\s+(?P<node>.+?)\s+(?:to|as|into)\s+(?P<label>.+)"), _rename),
    (_rule(r"(?:change|set)\s+(?:the\s+)?(?:label|name|text|title)\s+of\s+(?P<node>.+?)\s+(?:to|as|into)\s+(?P<label>.+)"), _rename),
    (_rule(r"(?:change|set)\s+(?P<node>.+?)(?:'s)?\s+(?:label|name|text|title)\s+(?:to|as|into)\s+(?P<label>.+)"), _rename),
    (_rule(r"call\s+(?P<node>.+?)\s+(?P<label>[\"“'].+)"), _rename),
    (_rule(r"(?:set|change|add)\s+(?:the|a)?\s*description\s+(?:of|to|for)\s+(?P<node>.+?)(?:\s+to\s+|:\s*)(?P<text>.+)"), _describe),
    (_rule(r"(?:color|colour|paint|make|turn|set|change)\s+(?P<what>.+?)\s+(?:to\s+|in\s+|into\s+)?(?P<color>#\w+|(?:rgb|hsl)a?\(.+\)|(?:light |dark )?\w+)"), _color),
    (_rule(r"make\s+(?P<what>.+?)\s+(?P<size>bigger|larger|smaller|wider|taller|narrower)"), _resize),
    (_rule(r"(?:replace)\s+(?P<node>.+?)\s+(?:with|by)\s+(?P<label>.+)"), _rename),
    (_rule(r"ungroup\s+(?P<node>.+)"), _ungroup),
    (_rule(rf"(?:group|put)\s+(?P<nodes>.+?)(?:\s+together|\s+(?:in|into)\s+(?:a|one) group)?{_LABELLED}(?<!\bnode)"), lambda d, m: _group(d, m) if _names_group(m) else None),
    (_rule(r"(?:delete|remove|drop)\s+(?P<node>.+)"), _delete),
    (_rule(r"change\s+(?P<node>.+?)\s+(?:to|into)\s+(?P<label>.+)"), _rename),
    (_rule(r"(?:add|insert|create|put|append|place|draw|make)\s+(?P<rest>.+)"), _add),
)  # fmt: skip


def _names_group(match: re.Match[str]) -> bool:
    text = match[0].lower()
    return text.startswith("group") or "together" in text or " group" in text


# Names and calls


def _without_article(text: str) -> str:
    return _ARTICLE.sub("", text.strip(" \"'“”`.,!?"))


def _without_noun(text: str) -> str:
    return re.sub(rf"\s+{_NOUN}$|^{_NOUN}\s+", "", text, flags=re.I)


def _key(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().casefold()


def _stems(text: str) -> set[str]:
    return {stem(part) for part in _key(text).split()}


def _id(label: str) -> str:
    """Return the id that the server gives to a label."""
    return re.sub(r"[^\w]+", "_", label.lower()).strip("_")


def _quoted_whole(text: str) -> bool:
    return re.fullmatch(r"\s*[\"“'`][^\"”'`]+[\"”'`]\s*", text) is not None


def _edge(diagram: Diagram, source: str, target: str, label: str = "") -> Call:
    diagram.edges.append(Edge("", source, target))
    return _call("addEdge", {"sourceNodeId": source, "targetNodeId": target} | ({"label": label} if label else {}))


def _delete_edge(diagram: Diagram, edge: Edge) -> Call:
    diagram.edges.remove(edge)
    return _call("deleteEdge", {"edgeId": edge.id})


def _call(name: str, given: Mapping[str, JsonValue]) -> Call:
    return {"type": "tool_use", "name": name, "input": dict(given)}
