"""A run as the two sides of its room hear it: the warden gets limits and files, the kernel gets the code."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from services.execution.kernels.wire import Json, Message
from services.execution.sandbox.bridge import given
from services.execution.sandbox.run import Run

ARTIFACTS = 20
ARTIFACT_BYTES = 50_000_000


class Order:
    """The messages of a run and the open files that go with them."""

    def __init__(self, run: Run, scratch: Path | None = None) -> None:
        self._run = run
        self._scratch = scratch
        self.descriptors: list[int] = []
        self.start: Message = {}
        self.request: Message = {}
        self.given_mb = 0
        self._converted: TemporaryDirectory[str] | None = None

    def __enter__(self) -> Order:
        run = self._run
        files: list[Json] = []
        frames: list[Json] = []
        for path, source in run.files.items():
            files.append({"root": "work", "path": path})
            self.descriptors.append(os.open(source, os.O_RDONLY | os.O_CLOEXEC))
        for number, (name, frame) in enumerate(run.frames.items()):
            source, told = given(run.language, frame.path, self._folder() / str(number))
            files.append({"root": "given", "path": f"{number}.table"})
            self.descriptors.append(os.open(source, os.O_RDONLY | os.O_CLOEXEC))
            path = f"/store/given/{number}.table"
            frames.append({"name": name, "path": path, "dataframe": frame.dataframe, **told})
        self.given_mb = sum(os.fstat(descriptor).st_size for descriptor in self.descriptors) >> 20
        limits = run.limits
        self.start = {
            "t": "start",
            "files": files,
            "wall_seconds": limits.wall_seconds,
            "cpu_seconds": limits.cpu_seconds,
            "memory_mb": limits.memory_mb,
            "processes": limits.processes,
            "disk_mb": limits.disk_mb,
            "collect": [ARTIFACTS, ARTIFACT_BYTES] if run.collect else [0, 0],
        }
        self.request = {
            "op": "execute",
            "code": run.code,
            "take": run.take,
            "seed": run.seed,
            "frames": frames,
            "once": True,
            "memory_mb": limits.memory_mb,
        }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
        if self._converted is not None:
            self._converted.cleanup()

    def _folder(self) -> Path:
        """Where tables stand that had to be converted for the language."""
        if self._converted is None:
            self._converted = TemporaryDirectory(prefix="assay-tables-", dir=self._scratch)
        return Path(self._converted.name)
