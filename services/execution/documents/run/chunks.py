"""Runs code: chunks, expressions in the text, conditions. What did not change is taken from the earlier job."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from services.execution.documents.parse.nodes import Chunk, Expression
from services.execution.documents.resolve import values
from services.execution.documents.run.deferred import DeferredBlock, DeferredBlocks
from services.execution.documents.run.running import RunningDocument
from services.execution.documents.run.state import CachedBlock
from services.execution.execute import save_display
from services.execution.languages.table import analysis_of, names_of
from services.execution.sandbox.language import CodeNames
from services.execution.sandbox.run import KernelError, Outcome, Value
from services.execution.sandbox.values import rows_of
from shared.contracts.document import Block
from shared.contracts.execute import Display, ValueView, Verdict
from shared.errors import LanguageUnavailable, SandboxUnavailable
from shared.languages import DEFAULT_LANGUAGE, LANGUAGES

_MOST_TEXT = 100_000
_MOST_ROWS = 1000  #: of a table that a loop goes through


@dataclass
class Chunks:
    document: RunningDocument
    deferred: DeferredBlocks
    last: str = DEFAULT_LANGUAGE  #: of the last code that has variables: expressions without one are in it

    def run(self, node: Chunk) -> None:
        block, began = self.document.begin(node), time.monotonic()
        block.language = node.language
        try:
            if self._may_run(block, node):
                self._run(block, node.language, node.code)
        finally:
            self.document.end(block, began)

    def _may_run(self, block: Block, node: Chunk) -> bool:
        document = self.document
        sets = names_of(node.language, node.code).sets
        if not node.closed:
            block.status = "error"
        elif node.language not in LANGUAGES:
            named = node.language or "no language"
            document.note(
                block, "error", "language_unavailable", f"There is no kernel for {named}: {', '.join(LANGUAGES)}."
            )
        elif "lock" in node.options or node.options.get("eval") == "false":
            document.skip(block, "info", "locked", "This chunk is locked.")
            return False
        elif document.spent:
            document.skip(
                block, "warning", "budget_spent", f"The budget of {document.spent} was spent before this chunk."
            )
        else:
            return True
        self._mark_broken(block, sets)
        return False

    def _lacks(self, block: Block, uses: Iterable[str]) -> bool:
        """Whether a name that the block uses has no value; then the block is skipped."""
        missing = sorted(set(uses) & set(self.document.broken))
        if missing:
            why = f"{missing[0]} is missing because {self.document.broken[missing[0]]} failed or was skipped."
            self.document.skip(block, "warning", "dependency_failed", why)
        return bool(missing)

    def _mark_broken(self, block: Block, sets: Iterable[str]) -> None:
        for name in sets:
            self.document.broken[name] = block.id
            self.document.digests.pop(name, None)
            self.deferred.forget(name)

    def _run(self, block: Block, language: str, code: str, again: str | None = None) -> None:
        document = self.document
        if analysis_of(language).has_variables:
            self.last = language
        names = names_of(language, code)
        if self._lacks(block, names.uses):
            self._mark_broken(block, names.sets)
            return
        key = again or document.numbered(document.digest_of("chunk", names.uses | names.sets, language, code))
        block.digest = key
        if (cached := document.cached(key)) is not None:
            self._reuse(block, language, code, names, key, cached)
        elif document.looks:
            for name in names.sets:
                self.deferred.forget(name)
            document.leave_stale(block, key, names.sets)
        else:
            self._executed(block, language, code, names, key, first=again is None)

    def _executed(self, block: Block, language: str, code: str, names: CodeNames, key: str, *, first: bool) -> None:
        document = self.document
        try:
            self.deferred.restore(names.uses)
            self._share(block, language, names.uses)
            outcome = document.kernels.execute(language, code)
        except KernelError as error:
            document.kernels.drop(language)
            self.kernel_lost(block, f"the {language} kernel")
            if error.error.type == "KernelGone" and first:
                self._run(block, language, code, again=key)
                return
            document.note(block, "error", error.error.type, str(error))
            self._mark_broken(block, names.sets)
            return
        except LanguageUnavailable as error:
            document.note(block, "error", error.code, error.detail)
            self._mark_broken(block, names.sets)
            return
        self.add_outputs(block, outcome)
        if outcome.verdict is not Verdict.OK:
            self._failed(block, language, outcome, names)
            return
        self.deferred.defined(language, names.sets, key)
        cached = document.after.blocks[key] = self.deferred.cache(block, language, names)
        if outcome.value is not None and _is_something(outcome.value):
            rows = outcome.value.shape[0] if outcome.value.shape else None
            cached.shown = values.shown_value(block.id, language, outcome.value.type, outcome.value.text, rows)
            self._tell_value(block, cached, names.uses)

    def _share(self, block: Block, language: str, uses: frozenset[str]) -> None:
        for crossing in self.document.kernels.share(language, uses & set(self.document.kernels.owner)):
            self.document.note(block, "warning", crossing.code, crossing.text)

    def _failed(self, block: Block, language: str, outcome: Outcome, names: CodeNames) -> None:
        error = outcome.error
        words = f"{error.type}: {error.message}" if error is not None else f"It ended with {outcome.verdict}."
        code = "code_failed" if outcome.verdict is Verdict.USER_ERROR else str(outcome.verdict)
        self.document.note(block, "error", code, words)
        self._mark_broken(block, names.sets)
        if outcome.verdict is not Verdict.USER_ERROR:
            text = f"The {language} kernel ended here; later chunks start in a new one."
            self.document.note(block, "warning", "kernel_ended", text)
            self.kernel_lost(block)

    def kernel_lost(self, block: Block, cause: str | None = None) -> None:
        """A kernel has ended, and with it every name that no other kernel has."""
        held = self.document.kernels.owner
        lost = [name for name in self.document.digests if name not in held and name not in self.deferred]
        self._mark_broken(block, lost)
        if cause is not None:
            self.document.broken.update(dict.fromkeys(lost, cause))

    def _reuse(self, block: Block, language: str, code: str, names: CodeNames, key: str, cached: CachedBlock) -> None:
        """Nothing changed: outputs as they were, values when a later block needs them."""
        document = self.document
        block.status, block.outputs, block.messages = "fresh", list(cached.outputs), list(cached.messages)
        self._tell_value(block, cached, names.uses)
        document.after.blocks[key] = cached
        self.deferred.defer(DeferredBlock(language, code, names, cached), key)

    def add_outputs(self, block: Block, outcome: Outcome) -> None:
        outputs = [Display(media_type="text/plain", text=outcome.stdout[:_MOST_TEXT])] if outcome.stdout else []
        if outcome.stderr and outcome.verdict is Verdict.OK:
            outputs.append(Display(media_type="text/plain", text=outcome.stderr[:_MOST_TEXT]))
        files, name = self.document.context.files, block.id.replace("/", "-")
        outputs += [save_display(files, f"{name}-{number}", shown) for number, shown in enumerate(outcome.displays, 1)]
        if outcome.value is not None and _is_something(outcome.value):
            outputs.append(Display(media_type="text/plain", text=outcome.value.text))
        block.outputs = [*block.outputs, *outputs]

    def _tell_value(self, block: Block, cached: CachedBlock, uses: Iterable[str]) -> None:
        """What the block's last output shows, and who made it: a chunk itself, or who set the only name it reads."""
        if cached.shown is not None:
            makers = {maker for name in uses if (maker := self.document.maker_of(name)) is not None}
            made = block.id if block.kind == "chunk" else makers.pop() if len(makers) == 1 else None
            block.value = cached.shown.model_copy(update={"block": made})

    def expression(self, node: Expression) -> None:
        """Code within a line: its value is an output, and stands in the HTML."""
        document = self.document
        block, began = document.begin(node), time.monotonic()
        block.language = node.language
        try:
            value = self.value(block, node.language, node.code)
            if value is not None:
                block.outputs = [*block.outputs, Display(media_type="text/plain", text=str(value))]
        finally:
            document.end(block, began)

    def value(  # noqa: PLR0911 - one for each reason to have none
        self, block: Block, language: str, code: str, plain: bool = False
    ) -> JsonValue:
        """The value of an expression, as text or as JSON; ``None`` with a message when it has no value."""
        document = self.document
        language = language or self.last
        if language not in LANGUAGES:
            document.note(block, "error", "language_unavailable", f"There is no kernel for {language}.")
            return None
        if document.spent:
            document.skip(
                block, "warning", "budget_spent", f"The budget of {document.spent} was spent before this block."
            )
            return None
        uses = names_of(language, code).uses
        if self._lacks(block, uses):
            return None
        key = document.numbered(document.digest_of("value", uses, language, code, plain))
        block.digest = key
        if (cached := document.cached(key)) is not None:
            block.status = "fresh"
            document.after.blocks[key] = cached
            self._tell_value(block, cached, uses)
            return cached.value
        if document.looks:
            document.leave_stale(block, key)
            return None
        try:
            self.deferred.restore(uses)
            self._share(block, language, uses)
            value = document.kernels.evaluate(language, code)
        except KernelError as error:
            if error.error.type == "KernelGone":
                document.kernels.drop(language)
                self.kernel_lost(block, f"the {language} kernel")
                text = f"The {language} kernel ended here: it took too much time or memory, or its code ended it."
                document.note(block, "error", "kernel_ended", text)
            else:
                document.note(block, "error", "code_failed", str(error))
            return None
        except (LanguageUnavailable, SandboxUnavailable) as error:
            document.note(block, "error", error.code, error.detail)
            return None
        result: JsonValue = _plain_value(value) if plain else values.text_of(value, language)
        cached = document.after.blocks[key] = CachedBlock(value=result)
        if not plain and result is not None:
            cached.shown = values.shown_value(code, language, value.type, str(result), value.rows)
            self._tell_value(block, cached, uses)
        return result


def _is_something(value: ValueView) -> bool:
    return value.type not in ("NoneType", "NULL", "undefined", "null")


def _plain_value(value: Value) -> JsonValue:
    """The value for a condition or a loop: of a table its rows."""
    if value.kind == "table" and value.table is not None:
        return cast("JsonValue", rows_of(value.table, _MOST_ROWS))
    return value.text if value.kind == "opaque" else value.json
