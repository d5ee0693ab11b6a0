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
    if limit is Verdict.REJECTED:
        return _rejected(facts)
    if limit is not None:
        return Judgement(limit, _plain(limit))
    if facts.outcome is not None:
        return _of_outcome(facts, counted)
    if facts.ended is None or facts.ended["reason"] == "stopped":
        return None
    return _of_exit(facts, counted, int(cast("int", facts.ended["status"])))


def _limit_hit(facts: Facts, counted: Counted) -> Verdict | None:
    """Return the limit at which init, or this side, ended the program."""
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
    over = facts.ended is not None or facts.settled is not None
    return Verdict.MEMORY if counted.memory_kills and (reason is not None or not over) else reason


def _rejected(facts: Facts) -> Judgement:
    """Return the rejection, with the error that came with the unexpected frame: it may be the code's own."""
    plain = _plain(Verdict.REJECTED)
    error = _of_claim(facts.surplus) or _of_claim(facts.result)
    if error is None or error.error is None:
        return Judgement(Verdict.REJECTED, plain)
    text = f"{plain.message} It also failed: {error.error.type}: {error.error.message}"
    return Judgement(Verdict.REJECTED, plain.model_copy(update={"message": text, "traceback": error.error.traceback}))


def _of_outcome(facts: Facts, counted: Counted) -> Judgement:
    """Judge a call that came to its end, as init saw it; the kernel's claim adds only texts and values."""
    if facts.cut_short or facts.forged:
        return _rejected(facts)
    claimed = _of_claim(facts.result)
    if facts.outcome == "raised":
        claimed = claimed or Judgement(Verdict.USER_ERROR, _exit_or_unknown(facts.result))
        unnamed = (facts.once or counted.memory_kills) and claimed.verdict is Verdict.USER_ERROR
        return replace(claimed, verdict=_behind_failure(facts, counted)) if unnamed else claimed
    if claimed is not None:
        return claimed
    if facts.once and counted.refused_forks:
        return Judgement(Verdict.PROCESSES, _plain(Verdict.PROCESSES))
    return Judgement(Verdict.OK, None)


def _exit_or_unknown(result: Message) -> CodeError:
    code = result.get("exit")
    if isinstance(code, int):
        return CodeError(type="Exit", message=f"The code exited with status {code}.", exit_code=code & 0xFF)
    return CodeError(type="Error", message="The code raised an error whose text did not come out of the sandbox.")


def _of_exit(facts: Facts, counted: Counted, status: int) -> Judgement:
    """Judge an interpreter that ended before the code did: never ok, whatever its status."""
    if os.WIFSIGNALED(status):
        verdict = _of_signal(os.WTERMSIG(status), facts, counted)
        name = _signal_name(os.WTERMSIG(status)) if verdict is Verdict.SIGNAL else None
        return Judgement(verdict, _plain(verdict, name))
    if facts.cut_short:
        return _rejected(facts)
    code = os.WEXITSTATUS(status)
    message = f"The code ended its interpreter with status {code}, before it came to its own end."
    if not facts.once:
        message += " What the session held is gone."
    return Judgement(_behind_failure(facts, counted), CodeError(type="Exit", message=message, exit_code=code))


def _behind_failure(facts: Facts, counted: Counted) -> Verdict:
    """Return the limit that a failing program was at, because it most likely failed because of it."""
    if counted.memory_kills:
        return Verdict.MEMORY
    if (facts.settled or facts.ended or {}).get("full"):
        return Verdict.DISK
    return Verdict.PROCESSES if _crowded(facts, counted) else Verdict.USER_ERROR


def _crowded(facts: Facts, counted: Counted) -> bool:
    return bool(counted.refused_forks) or bool((facts.settled or facts.ended or {}).get("crowded"))


def _of_signal(number: int, facts: Facts, counted: Counted) -> Verdict:
    if number == signal.SIGXCPU:
        return Verdict.TIMEOUT_CPU
    if number == signal.SIGXFSZ:
        return Verdict.DISK
    if number == signal.SIGKILL and counted.memory_kills:
        return Verdict.MEMORY
    if number == signal.SIGABRT and _ran_out_of_memory(facts):
        return Verdict.MEMORY
    if _crowded(facts, counted) and number in (signal.SIGABRT, signal.SIGKILL):
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
    """Return the error as the kernel reported it; its texts are the code's own, so they are only bounded."""
    error = result.get("error")
    if not isinstance(error, Mapping):
        return None
    described = CodeError(
        type=escaped(str(error.get("type", "Error")))[:200],
        message=escaped(str(error.get("message", "")))[:20_000],
        traceback=escaped(str(error.get("traceback", "")))[:40_000],
    )
    return Judgement(_LIMITS.get(str(error.get("limit")), Verdict.USER_ERROR), described)


_WORDS = {
    Verdict.OUTPUT: ("OutputLimit", "It printed far more than its output limit and was ended."),
    Verdict.TIMEOUT_WALL: ("WallTimeLimit", "It ran longer than its wall time limit and was ended."),
    Verdict.TIMEOUT_CPU: ("CpuTimeLimit", "It used more processor time than its limit and was ended."),
    Verdict.MEMORY: ("MemoryLimit", "It needed more memory than its limit and was ended."),
    Verdict.DISK: ("DiskLimit", "It wrote more than its disk limit."),
    Verdict.REJECTED: (
        "Rejected",
        "It wrote to the channel that only its kernel writes to, or could not be counted, and was ended.",
    ),
    Verdict.PROCESSES: ("ProcessLimit", "It started more processes and threads than its limit."),
}


def _plain(verdict: Verdict, signal_name: str | None = None) -> CodeError:
    if signal_name is not None:
        return CodeError(type=signal_name, message=f"It was ended by {signal_name}.")
    kind, message = _WORDS[verdict]
    return CodeError(type=kind, message=message)
