"""What a transform may use; the worker reads it once and passes it down."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.contracts.execute import Limits


def _reading() -> Limits:
    return Limits(wall_seconds=120, cpu_seconds=120, memory_mb=4096, disk_mb=2048, output_bytes=4_000_000)


def _code() -> Limits:
    return Limits(wall_seconds=60, cpu_seconds=60, memory_mb=2048, disk_mb=1024)


def _look() -> Limits:
    return Limits(wall_seconds=20, cpu_seconds=20, memory_mb=2048)


@dataclass(frozen=True)
class TransformLimits:
    """Bounds of the parts of a transform."""

    read: Limits = field(default_factory=_reading)
    code: Limits = field(default_factory=_code)
    look: Limits = field(default_factory=_look)
    input_bytes: int = 1_000_000_000  #: of one file
    probes: int = 8
    nudges: int = 3
    feedback_characters: int = 4000  #: of an error or of printed output in a message to the model
    table_rows: int = 50  #: of the result that stand in the answer
