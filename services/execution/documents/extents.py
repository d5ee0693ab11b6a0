"""What belongs to what once every line has been read: contents, suggestions, names."""

from __future__ import annotations

from services.execution.documents.nodes import Chunk, For, If, Instruction, Node, Section, Suggestion, Tree


def children(node: Node) -> list[list[Node]]:
    if isinstance(node, (Section, Suggestion, Instruction)):
        return [node.content]
    if isinstance(node, (If, For)):
        return [clause.content for clause in node.clauses]
    return []


def walk(nodes: list[Node] | tuple[Node, ...]) -> list[Node]:
    """Every node, in document order."""
    found: list[Node] = []
    stack = list(reversed(nodes))
    while stack:
        node = stack.pop()
        found.append(node)
        if isinstance(node, Instruction):
            stack.extend(reversed(node.suggestions))
        for content in reversed(children(node)):
            stack.extend(reversed(content))
    return found


def attach(nodes: list[Node], lines: list[str]) -> None:
    """Give instructions the blocks that they point to, and the suggestions that follow them."""
    stack = [nodes]
    while stack:
        content = stack.pop()
        kept: list[Node] = []
        last: Instruction | None = None
        reach = 0
        for node in content:
            stack.extend(children(node))
            if isinstance(node, Suggestion) and last is not None and _blank(lines, reach, node.start):
                last.suggestions.append(node)
                reach = node.end
                continue
            if last is not None and last.extent == "next" and last.inner is None:
                _point(last, lines, node)
                if last.inner == (node.start, node.end):
                    reach = node.end
                    kept.append(node)
                    continue
            last = node if isinstance(node, Instruction) else None
            if last is not None:
                reach = last.end
                if last.extent == "previous":
                    last.inner = _previous(lines, last.start)
                elif last.extent == "next":
                    reach = max(reach, _following(lines, last.end))
            kept.append(node)
        if last is not None and last.extent == "next" and last.inner is None:
            _point(last, lines, None)
        content[:] = kept


def _blank(lines: list[str], start: int, end: int) -> bool:
    return end - start < 50 and all(not line.strip() for line in lines[start:end])


def _following(lines: list[str], start: int) -> int:
    """Where the text ends that follows a line."""
    while start < len(lines) and not lines[start].strip():
        start += 1
    end = start
    while end < len(lines) and lines[end].strip() and not lines[end].lstrip().startswith((":", "```", "~~~")):
        end += 1
    return end


def _point(node: Instruction, lines: list[str], following: Node | None) -> None:
    start = node.end
    while start < len(lines) and not lines[start].strip():
        start += 1
    if following is not None and following.start == start and not isinstance(following, (Suggestion, Instruction)):
        node.inner = (following.start, following.end)
        return
    node.inner = (start, max(start, _text_end(lines, start)))


def _text_end(lines: list[str], start: int) -> int:
    """The end of a plain code block or of a paragraph."""
    if start >= len(lines):
        return start
    mark = lines[start].lstrip()[:3]
    if mark not in ("```", "~~~"):
        return _following(lines, start)
    end = start + 1
    while end < len(lines) and not lines[end].lstrip().startswith(mark):
        end += 1
    return min(len(lines), end + 1)


def _previous(lines: list[str], line: int) -> tuple[int, int]:
    end = line
    while end > max(0, line - 50) and not lines[end - 1].strip():
        end -= 1
    start = end
    while start > max(0, line - 500) and lines[start - 1].strip() and not lines[start - 1].startswith(":::"):
        start -= 1
    return start, end


def name(tree: Tree) -> None:
    """Ids: the author's own where there is one, else the kind and a count; never two alike."""
    counts: dict[str, int] = {}
    taken: set[str] = set()
    for node in walk(tree.content):
        own = node.options.get("id") if isinstance(node, Chunk) else None
        kind = type(node).__name__.lower()
        if own and own not in taken and len(own) <= 100:
            node.id = own
        else:
            counts[kind] = counts.get(kind, 0) + 1
            while f"{kind}-{counts[kind]}" in taken:
                counts[kind] += 1
            node.id = f"{kind}-{counts[kind]}"
        taken.add(node.id)
