"""From what was observed to a verdict: the limit that was hit first names it, and no claim outweighs what was seen."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

from services.execution.sandbox.host.cgroups import Counted
from services.execution.sandbox.host.supervise import Facts
from services.execution.sandbox.host.verdict import judge
from services.execution.sandbox.protocol.wire import Json, Message
from shared.contracts.execute import Verdict

_FINE: Message = {"t": "result", "error": None}
_BROKEN: Message = {"t": "result", "error": {"type": "E", "message": "m", "traceback": "", "limit": None}}


def ended(reason: str = "exit", status: int = 0, **more: Json) -> Facts:
    """Return the facts of a single use that init has seen end; ``status`` is what wait returns."""
    message = {"t": "ended", "reason": reason, "status": status, "crowded": False, "full": False, **more}
    return replace(Facts.empty(), ended=message)


def settled(outcome: str | None, once: bool = True, **more: Json) -> Facts:
    """Of a call whose kernel rests: ``outcome`` is what init saw."""
    message = {"t": "settled", "outcome": outcome, "checksum": None, "crowded": False, "full": False, **more}
    return replace(Facts.empty(), settled=message, once=once)


def verdict_of(facts: Facts, counted: Counted | None = None, result: Message | None = None) -> Verdict | None:
    judgement = judge(replace(facts, result=result or {}), counted or Counted())
    return None if judgement is None else judgement.verdict


@pytest.mark.parametrize(
    ("facts", "result", "verdict"),
    [
        (settled("returned"), _FINE, Verdict.OK),
        (settled("returned"), None, Verdict.OK),
        (settled("raised"), _FINE, Verdict.USER_ERROR),
        (settled("raised"), None, Verdict.USER_ERROR),
        (settled("raised", full=True), None, Verdict.DISK),
        (settled("raised", crowded=True), None, Verdict.PROCESSES),
        (settled("raised", full=True), _BROKEN, Verdict.DISK),
        (replace(settled("returned"), cut_short=True), _FINE, Verdict.REJECTED),
        (replace(settled("returned"), rejected=True), _FINE, Verdict.REJECTED),
        (replace(settled("returned", checksum=7), checksum=7), _FINE, Verdict.OK),
        (replace(settled("returned", checksum=7), checksum=8), _FINE, Verdict.REJECTED),
        (replace(settled("raised", checksum=7), checksum=8), _FINE, Verdict.REJECTED),
        (settled("returned", checksum=0), None, Verdict.OK),
        (settled("returned", checksum=7), None, Verdict.REJECTED),
        (replace(settled("returned", checksum=9), checksum=7, mark=2), _FINE, Verdict.OK),
        (replace(settled("returned", checksum=7), checksum=7, mark=2), _FINE, Verdict.REJECTED),
        (replace(settled("returned", checksum=1), checksum=7, mark=1997), _FINE, Verdict.OK),
        (replace(settled("returned", checksum=2), mark=2), None, Verdict.OK),
        (replace(settled("raised", checksum=2), mark=3), None, Verdict.REJECTED),
        (replace(settled("returned"), overdue=True), _FINE, Verdict.TIMEOUT_WALL),
        (replace(settled(None), sealed="returned"), _FINE, Verdict.OK),
        (replace(settled(None), sealed="raised"), _FINE, Verdict.USER_ERROR),
        (replace(settled("raised"), sealed="returned"), _FINE, Verdict.USER_ERROR),
        (replace(settled("returned"), ended=ended("settled", signal.SIGKILL).ended), _FINE, Verdict.OK),
        (replace(settled("raised"), ended=ended("settled", signal.SIGKILL).ended), _FINE, Verdict.USER_ERROR),
        (ended(), _FINE, Verdict.USER_ERROR),
        (ended(), None, Verdict.USER_ERROR),
        (ended(), _BROKEN, Verdict.USER_ERROR),
        (ended(status=3 << 8), _FINE, Verdict.USER_ERROR),
        (ended(status=3 << 8, full=True), None, Verdict.DISK),
        (ended(status=3 << 8, crowded=True), None, Verdict.PROCESSES),
        (ended(status=signal.SIGSEGV), _FINE, Verdict.SIGNAL),
        (ended(status=signal.SIGXCPU), None, Verdict.TIMEOUT_CPU),
        (ended(status=signal.SIGXFSZ), None, Verdict.DISK),
        (ended("wall", signal.SIGKILL), _FINE, Verdict.TIMEOUT_WALL),
        (ended("cpu", signal.SIGKILL), _FINE, Verdict.TIMEOUT_CPU),
        (ended("memory", signal.SIGKILL), _FINE, Verdict.MEMORY),
        (ended("uncounted", signal.SIGKILL), _FINE, Verdict.REJECTED),
        (replace(ended(), flooded=True), _FINE, Verdict.OUTPUT),
        (replace(ended(), rejected=True), _FINE, Verdict.REJECTED),
        (replace(ended(), cut_short=True), _FINE, Verdict.REJECTED),
        (replace(ended(status=signal.SIGSEGV), cut_short=True), None, Verdict.SIGNAL),
        (replace(ended("wall", signal.SIGKILL), cut_short=True), None, Verdict.TIMEOUT_WALL),
        (replace(Facts.empty(), rejected=True), None, Verdict.REJECTED),
        (ended(status=1 << 8), _BROKEN, Verdict.USER_ERROR),
        (ended(status=1 << 8), None, Verdict.USER_ERROR),
        (replace(Facts.empty(), overdue=True), None, Verdict.TIMEOUT_WALL),
        (ended("stopped", signal.SIGKILL), None, None),
        (Facts.empty(), None, None),
    ],
)
def test_what_ended_the_program_names_the_verdict(facts: Facts, result: Message | None, verdict: Verdict) -> None:
    assert verdict_of(facts, result=result) is verdict


@pytest.mark.parametrize(
    ("limit", "verdict"), [("memory", Verdict.MEMORY), ("disk", Verdict.DISK), ("processes", Verdict.PROCESSES)]
)
def test_an_error_may_speak_of_a_limit(limit: str, verdict: Verdict) -> None:
    error: Json = {"type": "E", "message": "m", "traceback": "", "limit": limit}
    assert verdict_of(settled("raised"), result={"t": "result", "error": error}) is verdict


@pytest.mark.parametrize(
    "facts", [ended("wall", signal.SIGKILL), ended(status=signal.SIGKILL), replace(Facts.empty(), overdue=True)]
)
def test_what_waits_for_processes_that_were_killed_for_memory_is_ended_by_memory(facts: Facts) -> None:
    assert verdict_of(facts, Counted(memory_kills=3)) is Verdict.MEMORY


@pytest.mark.parametrize(("outcome", "verdict"), [("returned", Verdict.OK), ("raised", Verdict.USER_ERROR)])
def test_a_session_that_lives_on_is_judged_by_what_init_saw_and_not_by_its_reply(
    outcome: str, verdict: Verdict
) -> None:
    lives = replace(settled(outcome, once=False), alive=True)
    assert verdict_of(lives, result=_FINE) is verdict
    assert verdict_of(lives, result={**_FINE, "exit": 3}) is verdict
    assert verdict_of(lives, result=_BROKEN) is Verdict.USER_ERROR


def test_an_interpreter_that_ends_says_so_with_its_status() -> None:
    judgement = judge(replace(ended(status=0), once=False), Counted())
    assert judgement is not None
    assert judgement.error is not None
    assert judgement.error.exit_code == 0
    assert "What the session held is gone." in judgement.error.message


def test_a_program_that_goes_on_without_the_process_that_was_killed_is_fine() -> None:
    assert verdict_of(settled("returned"), Counted(memory_kills=1), _FINE) is Verdict.OK


def test_forks_that_were_refused_are_told_by_their_limit() -> None:
    assert verdict_of(settled("returned"), Counted(refused_forks=1), _FINE) is Verdict.PROCESSES
