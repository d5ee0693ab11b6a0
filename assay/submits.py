"""Submitting work by kind: what a caller has at hand is uploaded first, then the job is sent."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from assay.calls import files, jobs
from assay.calls.call import Call
from assay.exchange import Answer, Options, Outcome, Send, Sleep, exchange

if TYPE_CHECKING:
    from shared.contracts.jobs import JobView

Steps = Generator[Send | Sleep, Outcome, Answer]

#: Rows beyond this go up as a file: a request's body may have 1 MB.
_MOST_INLINE_BYTES = 400_000


def call(call: Call[Answer], options: Options) -> Steps[Answer]:
    """Any call, read."""
    return call.read((yield from exchange(call, options)))


def submit(
    options: Options, kind: str, input: Mapping[str, Any], more: jobs.Options, wait: float | None, key: str | None
) -> Steps[JobView]:
    return (yield from call(jobs.create(kind, input, more, wait=wait, idempotency_key=key), options))


def execute_input(
    options: Options, code: str, given: Mapping[str, files.Content] | None, fields: Mapping[str, Any]
) -> Steps[dict[str, Any]]:
    """``given``: path inside the sandbox -> content."""
    references = []
    for path, content in (given or {}).items():
        info = yield from call(files.put(content, name=Path(path).name), options)
        references.append({"id": info.id, "path": path})
    return {"code": code, **({"files": references} if references else {}), **fields}


def transform_input(options: Options, task: str, data: object, fields: Mapping[str, Any]) -> Steps[dict[str, Any]]:
    """``data``: one data set, or names and data sets; each a path, bytes, open file, rows, or data frame."""
    named = data if isinstance(data, Mapping) and not _is_reference(data) else {"data": data}
    sets = []
    for name, value in named.items():
        sets.append((yield from _data_set(options, str(name), value)))
    return {"task": task, "data": sets, **fields}


def detect_input(options: Options, source: str | os.PathLike[str], fields: Mapping[str, Any]) -> Steps[dict[str, Any]]:
    """``source``: an https URL of a repository, an archive, or a folder (which is packed, without .git)."""
    text = os.fspath(source)
    if "://" in text:
        ref = fields.get("ref")
        rest = {name: value for name, value in fields.items() if name != "ref"}
        return {"source": {"git": text, **({"ref": ref} if ref else {})}, **rest}
    path = Path(text)
    if path.is_dir():
        with tempfile.TemporaryFile() as archive:
            _pack(path, archive)
            info = yield from call(files.put(archive, name=f"{path.resolve().name or 'source'}.tar.gz"), options)
    else:
        info = yield from call(files.put(path), options)
    return {"source": {"file_id": info.id}, **fields}


def _data_set(options: Options, name: str, value: object) -> Steps[dict[str, Any]]:
    if isinstance(value, Mapping):
        return {"name": name, **value}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        text = json.dumps(value, allow_nan=False, default=str).encode()
        if len(text) <= _MOST_INLINE_BYTES:
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
    """A data set as the API itself writes it."""
    return bool({"file_id", "rows", "csv"} & set(data))


def _parquet(frame: Any) -> bytes:
    buffer = io.BytesIO()
    if hasattr(frame, "write_parquet"):
        frame.write_parquet(buffer)
    else:
        frame.to_parquet(buffer)
    return buffer.getvalue()


#: What tools put beside a project's own files: large, and never counted by the detectors.
_BESIDE = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
    }
)


def _pack(folder: Path, archive: BinaryIO) -> None:
    """The folder as a compressed tar: links stay links; in a git checkout only what git does not ignore."""

    def keep(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if Path(member.name).name in _BESIDE or not (member.isfile() or member.isdir() or member.issym()):
            return None
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=1) as tar:
        listed = _listed_by_git(folder)
        if listed is None:
            tar.add(folder, arcname=".", filter=keep)
        for name in listed or ():
            if os.path.lexists(folder / name):  # git still lists what was deleted and not committed
                tar.add(folder / name, arcname=f"./{name}", filter=keep, recursive=False)
    archive.seek(0)


def _listed_by_git(folder: Path) -> list[str] | None:
    """The files below the folder that git tracks or would track; None where git does not say."""
    command = ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        answer = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return sorted({os.fsdecode(name) for name in answer.stdout.split(b"\0") if name})
