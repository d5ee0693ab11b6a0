"""A message with the values of the kernels in it; the original when anything is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from services.execution.documents.resolve import values
from services.execution.documents.resolve.renderer import NotRendered, Seen
from services.execution.documents.resolve.template import asks, render
from services.execution.documents.run.chunks import Chunks
from services.execution.sandbox.run import KernelError
from shared.contracts.document import Block, BlockVariable
from shared.errors import AssayError, JobCancelled
from shared.llm.chat import ImagePart

WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Message:
    """What is sent: the text, and the figures that it speaks of."""

    text: str
    images: tuple[ImagePart, ...] = ()


def rendered(chunks: Chunks, block: Block, text: str) -> Message:
    """Raises: JobCancelled."""
    if not asks(text):
        return Message(text)
    work = chunks.work
    told: list[BlockVariable] = []
    owners: dict[str, str] = {}

    def fetch(names: list[str], whole: list[str]) -> Mapping[str, Seen]:
        chunks.need(names)
        seen: dict[str, Seen] = {}
        for name, (kernel, look) in work.kernels.find([n for n in names if n not in work.broken], whole).items():
            seen[name] = values.seen(look, kernel)
            told.append(values.told(name, kernel, look, seen[name]))
            owners[name] = kernel
        return seen

    try:
        words, figures = render(work.renderer, text, fetch)
        images = tuple(ImagePart("image/png", work.kernels.picture(owners[name], name)) for name in figures)
    except (NotRendered, KernelError, AssayError) as error:
        if isinstance(error, JobCancelled):
            raise
        why = f"The message was sent as it stands because it could not be rendered: {error}"
        missing = sorted(set(WORD.findall(text)) & set(work.broken))
        if missing:
            why = f"{why} ({missing[0]} is missing because {work.broken[missing[0]]} failed or was skipped)"
        work.say(block, "warning", "not_rendered", why)
        return Message(text)
    block.message_rendered, block.variables = words, told
    return Message(words, images)


def uses(text: str) -> set[str]:
    """The words that may be names of values."""
    return set(WORD.findall(text)) if asks(text) else set()
