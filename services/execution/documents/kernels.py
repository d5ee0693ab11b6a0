"""The kernels of one document: a sandbox session per language, and values that cross between them when used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event as Flag
from typing import cast

from pydantic import JsonValue

from services.execution.sandbox.run import KernelError, Outcome, Sandbox, Session, Value
from shared.contracts.execute import CodeError, Language, Limits, Verdict

LANGUAGES = ("python", "r", "javascript", "sql")
DOCUMENT = "document"  #: owns parameters, loop variables and answers
_FIRST_ROWS = 100
_LARGEST = 64_000_000  #: bytes; a larger value is looked at where it is, and does not cross
_ANSWER = "assay_value_"
_ASSIGN: Mapping[str, str] = {
    "python": f"{_ANSWER} = (\n{{code}}\n)",
    "r": f"{_ANSWER} <- (\n{{code}}\n)",
    "javascript": f"var {_ANSWER} = (\n{{code}}\n)",
    "sql": f"CREATE OR REPLACE TEMP TABLE {_ANSWER} AS SELECT ({{code}}) AS value",
}


def failed(type_: str, message: str) -> KernelError:
    return KernelError(CodeError(type=type_, message=message))


@dataclass
class Kernels:
    sandbox: Sandbox
    limits: Limits
    files: Mapping[str, Path]
    cancelled: Flag
    own: dict[str, JsonValue] = field(default_factory=dict)  #: values of the document itself
    owner: dict[str, str] = field(default_factory=dict)  #: who set a name last
    _open: dict[str, tuple[Session, ExitStack]] = field(default_factory=dict)
    _version: dict[str, int] = field(default_factory=dict)
    _large: set[str] = field(default_factory=set)  #: names of which only a look was taken last
    _given: dict[tuple[str, str], int] = field(default_factory=dict)

    def close(self) -> None:
        for language in list(self._open):
            self.drop(language)

    def drop(self, language: str) -> None:
        """End a kernel; what it held is gone."""
        if language in self._open:
            self._open.pop(language)[1].close()
        self.owner = {name: owner for name, owner in self.owner.items() if owner != language}
        self._given = {key: version for key, version in self._given.items() if key[0] != language}

    def session(self, language: str) -> Session:
        """Raises: LanguageUnavailable, SandboxUnavailable."""
        if language not in self._open:
            stack = ExitStack()
            session = stack.enter_context(self.sandbox.session(cast("Language", language), self.limits, self.files))
            self._open[language] = (session, stack)
        return self._open[language][0]

    def execute(self, language: str, code: str) -> Outcome:
        """Raises: KernelError, JobCancelled, LanguageUnavailable."""
        outcome = self.session(language).execute(code, cancelled=self.cancelled)
        if outcome.verdict not in (Verdict.OK, Verdict.USER_ERROR):
            self.drop(language)
        return outcome

    def now_owns(self, language: str, names: Iterable[str]) -> None:
        for name in names:
            self.owner[name] = language
            self._version[name] = self._version.get(name, 0) + 1

    def hold(self, name: str, value: JsonValue) -> None:
        """The document sets a name: a parameter, a loop's variable, an answer."""
        self.own[name] = value
        self.now_owns(DOCUMENT, [name])

    def share(self, language: str, names: Iterable[str]) -> list[str]:
        """Give a kernel the names it uses and another one owns; the answer are reasons why some did not cross."""
        refused: list[str] = []
        for name in sorted(names):
            owner = self.owner.get(name)
            if owner is None or owner == language:
                continue
            version = self._version[name]
            if self._given.get((language, name)) == version:
                continue
            try:
                value = self.own[name] if owner == DOCUMENT else self._fetched(owner, name)
                self.session(language).set(name, value)
                self._given[language, name] = version
            except KernelError as error:
                refused.append(f"{name} of {owner} could not cross to {language}: {error.error.message}")
        return refused

    def find(self, names: Iterable[str]) -> dict[str, tuple[str, Value]]:
        """Those of the names that a kernel holds now: the last to set one wins, then the first kernel to have it."""
        found: dict[str, tuple[str, Value]] = {}
        unknown: list[str] = []
        for name in names:
            owner = self.owner.get(name)
            if owner is None:
                unknown.append(name)
            elif owner == DOCUMENT:
                found[name] = (DOCUMENT, _plain(self.own[name]))
            else:
                self._find(owner, name, found)
        for language in list(self._open) if unknown else []:
            held = {variable.name for variable in self.session(language).list()}
            for name in unknown:
                if name not in found and name in held:
                    self._find(language, name, found)
        return found

    def _find(self, language: str, name: str, found: dict[str, tuple[str, Value]]) -> None:
        self._large.discard(name)
        try:
            found[name] = (language, self._fetched(language, name))
        except KernelError as error:
            if error.error.type == "TooLarge":
                self._large.add(name)
                found[name] = (language, self._first_rows(language, name) or self._look(language, name))

    def is_large(self, name: str) -> bool:
        return name in self._large

    def _look(self, language: str, name: str) -> Value:
        look = self.session(language).evaluate(name)
        return Value(kind="opaque", type=look.type, text=look.text)

    def _first_rows(self, language: str, name: str) -> Value | None:
        """Of a table that is too large to come here."""
        variable = next((one for one in self.session(language).list() if one.name == name), None)
        if language != "python" or variable is None or variable.type != "DataFrame" or not variable.shape:
            return None
        try:
            head = self.evaluate(language, f"{name}.head({_FIRST_ROWS})")
        except KernelError:
            return None
        return replace(head, rows=variable.shape[0]) if head.kind == "table" else None

    def _fetched(self, language: str, name: str) -> Value:
        session = self.session(language)
        sizes = {variable.name: variable.bytes for variable in session.list()}
        if sizes.get(name, 0) > _LARGEST:
            raise failed("TooLarge", f"it has more than {_LARGEST:,} bytes")
        return session.get(name)

    def evaluate(self, language: str, code: str) -> Value:
        """Raises: KernelError, JobCancelled, LanguageUnavailable."""
        outcome = self.execute(language, _ASSIGN[language].format(code=code))
        if outcome.error is not None or outcome.verdict is not Verdict.OK:
            error = outcome.error or CodeError(type=str(outcome.verdict), message=f"ended with {outcome.verdict}")
            raise KernelError(error)
        session = self.session(language)
        value = session.get(_ANSWER)
        session.remove(_ANSWER)
        return _single(value) if language == "sql" else value


def _plain(value: JsonValue) -> Value:
    kind = "NoneType" if value is None else type(value).__name__
    return Value(kind="json", type=kind, text=str(value), json=value)


def _single(value: Value) -> Value:
    """The one cell of a query."""
    import pyarrow.ipc  # noqa: PLC0415 - heavy, and only needed here

    if value.table is None:
        return value
    with pyarrow.memory_map(str(value.table)) as source:
        rows = pyarrow.ipc.open_file(source).read_all().to_pylist()
    cell = rows[0]["value"] if rows else None
    if cell is None or isinstance(cell, (bool, int, float, str)):
        return _plain(cell)
    return Value(kind="opaque", type=type(cell).__name__, text=str(cell))
