"""What did not run because nothing changed: its values are restored, or its code runs, when they are needed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from services.execution.documents.run.kernels import DOCUMENT, Kernels
from services.execution.documents.run.known import Known, LanguageState, Step
from services.execution.documents.run.state import CachedValue
from services.execution.languages.table import analysis_of
from services.execution.sandbox.language import EVERYTHING
from services.execution.sandbox.run import Digest, KernelError, Look, Value
from shared.contracts.execute import Verdict
from shared.errors import NotFound
from shared.jobs.job import Files

_MAX_TEXT = 200_000  #: characters of a plain value
_MAX_TABLE = 16_000_000  #: bytes in memory; a larger table is made again when it is needed


class RunAgain(Exception):
    """What blocks left behind could not be restored beside what has run: they have to run, each in its place."""

    def __init__(self, keys: Iterable[str]) -> None:
        super().__init__("blocks have to run again")
        self.keys = frozenset(keys)


@dataclass
class _Plan:
    """What to do at each step, in order, so that a kernel holds the names that are needed."""

    values: dict[int, set[str]] = field(default_factory=dict)  #: set from the state
    definitions: set[int] = field(default_factory=set)  #: only what the code defines, not what it computes
    runs: set[int] = field(default_factory=set)

    def steps(self) -> list[int]:
        return sorted({*self.values, *self.definitions, *self.runs})


@dataclass
class Restoring:
    """Makes kernels hold what the document's blocks have left, whether they ran in this job or not."""

    known: Known
    kernels: Kernels
    files: Files
    folder: Path

    def begin(self, language: str) -> LanguageState:
        """Start the kernel, and note how it began. Raises: KernelError, LanguageUnavailable."""
        state = self.known.of(language)
        if state.seen is None:
            state.seen = self.kernels.session(language).digests()
            state.start = {name: held for name, held in state.seen.items() if name.startswith("@")}
        return state

    def observe(self, language: str, reached: Iterable[str] | None) -> None:
        """Note what the kernel holds by now. Raises: KernelError."""
        state = self.known.of(language)
        touched = self.kernels.touched.pop(language, set())
        wanted = None if reached is None else {*reached, *touched}
        seen = self.kernels.session(language).digests(None if wanted is None or EVERYTHING in wanted else wanted)
        parts = {name: held for name, held in (state.seen or {}).items() if name in state.start}
        state.seen = {**parts, **seen}

    def values(self, names: Iterable[str]) -> None:
        """Restore these names, each in the kernel that owns it. Raises: KernelError, LanguageUnavailable, RunAgain."""
        by_language: dict[str, set[str]] = {}
        for name in names:
            owner = self.kernels.owner.get(name)
            if owner not in (None, DOCUMENT):
                by_language.setdefault(str(owner), set()).update({name}, self.known.behind(str(owner), name))
        for language, owned in sorted(by_language.items()):
            self.bring(language, owned)

    def bring(self, language: str, reached: Collection[str]) -> None:
        """Make the kernel hold these names as the steps so far left them.

        Raises: KernelError, LanguageUnavailable, RunAgain.
        """
        state = self.begin(language)
        wanted = self._with_partners(state, language, reached)
        plan = self._plan(state, wanted)
        if plan.steps():
            for number in plan.steps():
                self._restore(state, number, plan)
            self.observe(language, None)
            self._verify(state, wanted)
        if EVERYTHING in reached and self._is_left(state):
            raise RunAgain(self._kept(state))

    def _is_left(self, state: LanguageState) -> bool:
        """Return whether the kernel holds a name that a later step, which did not run, took away."""
        for name, number in state.live.items():
            last = state.holder(name, len(self.known.steps))
            if last is not None and last != number and self.known.steps[last].cached.effects[name] is None:
                return True
        return False

    def _with_partners(self, state: LanguageState, language: str, reached: Iterable[str]) -> set[str]:
        """Return the names that this kernel owns, with all that share objects with them."""
        own = {name for name in reached if name in state.history and self.kernels.owner.get(name) in (None, language)}
        shared = {held.shared for name in own if (held := state.digests.get(name)) is not None and held.shared}
        return own | {name for name, held in state.digests.items() if held.shared in shared}

    def _plan(self, state: LanguageState, wanted: set[str]) -> _Plan:
        plan = _Plan()
        todo = [(name, len(self.known.steps)) for name in wanted]
        while todo:
            name, before = todo.pop()
            number = state.holder(name, before)
            if number is None or state.live.get(name) == number:
                if number is None and name in state.live:
                    raise RunAgain(self._kept(state))
                continue
            if name in plan.values.get(number, ()) or number in plan.runs:
                continue
            step, held = self.known.steps[number], self.known.steps[number].cached.effects[name]
            if held is None and name not in state.live:
                continue
            if not step.kept or state.live.get(name, -1) > number:
                raise RunAgain([step.key] if step.kept else self._kept(state))
            restorable = held is not None and held.value is not None and held.shared is None
            if restorable and held is not None and (held.keep or name in step.cached.values):
                plan.values.setdefault(number, set()).add(name)
                continue
            if held is not None and name in step.names.defines and self._defines(step):
                if number not in plan.definitions:
                    plan.definitions.add(number)
                    # What bodies of functions read is not read yet; the rest is proven by its outcome.
                    needed = step.names.uses - step.names.defines - state.live.keys()
                    todo += [(each, number) for each in needed if state.holder(each, number) is not None]
                    self._check_order(state, number, set(step.names.defines))
                continue
            plan.runs.add(number)
            self._check_order(state, number, set(step.cached.effects))
            reads = {each.lstrip("&") for each in (*step.cached.reads, *step.cached.unknown)}
            todo += [(each, number) for each in reads | step.cached.effects.keys()]
        return plan

    def _defines(self, step: Step) -> bool:
        return bool(analysis_of(step.language).definitions(step.code))

    def _check_order(self, state: LanguageState, number: int, names: set[str]) -> None:
        """Refuse to run code again whose names have gone on since. Raises: RunAgain."""
        if any(state.live.get(name, -1) > number for name in names):
            raise RunAgain([self.known.steps[number].key])

    def _kept(self, state: LanguageState) -> list[str]:
        return [step.key for step in self.known.steps if step.kept and self.known.of(step.language) is state]

    def _restore(self, state: LanguageState, number: int, plan: _Plan) -> None:
        step = self.known.steps[number]
        names: set[str] = set()
        if number in plan.runs:
            self._run(step, step.code, number)
            names |= step.cached.effects.keys()
        else:
            for name in sorted(plan.values.get(number, ())):
                self._set(step, name)
                names.add(name)
            if number in plan.definitions:
                self._run(step, analysis_of(step.language).definitions(step.code), number)
                names |= step.names.defines & step.cached.effects.keys()
        for name in names:
            if step.cached.effects[name] is None:
                state.live.pop(name, None)
            else:
                state.live[name] = number

    def _run(self, step: Step, code: str, number: int) -> None:
        foreign = {name for name in step.names.uses if self.kernels.owner.get(name) not in (None, step.language)}
        self.values(foreign)
        self.kernels.share(step.language, foreign)
        try:
            if step.is_value:
                self.kernels.evaluate(step.language, code)
            elif self.kernels.execute(step.language, code, number).verdict is not Verdict.OK:
                raise RunAgain([step.key])
        except KernelError:
            raise RunAgain([step.key]) from None

    def _set(self, step: Step, name: str) -> None:
        held, session = step.cached.effects[name], self.kernels.session(step.language)
        try:
            if held is not None and held.keep is not None:
                session.restore(name, held.keep)
            elif session.set(name, self._value(step, name), "" if held is None else held.bound):
                raise RunAgain([step.key])
        except (KernelError, NotFound):
            raise RunAgain([step.key]) from None

    def _value(self, step: Step, name: str) -> Value:
        """Return a step's stored value. Raises: NotFound."""
        cached = step.cached.values[name]
        if cached.file_id is None:
            return Value(kind="json", type=cached.type, text=cached.text, exact=cached.data)
        target = self.folder / f"{cached.file_id}.arrow"
        self.files.fetch(cached.file_id, target)
        return Value(kind="table", type=cached.type, text=cached.text, table=target, rows=cached.rows)

    def _verify(self, state: LanguageState, wanted: set[str]) -> None:
        """Compare the kernel with the steps. Raises: RunAgain when it does not hold what they had left."""
        seen = state.parts_from(state.seen or {})
        for name, number in state.live.items():
            step = self.known.steps[number]
            expected, actual = step.cached.effects.get(name), seen.get(name)
            if step.kept and not _agrees(expected, actual, wholly=name in wanted):
                raise RunAgain([step.key])

    # -- what is saved -------------------------------------------------------------------------------------------------

    def saved_values(self, names: Iterable[str]) -> dict[str, CachedValue]:
        """Return those of the names' values that can be restored exactly."""
        saved: dict[str, CachedValue] = {}
        try:
            for name, (kernel, look) in self.kernels.find(sorted(names), passive=True).items():
                value = _saved_value(self.kernels, self.files, kernel, name, look)
                if value is not None:
                    saved[name] = value
        except KernelError:
            saved.clear()
        return saved


