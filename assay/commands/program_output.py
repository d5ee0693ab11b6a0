"""What a program prints, passed on while it runs, and completed from the result when it has ended."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from assay.commands.session import visible

if TYPE_CHECKING:
    from assay.events import JobEvent

_STREAMS = ("stdout", "stderr")


@dataclass
class _Stream:
    """One stream of one job: what has been shown, and the progress of the current run."""

    name: str
    shown: str = ""
    run: str = ""
    mid_line: bool = False

    def start(self) -> None:
        """Begin another run of the job; output that it repeats is not shown again."""
        self.run = ""

    def add(self, text: str) -> None:
        self.run += text
        if self.shown.startswith(self.run):
            return  # an earlier run has printed it, too
        if not self.run.startswith(self.shown):  # this one prints something else: it is shown whole
            self.end_line()
            self.shown = ""
        self._show(self.run[len(self.shown) :])

    def finish(self, whole: str) -> None:
        """Show what of the result's text has not been shown, and end its line."""
        pairs = enumerate(zip(self.shown, whole, strict=False))
        differs = next((at for at, (shown, final) in pairs if shown != final), min(len(self.shown), len(whole)))
        self._show(whole[differs:])
        self.end_line()

    def end_line(self) -> None:
        if self.mid_line:
            self._write("\n")

    def _show(self, text: str) -> None:
        self.shown += text
        if text:
            self._write(text)

    def _write(self, text: str) -> None:
        self.mid_line = not text.endswith("\n")
        file = self._file
        file.write(visible(text) if file.isatty() else text)
        file.flush()

    @property
    def _file(self) -> TextIO:
        return sys.stdout if self.name == "stdout" else sys.stderr


@dataclass
class Printed:
    """Both streams of one job."""

    _streams: dict[str, _Stream] = field(default_factory=lambda: {name: _Stream(name) for name in _STREAMS})

    def take(self, event: JobEvent) -> bool:
        """Show what the event says was printed; whether it said so."""
        if event.type == "job_started":
            for stream in self._streams.values():
                stream.start()
        stream_named = self._streams.get(str(event.data.get("stream"))) if event.type == "output" else None
        if stream_named is not None:
            stream_named.add(str(event.data.get("text", "")))
        return event.type == "output"

    def end_line(self) -> None:
        """End an open line before something else is written to the terminal."""
        for stream in self._streams.values():
            stream.end_line()

    def finish(self, result: dict[str, Any]) -> None:
        """Show the rest: events hold the first 256,000 characters at most."""
        for name, stream in self._streams.items():
            stream.finish(result[name])
