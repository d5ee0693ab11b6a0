"""What did not run because nothing changed: its values are in a job's state, and restored when a block uses them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from services.execution.documents.run.kernels import Kernels
from services.execution.documents.run.running import RunningDocument
from services.execution.documents.run.state import CachedBlock, CachedValue
from services.execution.languages.table import analysis_of
from services.execution.sandbox.language import CodeNames
from services.execution.sandbox.run import KernelError, Look, Value
from shared.contracts.document import Block
from shared.errors import NotFound
from shared.jobs.job import Files

_MOST_TEXT = 200_000  #: characters of a plain value
_MOST_TABLE = 16_000_000  #: bytes in memory; a larger table is made again when it is needed


@dataclass
class DeferredBlock:
    """A block that did not run because nothing changed; its values are restored when a later block needs them."""

    language: str
    code: str
    names: CodeNames
    cached: CachedBlock


@dataclass
class DeferredBlocks:
    document: RunningDocument
    folder: Path
    _by_name: dict[str, DeferredBlock] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        """Whether a block that did not run sets the name."""
        return name in self._by_name

    def forget(self, name: str) -> None:
        self._by_name.pop(name, None)

    def defined(self, language: str, names: Iterable[str], key: str) -> None:
        """A kernel holds these names now; the digest says what set them."""
        self.document.kernels.set_owner(language, names)
        for name in names:
            self.document.digests[name] = key
            self.document.broken.pop(name, None)
            self._by_name.pop(name, None)

    def defer(self, block: DeferredBlock, key: str) -> None:
        """What the block sets is known, and in no kernel yet."""
        for name in block.names.sets:
            self.document.digests[name] = key
            self.document.broken.pop(name, None)
            self._by_name[name] = block
            self.document.kernels.owner.pop(name, None)

    def restore(self, names: Iterable[str]) -> None:
        """Restore the deferred blocks that set these names. Raises: KernelError, LanguageUnavailable."""
        for name in sorted(names):
            deferred = self._by_name.get(name)
            if deferred is not None:
                self._restore_block(deferred)

    def _restore_block(self, deferred: DeferredBlock) -> None:
        document = self.document
        mine = [name for name in deferred.names.sets if self._by_name.get(name) is deferred]
        for name in mine:
            del self._by_name[name]
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
            if not self._fetch(cached.file_id, target):
                return False
            value = Value(kind="table", type=cached.type, text=cached.text, table=target, rows=cached.rows)
        try:
            return not self.document.kernels.session(deferred.language).set(name, value)
        except KernelError:
            return False

    def cache(self, block: Block, language: str, names: CodeNames) -> CachedBlock:
        cached = CachedBlock(outputs=block.outputs, messages=block.messages)
        wanted = names.sets - names.defines
        try:
            for name, (kernel, look) in self.document.kernels.find(sorted(wanted)).items():
                value = _cached_value(self.document.kernels, self.document.context.files, kernel, name, look)
                if value is not None:
                    cached.values[name] = value
        except KernelError:
            cached.values.clear()
        cached.whole = wanted <= cached.values.keys()
        return cached

    def _fetch(self, file_id: str, target: Path) -> bool:
        try:
            self.document.context.files.fetch(file_id, target)
        except NotFound:
            return False
        return True


def _cached_value(kernels: Kernels, files: Files, kernel: str, name: str, look: Look) -> CachedValue | None:
    """``None`` for what could not be restored exactly."""
    exact = analysis_of(kernel).exact
    if exact is not None and look.type not in exact:
        return None
    cached = CachedValue(kind=look.kind, type=look.type, text=look.text[:2000], rows=look.rows or None)
    if look.kind == "json":
        cached.data = look.exact
        text = json.dumps(look.exact)
        return None if len(text) > _MOST_TEXT or _lossy(look.exact) else cached
    if look.kind != "table" or look.bytes > _MOST_TABLE:
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
    """Whether JSON does not hold it exactly."""
    if isinstance(exact, str):
        return any("\ud800" <= sign <= "\udfff" for sign in exact) if not exact.isascii() else False
    if isinstance(exact, list):
        return any(_lossy(part) for part in exact)
    if not isinstance(exact, dict):
        return False
    return exact.get("$") in ("series", "missing") or any(_lossy(part) for part in exact.values())
