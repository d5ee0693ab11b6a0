"""Messages with ``{{ names }}``, filled in with the values of the kernels; and prompts that instructions name."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from services.execution.documents.parse.nodes import PromptBlock
from services.execution.documents.parse.notation import spans_of
from services.execution.documents.resolve import values
from services.execution.documents.resolve.renderer import Filled, NotRendered, Renderer, Seen
from services.execution.documents.run.chunks import Chunks
from services.execution.documents.run.state import CachedBlock, digest
from services.execution.sandbox.run import KernelError
from shared.contracts.document import Block, BlockVariable
from shared.declarations.documents import front_matter
from shared.errors import AssayError, JobCancelled
from shared.llm.chat import ImagePart

WORD = re.compile(r"[A-Za-z_]\w*")
_MAX_PROMPT = 20_000  #: bytes of a prompt's file

Fetch = Callable[[list[str], list[str]], Mapping[str, Seen]]  #: the names, and those of which more rows are wanted


@dataclass(frozen=True)
class FilledMessage:
    """What is sent: the text, and the figures that it speaks of."""

    text: str
    images: tuple[ImagePart, ...] = ()


class NotSent(Exception):
    """A message could not be rendered, and the caller does not want it sent unrendered; the text gives the cause."""


def rendered(chunks: Chunks, block: Block, text: str) -> FilledMessage:
    """Return the message with its values, or the original with a warning when anything is wrong.

    Raises: JobCancelled, NotSent when the document says so.
    """
    if not asks(text):
        return FilledMessage(text)
    document = chunks.document
    variables: list[BlockVariable] = []
    owners: dict[str, str] = {}

    def fetch(names: list[str], whole: list[str]) -> Mapping[str, Seen]:
        chunks.restoring.values(names)
        seen: dict[str, Seen] = {}
        available = [name for name in names if name not in document.broken]
        for name, (kernel, look) in document.kernels.find(available, whole).items():
            seen[name] = values.template_value(look, kernel)
            made = values.variable_of(name, kernel, look, seen[name])
            variables.append(made.model_copy(update={"block": document.maker_of(name)}))
            owners[name] = kernel
        return seen

    try:
        filled = render(document.renderer, text, fetch)
        images = tuple(ImagePart("image/png", document.kernels.picture(owners[name], name)) for name in filled.figures)
    except (NotRendered, KernelError, AssayError) as error:
        if isinstance(error, JobCancelled):
            raise
        sends = document.request.on_missing == "send"
        end = "sent as it is because it could not be rendered" if sends else "not sent: it could not be rendered"
        why = f"The message was {end}: {error}"
        missing = sorted(set(WORD.findall(text)) & set(document.broken))
        if missing:
            why = f"{why} ({missing[0]} is missing because {document.broken[missing[0]]} failed or was skipped)"
        if not sends:
            raise NotSent(why) from None
        document.note(block, "warning", "not_rendered", why)
        return FilledMessage(text)
    block.message_rendered, block.message_spans, block.variables = filled.text, list(filled.spans), variables
    return FilledMessage(filled.text, images)


def refuse(chunks: Chunks, block: Block, missing: NotSent) -> None:
    """Leave a block out whose values are missing, as ``on_missing`` says."""
    if chunks.document.request.on_missing == "skip":
        chunks.document.skip(block, "warning", "not_rendered", str(missing))
    else:
        chunks.document.note(block, "error", "not_rendered", str(missing))


def uses(text: str) -> set[str]:
    """Return the words that may be names of values."""
    return set(WORD.findall(text)) if asks(text) else set()


def define_prompt(chunks: Chunks, block: Block, node: PromptBlock) -> None:
    """Define a prompt: its text with the current values; no model is called."""
    block.message_original = node.message
    if not node.message:
        chunks.document.note(block, "warning", "empty_message", "The prompt has no words.")
        return
    document = chunks.document
    key = document.numbered(document.digest_of("prompt", uses(node.message), node.message))
    block.digest = key
    try:
        text = _prompt(chunks, block, node.message, key)
    except NotSent as missing:
        refuse(chunks, block, missing)
        return
    if node.name:
        document.prompts[node.name] = text


def _prompt(chunks: Chunks, block: Block, message: str, key: str) -> str:
    """Return a prompt's text with its values, from the earlier job when nothing changed. Raises: NotSent."""
    document = chunks.document
    if (cached := document.cached(key)) is not None and cached.rendered is not None:
        block.status = "fresh"
        if asks(message):
            block.message_rendered, block.message_spans = cached.rendered, list(cached.spans)
            block.variables = chunks.document.placed(cached.variables)
        document.after.blocks[key] = cached
        return cached.rendered
    if document.looks:
        document.leave_stale(block, key)
        return digest("stale", key) if asks(message) else message
    text = rendered(chunks, block, message).text
    if block.message_rendered is not None or not asks(message):
        document.after.blocks[key] = CachedBlock(rendered=text, spans=block.message_spans, variables=block.variables)
    return text


def system_prompt(chunks: Chunks, block: Block, name: str | None) -> str:
    """Return the text of the named prompt; empty when it does not exist."""
    if not name:
        return ""
    document = chunks.document
    if name in document.prompts:
        return document.prompts[name]
    for path in (name, f"{name}.md", f"prompts/{name}.md"):
        if path in document.kernels.files and document.kernels.files[path].stat().st_size <= _MAX_PROMPT:
            lines = document.kernels.files[path].read_bytes().decode("utf-8", "replace").splitlines(keepends=True)
            return "".join(lines[front_matter(lines) :]).strip()
    text = f"There is no prompt @{name[:100]} above this block or among the document's files; none was added."
    document.note(block, "warning", "no_such_prompt", text)
    return ""


def asks(text: str) -> bool:
    """Return whether a message holds ``{{`` and ``}}`` outside of its code spans."""
    return _asks(_without_spans(text, "")[0])


def _asks(text: str) -> bool:
    return "{{" in text and "}}" in text


def _without_spans(text: str, mark: str) -> tuple[str, list[str]]:
    if "`" not in text:
        return text, []
    parts: list[str] = []
    spans: list[str] = []
    at = 0
    for start, end in spans_of(text):
        parts += [text[at:start], f"{mark}{len(spans)}_" if mark else ""]
        spans.append(text[start:end])
        at = end
    return "".join([*parts, text[at:]]), spans


def render(renderer: Renderer, text: str, fetch: Fetch) -> Filled:
    """Render the message with its values, once; code spans stay unchanged.

    Raises: NotRendered.
    """
    mark = _mark()
    source, code = _without_spans(text, mark)
    with renderer.fork() as fork:
        filled = fork.fill(fetch(*fork.names(source)))
    return _with_code(filled, re.compile(rf"{mark}(\d+)_"), code)


def _with_code(filled: Filled, mark: re.Pattern[str], code: Sequence[str]) -> Filled:
    """Put the code spans back at their marks, and move the positions after them."""
    moves = [(each.end(), len(code[int(each[1])]) - len(each[0])) for each in mark.finditer(filled.text)]

    def moved(place: int) -> int:
        return place + sum(by for end, by in moves if end <= place)

    text = mark.sub(lambda each: code[int(each[1])], filled.text)
    # Neither half of a surrogate pair nor NUL is a text to the models' providers. Each stays one character.
    text = text.encode("utf-8", "replace").decode().replace("\x00", "\u2400")
    return Filled(text, filled.figures, [(moved(start), moved(end), names) for start, end, names in filled.spans])


def _mark() -> str:
    return f"span{secrets.token_hex(8)}n"
