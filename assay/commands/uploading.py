"""Uploads of large files: a progress bar, and parts that resume after an interruption."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from assay import installations
from assay.commands.session import current
from assay.errors import NotFound

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: Files from this size on are sent in parts.
IN_PARTS_BYTES = 16_000_000
_MAX_REMEMBERED = 100


class UploadBar:
    """How much of a file has been sent, drawn from the first call on until the last byte."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._size = path.stat().st_size
        self._bar: tuple[Progress, TaskID] | None = None

    def show(self, at: int) -> None:
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn  # noqa: PLC0415

        if self._bar is None:
            progress = Progress(
                "{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn(),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            progress.start()
            self._bar = progress, progress.add_task(f"uploading {self._name}", total=self._size)
        progress, task = self._bar
        progress.update(task, completed=at)
        if at >= self._size:
            progress.stop()


def in_parts(path: Path, name: str | None, media_type: str | None) -> str:
    """Send a file, or the rest of it that an interrupted command left; its id. Raises: APIError."""
    session = current()
    client = session.client
    whole = path.resolve().stat()
    key = f"{client.target.url} {path.resolve()} {whole.st_size} {whole.st_mtime_ns} {name} {media_type}"
    id = _remembered().get(key)
    if id is not None:
        try:
            client.uploads.get(id)
        except NotFound:  # it has expired, or was another tenant's
            id = None
    if id is None:
        id = client.uploads.begin(name or path.name, whole.st_size, media_type).id
        _remember(key, id)
    bar = UploadBar(path) if session.lively else None
    with path.open("rb") as content:
        for number, at in enumerate(client.uploads.send(id, content)):
            if number == 0 and at and not session.flags.quiet:
                session.say(f"{path.name}: resumes from byte {at:,}")
            if bar is not None:
                bar.show(at)
    _remember(key, None)
    file_id = client.uploads.get(id).file_id
    assert file_id is not None  # of an upload that is whole
    return file_id


def _place() -> Path:
    return installations.registry(os.environ).with_name("uploads.json")


def _remembered() -> dict[str, str]:
    """Unfinished uploads of this user, by server and file."""
    try:
        kept = json.loads(_place().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(id) for key, id in kept.items()} if isinstance(kept, dict) else {}


def _remember(key: str, id: str | None) -> None:
    """Record an unfinished upload, or remove its record. Without a record, an interrupted upload starts again."""
    kept = _remembered()
    kept.pop(key, None)
    if id is not None:
        kept[key] = id
    place = _place()
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside.write_text(json.dumps(dict(list(kept.items())[-_MAX_REMEMBERED:])), "utf-8")
        beside.replace(place)
    except OSError:
        beside.unlink(missing_ok=True)