def _agrees(expected: Digest | None, actual: Digest | None, *, wholly: bool) -> bool:
    if expected is None or actual is None:
        return expected is actual
    if expected.value is None:
        return True
    return expected.value == actual.value and (not wholly or expected.shared == actual.shared)


def _saved_value(kernels: Kernels, files: Files, kernel: str, name: str, look: Look) -> CachedValue | None:
    """``None`` for what could not be restored exactly."""
    exact = analysis_of(kernel).exact
    if exact is not None and look.type not in exact:
        return None
    cached = CachedValue(kind=look.kind, type=look.type, text=look.text[:2000], rows=look.rows or None)
    if look.kind == "json":
        cached.data = look.exact
        text = json.dumps(look.exact)
        return None if len(text) > _MAX_TEXT or _lossy(look.exact) else cached
    if look.kind != "table" or look.bytes > _MAX_TABLE:
        return None
    try:
        value = kernels.get(kernel, name)
    except KernelError:
        return None
    if value.table is None or value.notes:
        return None
    cached.file_id = files.save(f"{name}.arrow", value.table, "application/vnd.apache.arrow.file").id
    cached.text = f"{look.rows} rows x {look.width} columns"
    return cached


def _lossy(exact: JsonValue) -> bool:
    """Return whether JSON cannot hold the value exactly."""
    if isinstance(exact, str):
        return any("\ud800" <= sign <= "\udfff" for sign in exact) if not exact.isascii() else False
    if isinstance(exact, list):
        return any(_lossy(part) for part in exact)
    if not isinstance(exact, dict):
        return False
    return exact.get("$") in ("series", "missing") or any(_lossy(part) for part in exact.values())
