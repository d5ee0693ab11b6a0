"""Runs code: chunks, expressions in the text, conditions. What did not change is taken from the earlier job."""

from __future__ import annotations

import os.path
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from pydantic import JsonValue

from services.execution.documents.parse.magics import runnable
from services.execution.documents.parse.nodes import Chunk, Expression
from services.execution.documents.parse.options import figure_size
from services.execution.documents.resolve import values
from services.execution.documents.run.kernels import MAX_PICTURE, PICTURES, Crossing
from services.execution.documents.run.known import Step
from services.execution.documents.run.outputs import is_something, outputs_of
from services.execution.documents.run.restoring import Restoring, RunAgain
from services.execution.documents.run.running import RunningDocument
from services.execution.documents.run.state import CachedBlock, digest
from services.execution.languages.table import analysis_of, names_of
from services.execution.sandbox.language import EVERYTHING, CodeNames
from services.execution.sandbox.run import Digest, KernelError, Outcome, Product, Value
from services.execution.sandbox.values import rows_of
from shared.contracts.document import Block
from shared.contracts.execute import CodeError, Display, Verdict
from shared.errors import LanguageUnavailable, SandboxUnavailable
from shared.languages import DEFAULT_LANGUAGE, LANGUAGES

EXPECTED_ERROR = "expected_error"  #: code of the message about an error that the chunk's options announce
Result = TypeVar("Result")
_MAX_PICTURES = 100  #: that a document's code may write to files
_MAX_REFUSED = 3  #: pictures of a chunk that are named when they are too many or too large
_MAX_ROWS = 1000  #: of a table that a loop goes through


