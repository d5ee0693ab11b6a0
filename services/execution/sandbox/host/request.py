"""A run as the two sides of its sandbox hear it: init gets limits and files, the kernel gets the code."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from services.execution.sandbox.host.scratch import TemporaryFolder
from services.execution.sandbox.language import LanguageSpec
from services.execution.sandbox.protocol.wire import Json, Message
from services.execution.sandbox.run import Run

ARTIFACTS = 20
ARTIFACT_BYTES = 50_000_000


class PreparedRun:
    """The messages of a run and the open files that go with them."""

    def __init__(
        self, run: Run, spec: LanguageSpec, folder: TemporaryFolder, opened: Callable[[Path], int] | None = None
    ) -> None:
        """Prepare a run; ``opened`` opens a table without its path on this machine, and is optional without tables."""
        self._run = run
        self._spec = spec
        self._folder = folder
        self._opened = opened
        self.descriptors: list[int] = []
        self.start: Message = {}
        self.request: Message = {}
        self.given_mb = 0

    def __enter__(self) -> PreparedRun:
        run = self._run
        files: list[Json] = []
        frames: list[Json] = []
        passed: list[int] = []
        for path, source in run.files.items():
            files.append({"root": "work", "path": path})
            self.descriptors.append(os.open(source, os.O_RDONLY | os.O_CLOEXEC))
        mapped = self._spec.frames == "mapped"
        for number, (name, frame) in enumerate(run.frames.items()):
            described: dict[str, Json] = {"name": name, "dataframe": frame.dataframe}
            if mapped:
                assert self._opened is not None
                passed.append(self._opened(frame.path))
            else:
                target = self._folder.path / f"frame-{number}"
                source, described_more = self._spec.codec.written(frame.path, target)
                files.append({"root": "given", "path": f"{number}.table"})
                self.descriptors.append(os.open(source, os.O_RDONLY | os.O_CLOEXEC))
                described |= {"path": f"/store/given/{number}.table", **described_more}
            frames.append(described)
        self.given_mb = sum(os.fstat(descriptor).st_size for descriptor in self.descriptors) >> 20
        self.descriptors += passed
        limits = run.limits
        self.start = {
            "t": "start",
            "files": files,
            "wall_seconds": limits.wall_seconds,
            "cpu_seconds": limits.cpu_seconds,
            "memory_mb": limits.memory_mb,
            "processes": limits.processes,
            "disk_mb": limits.disk_mb,
            "until": run.until,
            "collect": [ARTIFACTS, run.artifact_mb * 1_000_000] if run.collect else [0, 0],
        }
        self.request = {
            "op": "execute",
            "code": run.code.removeprefix("\ufeff"),  # as some editors begin a file
            "take": run.take,
            "seed": run.seed,
            "frames": frames,
            "passed": len(passed),
            "once": True,
            "until": run.until,
            "memory_mb": limits.memory_mb,
        }
        return self

    def __exit__(self, *_error: object) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
