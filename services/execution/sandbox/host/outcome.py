"""What leaves the sandbox, checked on this side: files as bytes, claims as bounded text."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import cast

from services.execution.sandbox.host.cgroups import Counted
from services.execution.sandbox.host.scratch import TemporaryFolder
from services.execution.sandbox.host.streams import both, escaped
from services.execution.sandbox.host.supervise import Facts
from services.execution.sandbox.host.verdict import judge
from services.execution.sandbox.language import Codec
from services.execution.sandbox.protocol.wire import Json, Message
from services.execution.sandbox.run import Frame, Isolation, Outcome, Product, Run, Shown
from shared.contracts.execute import Limits, RunUsage, ValueView, Verdict

_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]{1,80}")
_DISPLAY_BYTES = 50_000_000
_TABLE_BYTES = 320 << 20
_VIEW = 12_000

Check = Callable[[Path], bool]


def bring_out(
    run: Run,
    codec: Codec,
    facts: Facts,
    counted: Counted,
    folder: TemporaryFolder,
    isolation: Isolation,
    check: Check,
) -> Outcome | None:
    """Return the outcome of a run, its table only if ``check`` accepts it; ``None`` when the sandbox broke.

    Files are copied out of a sandbox that lives on; those of a dead one last as long as ``facts``.
    """
    judgement = judge(facts, counted)
    if judgement is None:
        return None
    stdout, stderr, truncated = both(facts.stdout, facts.stderr, run.limits.output_bytes)
    result = facts.result if judgement.verdict is Verdict.OK else {}
    files = _Files(facts, folder)
    notes = list(facts.refused) if run.collect else []
    displays = files.displays(notes, placed=not truncated) if run.collect else []
    if judgement.verdict is Verdict.OK and not result:
        notes.append("the value: the code has closed its way out, or changed what writes it")
    table = files.take(result.get("table"), _TABLE_BYTES)
    if table is not None:
        table = codec.brought(result, table, folder.path / f"{table.name}.arrow")
        if table is None or not check(table):
            table = None
            notes.append("the table: it is too large or does not hold together")
    return Outcome(
        verdict=judgement.verdict,
        stdout=stdout,
        stderr=stderr,
        truncated=truncated,
        error=judgement.error,
        value=view_of(result.get("value")),
        result_class=_text(result.get("class")),
        table=table,
        plot=files.plot(result),
        displays=tuple(displays),
        artifacts=tuple(files.artifacts()) if run.collect else (),
        refused=tuple(notes),
        usage=_usage(facts),
        isolation=isolation,
    )


def _usage(facts: Facts) -> RunUsage:
    ended = facts.settled or facts.ended or {}
    wall = (facts.ended_at - facts.started_at) * 1000
    return RunUsage(
        wall_ms=round(wall, 3),
        cpu_ms=round(float(cast("float", ended.get("cpu_ms", 0.0))), 3),
        peak_memory_mb=round(float(cast("float", ended.get("peak_mb", 0.0))), 3),
    )


def view_of(claimed: Json) -> ValueView | None:
    """Return a value view as the kernel claims it, bounded; ``None`` for anything else."""
    if not isinstance(claimed, dict):
        return None
    shape = claimed.get("shape")
    sizes = [size for size in shape if isinstance(size, int)][:32] if isinstance(shape, list) else None
    text = escaped(str(claimed.get("text", "")))[:_VIEW]
    return ValueView(type=escaped(str(claimed.get("type", "")))[:200], shape=sizes, text=text)


def _text(value: Json) -> str | None:
    return escaped(value)[:200] if isinstance(value, str) else None


class _Files:
    """Finds what is wanted among the sandbox's files, and copies it into a folder of ours while the sandbox lives."""

    def __init__(self, facts: Facts, folder: TemporaryFolder) -> None:
        self._facts = facts
        self._folder = folder
        self._count = 0
        self._display_bytes = 0

    def take(self, name: Json, most_bytes: int) -> Path | None:
        """Return an output file, by the name that the kernel claims for it."""
        if not isinstance(name, str) or name not in self._facts.out:
            return None
        size, descriptor = self._facts.out[name]
        return self._path(descriptor, size) if size <= most_bytes else None

    def _path(self, source: int, size: int) -> Path:
        opened = Path(f"/proc/self/fd/{source}")
        # The code may have closed its file to everyone; the descriptor is open all the same.
        if not self._facts.alive and os.access(opened, os.R_OK):
            return opened
        self._count += 1
        target = self._folder.path / str(self._count)
        with target.open("xb") as handle:
            offset = 0
            while offset < size:
                sent = os.sendfile(handle.fileno(), source, offset, size - offset)
                if sent == 0:
                    break
                offset += sent
        return target

    def plot(self, result: Mapping[str, Json]) -> Shown | None:
        content = self.take(result.get("plot"), _DISPLAY_BYTES)
        media_type = result.get("plot_type")
        if content is None or media_type not in ("image/png", "image/svg+xml"):
            return None
        return Shown(media_type=str(media_type), content=content)

    def displays(self, notes: list[str], *, placed: bool) -> list[Shown]:
        """Return the displays, in order; ``notes`` lists those left out. ``placed``: with what was printed before."""
        shown: list[Shown] = []
        if any(frame.get("t") == "unshown" for frame in self._facts.shown):
            notes.append("some displays: a run may show 50")
        for frame in self._facts.shown:
            media_type = frame.get("media_type")
            if frame.get("t") != "display" or not isinstance(media_type, str) or not _MEDIA_TYPE.fullmatch(media_type):
                continue
            text, is_value = frame.get("text"), frame.get("value") is True
            printed = self._printed(frame) if placed else None
            if isinstance(text, str):
                shown.append(Shown(media_type, escaped(text), is_value=is_value, printed=printed))
                continue
            content = self.take(frame.get("file"), _DISPLAY_BYTES - self._display_bytes)
            if content is not None:
                self._display_bytes += content.stat().st_size
                shown.append(Shown(media_type, content=content, is_value=is_value, printed=printed))
            else:
                notes.append(f"a display of {media_type}: displays may be {_DISPLAY_BYTES // 1_000_000} MB in all")
        return shown

    def _printed(self, frame: Message) -> tuple[int, int] | None:
        """Return how many characters of standard output and of standard error came before a display, as its kernel has
        counted their bytes.
        """
        claimed = frame.get("printed")
        if not isinstance(claimed, list) or len(claimed) != 2 or not all(isinstance(size, int) for size in claimed):
            return None
        stdout, stderr = (max(0, size) for size in claimed)
        return self._facts.stdout.length(stdout), self._facts.stderr.length(stderr)

    def artifacts(self) -> list[Product]:
        return [Product(path, self._path(descriptor, size), size) for path, size, descriptor in self._facts.files]


def products_of(facts: Facts, folder: TemporaryFolder) -> tuple[Product, ...]:
    """Return the files that a session has handed out, in the folder."""
    return tuple(_Files(facts, folder).artifacts())


_CHECK = "from services.execution.languages.python.guest.soundness import demand_sound; demand_sound(table)"


def holds_together(run: Callable[[Run], AbstractContextManager[Outcome]], table: Path) -> bool:
    """Return whether the file is a whole Arrow IPC file within the limits, however well it is compressed."""
    limits = Limits(memory_mb=2048, wall_seconds=60, cpu_seconds=60)
    frames = {"table": Frame(table, "source")}
    with run(Run("python", _CHECK, frames=frames, limits=limits, collect=False, until="result")) as outcome:
        return outcome.verdict is Verdict.OK
