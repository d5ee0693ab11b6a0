"""Words for the system that an instruction asks for by ``@name``: a prompt block above it, or a file."""

from __future__ import annotations

from services.execution.documents.parse.nodes import Prompt
from services.execution.documents.resolve import messages
from services.execution.documents.run.chunks import Chunks
from shared.contracts.document import Block
from shared.declarations.documents import front_matter

_MOST = 20_000


def run(chunks: Chunks, block: Block, node: Prompt) -> None:
    """A prompt block is what its words are with the values of now; nobody is asked."""
    block.message_original = node.message
    if not node.message:
        chunks.work.say(block, "warning", "empty_message", "The prompt has no words.")
        return
    text = messages.rendered(chunks, block, node.message).text
    if node.name:
        chunks.work.prompts[node.name] = text


def voice(chunks: Chunks, block: Block, name: str | None) -> str:
    """The words of that name, none when there are none."""
    if not name:
        return ""
    work = chunks.work
    if name in work.prompts:
        return work.prompts[name]
    for path in (name, f"{name}.md", f"prompts/{name}.md"):
        if path in work.kernels.files and work.kernels.files[path].stat().st_size <= _MOST:
            lines = work.kernels.files[path].read_bytes().decode("utf-8", "replace").splitlines(keepends=True)
            return "".join(lines[front_matter(lines) :]).strip()
    text = f"There is no prompt @{name[:100]} above this block or among the document's files; it was asked without."
    work.say(block, "warning", "no_such_prompt", text)
    return ""
