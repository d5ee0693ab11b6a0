"""Runs code: chunks, expressions in the text, conditions. What did not change is taken from the earlier job."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from services.execution.documents.parse.nodes import Chunk, Expression
from services.execution.documents.resolve import values
from services.execution.documents.run import state
from services.execution.documents.run.running import RunningDocument
from services.execution.documents.run.state import CachedBlock
from services.execution.languages.table import analysis_of, names_of
from services.execution.sandbox.analysis import CodeNames
from services.execution.sandbox.run import KernelError, Outcome, Shown, Value
from services.execution.sandbox.values import rows_of
from shared.contracts.document import Block
from shared.contracts.execute import Display, Verdict
from shared.errors import LanguageUnavailable, SandboxUnavailable
from shared.languages import LANGUAGES

_SUFFIXES = {"image/png": "png", "image/svg+xml": "svg", "image/jpeg": "jpg", "text/html": "html"}
_MOST_TEXT = 100_000
_MOST_ROWS = 1000  #: of a table that a loop goes through


@dataclass
class DeferredBlock:
    """A block that did not run because nothing changed; its values are restored when a later block needs them."""

    language: str
    code: str
    names: CodeNames
    cached: CachedBlock


@dataclass
class Chunks:
    document: RunningDocument
    folder: Path
    deferred: dict[str, DeferredBlock] = field(default_factory=dict)  #: by the names that it set
    last: str = "python"  #: the language of the last code that has variables: what expressions without one are in

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

    def _mark_broken(self, block: Block, sets: Iterable[str]) -> None:
        for name in sets:
            self.document.broken[name] = block.id
            self.document.digests.pop(name, None)
            self.deferred.pop(name, None)

    def _run(self, block: Block, language: str, code: str, again: str | None = None) -> None:
        document = self.document
        if analysis_of(language).has_variables:
            self.last = language
        names = names_of(language, code)
        missing = sorted((names.uses - (names.sets - names.uses)) & set(document.broken))
        if missing:
            why = f"{missing[0]} is missing because {document.broken[missing[0]]} failed or was skipped."
            document.skip(block, "warning", "dependency_failed", why)
            self._mark_broken(block, names.sets)
            return
        key = again or document.numbered(document.digest_of("chunk", names.uses | names.sets, language, code))
        block.digest = key
        if (cached := document.cached(key)) is not None:
            self._reuse(block, language, code, names, key, cached)
        else:
            self._executed(block, language, code, names, key, first=again is None)

    def _executed(self, block: Block, language: str, code: str, names: CodeNames, key: str, *, first: bool) -> None:
        document = self.document
        try:
            self.restore(names.uses)
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
            document.note(block, "error", "language_unavailable", error.detail)
            self._mark_broken(block, names.sets)
            return
        self.add_outputs(block, outcome)
        if outcome.verdict is not Verdict.OK:
            self._failed(block, language, outcome, names)
            return
        document.kernels.set_owner(language, names.sets)
        for name in names.sets:
            document.digests[name] = key
            document.broken.pop(name, None)
            self.deferred.pop(name, None)
        document.after.blocks[key] = self._cache(block, language, names)

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
        document.after.blocks[key] = cached
        deferred = DeferredBlock(language, code, names, cached)
        for name in names.sets:
            document.digests[name] = key
            document.broken.pop(name, None)
            self.deferred[name] = deferred
            document.kernels.owner.pop(name, None)

    def restore(self, names: Iterable[str]) -> None:
        """Restore the deferred blocks that set these names. Raises: KernelError, LanguageUnavailable."""
        for name in sorted(names):
            deferred = self.deferred.get(name)
            if deferred is not None:
                self._restore_block(deferred)

    def _restore_block(self, deferred: DeferredBlock) -> None:
        document = self.document
        mine = [name for name in deferred.names.sets if self.deferred.get(name) is deferred]
        for name in mine:
            del self.deferred[name]
        self.restore(deferred.names.uses)
        document.kernels.share(deferred.language, deferred.names.uses & set(document.kernels.owner))
        restored = deferred.cached.whole and all(self._restore_value(deferred, name) for name in deferred.cached.values)
        if restored and (code := analysis_of(deferred.language).definitions(deferred.code)):
            document.kernels.execute(deferred.language, code)
        if not restored:
            document.kernels.execute(deferred.language, deferred.code)
        document.kernels.set_owner(deferred.language, mine)

    def _restore_value(self, deferred: DeferredBlock, name: str) -> bool:
        cached = deferred.cached.values[name]
        value = Value(kind="json", type=cached.type, text=cached.text, exact=cached.data)
        if cached.file_id is not None:
            target = self.folder / f"{cached.file_id}.arrow"
            if not state.fetch(self.document.context, cached.file_id, target):
                return False
            value = Value(kind="table", type=cached.type, text=cached.text, table=target, rows=cached.rows)
        try:
            return not self.document.kernels.session(deferred.language).set(name, value)
        except KernelError:
            return False

    def _cache(self, block: Block, language: str, names: CodeNames) -> CachedBlock:
        cached = CachedBlock(outputs=block.outputs, messages=block.messages)
        wanted = names.sets - names.defines
        try:
            for name, (kernel, look) in self.document.kernels.find(sorted(wanted)).items():
                value = state.cached_value(self.document.kernels, self.document.context.files, kernel, name, look)
                if value is not None:
                    cached.values[name] = value
        except KernelError:
            cached.values.clear()
        cached.whole = wanted <= cached.values.keys()
        return cached

    def add_outputs(self, block: Block, outcome: Outcome) -> None:
        outputs = [Display(media_type="text/plain", text=outcome.stdout[:_MOST_TEXT])] if outcome.stdout else []
        if outcome.stderr and outcome.verdict is Verdict.OK:
            outputs.append(Display(media_type="text/plain", text=outcome.stderr[:_MOST_TEXT]))
        outputs += [self._display(block, number, shown) for number, shown in enumerate(outcome.displays, 1)]
        if outcome.value is not None and outcome.value.type not in ("NoneType", "NULL", "undefined", "null"):
            outputs.append(Display(media_type="text/plain", text=outcome.value.text))
        block.outputs = [*block.outputs, *outputs]

    def _display(self, block: Block, number: int, shown: Shown) -> Display:
        if shown.content is None:
            return Display(media_type=shown.media_type, text=shown.text)
        name = f"{block.id.replace('/', '-')}-{number}.{_SUFFIXES.get(shown.media_type, 'bin')}"
        saved = self.document.context.files.save(name, shown.content, shown.media_type)
        return Display(media_type=shown.media_type, file_id=saved.id)

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
        if missing := sorted(uses & set(document.broken)):
            why = f"{missing[0]} is missing because {document.broken[missing[0]]} failed or was skipped."
            document.skip(block, "warning", "dependency_failed", why)
            return None
        key = document.numbered(document.digest_of("value", uses, language, code, plain))
        block.digest = key
        if (cached := document.cached(key)) is not None:
            block.status = "fresh"
            document.after.blocks[key] = cached
            return cached.value
        try:
            self.restore(uses)
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
        document.after.blocks[key] = CachedBlock(value=result)
        return result


def _plain_value(value: Value) -> JsonValue:
    """The value for a condition or a loop: of a table its rows."""
    if value.kind == "table" and value.table is not None:
        return cast("JsonValue", rows_of(value.table, _MOST_ROWS))
    return value.text if value.kind == "opaque" else value.json
