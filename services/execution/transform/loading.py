"""Brings the caller's data in: untrusted files are parsed inside the sandbox, never in the worker."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Queue
from threading import Event as Flag

from pydantic import BaseModel, JsonValue, ValidationError

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Frame, Outcome, Run
from services.execution.transform.dataset import DataRead, LoadedTable
from services.execution.transform.preview import TableSummary
from services.execution.transform.runner import TransformLimits
from shared.contracts.execute import Verdict
from shared.contracts.transform import DataSet
from shared.errors import InvalidData
from shared.jobs.job import Files
from shared.languages import DEFAULT_LANGUAGE, TableReader
from shared.reading.columns import ColumnSummary, TypeName
from shared.reading.source import MAX_TABLE_BYTES

_WHY = {
    Verdict.MEMORY: "it needs more memory than reading may use",
    Verdict.TIMEOUT_WALL: "reading it takes too long",
    Verdict.TIMEOUT_CPU: "reading it takes too long",
    Verdict.DISK: "as a table in memory it is more than 300 MB: give fewer rows or columns, or aggregate it first",
}


_STREAMED = "streamed.parquet"
_IMPORT = "from shared.reading.read import"  # the warm interpreter has it already


class _Report(BaseModel):
    """What the reader prints."""

    refused: str | None = None
    too_large: bool = False  #: refused, as it would not fit in memory; of a Parquet file: with its repeated names
    notes: list[str] = []
    columns: dict[str, str] = {}
    types: dict[str, TypeName] = {}
    height: int = 0
    profiles: list[ColumnSummary] = []
    head: list[list[object]] = []
    lazy: bool = False  #: the table is larger than memory, and stays in its file


@dataclass(frozen=True)
class _DataFile:
    """A file to read, under the name that it came with."""

    path: Path
    file_name: str
    place: str  #: the field of the request that gave it
    sha256: str = ""  #: when it is known
    parts: tuple[Path, ...] = ()  #: in the place of ``path``: files whose rows follow each other
    stated: Mapping[str, JsonValue] = field(default_factory=dict)  #: options of reading, as the caller states them

    def of(self, name: str) -> str:
        """Return the data set's name, with that of the file that the caller sent."""
        return f"{name!r} ({self.file_name})" if self.place == "file_id" else repr(name)


