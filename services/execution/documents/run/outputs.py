"""What a chunk has shown, in order: what it printed, what it displayed, what its last expression is worth."""

from __future__ import annotations

import re

from services.execution.execute import save_display
from services.execution.sandbox.run import Outcome
from shared.contracts.execute import Display, ValueView, Verdict
from shared.jobs.job import Files

_MAX_TEXT, _MAX_PARTS = 100_000, 1000
_COLOR = re.compile(r"\\x1b\[[\d;]*[mK]")
#: What ``clear_output`` prints: it takes back what was printed before, the second one only where more follows.
#: The sandbox has written the escape sign as text.
_CLEARED, _CLEARED_BEFORE_MORE = r"\x1b[2J", r"\x1b[2J\x1b[s"


def outputs_of(outcome: Outcome, files: Files, name: str) -> list[Display]:
    """Return the outputs of a run; what is not text becomes a file of that name."""
    outputs: list[Display] = []
    if stdout := on_screen(outcome.stdout)[:_MAX_TEXT]:
        outputs.append(Display(media_type="text/plain", text=stdout, source="stdout"))
    if outcome.stderr and outcome.verdict is Verdict.OK:
        outputs.append(Display(media_type="text/plain", text=on_screen(outcome.stderr)[:_MAX_TEXT], source="stderr"))
    displays = [save_display(files, f"{name}-{number}", shown) for number, shown in enumerate(outcome.displays, 1)]
    if outcome.value is None or not is_something(outcome.value):
        return outputs + displays
    plain = outcome.value.text
    if not any(each.source == "value" for each in displays):
        displays.append(Display(media_type="text/plain", text=plain, source="value"))
    return outputs + [
        each.model_copy(update={"plain": plain}) if each.source == "value" and each.text != plain else each
        for each in displays
    ]


def is_something(value: ValueView) -> bool:
    return value.type not in ("NoneType", "NULL", "undefined", "null")


def on_screen(text: str) -> str:
    """Return what a terminal would still show of a text: less what was cleared, or written over after a ``\\r``."""
    before, mark, after = text.rpartition(_CLEARED_BEFORE_MORE)
    if mark:
        text = after if after.strip() else before
    text = _COLOR.sub("", text.rpartition(_CLEARED)[2])
    return "\n".join(map(_overwritten, text.replace("\r\n", "\n").split("\n"))) if "\r" in text else text


def _overwritten(line: str) -> str:
    """Return a line as its carriage returns leave it: a later part covers the beginning of the earlier ones."""
    shown = ""
    for part in line.split("\r")[-_MAX_PARTS:]:
        shown = part + shown[len(part) :]
    return shown
