"""What a reader does not see: code and outputs by the options of a chunk, and parts that no condition has chosen."""

from __future__ import annotations

import re

from services.execution.documents.parse.nodes import Chunk, DocumentTree, If, walk
from services.execution.documents.run.running import RunningDocument
from shared.contracts.document import Block
from shared.contracts.execute import Display
from shared.languages import LANGUAGES


def mark_hidden(block: Block, node: Chunk) -> None:
    """Mark the outputs that the chunk's options hide, and make Markdown of those that are to be read as such."""
    options = node.options
    included = options.get("include") != "false"
    block.code_hidden = not included or options.get("echo") == "false" or "hide" in options
    if options.get("output") == "asis":
        block.outputs = [_as_markdown(each) for each in block.outputs]
    shown: list[Display] = []
    for each in block.outputs:
        hidden = not included or options.get("output") == "false"
        hidden = hidden or (each.source == "stdout" and options.get("stdout") == "false")
        if each.source == "stderr" and each.text is not None and not hidden:
            kept = _kept(each.text, node)
            if kept and kept != each.text:
                shown.append(each.model_copy(update={"text": kept, "hidden": False}))
                continue
            hidden = not kept
        shown.append(each.model_copy(update={"hidden": hidden}))
    block.outputs = shown


def not_chosen(document: RunningDocument, tree: DocumentTree, prefix: str) -> dict[int, int]:
    """Return the first line of each part that a condition has not chosen, with the line after it."""
    hidden: dict[int, int] = {}
    for node in walk(tree.content):
        chosen = document.chosen.get(f"{prefix}{node.id}") if isinstance(node, If) else None
        if chosen is None or not isinstance(node, If):
            continue
        ends = [*(clause.start for clause in node.clauses[1:]), node.end - 1]
        for number, (clause, end) in enumerate(zip(node.clauses, ends, strict=True)):
            if number not in chosen and clause.start + 1 < end:
                hidden[clause.start + 1] = end
    return hidden


def _as_markdown(output: Display) -> Display:
    plain = output.source in ("stdout", "value") and output.media_type == "text/plain"
    return output.model_copy(update={"media_type": "text/markdown"}) if plain else output


def _kept(text: str, node: Chunk) -> str:
    """Return the part of stderr that the chunk's options keep, if the language separates warnings and messages."""
    warning, message = node.options.get("warning") != "false", node.options.get("message") != "false"
    pattern = LANGUAGES[node.language].warning if node.language in LANGUAGES else ""
    if not pattern:
        return text if warning else ""
    is_warning = re.compile(pattern, re.M)
    warnings, messages = "".join(is_warning.findall(text)), is_warning.sub("", text)
    return text if warning and message else warnings if warning else messages if message else ""
