"""Untrusted YAML, read in bounded time and memory: each use of an alias counts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

_MAX_NESTED = 500
_BRACKETS = re.compile(r"[\[{]+|[\]}]+")
_ALIAS = re.compile(r"(?m)(?:^|[\s\[{,:-])\*[^\s\[\]{},]")
_MERGE = "tag:yaml.org,2002:merge"


class NotPlain(ValueError):
    """The text is not YAML, or expands beyond its bounds; ``line`` counts from 1."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def documents(text: str, *, most: int, aliases: bool = False) -> Iterator[object]:
    """Yield the documents of the text.

    ``most`` bounds a document's content: its mappings, lists, keys and values. Without ``aliases`` neither aliases
    nor merges are read. Raises: NotPlain.
    """
    for value, _ in _roots(text, most, aliases):
        yield value


def nodes(text: str, *, most: int) -> Iterator[tuple[object, yaml.Node]]:
    """Yield every document with its node, which knows its lines; no aliases. Raises: NotPlain."""
    return _roots(text, most, False)


def _roots(text: str, most: int, aliases: bool) -> Iterator[tuple[object, yaml.Node]]:
    if _nesting(text) > _MAX_NESTED:
        raise NotPlain("nested too deeply")
    counted = not aliases or _ALIAS.search(text) is not None  # without aliases it cannot expand
    loader = yaml.CSafeLoader(text)
    try:
        while loader.check_node():
            root = loader.get_node()
            assert root is not None
            if counted:
                _check_size(root, most, aliases)
            yield loader.construct_document(root), root
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise NotPlain(str(error.problem), mark.line + 1 if mark else None) from None
    except (yaml.YAMLError, RecursionError, OverflowError, ValueError) as error:
        raise error if isinstance(error, NotPlain) else NotPlain("a value that cannot be read") from None
    finally:
        loader.dispose()


def _nesting(text: str) -> int:
    """Return the maximum depth of brackets: the parser's time grows with its square."""
    depth = deepest = 0
    for match in _BRACKETS.finditer(text):
        depth += len(match[0]) if match[0][0] in "[{" else -len(match[0])
        depth = max(depth, 0)
        deepest = max(deepest, depth)
    return deepest


def _check_size(root: yaml.Node, most: int, aliases: bool) -> None:
    """Count the document's content with every alias expanded. Raises: NotPlain."""
    sizes: dict[int, int] = {}  #: by node; 0 while what it holds is being added up
    named = {id(root)}
    stack = [root]
    while stack:
        node = stack[-1]
        children = _children(node)
        if id(node) not in sizes:
            sizes[id(node)] = 0
            for child in children:
                if id(child) in named and (not aliases or sizes.get(id(child)) == 0):
                    raise NotPlain("aliases are not read", child.start_mark.line + 1)
                named.add(id(child))
            stack += children
        elif sizes[id(stack.pop())] == 0:
            sizes[id(node)] = size = 1 + sum(sizes[id(child)] for child in children)
            if size > most:
                raise NotPlain(f"more than {most:,} values", node.start_mark.line + 1)
            if node.tag == _MERGE and not aliases:
                raise NotPlain("merges are not read", node.start_mark.line + 1)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
