"""Code that a model wrote, run because its instruction says ``execute=true``."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from services.execution.documents.parse.notation import language_of
from services.execution.documents.run.chunks import Chunks, Sleeping
from services.execution.documents.run.kernels import LANGUAGES
from services.execution.documents.run.names import names_of
from services.execution.documents.run.state import Kept
from services.execution.sandbox.run import KernelError
from shared.contracts.document import Block
from shared.contracts.execute import Verdict
from shared.errors import LanguageUnavailable

_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*\{?([A-Za-z0-9]+)[^\n`]*\n(.*?)^\1[`~]*[ \t]*$", re.M | re.S)
MOST_TURNS = 3  #: an answer, and two more with the errors of the one before
_MOST_PIECES, _MOST_ERROR, _MOST_CODE = 10, 4000, 200_000


@dataclass(frozen=True)
class Piece:
    language: str
    code: str


def pieces_of(answer: str) -> list[Piece]:
    """The code blocks of an answer, of languages that have a kernel."""
    found = [Piece(language_of(match[2]), match[3]) for match in _FENCE.finditer(answer)]
    return [piece for piece in found if piece.language in LANGUAGES][:_MOST_PIECES]


def unparsed(pieces: Sequence[Piece]) -> str | None:
    """What is wrong with the first piece that is no code of its language; only Python is read here."""
    for number, piece in enumerate(pieces, 1):
        if piece.language != "python" or len(piece.code) > _MOST_CODE:
            continue
        try:
            with warnings.catch_warnings(action="ignore"):
                ast.parse(piece.code)
        except SyntaxError as error:
            return f"Code block {number} is not Python: SyntaxError: {error.msg} (line {error.lineno})"
        except (ValueError, RecursionError, MemoryError) as error:
            return f"Code block {number} is not Python: {type(error).__name__}"
    return None


def run(chunks: Chunks, block: Block, key: str, pieces: Sequence[Piece]) -> str | None:
    """Run the pieces in the document's kernels; the answer is the error for the model, if there is one."""
    work = chunks.work
    for piece in pieces:
        found = names_of(piece.language, piece.code)
        try:
            chunks.need(found.uses)
            work.kernels.share(piece.language, found.uses & set(work.kernels.owner))
            outcome = work.kernels.execute(piece.language, piece.code)
        except KernelError as error:
            work.kernels.drop(piece.language)
            chunks.lost(block)
            return str(error)[:_MOST_ERROR]
        except LanguageUnavailable as error:
            return error.detail
        block.outputs = []
        chunks.tell(block, outcome)
        if outcome.verdict is not Verdict.OK:
            chunks.lost(block)
            error_text = outcome.error.traceback or outcome.error.message if outcome.error else outcome.verdict
            return str(error_text)[-_MOST_ERROR:]
        work.kernels.now_owns(piece.language, found.sets)
        for name in found.sets:
            work.made_by[name] = key
            work.broken.pop(name, None)
            chunks.sleeping.pop(name, None)
    return None


def rest(chunks: Chunks, key: str, pieces: Sequence[Piece]) -> None:
    """The pieces of an answer that was kept; they run again when somebody needs what they set."""
    for piece in pieces:
        found = names_of(piece.language, piece.code)
        asleep = Sleeping(piece.language, piece.code, found, Kept(whole=False))
        for name in found.sets:
            chunks.work.made_by[name] = key
            chunks.sleeping[name] = asleep
            chunks.work.kernels.owner.pop(name, None)
