"""From what was observed to a verdict. PreparedRun matters: the first wall that was hit names it."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from services.execution.sandbox.host.cgroups import Counted
from services.execution.sandbox.host.streams import escaped
from services.execution.sandbox.host.supervise import Facts
from services.execution.sandbox.protocol.wire import Json
from shared.contracts.execute import CodeError, Verdict

_REASONS = {"wall": Verdict.TIMEOUT_WALL, "cpu": Verdict.TIMEOUT_CPU, "memory": Verdict.MEMORY}
_LIMITS = {"memory": Verdict.MEMORY, "disk": Verdict.DISK, "processes": Verdict.PROCESSES}


@dataclass(frozen=True)
class Judgement:
    verdict: Verdict
    error: CodeError | None


def judge(facts: Facts, counted: Counted, result: Mapping[str, Json] | None) -> Judgement | None:
    """``None`` when the sandbox itself broke, so that the run has to be repeated."""
    limit = _limit_hit(facts, counted)
    if limit is not None:
        return Judgement(limit, _plain(limit))
    if facts.answered and result is not None:
        return _of_reply(result)
    if facts.ended is None or facts.ended["reason"] == "stopped":
        return None
    return _of_exit(facts, counted, result, int(cast("int", facts.ended["status"])))


def _limit_hit(facts: Facts, counted: Counted) -> Verdict | None:
    """The limit at which init, or this side, ended the program."""
    if facts.flooded:
        return Verdict.OUTPUT
    if facts.overdue:
        return Verdict.TIMEOUT_WALL
    if facts.ended is not None:
        return _REASONS.get(str(facts.ended["reason"]))
    return Verdict.MEMORY if counted.memory_kills else None


def _of_exit(facts: Facts, counted: Counted, result: Mapping[str, Json] | None, status: int) -> Judgement:
    assert facts.ended is not None
    crowded = bool(counted.refused_forks) or bool(facts.ended["crowded"])
    if os.WIFSIGNALED(status):
        verdict = _of_signal(os.WTERMSIG(status), facts, counted, crowded)
        name = _signal_name(os.WTERMSIG(status)) if verdict is Verdict.SIGNAL else None
        return Judgement(verdict, _plain(verdict, name))
    error = _claimed(result)
    code = os.WEXITSTATUS(status)
    if error is not None and result is not None:
        claim = str(cast("Mapping[str, Json]", result["error"]).get("limit"))
        verdict = _LIMITS.get(claim, Verdict.USER_ERROR)
        if verdict is Verdict.USER_ERROR:
            verdict = _behind_failure(facts, counted, crowded)
        return Judgement(verdict, error)
    if code != 0:
        verdict = _behind_failure(facts, counted, crowded)
        return Judgement(verdict, CodeError(type="Exit", message=f"It exited with status {code}.", exit_code=code))
    if counted.refused_forks:
        return Judgement(Verdict.PROCESSES, _plain(Verdict.PROCESSES))
    return Judgement(Verdict.OK, None)


def _of_reply(result: Mapping[str, Json]) -> Judgement:
    """A session's kernel lives on after its reply, so there is no exit status to look at."""
    error = _claimed(result)
    if error is not None:
        claim = str(cast("Mapping[str, Json]", result["error"]).get("limit"))
        return Judgement(_LIMITS.get(claim, Verdict.USER_ERROR), error)
    code = result.get("exit")
    if isinstance(code, int) and code:
        return Judgement(Verdict.USER_ERROR, CodeError(type="Exit", message=f"It asked to exit with {code}."))
    return Judgement(Verdict.OK, None)


def _behind_failure(facts: Facts, counted: Counted, crowded: bool) -> Verdict:
    """A program that failed while it stood at a limit most likely failed because of it."""
    assert facts.ended is not None
    if counted.memory_kills:
        return Verdict.MEMORY
    if facts.ended["full"]:
        return Verdict.DISK
    return Verdict.PROCESSES if crowded else Verdict.USER_ERROR


def _of_signal(number: int, facts: Facts, counted: Counted, crowded: bool) -> Verdict:
    if number == signal.SIGXCPU:
        return Verdict.TIMEOUT_CPU
    if number == signal.SIGXFSZ:
        return Verdict.DISK
    if number == signal.SIGKILL and counted.memory_kills:
        return Verdict.MEMORY
    if number == signal.SIGABRT and _ran_out_of_memory(facts):
        return Verdict.MEMORY
    if crowded and number in (signal.SIGABRT, signal.SIGKILL):
        return Verdict.PROCESSES
    return Verdict.SIGNAL


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # one of the real-time signals
        return f"SIGRTMIN+{number - signal.SIGRTMIN}" if number >= signal.SIGRTMIN else f"signal {number}"


def _ran_out_of_memory(facts: Facts) -> bool:
    """Libraries in Rust and C++, and V8, abort with these words when an allocation is refused."""
    text = facts.stderr.text(facts.stderr.cap)[0]
    return any(words in text for words in ("memory allocation of", "bad_alloc", "heap out of memory", "Out of memory"))


def _claimed(result: Mapping[str, Json] | None) -> CodeError | None:
    """The error as the kernel told it; its texts are the code's own, so they are bounded and nothing more."""
    error = None if result is None else result.get("error")
    if not isinstance(error, dict):
        return None
    return CodeError(
        type=escaped(str(error.get("type", "Error")))[:200],
        message=escaped(str(error.get("message", "")))[:20_000],
        traceback=escaped(str(error.get("traceback", "")))[:40_000],
    )


_WORDS = {
    Verdict.OUTPUT: ("OutputLimit", "It printed far more than its output limit and was ended."),
    Verdict.TIMEOUT_WALL: ("WallTimeLimit", "It ran longer than its wall time limit and was ended."),
    Verdict.TIMEOUT_CPU: ("CpuTimeLimit", "It used more processor time than its limit and was ended."),
    Verdict.MEMORY: ("MemoryLimit", "It needed more memory than its limit and was ended."),
    Verdict.DISK: ("DiskLimit", "It wrote more than its disk limit."),
    Verdict.PROCESSES: ("ProcessLimit", "It started more processes and threads than its limit."),
}


def _plain(verdict: Verdict, signal_name: str | None = None) -> CodeError:
    if signal_name is not None:
        return CodeError(type=signal_name, message=f"It was ended by {signal_name}.")
    kind, message = _WORDS[verdict]
    return CodeError(type=kind, message=message)
