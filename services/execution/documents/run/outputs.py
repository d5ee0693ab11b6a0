"""What a chunk has shown, in order: what it printed, what it displayed, what its last expression is worth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
    """Return the outputs of a run in the order of their showing; what is not text becomes a file of that name."""
    stderr = outcome.stderr if outcome.verdict is Verdict.OK else ""
    cut = (len(outcome.stdout), len(stderr))  # all of it is before the first display then
    ends = [cut if shown.printed is None else shown.printed for shown in outcome.displays]
    stdout_parts = _printed_between(outcome.stdout, [end for end, _ in ends])
    stderr_parts = _printed_between(stderr, [end for _, end in ends])
    outputs = [*_printed(stdout_parts[0], stderr_parts[0])]
    for number, shown in enumerate(outcome.displays, 1):
        outputs += [
            save_display(files, f"{name}-{number}", shown),
            *_printed(stdout_parts[number], stderr_parts[number]),
        ]
    if outcome.value is None or not is_something(outcome.value):
        return outputs
    plain = outcome.value.text
    if not any(each.source == "value" for each in outputs):
        outputs.append(Display(media_type="text/plain", text=plain, source="value"))
    return [
        each.model_copy(update={"plain": plain}) if each.source == "value" and each.text != plain else each
        for each in outputs
    ]


def _printed(stdout: str, stderr: str) -> Iterator[Display]:
    if stdout:
        yield Display(media_type="text/plain", text=stdout, source="stdout")
    if stderr:
        yield Display(media_type="text/plain", text=stderr, source="stderr")


def _printed_between(text: str, ends: Sequence[int]) -> list[str]:
    """Return what was printed before the first display, before each later one, and after the last, as a terminal would
    still show it. ``ends``: the characters of the text before each display.
    """
    parts = [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    cleared = max((number for number, part in enumerate(parts) if _uncleared(part) != part), default=0)
    space = _MAX_TEXT
    for number, part in enumerate(parts):
        parts[number] = on_screen(part)[:space] if number >= cleared else ""
        space -= len(parts[number])
    return parts


def is_something(value: ValueView) -> bool:
    return value.type not in ("NoneType", "NULL", "undefined", "null")


def on_screen(text: str) -> str:
    """Return what a terminal would still show of a text: less what was cleared, or written over after a ``\\r``."""
    text = _COLOR.sub("", _uncleared(text))
    return "\n".join(map(_overwritten, text.replace("\r\n", "\n").split("\n"))) if "\r" in text else text


def _uncleared(text: str) -> str:
    """Return what ``clear_output`` has left of a text."""
    before, mark, after = text.rpartition(_CLEARED_BEFORE_MORE)
    if mark:
        text = after if after.strip() else before
    return text.rpartition(_CLEARED)[2]


def _overwritten(line: str) -> str:
    """Return a line as its carriage returns leave it: a later part covers the beginning of the earlier ones."""
    shown = ""
    for part in line.split("\r")[-_MAX_PARTS:]:
        shown = part + shown[len(part) :]
    return shown