@dataclass(frozen=True)
class Loader:
    """Reads data sets for code in the shape that its reader takes."""

    sandbox: Sandbox
    files: Files
    scratch: Path
    background: ThreadPoolExecutor  #: loads tables during the first model call
    limits: TransformLimits
    reader: TableReader
    rows: int  #: of the preview
    cancelled: Flag

    def load(self, index: int, data: DataSet) -> DataRead:
        """Load a data set. Raises: InvalidData naming the data set, NotFound."""
        source = self._source(index, data)
        return self._read(data.name, source, ["input", "data", index, source.place], data.file_id)

    def load_result(self, name: str, file_id: str, masked: Sequence[str] = ()) -> DataRead:
        """Load an earlier result instead of a data set. Raises: InvalidData, NotFound."""
        target = self.scratch / f"previous-{name}.parquet"
        info = self.files.fetch(file_id, target)
        source = _DataFile(target, "previous.parquet", "name", info.sha256)
        read = self._read(name, source, ["input", "data", 0], file_id)
        return replace(read, masked=frozenset(masked) & read.types.keys())

    def _source(self, index: int, data: DataSet) -> _DataFile:
        """Return the data as a local file."""
        target = self.scratch / f"input-{index}"
        stated = data.reading()
        if data.file_ids is not None:
            return replace(self._parts(index, data, data.file_ids), stated=stated)
        if data.file_id is not None:
            info = self.files.info(data.file_id)
            self.files.fetch(data.file_id, target)
            if info.size > self._most_bytes(target):
                why = "it is larger than 1 GB; SQL and polars read text tables up to 2 GB, and Parquet of any size"
                raise _refused(f"{data.name!r} ({info.name})", ["input", "data", index, "file_id"], why)
            return _DataFile(target, info.name, "file_id", info.sha256, stated=stated)
        if data.csv is not None:
            target.write_text(data.csv, encoding="utf-8", newline="")
            stated.pop("encoding", None)  # it is text already
            return _DataFile(target, "data.csv", "csv", stated=stated)
        target.write_text(json.dumps(data.rows, ensure_ascii=False), encoding="utf-8")
        return _DataFile(target, "data.json", "rows")

    def _most_bytes(self, path: Path) -> float:
        if not self.reader.lazy:
            return self.limits.input_bytes
        return math.inf if _is_parquet(path) else self.limits.streamed_bytes

    def _parts(self, index: int, data: DataSet, ids: Sequence[str]) -> _DataFile:
        """Several files as one. Raises: InvalidData, NotFound."""
        infos = [self.files.info(id) for id in ids]
        if sum(info.size for info in infos) > self.limits.input_bytes:
            raise _refused(
                repr(data.name), ["input", "data", index, "file_ids"], "its files are larger than 1 GB together"
            )
        parts = []
        for number, id in enumerate(ids):
            part = self.scratch / f"input-{index}-{number:03}"
            self.files.fetch(id, part)
            parts.append(part)
        sha256 = hashlib.sha256("\n".join(info.sha256 for info in infos).encode()).hexdigest()
        return _DataFile(self.scratch / f"input-{index}", infos[0].name, "file_ids", sha256, tuple(parts))

    def _read(self, name: str, source: _DataFile, loc: list[str | int], file_id: str | None) -> DataRead:
        early: Queue[_Report] = Queue()
        coming = self.background.submit(self._run, name, source, loc, early)
        coming.add_done_callback(lambda done: early.put(done.result()[0] if done.exception() is None else _Report()))
        report = early.get()
        if report.refused is not None:
            raise _refused(source.of(name), loc, report.refused)
        if not report.types:
            coming.result()  # says why
        return DataRead(
            name=name,
            loaded=lambda: coming.result()[1],
            types=report.types,
            summary=TableSummary(report.profiles, report.head, report.height),
            notes=(*report.notes, *([self.reader.lazy_note] if report.lazy and self.reader.lazy_note else [])),
            column_notes=report.columns,
            file_id=file_id,
            lazy=report.lazy,
        )

    def _run(
        self, name: str, source: _DataFile, loc: list[str | int], early: Queue[_Report]
    ) -> tuple[_Report, LoadedTable]:
        """Read the file in the sandbox; the report is passed on before the table is copied out."""
        if self._can_stream(source) and source.path.stat().st_size > MAX_TABLE_BYTES:
            return self._stream(name, source, loc, early)
        run = Run(DEFAULT_LANGUAGE, "", limits=self.limits.read, take="table", collect=False, until="table")
        if not source.parts and not source.stated and _is_parquet(source.path):
            code = f"{_IMPORT} Reader, answer_parquet\nresult = answer_parquet(source, {self._reader}, {self.rows})\n"
            run = replace(run, code=code, frames={"source": Frame(source.path, "source")})
        else:
            arguments = f"'input/data', {source.file_name!r}, {self._reader}, {self.rows}, {source.stated!r}"
            files = {f"input/data/{part.name}": part for part in source.parts} or {"input/data": source.path}
            run = replace(run, code=f"{_IMPORT} Reader, answer\nresult = answer({arguments})\n", files=files)
        with self.sandbox.run(run, self.cancelled, _ReportListener(early)) as outcome:
            report = _report(outcome.stdout)
            if report.refused is None and not report.lazy:
                if outcome.table is None or not report.types:
                    raise _refused(source.of(name), loc, _why(outcome))
                target = self.scratch / f"{source.path.name}-{name}.arrow"
                shutil.copyfile(outcome.table, target)
                return report, LoadedTable(target, source.sha256 or _sha256(source.path))
        if report.too_large and (self._can_stream(source) or _is_parquet(source.path)):
            return self._stream(name, source, loc, early)
        if report.refused is not None:
            return report, LoadedTable(source.path, "")
        return report, LoadedTable(source.path, source.sha256 or _sha256(source.path))

    @property
    def _reader(self) -> str:
        """The reader as an expression for the code inside the sandbox."""
        return f"Reader({self.reader.lazy!r}, {self.reader.rounds!r}, {self.reader.dates!r})"

    def _can_stream(self, source: _DataFile) -> bool:
        """Return whether code could read the file lazily, as Parquet."""
        return self.reader.lazy and not source.parts and not _is_parquet(source.path)

    def _stream(
        self, name: str, source: _DataFile, loc: list[str | int], early: Queue[_Report]
    ) -> tuple[_Report, LoadedTable]:
        """Make a Parquet file of a table that is larger than memory: of a text, or with other names."""
        arguments = f"source, {source.file_name!r}, {self.rows}, {_STREAMED!r}, {source.stated!r}"
        code = f"{_IMPORT} answer_streamed\nanswer_streamed({arguments})\n"
        frames = {"source": Frame(source.path, "file")}
        run = Run(DEFAULT_LANGUAGE, code, frames=frames, limits=self.limits.read, artifact_mb=self.limits.read.disk_mb)
        with self.sandbox.run(run, self.cancelled, _ReportListener(early)) as outcome:
            report = _report(outcome.stdout)
            if report.refused is not None:
                return report, LoadedTable(source.path, "")
            made = next((each.content for each in outcome.artifacts if each.path == _STREAMED), None)
            if made is None or not report.types:
                raise _refused(source.of(name), loc, _why(outcome))
            target = self.scratch / f"{source.path.name}-{name}.parquet"
            shutil.copyfile(made, target)
        return report, LoadedTable(target, source.sha256 or _sha256(source.path))


def _why(outcome: Outcome) -> str:
    return _WHY.get(outcome.verdict, "it is damaged, or not what its name says")


@dataclass
class _ReportListener:
    """Listens for the line that is the report; a table that is too large may yet be read in another way."""

    early: Queue[_Report]
    text: str = ""

    def __call__(self, stream: str, text: str) -> None:
        if stream == "stdout":
            self.text += text
            if self.text.endswith("\n"):
                report = _report(self.text)
                if report.types or (report.refused is not None and not report.too_large):
                    self.early.put(report)


def _report(stdout: str) -> _Report:
    lines = stdout.strip().splitlines()
    try:
        return _Report.model_validate_json(lines[-1]) if lines else _Report()
    except ValidationError:
        return _Report()


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _refused(which: str, loc: list[str | int], why: str) -> InvalidData:
    detail = f"data set {which} cannot be read: {why}"
    return InvalidData(detail, errors=[{"loc": list(loc), "msg": detail}])


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