@dataclass
class Chunks:
    document: RunningDocument
    restoring: Restoring
    crossings: list[Crossing] = field(
        default_factory=list
    )  #: of the last call: values that came changed, or not at all
    _may_fail: bool = False  #: the author of the chunk that runs expects an error of it
    _figure: tuple[float, float] | None = None  #: inches of the figures of the chunk that runs
    last: str = DEFAULT_LANGUAGE  #: of the last code that has variables: expressions without one are in it

    def run(self, node: Chunk) -> None:
        block, began = self.document.begin(node), time.monotonic()
        block.language = node.language
        try:
            if self._may_run(block, node):
                self._run(block, node)
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
                block,
                "error",
                "language_unavailable",
                f"No kernel runs {named}. Chunks may be in {', '.join(LANGUAGES)}.",
            )
        elif "lock" in node.options or node.options.get("eval") == "false":
            document.skip(block, "info", "locked", "This chunk does not run: `eval: false`, or it is locked.")
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
        """Return whether a name that the block uses has no value; then the block is skipped."""
        missing = sorted(set(uses) & set(self.document.broken))
        if missing:
            why = f"{missing[0]} is missing because {self.document.broken[missing[0]]} failed or was skipped."
            self.document.skip(block, "warning", "dependency_failed", why)
        return bool(missing)

    def _mark_broken(self, block: Block, sets: Iterable[str]) -> None:
        for name in sets:
            self.document.broken[name] = block.id
            self.document.digests.pop(name, None)
            self.document.holders.pop(name, None)

    def _run(self, block: Block, node: Chunk) -> None:
        document, language = self.document, node.language
        code, notes = runnable(language, node.code)
        for note in notes:
            document.note(block, note.level, note.code, note.text)
        self._may_fail = node.options.get("error") == "true"
        if analysis_of(language).has_variables:
            self.last = language
        names = names_of(language, code)
        if self._lacks(block, names.uses):
            self._mark_broken(block, names.sets)
            return
        self._figure = figure_size(node.options)
        base = document.digest_of("chunk", (), language, code, *(self._figure or ()))
        block.digest = base
        if (kept := self.kept(block, base, language, code, names)) is not None:
            block.outputs, block.messages = list(kept.outputs), [*block.messages, *kept.messages]
            document.add_pictures(block, kept.pictures)
            self._tell_value(block, kept, names.uses)
        elif document.looks:
            self.leave_stale(block, base, language, code, names)
        else:
            self._executed(block, base, language, code, names)

    def kept(
        self, block: Block, base: str, language: str, code: str, names: CodeNames, *, is_value: bool = False
    ) -> CachedBlock | None:
        """Keep the earlier outcome of this code if it finds all that it reads as it was; else say what is not."""
        document = self.document
        changed: str | None = None
        for key, cached in document.same_code(base):
            change = self._change(key, cached, language, names)
            if change is None:
                block.status, block.digest = "ok" if key in document.ran else "fresh", key
                document.take(key, cached)
                document.defined(block, key, Step(key, language, code, names, cached, kept=True, is_value=is_value))
                return cached
            changed = changed or change
        if changed is not None:
            document.note(block, "info", "stale", f"Not kept from the earlier job: {changed}.")
        return None

    def _change(self, key: str, cached: CachedBlock, language: str, names: CodeNames) -> str | None:
        """Return what code finds that is not as in the earlier job; none when all is."""
        known = self.document.known
        if key in self.document.again:
            return "what it left behind could not be restored"
        drawn = analysis_of(language).drawn - names.reads - cached.effects.keys()
        reads = known.reach(language, names.reads) - drawn
        view = known.view(language, reads, cached.effects.keys(), known.of(language).digests)
        for name, why in (*cached.unknown.items(), *view.unknown.items()):
            return f"{_shown(name)} cannot be compared: {why}"
        different = view.differs(cached.reads)
        return None if different is None else f"{_shown(different)} has changed"

    def leave_stale(self, block: Block, base: str, language: str, code: str, names: CodeNames) -> None:
        """Leave a block that would have to run; what it would change is not known."""
        document = self.document
        before = [cached for _, cached in document.same_code(base)][:1]
        changed = names.sets.union(self._changeable(language, names), *(cached.effects for cached in before))
        effects: dict[str, Digest | None] = {name: Digest(digest("stale", base, name)) for name in changed}
        owns = [name for name in changed if not name.startswith("@")]
        cached = CachedBlock(effects=effects, owns=owns)
        document.defined(block, base, Step(base, language, code, names, cached, kept=True))
        document.leave_stale(block, base, owns)

    def _changeable(self, language: str, names: CodeNames) -> set[str]:
        """Return the names whose objects code that has not run may change in place."""
        if not analysis_of(language).shares_objects:
            return set()
        known = self.document.known
        state = known.of(language)
        changeable: set[str] = set()
        for name in known.reach(language, names.reads) & state.digests.keys():
            number = state.holder(name, len(known.steps))
            step = None if number is None or name.startswith("@") else known.steps[number]
            if step is not None and name not in step.names.defines:
                value = step.cached.values.get(name)
                if value is None or value.type not in _FIXED:
                    changeable.add(name)
        return changeable

    def perform(self, language: str, names: CodeNames, call: Callable[[], Result]) -> tuple[Result, CachedBlock | None]:
        """Make a call that runs code, with all that it may read; and say what it read and changed, if its kernel lives.

        Raises: KernelError, LanguageUnavailable, RunAgain.
        """
        known, restoring, kernels = self.document.known, self.restoring, self.document.kernels
        foreign = {name for name in names.uses if kernels.owner.get(name) not in (None, language)}
        restoring.values(foreign)
        reached = known.reach(language, names.reads)
        restoring.bring(language, reached)
        self.crossings = kernels.share(language, foreign)
        given = set(kernels.touched.get(language, ()))
        if given:
            restoring.observe(language, ())
        state = known.of(language)
        digests, before = dict(state.digests), dict(state.seen or {})
        result = call()
        if isinstance(result, Outcome) and result.verdict not in (Verdict.OK, Verdict.USER_ERROR):
            return result, None
        try:
            restoring.observe(language, reached)
        except KernelError:
            kernels.drop(language)
            return result, None
        after, held = state.seen or {}, state.parts_from(state.seen or {})
        moved = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        moved |= {name for name in reached if name in after and after[name].value is None}
        effects = {
            name: held.get(name)
            for name in moved | given
            if held.get(name) != digests.get(name) or (name in after and after[name].value is None)
        }
        drawn = analysis_of(language).drawn - names.reads - effects.keys()
        view = known.view(language, reached - drawn, effects.keys(), digests)
        owns = {name for name in moved if name in after and not name.startswith("@")} | (names.sets & after.keys())
        return result, CachedBlock(
            reads=dict(view.values), unknown=dict(view.unknown), effects=effects, owns=sorted(owns)
        )

    def _with_all(self, base: str, names: CodeNames) -> CodeNames:
        """Return the names that code reads: all, once its error has turned out to depend on them."""
        return replace(names, reads=names.reads | {EVERYTHING}) if base in self.document.again else names

    def _check_suggestions(self, base: str, language: str, error: CodeError | None) -> None:
        """Refuse an error that proposes names while some are not restored: it would propose others.

        Raises: RunAgain.
        """
        if error is None or error.type not in analysis_of(language).suggesting or base in self.document.again:
            return
        state = self.document.known.of(language)
        if state.digests.keys() - state.live.keys():
            raise RunAgain([base])

    def _executed(
        self, block: Block, base: str, language: str, code: str, names: CodeNames, *, first: bool = True
    ) -> None:
        document = self.document
        self.crossings = []
        names = self._with_all(base, names)
        try:
            outcome, cached = self.perform(
                language,
                names,
                lambda: document.kernels.execute(language, code, len(document.known.steps), self._figure),
            )
            self._check_suggestions(base, language, outcome.error)
        except KernelError as error:
            document.kernels.drop(language)
            self.kernel_lost(block, language, f"the {language} kernel")
            if error.error.type == "KernelGone" and first:
                if self._lacks(block, names.uses):
                    self._mark_broken(block, names.sets)
                else:
                    self._executed(block, base, language, code, names, first=False)
                return
            document.note(block, "error", error.error.type, str(error))
            self._mark_broken(block, names.sets)
            return
        except LanguageUnavailable as error:
            document.note(block, "error", error.code, error.detail)
            self._mark_broken(block, names.sets)
            return
        for crossing in self.crossings:
            document.note(block, "warning", crossing.code, crossing.text)
        self.add_outputs(block, outcome)
        pictures = self.saved_pictures(block, outcome.artifacts, outcome.refused)
        if cached is None:
            self._lost_with(block, language, outcome, names)
            return
        key = document.numbered(digest(base, cached.reads))
        document.defined(block, key, Step(key, language, code, names, cached, kept=False))
        if outcome.verdict is not Verdict.OK:
            self._failed(block, language, outcome, names)
            return
        block.digest, cached.base = key, base
        cached.outputs, cached.pictures = block.outputs, pictures
        cached.messages = [message for message in block.messages if message.code not in ("stale", "magic")]
        cached.values = self.restoring.saved_values(set(cached.owns) - names.defines)
        document.after.blocks[key] = cached
        if outcome.value is not None and is_something(outcome.value):
            rows = outcome.value.shape[0] if outcome.value.shape else None
            cached.shown = values.shown_value(block.id, language, outcome.value.type, outcome.value.text, rows)
            self._tell_value(block, cached, names.uses)

    def _lost_with(self, block: Block, language: str, outcome: Outcome, names: CodeNames) -> None:
        """The kernel has ended with this block."""
        if outcome.verdict is Verdict.OK:
            text = f"The {language} kernel ended after this chunk; what later chunks need of it is missing."
            self.document.note(block, "warning", "kernel_ended", text)
        else:
            self._failed(block, language, outcome, names)
        self.kernel_lost(block, language, f"the {language} kernel")

    def _failed(self, block: Block, language: str, outcome: Outcome, names: CodeNames) -> None:
        error = outcome.error
        words = f"{error.type}: {error.message}" if error is not None else f"It ended with {outcome.verdict}."
        if outcome.verdict is Verdict.USER_ERROR and self._may_fail:
            self.document.note(block, "info", EXPECTED_ERROR, words)
            return
        code = "code_failed" if outcome.verdict is Verdict.USER_ERROR else str(outcome.verdict)
        self.document.note(block, "error", code, words)
        self._mark_broken(block, names.sets)
        if outcome.verdict is not Verdict.USER_ERROR:
            text = f"The {language} kernel ended here; later chunks start in a new one."
            self.document.note(block, "warning", "kernel_ended", text)

    def kernel_lost(self, block: Block, language: str, cause: str | None = None) -> None:
        """A kernel has ended, and with it every name that no other kernel has."""
        lost = [name for name in self.document.known.lost(language) if name in self.document.digests]
        self._mark_broken(block, lost)
        if cause is not None:
            self.document.broken.update(dict.fromkeys(lost, cause))

    def add_outputs(self, block: Block, outcome: Outcome) -> None:
        block.outputs = [*block.outputs, *outputs_of(outcome, self.document.context.files, block.id.replace("/", "-"))]

    def saved_pictures(self, block: Block, written: Iterable[Product], left_out: Iterable[str]) -> dict[str, str]:
        """Save the pictures that the code has written to files, for the text to show them. Return their files."""
        document = self.document
        refused = [each for each in left_out if each.partition(": ")[0].lower().endswith(tuple(PICTURES))]
        saved: dict[str, str] = {}
        for product in written:
            ending = os.path.splitext(product.path)[1].lower()
            if product.size > MAX_PICTURE:
                refused.append(f"{product.path}: a picture may have {MAX_PICTURE // 1_000_000} MB")
            elif product.path not in document.pictures and len(document.pictures) + len(saved) >= _MAX_PICTURES:
                refused.append(f"{product.path}: the code of a document may write {_MAX_PICTURES} pictures")
            else:
                name = os.path.basename(product.path)
                saved[product.path] = document.context.files.save(name, product.content, PICTURES[ending]).id
        for each in refused[:_MAX_REFUSED]:
            document.note(block, "warning", "picture_not_kept", f"The page cannot show {each}.")
        document.add_pictures(block, saved)
        return saved

    def _tell_value(self, block: Block, cached: CachedBlock, uses: Iterable[str]) -> None:
        """What the block's last output shows, and who made it: a chunk itself, or who set the only name it reads."""
        if cached.shown is not None:
            makers = {maker for name in uses if (maker := self.document.maker_of(name)) is not None}
            made = block.id if block.kind == "chunk" else makers.pop() if len(makers) == 1 else None
            block.value = cached.shown.model_copy(update={"block": made})

    def expression(self, node: Expression) -> None:
        """Evaluate code within a line: its value is an output, and part of the HTML."""
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
        """Evaluate an expression, as text or as JSON; ``None`` with a message when it has no value."""
        document = self.document
        language = language or self.last
        if language not in LANGUAGES:
            document.note(block, "error", "language_unavailable", f"No kernel runs {language}.")
            return None
        if document.spent:
            document.skip(
                block, "warning", "budget_spent", f"The budget of {document.spent} was spent before this block."
            )
            return None
        names = names_of(language, code)
        if self._lacks(block, names.uses):
            return None
        base = document.digest_of("value", (), language, code, plain)
        block.digest = base
        if (kept := self.kept(block, base, language, code, names, is_value=True)) is not None:
            document.add_pictures(block, kept.pictures)
            self._tell_value(block, kept, names.uses)
            return kept.value
        if document.looks:
            document.leave_stale(block, base)
            return None
        value, cached = self._evaluated(block, base, language, code, self._with_all(base, names))
        if value is None:
            return None
        result: JsonValue = _plain_value(value) if plain else values.text_of(value, language)
        if cached is None:
            self.kernel_lost(block, language, f"the {language} kernel")
            return result
        key = document.numbered(digest(base, cached.reads))
        block.digest, cached.base, cached.value = key, base, result
        cached.values = self.restoring.saved_values(cached.owns)
        document.after.blocks[key] = cached
        document.defined(block, key, Step(key, language, code, names, cached, kept=False, is_value=True))
        if not plain and result is not None:
            cached.shown = values.shown_value(code, language, value.type, str(result), value.rows)
            self._tell_value(block, cached, names.uses)
        return result

    def _evaluated(
        self, block: Block, base: str, language: str, code: str, names: CodeNames
    ) -> tuple[Value | None, CachedBlock | None]:
        """Return the value of an expression, with what it read; none, with a message, when it has none."""
        document = self.document
        self.crossings = []
        try:
            value, cached = self.perform(language, names, lambda: document.kernels.evaluate(language, code))
        except KernelError as error:
            if error.error.type == "KernelGone":
                document.kernels.drop(language)
                self.kernel_lost(block, language, f"the {language} kernel")
                text = f"The {language} kernel ended here: it took too much time or memory, or its code ended it."
                document.note(block, "error", "kernel_ended", text)
            else:
                self._check_suggestions(base, language, error.error)
                document.note(block, "error", "code_failed", str(error))
            return None, None
        except (LanguageUnavailable, SandboxUnavailable) as error:
            document.note(block, "error", error.code, error.detail)
            return None, None
        for crossing in self.crossings:
            document.note(block, "warning", crossing.code, crossing.text)
        if cached is not None and "(" in code:  # only a call writes a file
            with suppress(KernelError):
                cached.pictures = self.saved_pictures(block, *document.kernels.written(language))
        return value, cached


_UNCHANGEABLE = (
    "NoneType bool int float complex str bytes Decimal date datetime time timedelta UUID null undefined boolean number"
    " string bigint"
)
_FIXED = frozenset(_UNCHANGEABLE.split())  #: types whose objects nothing changes


def _shown(name: str) -> str:
    """A name as a reader knows it: the parts of a kernel have none."""
    return _PARTS.get(name, name[1:] if name.startswith("@") else name)


_PARTS = {
    "@builtins": "a built-in",
    "@patches": "what a library does",
    "@options": "an option of a library",
    "@process": "the process (its environment, folder, search path)",
    "@files": "a file of the work folder",
    "@modules": "a module of the document's own",
    "@random": "the random state",
}


def _plain_value(value: Value) -> JsonValue:
    """Return the value for a condition or a loop; for a table, its rows."""
    if value.kind == "table" and value.table is not None:
        return cast("JsonValue", rows_of(value.table, _MAX_ROWS))
    return value.text if value.kind == "opaque" else value.json
