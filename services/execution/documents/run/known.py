"""What each kernel holds, by digests: from it follows which blocks are fresh, and how to have their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from services.execution.documents.run.kernels import DOCUMENT, Kernels
from services.execution.documents.run.state import CachedBlock, digest
from services.execution.languages.table import analysis_of
from services.execution.sandbox.language import EVERYTHING, CodeNames
from services.execution.sandbox.run import Digest

_TOGETHER = "&"  #: before a name: what shares objects with it


@dataclass
class Step:
    """One piece of code, in the order of the document: it has run, or an earlier job's outcome is kept."""

    key: str
    language: str
    code: str
    names: CodeNames
    cached: CachedBlock
    kept: bool
    is_value: bool = False  #: an expression, not a chunk


@dataclass
class LanguageState:
    """One language after the steps so far, whether they ran here or not."""

    digests: dict[str, Digest] = field(default_factory=dict)  #: of parts, only of those that are not as at the start
    history: dict[str, list[int]] = field(default_factory=dict)  #: of each name: the steps that changed it
    live: dict[str, int] = field(default_factory=dict)  #: of each name that the kernel holds: the step that made it so
    start: Mapping[str, Digest] = field(default_factory=dict)  #: the parts as this kernel began
    seen: Mapping[str, Digest] | None = None  #: all as the kernel said last; none before it has begun

    def holder(self, name: str, before: int) -> int | None:
        """Return the last step before that one which changed the name."""
        return next((step for step in reversed(self.history.get(name, ())) if step < before), None)

    def parts_from(self, seen: Mapping[str, Digest]) -> dict[str, Digest | None]:
        """Return what was seen, with nothing for a part that is as at the start."""
        same: dict[str, Digest | None] = {}
        for name, each in seen.items():
            begun = self.start.get(name)
            as_begun = name.startswith("@") and begun is not None and begun.value == each.value is not None
            same[name] = None if as_begun else each
        return same


@dataclass
class Known:
    kernels: Kernels
    states: dict[str, LanguageState] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def of(self, language: str) -> LanguageState:
        return self.states.setdefault(language, LanguageState())

    # -- what code reads -----------------------------------------------------------------------------------------------

    def reach(self, language: str, reads: Iterable[str]) -> set[str]:
        """Return all that code with these words may see: what functions read, and parts of the kernel, too."""
        state, analysis = self.of(language), analysis_of(language)
        reached: set[str] = set()
        folded = {name.lower(): name for name in state.digests} if analysis.folds else {}
        todo = [*reads, *analysis.ambient]
        while todo:
            name = todo.pop()
            name = folded.get(name.lower(), name)
            if name in reached:
                continue
            reached.add(name)
            if name == EVERYTHING:
                todo += [*state.digests, *state.start, *(part for parts in analysis.parts.values() for part in parts)]
            todo += analysis.parts.get(name, ())
            if (held := state.digests.get(name)) is not None:
                todo += held.refs
        return reached

    def view(self, language: str, reads: Iterable[str], changes: Set[str], digests: Mapping[str, Digest]) -> View:
        """Return what code finds in these names, and of those that it changes what shares objects with them."""
        values: dict[str, str] = {}
        unknown: dict[str, str] = {}
        groups: dict[str, list[str]] = {}
        for name in sorted(reads):
            value, why = self._token(language, name, digests)
            if value is None:
                unknown[name] = why
            elif value:
                values[name] = value
            held = digests.get(name)
            if held is not None and held.shared is not None:
                groups.setdefault(held.shared, []).append(name)
        for shared, names in groups.items():
            if len(names) > 1 or changes & set(names):
                values[f"{_TOGETHER}{names[0]}"] = shared
        return View(values, unknown)

    def _token(self, language: str, name: str, digests: Mapping[str, Digest]) -> tuple[str | None, str]:
        """Return the token that represents a name's value: empty without a value, None if it cannot be compared."""
        owner = self.kernels.owner.get(name)
        if owner == DOCUMENT:
            return digest("document", self.kernels.own[name]), ""
        if owner not in (None, language):
            return self._foreign(str(owner), name)
        held = digests.get(name)
        return ("", "") if held is None else (held.value, held.why or "")

    def _foreign(self, owner: str, name: str) -> tuple[str | None, str]:
        """Return the token of a value that comes from another kernel: a view represents its tables."""
        digests = self.of(owner).digests
        values: dict[str, str] = {}
        for each in sorted(self.behind(owner, name)):
            value = digests[each].value
            if value is None:
                return None, digests[each].why or ""
            values[each] = value
        return (digest(owner, sorted(values.items())), "") if values else (None, "")

    def behind(self, language: str, name: str) -> set[str]:
        """Return the names that make up a value which crosses: a view's tables, too."""
        digests = self.of(language).digests
        folded = {each.lower(): each for each in digests} if analysis_of(language).folds else {}
        names: set[str] = set()
        todo = [name]
        while todo:
            each = todo.pop()
            each = folded.get(each.lower(), each)
            if each in digests and each not in names:
                names.add(each)
                todo += digests[each].refs
        return names

    def token(self, name: str) -> str | None:
        """Return the token of the value of a name that a message uses."""
        owner = self.kernels.owner.get(name)
        return None if owner in (None, DOCUMENT) else self._foreign(str(owner), name)[0]

    # -- what it changes -----------------------------------------------------------------------------------------------

    def add(self, step: Step) -> int:
        """Take over what a step has changed."""
        number = len(self.steps)
        self.steps.append(step)
        state = self.of(step.language)
        for name, held in step.cached.effects.items():
            if held is None:
                state.digests.pop(name, None)
            else:
                state.digests[name] = held
            state.history.setdefault(name, []).append(number)
            if not step.kept:
                state.live[name] = number
        self.kernels.set_owner(step.language, step.cached.owns)
        gone = {name for name, held in step.cached.effects.items() if held is None}
        self.kernels.release(name for name in gone if self.kernels.owner.get(name) == step.language)
        return number

    def lost(self, language: str) -> list[str]:
        """Forget what an ended kernel held; return its names. Stored values are still known."""
        state = self.of(language)
        gone = []
        for name, history in list(state.history.items()):
            if name in state.live or not self.steps[history[-1]].kept:
                gone.append(name)
                state.digests.pop(name, None)
                del state.history[name]
        state.live.clear()
        state.start, state.seen = {}, None
        gone = [name for name in gone if self.kernels.owner.get(name) == language]
        self.kernels.release(gone)
        return gone


@dataclass(frozen=True)
class View:
    """What code finds: a digest for each name that has a value, and why others cannot be compared."""

    values: Mapping[str, str]
    unknown: Mapping[str, str]

    def differs(self, earlier: Mapping[str, str]) -> str | None:
        """Return a name that is not as it was; none when all are."""
        for name in sorted(self.values.keys() | earlier.keys()):
            if self.values.get(name) != earlier.get(name):
                return name.lstrip(_TOGETHER)
        return None
