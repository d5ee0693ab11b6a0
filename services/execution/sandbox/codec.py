"""How requests, values and tables look to a language: here as JSON and Arrow; others override what they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.execution.sandbox.protocol.wire import Json, Message, frame

# Arrow has no types for its arrays here, so those values are Any.

_MOST_LOSSES = 5


@dataclass(frozen=True)
class Sent:
    """The fields that set a variable, and the file that goes before them."""

    typed: Mapping[str, Json]
    file: Path | None = None


class Codec:
    """For a guest that decodes exact values (``protocol.exact``) from JSON and reads Arrow files by itself."""

    def request(self, message: Message) -> bytes:
        """A request in the notation that the guest reads."""
        return frame(message)

    def value(self, exact: Json) -> Sent:
        """An exact value on its way in."""
        return Sent({"kind": "json", "exact": exact})

    def table(self, table: Path, target: Path) -> Sent:
        """An Arrow file on its way into a variable; what has to be written goes to ``target``. Raises: KernelError."""
        file, described = self.written(table, target)
        return Sent({"kind": "table", **described}, file)

    def written(self, table: Path, target: Path) -> tuple[Path, Mapping[str, Json]]:
        """An Arrow file as a file that the guest reads, and what it must know about it. Raises: KernelError."""
        del target
        return table, {}

    def brought(self, claimed: Mapping[str, Json], content: Path, target: Path) -> Path | None:
        """A table that came out, as an Arrow file that is still to be checked; ``None`` when it cannot be one."""
        del claimed, target
        return content

    def losses(self, table: Path) -> tuple[str, ...]:
        """What of a table the language has no word for, in plain words, column by column."""
        import pyarrow.ipc  # noqa: PLC0415 - heavy, and only needed here

        with pyarrow.memory_map(str(table)) as source:
            content = pyarrow.ipc.open_file(source).read_all()
            losses = [
                f"column {name[:80]}: {loss}"
                for name, column in zip(content.column_names, content.columns, strict=True)
                if (loss := self.column_loss(column))
            ]
        return (*losses, *self.name_losses(content.column_names))[:_MOST_LOSSES]

    def column_loss(self, column: Any) -> str | None:
        """What is lost of one Arrow column."""
        del column
        return None

    def name_losses(self, names: Sequence[str]) -> list[str]:
        """What is lost of the columns' names."""
        del names
        return []
