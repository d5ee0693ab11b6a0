"""What a job reads: its tenant's files, where the code expects them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shared.contracts.execute import InputFile
from shared.jobs.job import Files


def fetch_files(files: Files, listed: Sequence[InputFile], folder: Path) -> dict[str, Path]:
    """Place a request's files in the folder; return them by the paths that they have for the code. Raises: NotFound."""
    if listed:
        folder.mkdir(exist_ok=True)
    fetched: dict[str, Path] = {}
    for number, file in enumerate(listed):
        fetched[file.path] = folder / f"file-{number}"
        files.fetch(file.id, fetched[file.path])
    return fetched
