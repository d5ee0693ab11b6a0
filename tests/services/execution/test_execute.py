"""The execute capability: files in, a verdict, artifacts and displays out, events while it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import BinaryIO, cast

import pytest

from services.execution.execute import Execute
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sessions import Interpreters
from shared.contracts.execute import ExecuteInput, Verdict
from shared.contracts.files import FileInfo
from shared.errors import JobCancelled, NotFound
from shared.jobs.job import Context
from shared.loop import Budget


@dataclass
class Shelf:
    """A tenant's files in a folder."""

    folder: Path
    infos: dict[str, FileInfo] = field(default_factory=dict)

    def info(self, file_id: str) -> FileInfo:
        if file_id not in self.infos:
            raise NotFound("no such file")
        return self.infos[file_id]

    @contextmanager
    def open(self, file_id: str) -> Iterator[BinaryIO]:
        self.info(file_id)
        with (self.folder / file_id).open("rb") as handle:
            yield handle

    def fetch(self, file_id: str, target: Path) -> FileInfo:
        info = self.info(file_id)
        target.write_bytes((self.folder / file_id).read_bytes())
        return info

    def save(self, name: str, content: bytes | Path | BinaryIO, media_type: str) -> FileInfo:
        data = content.read_bytes() if isinstance(content, Path) else content
        assert isinstance(data, bytes)
        file_id = f"file-{len(self.infos)}"
        (self.folder / file_id).write_bytes(data)
        sha = hashlib.sha256(data).hexdigest()
        self.infos[file_id] = FileInfo(id=file_id, name=name, size=len(data), sha256=sha, media_type=media_type)
        return self.infos[file_id]


@dataclass
class Notes:
    """What a job told the outside."""

    outputs: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    heard: Callable[[], None] = lambda: None

    def output(self, stream: str, text: str) -> None:
        self.outputs.append((stream, text))
        self.heard()

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def _context(shelf: Shelf, notes: Notes, cancelled: Event | None = None) -> Context:
    parts: Sequence[object] = (None, None, None, (), shelf, None, Budget(), notes, cancelled or Event())
    return cast("Callable[..., Context]", Context)(*parts)


def test_files_go_in_and_artifacts_displays_warnings_and_events_come_out(sandbox: Sandbox, tmp_path: Path) -> None:
    shelf, notes = Shelf(tmp_path), Notes()
    data = shelf.save("data.csv", b"a,b\n1,2\n3,4\n", "text/csv")
    code = """
import pandas as pd, matplotlib.pyplot as plt, os
frame = pd.read_csv("in/data.csv")
print("rows", len(frame))
display(frame)
frame.plot(x="a", y="b")
plt.savefig("plot.png")
os.symlink("/etc/passwd", "link")
int(frame.b.sum())
"""
    request = ExecuteInput.model_validate(
        {"language": "python", "code": code, "files": [{"id": data.id, "path": "in/data.csv"}]}
    )
    result = Execute(sandbox, Interpreters(sandbox, 0))(_context(shelf, notes), request)
    assert result.verdict is Verdict.OK
    assert result.value is not None
    assert result.value.text == "6"
    assert "".join(text for stream, text in notes.outputs if stream == "stdout") == result.stdout == "rows 2\n"
    assert [display.media_type for display in result.displays] == ["text/html", "image/png"]
    assert result.displays[0].text is not None
    assert "<table" in result.displays[0].text
    assert shelf.info(str(result.displays[1].file_id)).media_type == "image/png"
    assert [(artifact.path, shelf.info(artifact.file_id).media_type) for artifact in result.artifacts] == [
        ("plot.png", "image/png")
    ]
    assert notes.warnings == ["Left inside: link: it is a link"]
    assert result.usage.wall_ms > 0
    assert result.isolation.tier == "ns"


def test_a_missing_file_is_not_found(sandbox: Sandbox, tmp_path: Path) -> None:
    request = ExecuteInput.model_validate({"language": "python", "code": "1", "files": [{"id": "no", "path": "x"}]})
    with pytest.raises(NotFound):
        Execute(sandbox, Interpreters(sandbox, 0))(_context(Shelf(tmp_path), Notes()), request)


def test_output_is_heard_while_the_program_runs_and_cancelling_ends_it(sandbox: Sandbox, tmp_path: Path) -> None:
    cancelled = Event()
    notes = Notes(heard=lambda: Thread(target=cancelled.set).start())
    request = ExecuteInput.model_validate(
        {"language": "python", "code": "print('on')\nwhile True: pass", "limits": {"wall_seconds": 100}}
    )
    with pytest.raises(JobCancelled):
        Execute(sandbox, Interpreters(sandbox, 0))(_context(Shelf(tmp_path), notes, cancelled), request)
    assert notes.outputs == [("stdout", "on\n")]
