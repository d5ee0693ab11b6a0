"""From what was observed to a verdict. Order matters: the first limit that was hit names it."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from services.execution.sandbox.host.cgroups import Counted
from services.execution.sandbox.host.streams import escaped
from services.execution.sandbox.host.supervise import Facts
from services.execution.sandbox.protocol.wire import Message
from shared.contracts.execute import CodeError, Verdict

_REASONS = {
    "wall": Verdict.TIMEOUT_WALL,
    "cpu": Verdict.TIMEOUT_CPU,
    "memory": Verdict.MEMORY,
    "uncounted": Verdict.REJECTED,
    "processes": Verdict.PROCESSES,
}
_LIMITS = {"memory": Verdict.MEMORY, "disk": Verdict.DISK, "processes": Verdict.PROCESSES}


@dataclass(frozen=True)
class Judgement:
    verdict: Verdict
    error: CodeError | None


def judge(facts: Facts, counted: Counted) -> Judgement | None:
    """``None`` when the sandbox itself broke, so that the run has to be repeated."""
    limit = _limit_hit(facts, counted)
    if limit is not None:
        return Judgement(limit, _plain(limit))
    if facts.answered:
        return _of_reply(facts.result)
    if facts.ended is None or facts.ended["reason"] == "stopped":
        return None
    return _of_exit(facts, counted, int(cast("int", facts.ended["status"])))


def _limit_hit(facts: Facts, counted: Counted) -> Verdict | None:
    """The limit at which init, or this side, ended the program."""
    if facts.flooded:
        return Verdict.OUTPUT
    if facts.rejected:
        return Verdict.REJECTED
    reason = Verdict.TIMEOUT_WALL if facts.overdue else None
    if facts.ended is None and counted.broke:
        return Verdict.PROCESSES
    if facts.ended is not None:
        reason = reason or _REASONS.get(str(facts.ended["reason"]))
    # What the kernel left of a program may wait for those that it killed, until its time is over.
    return Verdict.MEMORY if counted.memory_kills and (reason is not None or facts.ended is None) else reason


def _of_exit(facts: Facts, counted: Counted, status: int) -> Judgement:
    assert facts.ended is not None
    crowded = bool(counted.refused_forks) or bool(facts.ended["crowded"])
    if os.WIFSIGNALED(status):
        verdict = _of_signal(os.WTERMSIG(status), facts, counted, crowded)
        name = _signal_name(os.WTERMSIG(status)) if verdict is Verdict.SIGNAL else None
        return Judgement(verdict, _plain(verdict, name))
    if facts.cut_short:
        return Judgement(Verdict.REJECTED, _plain(Verdict.REJECTED))
    code = os.WEXITSTATUS(status)
    claimed = _of_claim(facts.result)
    if claimed is not None:
        unnamed = claimed.verdict is Verdict.USER_ERROR
        return replace(claimed, verdict=_behind_failure(facts, counted, crowded)) if unnamed else claimed
    if code != 0:
        verdict = _behind_failure(facts, counted, crowded)
        return Judgement(verdict, CodeError(type="Exit", message=f"It exited with status {code}.", exit_code=code))
    if counted.refused_forks:
        return Judgement(Verdict.PROCESSES, _plain(Verdict.PROCESSES))
    return Judgement(Verdict.OK, None)


def _of_reply(result: Message) -> Judgement:
    """A session's kernel lives on after its reply, so there is no exit status to look at."""
    code = result.get("exit")
    if isinstance(code, int) and code:
        return Judgement(Verdict.USER_ERROR, CodeError(type="Exit", message=f"It asked to exit with {code}."))
    return _of_claim(result) or Judgement(Verdict.OK, None)


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


def _of_claim(result: Message) -> Judgement | None:
    """The error as the kernel told it; its texts are the code's own, so they are bounded and nothing more."""
    error = result.get("error")
    if not isinstance(error, Mapping):
        return None
    told = CodeError(
        type=escaped(str(error.get("type", "Error")))[:200],
        message=escaped(str(error.get("message", "")))[:20_000],
        traceback=escaped(str(error.get("traceback", "")))[:40_000],
    )
    return Judgement(_LIMITS.get(str(error.get("limit")), Verdict.USER_ERROR), told)


_WORDS = {
    Verdict.OUTPUT: ("OutputLimit", "It printed far more than its output limit and was ended."),
    Verdict.TIMEOUT_WALL: ("WallTimeLimit", "It ran longer than its wall time limit and was ended."),
    Verdict.TIMEOUT_CPU: ("CpuTimeLimit", "It used more processor time than its limit and was ended."),
    Verdict.MEMORY: ("MemoryLimit", "It needed more memory than its limit and was ended."),
    Verdict.DISK: ("DiskLimit", "It wrote more than its disk limit."),
    Verdict.REJECTED: (
        "Rejected",
        "It spoke for itself where only Assay speaks, or could not be counted, and was ended.",
    ),
    Verdict.PROCESSES: ("ProcessLimit", "It started more processes and threads than its limit."),
}


def _plain(verdict: Verdict, signal_name: str | None = None) -> CodeError:
    if signal_name is not None:
        return CodeError(type=signal_name, message=f"It was ended by {signal_name}.")
    kind, message = _WORDS[verdict]
    return CodeError(type=kind, message=message)
