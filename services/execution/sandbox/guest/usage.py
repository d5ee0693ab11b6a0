"""What a run uses, and whether it still may: readings of the meter since the run, or its last call, began."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass

from services.execution.sandbox.guest.meter import FairShare, Meter, Reading
from services.execution.sandbox.protocol.wire import Message

_PAGE_KB = 4  #: whatever ran has touched a page
_STARTING_KB = 8192  #: that a fork may add before it becomes another program


@dataclass(frozen=True)
class Allowance:
    """The limits of a run, and its usage when it began."""

    deadline: float
    cpu_seconds: float
    memory_kb: int  #: beyond what was there when the run began
    begun_kb: int
    forked: bool  #: from the warm interpreter
    tasks: int
    refused: bool  #: beyond that number the kernel refuses; if not, the run is ended
    interval: float

    def exceeded(self, now: Reading, fair: FairShare, at_once: bool = False) -> str | None:
        """Return the exceeded limit, or None; ``at_once`` if there will be no further check."""
        if now.cpu_seconds > self.cpu_seconds:
            return "cpu"
        if time.monotonic() >= self.deadline:
            return "wall"
        if not self.refused and now.tasks > self.tasks:
            return "processes"
        if now.memory_kb <= self.begun_kb + self.memory_kb:
            return None
        alone = now.processes == 1
        return "memory" if alone or fair.over(self.memory_kb, self.begun_kb, self.forked, at_once) else None


class JobUsage:
    """Readings of one job: processor time of the last call, memory of all that its code has added so far."""

    def __init__(self, meter: Meter, job: int, forked: bool) -> None:
        """Set up the usage of a job that is ``forked`` from the warm interpreter, or a separate program."""
        self._meter = meter
        self._job = job
        self.first = Reading(0, 0, 0, 0, 0.0)
        self.crowded = False  #: it had as many tasks as it may have
        self._begun_cpu = 0.0
        self._peak_kb = 0
        self._begun_resident_kb = 0
        self._most_resident_kb = 0  #: of a process that has ended
        # What a program replaced when it was started counts in its process's maximum: below that nothing is known.
        self._unknown_kb = 0 if forked else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def begin(self) -> None:
        """Record the start of the run."""
        self.first = self._meter.read()
        self.count_anew(self.first)
        self._begun_resident_kb = self._meter.forget_most_resident(self._job)

    def count_anew(self, now: Reading) -> None:
        """Restart the count at the end of one call, not at the next request: its code may be faster than that
        message.
        """
        self._begun_cpu, self._peak_kb = now.cpu_seconds, now.added_kb

    def look(self, allowed: Allowance) -> Reading:
        now = self._meter.read()
        self._peak_kb = max(self._peak_kb, now.added_kb, self.first.added_kb + self._added_resident_kb())
        self.crowded = self.crowded or now.tasks >= allowed.tasks
        return now

    def add_ended(self, resident_kb: int) -> None:
        """Record a process that has ended with this maximum of resident memory."""
        self._most_resident_kb = max(self._most_resident_kb, resident_kb)

    def report(self, now: Reading) -> Message:
        """Return the usage of the run, or of a session's last call; memory is all that the code has added so far.

        The kernel's own maximum covers what came and went between two checks. It counts resident pages: a page that a
        fork shares with the warm interpreter counted before the run already, and is not added.
        """
        most = self._meter.most_resident_kb(self._job)
        if self._most_resident_kb > self._unknown_kb + _STARTING_KB:
            most = max(most, self._most_resident_kb)
        added = max(self._peak_kb - self.first.added_kb, most - self._begun_resident_kb, _PAGE_KB)
        return {"cpu_ms": max(0.0, now.cpu_seconds - self._begun_cpu) * 1000, "peak_mb": added / 1024}

    def _added_resident_kb(self) -> int:
        """Return the memory added by a separate program, whose maximum is lost with it."""
        return self._meter.most_resident_kb(self._job) - self._begun_resident_kb if self._unknown_kb else 0
