"""Programs that try to make a verdict, in every language and way of running: frames, exits, threads, signals, children,
late writes, replaced built-ins. Each ends in a way that is known; no other verdict may result.

``python -m tests.services.execution.sandbox.forgeries [--runtime gvisor] [--uid 64001] [--part 1/4]`` runs all of them,
or every fourth, and prints those that got a wrong verdict.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event

import pyarrow.ipc

from services.execution.documents.run.kernels import Kernels
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import KernelError, Outcome, Run
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from shared.contracts.execute import Limits, Verdict
from shared.loop import Budget
from tests.services.execution.sandbox.forgery_traps import ENDS, TRAPS, WAYS, Trap
from tests.services.execution.sandbox.forgery_traps_within import TRAPS_WITHIN

LANGUAGES = tuple(TRAPS)
_LIMITS = Limits(wall_seconds=2, cpu_seconds=20, memory_mb=300, processes=40)
_SLOW = Limits(wall_seconds=20, cpu_seconds=60, memory_mb=300, processes=40)
_FAILED = {Verdict.USER_ERROR, Verdict.REJECTED}
_ALLOWED: Mapping[str, set[Verdict]] = {
    "returns": {Verdict.OK, Verdict.REJECTED},
    "raises": _FAILED,
    "awaits": _FAILED,
    "imports": _FAILED,
    "exits": _FAILED,
    "hangs": {Verdict.TIMEOUT_WALL, Verdict.TIMEOUT_CPU, Verdict.REJECTED},
    "fills": {Verdict.MEMORY, Verdict.REJECTED, Verdict.USER_ERROR},
    "crashes": {Verdict.SIGNAL, Verdict.REJECTED},
    #: The trap itself waits for ever, in the kernel's place: its end never comes.
    "never": {*_FAILED, Verdict.TIMEOUT_WALL, Verdict.TIMEOUT_CPU, Verdict.SIGNAL, Verdict.MEMORY},
}


@dataclass(frozen=True)
class Program:
    language: str
    way: str
    trap: Trap
    end: str

    def __str__(self) -> str:
        return f"{self.language}, {self.way}: {self.trap.name}, {self.end}"


def programs(language: str, way: str) -> Iterator[Program]:
    for trap in (trap for trap in (*TRAPS[language], *TRAPS_WITHIN[language]) if way in trap.ways):
        for end in trap.ends or ("raises", "awaits", "returns"):
            if end in ENDS[language]:
                yield Program(language, way, trap, end)


def judged(program: Program, sandbox: Sandbox) -> list[str]:
    """What came out wrong of one program."""
    quick = program.end in ("hangs", "never") and sandbox.isolation.tier == "ns"
    limits = _LIMITS if quick else _SLOW.model_copy(update={"wall_seconds": 5.0}) if program.end == "never" else _SLOW
    end = "raises" if program.end == "never" else program.end
    code = ENDS[program.language][end][program.way == "transform"]
    trap = program.trap.code
    if program.way in ("plain", "transform"):
        run = Run(program.language, f"{trap}\n{code}", limits=limits)
        if program.way == "transform":
            run = replace(run, take="table", until="table")
        with sandbox.run(run) as outcome:
            return _wrong(program, program.end, outcome)
    return _in_session(program, sandbox, limits, trap, code)


def _in_session(program: Program, sandbox: Sandbox, limits: Limits, trap: str, code: str) -> list[str]:
    """The trap in a call before its end's, or, in a document, in the same chunk; the call after is judged too."""
    if program.way == "document":
        kernels = Kernels(sandbox, Budget(seconds=limits.wall_seconds), {}, Event())
        try:
            faults = _wrong(program, program.end, kernels.execute(program.language, f"{trap}\n{code}", 0))
            return faults + _after(program, lambda text: kernels.execute(program.language, text, 1))
        except KernelError:
            return []
        finally:
            kernels.close()
    with sandbox.session(program.language, limits, {}) as session:
        first = session.execute(trap)
        if first.value is not None and "FORGED" in first.value.text:
            return [f"{program}: {first.value.text} of the trap itself"]
        try:
            faults = _wrong(program, program.end, session.execute(code))
            return faults + _after(program, session.execute)
        except KernelError:  # the trap has ended the interpreter, or is rejected
            return []


def _after(program: Program, execute: Callable[[str], Outcome]) -> list[str]:
    try:
        return _wrong(program, "raises", execute(ENDS[program.language]["raises"][0]), "afterwards: ")
    except KernelError:
        return []


def _wrong(program: Program, end: str, outcome: Outcome, when: str = "") -> list[str]:
    text = "" if outcome.value is None else outcome.value.text
    rows = _rows(outcome)
    allowed = _ALLOWED[end] | ({Verdict.TIMEOUT_WALL} if when else set())
    fine = outcome.verdict in allowed and "FORGED" not in text and rows in ([], [{"a": 42}])
    if fine and outcome.verdict is Verdict.OK:
        fine = not text or "42" in text or program.way == "transform"
    if fine:
        return []
    return [f"{program}: {when}{outcome.verdict} {text!r} {rows} {outcome.error}"]


def _rows(outcome: Outcome) -> Sequence[object]:
    if outcome.table is None:
        return []
    with pyarrow.memory_map(str(outcome.table)) as opened:
        rows: list[object] = pyarrow.ipc.open_file(opened).read_all().to_pylist()
        return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runtime", choices=("namespaces", "gvisor"), default="namespaces")
    parser.add_argument("--uid", type=int, help="run them as this ordinary user")
    parser.add_argument("--language", choices=LANGUAGES, action="append")
    parser.add_argument("--only", default="", help="traps with this in their name")
    parser.add_argument("--part", default="1/1", help="2/5: every fifth program, from the second on")
    arguments = parser.parse_args()
    if arguments.uid is not None:
        from tests.services.execution.sandbox.ordinary import python_as  # noqa: PLC0415 - as root only

        rest = ["--runtime", arguments.runtime, "--only", arguments.only, "--part", arguments.part]
        rest += [part for name in arguments.language or () for part in ("--language", name)]
        answer = python_as(arguments.uid, "-m", "tests.services.execution.sandbox.forgeries", *rest)
        sys.stdout.write(answer.stdout + answer.stderr)
        sys.exit(answer.returncode)
    part, parts = map(int, arguments.part.split("/"))
    counts: Counter[str] = Counter()
    faults: list[str] = []
    with open_sandbox(SandboxSettings(slots=2, runtime=arguments.runtime)) as sandbox:
        for language in arguments.language or LANGUAGES:
            if sandbox.languages()[language] is None:
                continue
            for way in WAYS:
                wanted = [program for program in programs(language, way) if arguments.only in program.trap.name]
                for program in wanted[(part - 1 + WAYS.index(way)) % parts :: parts]:
                    counts[language] += 1
                    wrong = judged(program, sandbox)
                    faults += wrong
                    sys.stdout.write("".join(f"{fault}\n" for fault in wrong))
                    sys.stdout.flush()
    sys.stdout.write(f"{sum(counts.values())} programs ({dict(counts)}), {len(faults)} wrong verdicts\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
