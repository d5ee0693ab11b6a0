"""Work by kind: what a caller has at hand is uploaded, then the job is sent; and what a finished job holds."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from assay.calls import files, jobs
from assay.calls.call import ApiCall
from assay.errors import APIError, JobFailed
from assay.exchange import Answer, ClientOptions, Outcome, Send, Sleep, exchange
from assay.packing import pack, pack_commit

if TYPE_CHECKING:
    from shared.contracts.jobs import JobView

Steps = Generator[Send | Sleep, Outcome, Answer]

#: Rows beyond this go up as a file: a request's body may have 1 MB.
_MAX_INLINE_BYTES = 400_000


def call(call: ApiCall[Answer], options: ClientOptions) -> Steps[Answer]:
    """Send any call and read its answer."""
    return call.read((yield from exchange(call, options)))


def submit(
    options: ClientOptions,
    kind: str,
    input: Mapping[str, Any],
    more: jobs.SubmitOptions,
    wait: float | None,
    key: str | None,
) -> Steps[JobView]:
    return (yield from call(jobs.create(kind, input, more, wait=wait, idempotency_key=key), options))


def execute_input(
    options: ClientOptions, code: str, given: Mapping[str, files.Content] | None, fields: Mapping[str, Any]
) -> Steps[dict[str, Any]]:
    """``given``: path inside the sandbox -> content."""
    references = []
    for path, content in (given or {}).items():
        info = yield from call(files.put(content, name=Path(path).name), options)
        references.append({"id": info.id, "path": path})
    return {"code": code, **({"files": references} if references else {}), **fields}


def transform_input(
    options: ClientOptions, task: str, data: object, fields: Mapping[str, Any]
) -> Steps[dict[str, Any]]:
    """Build a transform's input; ``data`` is one data set or data sets by name: path, bytes, open file, rows or
    frame.
    """
    named = data if isinstance(data, Mapping) and not _is_reference(data) else {"data": data}
    sets = []
    for name, value in named.items():
        sets.append((yield from _data_set(options, str(name), value)))
    return {"task": task, "data": sets, **fields}


def detect_input(
    options: ClientOptions, source: str | os.PathLike[str], fields: Mapping[str, Any]
) -> Steps[dict[str, Any]]:
    """``source``: an https URL of a repository, an archive, or a folder (which is packed, without .git).

    ``ref`` among the fields: that commit of the repository, or of the git checkout that the folder is.
    """
    text = os.fspath(source)
    if "://" in text:
        ref = fields.get("ref")
        rest = {name: value for name, value in fields.items() if name != "ref"}
        return {"source": {"git": text, **({"ref": ref} if ref else {})}, **rest}
    path = Path(text)
    rest = {name: value for name, value in fields.items() if name != "ref"}
    if path.is_dir():
        with tempfile.TemporaryFile() as archive:
            if fields.get("ref") is None:
                pack(path, archive)
            else:
                pack_commit(path, str(fields["ref"]), archive)
            info = yield from call(files.put(archive, name=f"{path.resolve().name or 'source'}.tar.gz"), options)
    elif fields.get("ref") is not None:
        raise ValueError("ref belongs to a repository, not to an archive")
    else:
        info = yield from call(files.put(path), options)
    return {"source": {"file_id": info.id, "name": info.name[:200]}, **rest}


@dataclass(frozen=True)
class TableFiles:
    """Files with the same columns as one data set, and what is known of how they are written; the rest is found out."""

    files: Sequence[files.Content]
    sheet: str | None = None  #: of a workbook
    delimiter: str | None = None
    encoding: str | None = None
    name: str | None = None  #: for content without a name
    header_row: int | None = None  #: line of the column names, from 1; 0: no header
    skip: int | None = None  #: lines at the top
    decimal: str | None = None
    na_values: Sequence[str] | None = None  #: marks for missing values; with "" among them, instead of the usual ones


def _table_files(options: ClientOptions, name: str, tables: TableFiles) -> Steps[dict[str, Any]]:
    ids = []
    for content in tables.files:
        info = yield from call(files.put(content, name=tables.name), options)
        ids.append(info.id)
    stated: dict[str, object] = {
        "sheet": tables.sheet, "delimiter": tables.delimiter, "encoding": tables.encoding,
        "header_row": tables.header_row, "skip": tables.skip, "decimal": tables.decimal,
        "na_values": None if tables.na_values is None else list(tables.na_values),
    }  # fmt: skip
    source: dict[str, object] = {"file_id": ids[0]} if len(ids) == 1 else {"file_ids": ids}
    return {"name": name, **source, **{key: value for key, value in stated.items() if value is not None}}


def _data_set(options: ClientOptions, name: str, value: object) -> Steps[dict[str, Any]]:
    if isinstance(value, TableFiles):
        return (yield from _table_files(options, name, value))
    if isinstance(value, Mapping):
        return {"name": name, **value}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        text = json.dumps(value, allow_nan=False, default=str).encode()
        if len(text) <= _MAX_INLINE_BYTES:
            return {"name": name, "rows": json.loads(text)}
        upload = files.put(text, name=f"{name}.json", media_type="application/json")
    elif hasattr(value, "to_parquet") or hasattr(value, "write_parquet"):
        upload = files.put(_parquet(value), name=f"{name}.parquet")
    elif isinstance(value, bytes):
        upload = files.put(value, name=f"{name}.csv")
    else:
        upload = files.put(cast(files.Content, value))
    info = yield from call(upload, options)
    return {"name": name, "file_id": info.id}


def _is_reference(data: Mapping[Any, object]) -> bool:
    """Return whether this is a data set in the API's own form."""
    return bool({"file_id", "rows", "csv"} & set(data))


def _parquet(frame: Any) -> bytes:
    buffer = io.BytesIO()
    if hasattr(frame, "write_parquet"):
        frame.write_parquet(buffer)
    else:
        frame.to_parquet(buffer)
    return buffer.getvalue()


def result_of(view: JobView) -> Any:
    """Return the result as its kind's contract, or as JSON for a kind that only the server knows. Raises: JobFailed."""
    from shared.kinds import KINDS  # noqa: PLC0415

    if view.state.value != "succeeded":
        raise JobFailed(view)
    kind = KINDS.get(view.kind)
    return view.result if kind is None else kind.result.model_validate(view.result)


def table_file(view: JobView) -> str:
    """Return the Parquet file of a transform's table. Raises: JobFailed; APIError when the result is not a table."""
    result = result_of(view)
    table = getattr(result, "table", None)
    if table is None or table.file_id is None:
        raise APIError(f"the result of job {view.id} is not a table")
    return str(table.file_id)
