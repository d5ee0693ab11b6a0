"""Events in words: one line each, whatever a service puts into them."""

from __future__ import annotations

from typing import Any

import pytest

from assay.commands.describe import Attempts, describe, first_line
from assay.commands.live import escape
from assay.commands.session import visible
from assay.events import JobEvent


def _said(type: str, **data: Any) -> str | None:
    return describe(JobEvent(type, "j1", 1, "", data))


_TRACE = "Traceback (most recent call last):"
_PAIR = {"from": {"provider": "groq", "model": "a/b"}, "to": {"provider": "c", "model": "d"}}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            _said("turn_taken", number=2, outcome={"outcome": "error", "message": f"{_TRACE}\n x\nKeyError: 1"}),
            "turn 2: error: KeyError: 1",
        ),
        (_said("turn_taken", number=1, outcome={"outcome": "done"}), "turn 1: done"),
        (_said("turn_taken", number=1, outcome=None), "turn 1"),
        (_said("turn_taken", number=1, outcome=[{"success": True}, {"success": True}]), "turn 1: 2 of 2 calls done"),
        (
            _said("turn_taken", number=1, outcome=[{"success": True}, {"success": False, "error": "Node x not found"}]),
            "turn 1: 1 of 2 calls done: Node x not found",
        ),
        (_said("failover", **_PAIR, cause="x"), "  failover: groq/a/b -> c/d x"),
        (_said("progress", done=3, total=9), "  3 of 9"),
        (_said("progress"), None),
        (_said("block_started", block_id="b"), None),
        (_said("block_finished", block_id="b", status="ok", seconds=0.25, lines=[3, 5]), "  ok line 3 b 0.25 s"),
        (
            _said("block_finished", block_id="b", status="error", seconds=1, lines=[3, 3], message="No.\nWhy"),
            "  error line 3 b 1.00 s: No.",
        ),
        (_said("job_failed", code="budget_spent"), "failed j1: budget_spent"),
        (_said("output", text="x"), None),
        (_said("novelty", message="something\nnew"), "  something"),
    ],
)  # fmt: skip
def test_an_event_is_told_in_one_line(said: str | None, expected: str | None) -> None:
    assert said == expected


def test_long_lines_are_cut() -> None:
    assert len(first_line("x" * 1000)) == 160
    assert first_line("\n\n") == ""


def test_the_first_attempt_is_shown_whole_and_the_next_as_a_difference() -> None:
    attempts = Attempts()
    first = JobEvent("turn_taken", "j1", 1, "", {"proposal": {"code": "a = 1\nresult = a"}})
    second = JobEvent("turn_taken", "j1", 2, "", {"proposal": {"code": "a = 2\nresult = a\n"}})
    assert attempts.lines(first) == ["    a = 1", "    result = a"]
    assert attempts.lines(second) == ["    -a = 1", "    +a = 2", "     result = a"]
    assert attempts.lines(JobEvent("turn_taken", "j1", 3, "", {"proposal": "DONE"})) == []


def test_a_terminal_obeys_nothing_that_a_name_or_an_output_holds() -> None:
    assert visible("plain\ttext\r\n\x1b[1;31mred\x1b[0m") == "plain\ttext\r\n\x1b[1;31mred\x1b[0m"
    assert visible("\x1b]0;title\x07a\x1b[2Jb\rc\x9bd\u202ee") == r"\x1b]0;title\x07a\x1b[2Jb\rc\x9bd\u202ee"
    assert escape("[red]\x1b[2J") == r"\[red]\x1b[2J"
