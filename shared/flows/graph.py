"""Graphs of nodes: cycles by Tarjan's strongly connected components, without recursion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shared.flows.document import Document, text_of


def successors(document: Document) -> dict[str, list[str]]:
    """Where the edges lead, between existing nodes only."""
    out: dict[str, list[str]] = {key: [] for key in document.nodes}
    for item in document.edges.values():
        source, target = text_of(item.body, "source"), text_of(item.body, "target")
        if source in out and target in out:
            out[source].append(target)
    return out


def cycles(out: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The components that hold a cycle, self-loops included."""
    return [part for part in components(out) if len(part) > 1 or part[0] in out[part[0]]]


def components(out: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Tarjan's algorithm with a stack of its own."""
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
