"""Progress drawn on a terminal: finished turns stay, the current one has a spinner."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich import markup
from rich.console import Console
from rich.status import Status

from assay.commands.describe import Attempts, describe
from assay.commands.session import visible
from assay.events import JobEvent
from shared.amounts import amount

_COLOURS = {"+": "green", "-": "red"}
_BLOCKS = {"ok": "[green]✓[/]", "fresh": "[dim]✓[/]", "skipped": "[yellow]-[/]", "error": "[red]✗[/]"}
_MARKS = {"job_succeeded": "[green]✓[/]", "job_failed": "[red]✗[/]", "job_dead": "[red]✗[/]"}


def escape(text: str) -> str:
    """Neither markup of ours nor a sequence that the terminal obeys."""
    return markup.escape(visible(text))


class Live:
    def __init__(self, job_id: str) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status = Status(f"job {job_id} is queued", console=self._console)
        self._began = time.monotonic()
        self._calls = 0
        self._attempts = Attempts()

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._status.stop()

    def pause(self) -> None:
        """Draw no longer: a program writes to the terminal itself."""
        self._status.stop()

    def tell(self, event: JobEvent) -> None:
        line = describe(event)
        if event.type == "llm_call":
            self._calls += 1
        elif event.type == "thinking":
            self._status.update(escape(str(event.data.get("message", ""))))
            return
        elif event.type == "block_started":
            self._status.update(escape(f"running {event.data.get('block_id', '')}"))
            return
        elif event.type == "block_finished" and line is not None:
            mark = _BLOCKS.get(str(event.data.get("status")), "[blue]•[/]")
            self._console.print(f"{mark} {escape(line.strip().partition(' ')[2])}")
        elif line is not None and event.type not in ("job_queued", "job_started"):
            self._console.print(f"{_MARKS.get(event.type, '[blue]•[/]')} {escape(line)}")
            for code in self._attempts.lines(event):
                self._console.print(escape(code), style=_COLOURS.get(code.lstrip()[:1], "dim"))
        seconds = time.monotonic() - self._began
        self._status.update(f"running, {amount(self._calls, 'model call')}, {seconds:.0f} s")
