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
from services.execution.documents.run import keeping, state
from services.execution.documents.run import names as naming
from services.execution.documents.run.kernels import LANGUAGES
from services.execution.documents.run.names import Names, names_of
from services.execution.documents.run.running import Work
from services.execution.documents.run.state import Kept
from services.execution.sandbox.host.bridge import rows_of
from services.execution.sandbox.run import KernelError, Outcome, Shown, Value
from shared.contracts.document import Block
from shared.contracts.execute import Display, Verdict
from shared.errors import LanguageUnavailable, SandboxUnavailable

_SUFFIXES = {"image/png": "png", "image/svg+xml": "svg", "image/jpeg": "jpg", "text/html": "html"}
_MOST_TEXT = 100_000
_MOST_ROWS = 1000  #: of a table that a loop goes through


@dataclass
class Sleeping:
    """A block that did not run because nothing changed; its values are given back when somebody needs them."""

    language: str
    code: str
    names: Names
    kept: Kept


@dataclass
class Chunks:
    work: Work
    folder: Path
    sleeping: dict[str, Sleeping] = field(default_factory=dict)  #: by the names that it set
    last: str = "python"  #: the language of the last code that has variables: what expressions without one are in

    def run(self, node: Chunk) -> None:
        block, began = self.work.begin(node), time.monotonic()
        block.language = node.language
        try:
            if self._may_run(block, node):
                self._run(block, node.language, node.code)
        finally:
            self.work.end(block, began)

    def _may_run(self, block: Block, node: Chunk) -> bool:
        work = self.work
        sets = names_of(node.language, node.code).sets
        if not node.closed:
            block.status = "error"
        elif node.language not in LANGUAGES:
            named = node.language or "no language"
            work.say(block, "error", "language_unavailable", f"There is no kernel for {named}: {', '.join(LANGUAGES)}.")
        elif "lock" in node.options or node.options.get("eval") == "false":
            work.skip(block, "info", "locked", "This chunk is locked.")
            return False
        elif work.spent:
            work.skip(block, "warning", "budget_spent", f"The budget of {work.spent} was spent before this chunk.")
        else:
            return True
        self._break(block, sets)
        return False

    def _break(self, block: Block, sets: Iterable[str]) -> None:
        for name in sets:
            self.work.broken[name] = block.id
            self.work.made_by.pop(name, None)
            self.sleeping.pop(name, None)

    def _run(self, block: Block, language: str, code: str, again: str | None = None) -> None:
        work = self.work
        if language != "sql":
            self.last = language
        found = names_of(language, code)
        missing = sorted((found.uses - (found.sets - found.uses)) & set(work.broken))
        if missing:
            why = f"{missing[0]} is missing because {work.broken[missing[0]]} failed or was skipped."
            work.skip(block, "warning", "dependency_failed", why)
            self._break(block, found.sets)
            return
        key = again or work.nth(work.digest_of("chunk", found.uses | found.sets, language, code))
        block.digest = key
        if (kept := work.fresh(key)) is not None:
            self._rest(block, language, code, found, key, kept)
        else:
            self._executed(block, language, code, found, key, first=again is None)

    def _executed(self, block: Block, language: str, code: str, found: Names, key: str, *, first: bool) -> None:
        work = self.work
        try:
            self.need(found.uses)
            self._share(block, language, found.uses)
            outcome = work.kernels.execute(language, code)
        except KernelError as error:
            work.kernels.drop(language)
            self.lost(block, f"the {language} kernel")
            if error.error.type == "KernelGone" and first:
                self._run(block, language, code, again=key)
                return
            work.say(block, "error", error.error.type, str(error))
            self._break(block, found.sets)
            return
        except LanguageUnavailable as error:
            work.say(block, "error", "language_unavailable", error.detail)
            self._break(block, found.sets)
            return
        self.tell(block, outcome)
        if outcome.verdict is not Verdict.OK:
            self._failed(block, language, outcome, found)
            return
        work.kernels.now_owns(language, found.sets)
        for name in found.sets:
            work.made_by[name] = key
            work.broken.pop(name, None)
            self.sleeping.pop(name, None)
        work.after.blocks[key] = self._keep(block, language, found)

    def _share(self, block: Block, language: str, uses: frozenset[str]) -> None:
        for crossing in self.work.kernels.share(language, uses & set(self.work.kernels.owner)):
            self.work.say(block, "warning", crossing.code, crossing.text)

    def _failed(self, block: Block, language: str, outcome: Outcome, found: Names) -> None:
        error = outcome.error
        words = f"{error.type}: {error.message}" if error is not None else f"It ended with {outcome.verdict}."
        code = "code_failed" if outcome.verdict is Verdict.USER_ERROR else str(outcome.verdict)
        self.work.say(block, "error", code, words)
        self._break(block, found.sets)
        if outcome.verdict is not Verdict.USER_ERROR:
            text = f"The {language} kernel ended here; later chunks start in a new one."
            self.work.say(block, "warning", "kernel_ended", text)
            self.lost(block)

    def lost(self, block: Block, cause: str | None = None) -> None:
        """A kernel is gone, and with it every name that no other one has."""
        held = self.work.kernels.owner
        names = [name for name in self.work.made_by if name not in held and name not in self.sleeping]
        self._break(block, names)
        if cause is not None:
            self.work.broken.update(dict.fromkeys(names, cause))

    def _rest(self, block: Block, language: str, code: str, found: Names, key: str, kept: Kept) -> None:
        """Nothing changed: outputs as they were, values when somebody needs them."""
        work = self.work
        block.status, block.outputs, block.messages = "fresh", list(kept.outputs), list(kept.messages)
        work.after.blocks[key] = kept
        sleeping = Sleeping(language, code, found, kept)
        for name in found.sets:
            work.made_by[name] = key
            work.broken.pop(name, None)
            self.sleeping[name] = sleeping
            work.kernels.owner.pop(name, None)

    def need(self, names: Iterable[str]) -> None:
        """Wake what sleeps behind these names. Raises: KernelError, LanguageUnavailable."""
        for name in sorted(names):
            asleep = self.sleeping.get(name)
            if asleep is not None:
                self._wake(asleep)

    def _wake(self, asleep: Sleeping) -> None:
        work = self.work
        mine = [name for name in asleep.names.sets if self.sleeping.get(name) is asleep]
        for name in mine:
            del self.sleeping[name]
        self.need(asleep.names.uses)
        work.kernels.share(asleep.language, asleep.names.uses & set(work.kernels.owner))
        restored = asleep.kept.whole and all(self._restore(asleep, name) for name in asleep.kept.values)
        if restored and asleep.language == "python" and (code := naming.definitions(asleep.code)):
            work.kernels.execute(asleep.language, code)
        if not restored:
            work.kernels.execute(asleep.language, asleep.code)
        work.kernels.now_owns(asleep.language, mine)

    def _restore(self, asleep: Sleeping, name: str) -> bool:
        kept = asleep.kept.values[name]
        value = Value(kind="json", type=kept.type, text=kept.text, exact=kept.data)
        if kept.file_id is not None:
            target = self.folder / f"{kept.file_id}.arrow"
            if not state.fetch(self.work.context, kept.file_id, target):
                return False
            value = Value(kind="table", type=kept.type, text=kept.text, table=target, rows=kept.rows)
        try:
            return not self.work.kernels.session(asleep.language).set(name, value)
        except KernelError:
            return False

    def _keep(self, block: Block, language: str, found: Names) -> Kept:
        kept = Kept(outputs=block.outputs, messages=block.messages)
        wanted = found.sets - found.defines
        try:
            for name, (kernel, look) in self.work.kernels.find(sorted(wanted)).items():
                one = keeping.kept_value(self.work, kernel, name, look)
                if one is not None:
                    kept.values[name] = one
        except KernelError:
            kept.values.clear()
        kept.whole = wanted <= kept.values.keys() and (language == "python" or not found.defines)
        return kept

    def tell(self, block: Block, outcome: Outcome) -> None:
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
        saved = self.work.context.files.save(name, shown.content, shown.media_type)
        return Display(media_type=shown.media_type, file_id=saved.id)

    def expression(self, node: Expression) -> None:
        """Code within a line: its value is an output, and stands in the HTML."""
        work = self.work
        block, began = work.begin(node), time.monotonic()
        block.language = node.language
        try:
            found = self.value(block, node.language, node.code)
            if found is not None:
                block.outputs = [*block.outputs, Display(media_type="text/plain", text=str(found))]
        finally:
            work.end(block, began)

    def value(  # noqa: PLR0911 - one for each reason to have none
        self, block: Block, language: str, code: str, plain: bool = False
    ) -> JsonValue:
        """What an expression is worth, as text or as JSON; ``None`` with a message when it has no value."""
        work = self.work
        language = language or self.last
        if language not in LANGUAGES:
            work.say(block, "error", "language_unavailable", f"There is no kernel for {language}.")
            return None
        if work.spent:
            work.skip(block, "warning", "budget_spent", f"The budget of {work.spent} was spent before this block.")
            return None
        uses = names_of(language, code).uses
        if missing := sorted(uses & set(work.broken)):
            why = f"{missing[0]} is missing because {work.broken[missing[0]]} failed or was skipped."
            work.skip(block, "warning", "dependency_failed", why)
            return None
        key = work.nth(work.digest_of("value", uses, language, code, plain))
        block.digest = key
        if (kept := work.fresh(key)) is not None:
            block.status = "fresh"
            work.after.blocks[key] = kept
            return kept.value
        try:
            self.need(uses)
            self._share(block, language, uses)
            value = work.kernels.evaluate(language, code)
        except KernelError as error:
            if error.error.type == "KernelGone":
                work.kernels.drop(language)
                self.lost(block, f"the {language} kernel")
                text = f"The {language} kernel ended here: it took too much time or memory, or its code ended it."
                work.say(block, "error", "kernel_ended", text)
            else:
                work.say(block, "error", "code_failed", str(error))
            return None
        except (LanguageUnavailable, SandboxUnavailable) as error:
            work.say(block, "error", error.code, error.detail)
            return None
        result: JsonValue = _plain(value) if plain else values.text_of(value, language)
        work.after.blocks[key] = Kept(value=result)
        return result


def _plain(value: Value) -> JsonValue:
    """What a condition or a loop goes by: of a table its rows."""
    if value.kind == "table" and value.table is not None:
        return cast("JsonValue", rows_of(value.table, _MOST_ROWS))
    return value.text if value.kind == "opaque" else value.json
