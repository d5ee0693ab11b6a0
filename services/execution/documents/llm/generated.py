"""Code that a model wrote, run because its instruction says ``execute=true``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.execution.documents.parse.notation import language_of
from services.execution.documents.run.chunks import Chunks
from services.execution.documents.run.deferred import DeferredBlock
from services.execution.documents.run.state import CachedBlock
from services.execution.languages.table import fault_of, names_of
from services.execution.sandbox.run import KernelError
from shared.contracts.document import Block
from shared.contracts.execute import Verdict
from shared.errors import LanguageUnavailable
from shared.languages import LANGUAGES

_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*\{?([A-Za-z0-9]+)[^\n`]*\n(.*?)^\1[`~]*[ \t]*$", re.M | re.S)
MOST_TURNS = 3  #: an answer, and two more with the errors of the one before
_MOST_PIECES, _MOST_ERROR = 10, 4000


@dataclass(frozen=True)
class Piece:
    language: str
    code: str


def pieces_of(answer: str) -> list[Piece]:
    """The code blocks of an answer, of languages that have a kernel."""
    all_pieces = [Piece(language_of(match[2]), match[3]) for match in _FENCE.finditer(answer)]
    return [piece for piece in all_pieces if piece.language in LANGUAGES][:_MOST_PIECES]


def unparsed(pieces: Sequence[Piece]) -> str | None:
    """What is wrong with the first piece that does not parse."""
    for number, piece in enumerate(pieces, 1):
        if fault := fault_of(piece.language, piece.code):
            line = "" if fault.line is None else f" (line {fault.line})"
            return f"Code block {number} is not {LANGUAGES[piece.language].title}: {fault.text}{line}"
    return None


def run(chunks: Chunks, block: Block, key: str, pieces: Sequence[Piece]) -> str | None:
    """Run the pieces in the document's kernels; returns the error for the model, if there is one."""
    document = chunks.document
    for piece in pieces:
        names = names_of(piece.language, piece.code)
        try:
            chunks.deferred.restore(names.uses)
            document.kernels.share(piece.language, names.uses & set(document.kernels.owner))
            outcome = document.kernels.execute(piece.language, piece.code)
        except KernelError as error:
            document.kernels.drop(piece.language)
            chunks.kernel_lost(block)
            return str(error)[:_MOST_ERROR]
        except LanguageUnavailable as error:
            return error.detail
        block.outputs = []
        chunks.add_outputs(block, outcome)
        if outcome.verdict is not Verdict.OK:
            chunks.kernel_lost(block)
            error_text = outcome.error.traceback or outcome.error.message if outcome.error else outcome.verdict
            return str(error_text)[-_MOST_ERROR:]
        chunks.deferred.defined(piece.language, names.sets, key)
    return None


def reuse(chunks: Chunks, key: str, pieces: Sequence[Piece]) -> None:
    """The pieces of a cached answer; they run again when a later block needs what they set."""
    for piece in pieces:
        names = names_of(piece.language, piece.code)
        chunks.deferred.defer(DeferredBlock(piece.language, piece.code, names, CachedBlock(whole=False)), key)
