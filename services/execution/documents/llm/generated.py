"""Code that a model wrote, run because its instruction says ``execute=true``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.execution.documents.parse.notation import language_of
from services.execution.documents.run.chunks import Chunks
from services.execution.documents.run.known import Step
from services.execution.documents.run.state import digest
from services.execution.languages.table import fault_of, names_of
from services.execution.sandbox.run import KernelError, Outcome
from shared.contracts.document import Block
from shared.contracts.execute import Verdict
from shared.errors import LanguageUnavailable
from shared.languages import LANGUAGES

_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*\{?([A-Za-z0-9]+)[^\n`]*\n(.*?)^\1[`~]*[ \t]*$", re.M | re.S)
MAX_TURNS = 3  #: an answer, and two more with the errors of the one before
_MAX_PIECES, _MAX_ERROR = 10, 4000


@dataclass(frozen=True)
class Piece:
    language: str
    code: str


def pieces_of(answer: str) -> list[Piece]:
    """Return the code blocks of an answer whose languages have a kernel."""
    all_pieces = [Piece(language_of(match[2]), match[3]) for match in _FENCE.finditer(answer)]
    return [piece for piece in all_pieces if piece.language in LANGUAGES][:_MAX_PIECES]


def unparsed(pieces: Sequence[Piece]) -> str | None:
    """Return the syntax error of the first piece that does not parse."""
    for number, piece in enumerate(pieces, 1):
        if fault := fault_of(piece.language, piece.code):
            line = "" if fault.line is None else f" (line {fault.line})"
            return f"Code block {number} is not {LANGUAGES[piece.language].title}: {fault.text}{line}"
    return None


def run(chunks: Chunks, block: Block, pieces: Sequence[Piece]) -> str | None:
    """Run the pieces in the document's kernels; returns the error for the model, if there is one."""
    for piece in pieces:
        if (error := _executed(chunks, block, piece)) is not None:
            return error
    return None


def reuse(chunks: Chunks, block: Block, pieces: Sequence[Piece]) -> None:
    """Keep what the pieces of a kept answer have left, as far as they find all as it was; the others run again."""
    document = chunks.document
    for piece in pieces:
        names, base = names_of(piece.language, piece.code), _base(chunks, piece)
        if (kept := chunks.kept(block, base, piece.language, piece.code, names)) is not None:
            document.add_pictures(block, kept.pictures)
            continue
        if document.looks:
            chunks.leave_stale(block, base, piece.language, piece.code, names)
        elif (error := _executed(chunks, block, piece)) is not None:
            document.note(block, "error", "code_failed", error)
            return


def _base(chunks: Chunks, piece: Piece) -> str:
    return chunks.document.digest_of("piece", (), piece.language, piece.code)


def _executed(chunks: Chunks, block: Block, piece: Piece) -> str | None:
    document, language = chunks.document, piece.language
    names, base = names_of(language, piece.code), _base(chunks, piece)
    try:
        outcome, cached = chunks.perform(
            language, names, lambda: document.kernels.execute(language, piece.code, len(document.known.steps))
        )
    except KernelError as error:
        document.kernels.drop(language)
        chunks.kernel_lost(block, language)
        return str(error)[:_MAX_ERROR]
    except LanguageUnavailable as error:
        return error.detail
    block.outputs = []
    chunks.add_outputs(block, outcome)
    pictures = chunks.saved_pictures(block, outcome.artifacts, outcome.refused)
    if cached is None:
        chunks.kernel_lost(block, language)
        return _error_of(outcome)
    key = document.numbered(digest(base, cached.reads))
    document.defined(block, key, Step(key, language, piece.code, names, cached, kept=False))
    if outcome.verdict is not Verdict.OK:
        return _error_of(outcome)
    cached.base, cached.pictures = base, pictures
    cached.values = chunks.restoring.saved_values(set(cached.owns) - names.defines)
    document.after.blocks[key] = cached
    return None


def _error_of(outcome: Outcome) -> str:
    error_text = outcome.error.traceback or outcome.error.message if outcome.error else outcome.verdict
    return str(error_text)[-_MAX_ERROR:]
