"""What is legal in a diagram and probably not meant; cycles by Tarjan's strongly connected components."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shared.contracts.flow import Finding
from shared.flows.document import Document, is_group, label_of, relative_parent, text_of
from shared.flows.draft import Draft
from shared.flows.tools.subtrees import held

_MAX_IDS = 50
_MAX_FINDINGS = 200


def lint(document: Document) -> list[Finding]:
    """Dangling and duplicate edges, cycles, nodes without edges, duplicate labels, unknown groups, lost nodes."""
    findings = [
        *_dangling(document),
        *_duplicate_edges(document),
        *_cycles(document),
        *_orphans(document),
        *_duplicate_labels(document),
        *_unknown_groups(document),
        *_hidden(document),
    ]
    return findings[:_MAX_FINDINGS]


def _dangling(document: Document) -> Iterator[Finding]:
    for key, item in document.edges.items():
        missing = [
            end for end in (text_of(item.body, "source"), text_of(item.body, "target")) if end not in document.nodes
        ]
        if missing:
            message = f"Edge {key} leads to or from {' and '.join(missing)}, which is not there"
            yield Finding(code="dangling_edge", message=message, ids=[key])


def _duplicate_edges(document: Document) -> Iterator[Finding]:
    by_ends: dict[tuple[str, str, str], list[str]] = {}
    for key, item in document.edges.items():
        ends = (text_of(item.body, "source"), text_of(item.body, "target"), label_of(item.body))
        by_ends.setdefault(ends, []).append(key)
    for (source, target, _), keys in by_ends.items():
        if len(keys) > 1:
            message = f"{len(keys)} equal edges from {source} to {target}"
            yield Finding(code="duplicate_edge", message=message, ids=keys[:_MAX_IDS])


def _cycles(document: Document) -> Iterator[Finding]:
    for part in cycles(successors(document)):
        shown = " → ".join([*part[:10], *(["…"] if len(part) > 10 else [part[0]])])
        yield Finding(code="cycle", message=f"A cycle among {shown}", ids=part[:_MAX_IDS])


def _orphans(document: Document) -> Iterator[Finding]:
    """Nodes without any edge, in a diagram that has edges."""
    ends = {text_of(item.body, end) for item in document.edges.values() for end in ("source", "target")}
    lonely = [key for key, item in document.nodes.items() if key not in ends and not is_group(item.body)]
    if ends and lonely:
        message = f"{len(lonely)} nodes without an edge" if len(lonely) > 1 else f"Node {lonely[0]} has no edge"
        yield Finding(code="orphan", message=message, ids=lonely[:_MAX_IDS])


def _duplicate_labels(document: Document) -> Iterator[Finding]:
    by_label: dict[str, list[str]] = {}
    for key, item in document.nodes.items():
        by_label.setdefault(label_of(item.body), []).append(key)
    for label, keys in by_label.items():
        if label and len(keys) > 1:
            message = f'{len(keys)} nodes are called "{label[:100]}"'
            yield Finding(code="duplicate_label", message=message, ids=keys[:_MAX_IDS])


def _unknown_groups(document: Document) -> Iterator[Finding]:
    for key, item in document.nodes.items():
        group, parent = text_of(item.body, "parentGroupId"), relative_parent(item.body)
        missing = group and not (group in document.nodes and is_group(document.nodes[group].body))
        missing_parent = parent and (parent not in document.nodes or parent == key)
        if missing or missing_parent:
            where = f"in group {group}" if missing else f"inside {parent}"
            yield Finding(code="unknown_group", message=f"Node {key} is {where}, which is not there", ids=[key])


def _hidden(document: Document) -> Iterator[Finding]:
    """Yield nodes that stay hidden although nothing collapsed hides them."""
    hidden = [key for key, item in document.nodes.items() if item.body.get("hidden") is True]
    if not hidden:
        return
    away = held(Draft(document))
    lost = [key for key in hidden if key not in away.below and key not in away.inside]
    if lost:
        named = f"{len(lost)} nodes are" if len(lost) > 1 else f"Node {lost[0]} is"
        yield Finding(code="hidden", message=f"{named} hidden, and nothing collapsed hides them", ids=lost[:_MAX_IDS])


def successors(document: Document) -> dict[str, list[str]]:
    """Return each node's successors, existing nodes only."""
    out: dict[str, list[str]] = {key: [] for key in document.nodes}
    for item in document.edges.values():
        source, target = text_of(item.body, "source"), text_of(item.body, "target")
        if source in out and target in out:
            out[source].append(target)
    return out


def cycles(out: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the components that hold a cycle, self-loops included."""
    return [part for part in components(out) if len(part) > 1 or part[0] in out[part[0]]]


def components(out: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Tarjan's algorithm without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    place: dict[str, int] = {}  # on the stack
    on_stack: set[str] = set()

    def enter(node: str) -> tuple[str, Iterator[str]]:
        index[node] = low[node] = len(index)
        place[node] = len(stack)
        stack.append(node)
        on_stack.add(node)
        return node, iter(out[node])

    for root in out:
        if root in index:
            continue
        work = [enter(root)]
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    work.append(enter(target))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = stack[place[node] :]
                    del stack[place[node] :]
                    on_stack.difference_update(part)
                    yield part
