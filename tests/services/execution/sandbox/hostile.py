"""A thousand hostile programs: every attack that we know of, in disguises that must change nothing.

``python -m tests.services.execution.sandbox.hostile --programs 1000 [--no-cgroups]`` runs them, and prints what did not
hold: escapes (an attempt that was not denied), wrong verdicts, and leftovers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Outcome, Run
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from shared.contracts.execute import Limits, Verdict
from tests.services.execution.sandbox.attacks import (
    HIDERS,
    HIDING,
    HOARDS,
    NAMES,
    PRELUDE,
    REACHES,
    SPRAYING,
    SPRAYS,
    Attack,
)
from tests.services.execution.sandbox.attacks_in_other_languages import OTHERS
from tests.services.execution.sandbox.attacks_on_gvisor import on_gvisor
from tests.services.execution.sandbox.leftovers import state_of

_TIGHT: dict[str, float] = {"memory_mb": 200, "disk_mb": 20, "processes": 24, "output_bytes": 50_000}
#: For what no time limit is meant to end: on a busy machine time must not be the first to run out.
_PATIENT: dict[str, float] = {"wall_seconds": 60, "cpu_seconds": 30}
_BRIEF: dict[str, float] = {"wall_seconds": 1.5, "cpu_seconds": 0.7}
_BUSY: dict[str, float] = {"wall_seconds": 60, "cpu_seconds": 0.7}
_FAILS = (
    "1 / 0",
    "raise SystemExit(3)",
    "import sys; sys.exit('no')",
    "import os; os._exit(9)",
    "assert False",
    "no_such_name",
)


@dataclass(frozen=True)
class Program:
    name: str
    run: Run
    verdicts: tuple[Verdict, ...]
    value: str | None = None

    def fault(self, outcome: Outcome) -> str | None:
        """What did not hold: a verdict, or a wall."""
        if outcome.verdict not in self.verdicts:
            told = f"{outcome.verdict}, not {'/'.join(self.verdicts)}; {outcome.error}; {outcome.usage}"
            return f"wrong verdict: {self.name}: {told}"
        if self.value is not None and (outcome.value is None or outcome.value.text != self.value):
            return f"escape: {self.name}: {outcome.value and outcome.value.text!r}, not {self.value}"
        return None


#: Code that goes before an attack: it looks different, and its result must be the same.
DISGUISES = {
    "plain": "",
    "not to be looked into": "_libc.prctl(4, 0, 0, 0, 0)",
    "deaf": "import signal as _s\nfor _n in (1, 3, 12, 13, 14, 15): _s.signal(_n, _s.SIG_IGN)",
    "low priority": "os.nice(15)",
    "elsewhere": "os.chdir('/tmp')",
    "with sleepers": "for _n in range(3):\n    if os.fork() == 0:\n        os.setsid()\n"
    "        __import__('time').sleep(1000); os._exit(0)",
    "with a daemon": "if os.fork() == 0:\n    if os.fork() == 0:\n        os.setsid()\n"
    "        __import__('time').sleep(1000)\n    os._exit(0)\nos.wait()",
    "with a thread": "import threading as _t, time\n_t.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
    "full of files": "for _n in range(200): open(f'/tmp/full-{_n}', 'w').close()",
    "with a shared page": "import mmap as _m\n_page = _m.mmap(-1, 4096)",
    "without a collector": "__import__('gc').disable()",
    "with a pipe of its own": "_ends = os.pipe()",
    "chatty": "print('x' * 1000)",
    **{f"called {name!r}": f"_libc.prctl(15, {name!r}, 0, 0, 0)" for name in NAMES if b"\xff" not in name},
}
#: How the whole of it may be wrapped. The value is that of the last expression, so only what has none may be wrapped.
WRAPS = {
    "as it is": "{code}",
    "in exec": "exec(compile({code!r}, 'inner', 'exec'))",
    "in a function": "def _outer():\n    exec({code!r}, globals())\n_outer()",
    "in hexadecimal": "exec(bytes.fromhex('{hexadecimal}').decode())",
    "when an object is made": "class _Made:\n    def __init__(self): exec({code!r}, globals())\n_Made()",
}


#: These would be among what an attack of these numbers sees, and rightly so.
_SEEN = ("with sleepers", "with a daemon", "with a pipe of its own")
_LOOKING_AROUND = (31, 33)


def programs(count: int, seed: int = 1, gvisor: bool = False) -> list[Program]:
    """The first ``count`` of an endless row: every attack plainly first, then in ever other disguises."""
    chance = random.Random(seed)
    attacks = [on_gvisor(attack) if gvisor else attack for attack in _attacks()]
    plain = [_disguised(attack, "plain", "as it is") for attack in attacks]
    made = plain + [_spray(name, fails) for name in SPRAYS for fails in _FAILS[:2]]
    seen = {program.name for program in made}
    while len(made) < count:
        if chance.random() < 0.1:
            program = _spray(chance.choice(list(SPRAYS)), chance.choice(_FAILS), chance.choice(list(DISGUISES)))
        else:
            attack = chance.choice(attacks)
            wrap = "as it is" if attack.value is not None or attack.language != "python" else chance.choice(list(WRAPS))
            disguise = chance.choice(list(DISGUISES))
            if attack.number in _LOOKING_AROUND and disguise in _SEEN:
                continue
            program = _disguised(attack, disguise, wrap)
        if program.name not in seen:
            seen.add(program.name)
            made.append(program)
    return made[:count]


def _attacks() -> Iterator[Attack]:
    hiders = (replace(attack, code=HIDING + attack.code) for attack in HIDERS)
    for attack in (*HOARDS, *hiders, *REACHES, *OTHERS):
        if attack.needs in (None, platform.machine()):
            yield attack


def _disguised(attack: Attack, disguise: str, wrap: str) -> Program:
    limits = {**_TIGHT, **_time_for(attack), **attack.limits}
    if attack.language != "python":
        code, disguise = attack.code, "plain"
    else:
        body = WRAPS[wrap].format(code=attack.code, hexadecimal=attack.code.encode().hex())
        code = f"{PRELUDE}\n{DISGUISES[disguise]}\n{body}"
    name = f"{attack} ({attack.language}, {disguise}, {wrap})"
    run = Run(attack.language, code, limits=Limits.model_validate(limits))
    return Program(name, run, attack.verdicts, attack.value)


def _time_for(attack: Attack) -> dict[str, float]:
    if Verdict.TIMEOUT_WALL in attack.verdicts:
        return _BRIEF
    return _BUSY if Verdict.TIMEOUT_CPU in attack.verdicts else _PATIENT


def _spray(name: str, fails: str, disguise: str = "plain") -> Program:
    """Whatever it says in its kernel's place: code that fails is never fine."""
    code = f"{PRELUDE}{SPRAYING}\n{DISGUISES[disguise]}\nspray({SPRAYS[name]})\n{fails}"
    verdicts = (Verdict.REJECTED,)
    limits = Limits.model_validate({**_TIGHT, **_PATIENT})
    return Program(f"spray of {name}, then {fails} ({disguise})", Run("python", code, limits=limits), verdicts)


def faults_of(sandbox: Sandbox, row: list[Program], at_once: int = 3) -> list[str]:
    """What did not hold."""
    languages = sandbox.languages()

    def one(program: Program) -> str | None:
        with sandbox.run(program.run) as outcome:
            return program.fault(outcome)

    there = [program for program in row if languages.get(program.run.language) is not None]
    with ThreadPoolExecutor(at_once) as threads:
        return [fault for fault in threads.map(one, there) if fault is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--no-cgroups", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runtime", choices=("namespaces", "gvisor"), default="namespaces")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        before = state_of(folder)
        row = programs(options.programs, options.seed, options.runtime == "gvisor")
        settings = SandboxSettings(slots=3, cgroups=not options.no_cgroups, runtime=options.runtime)
        with open_sandbox(settings) as sandbox:
            faults = faults_of(sandbox, row)
        after = state_of(folder)
    left = {kind: [each for each in after[kind] if each not in before[kind]] for kind in after}
    kinds = Counter(fault.partition(":")[0] for fault in faults)
    result = {
        "programs": len(row),
        "runtime": options.runtime,
        "user": os.getuid(),
        "control groups": not options.no_cgroups,
        "escapes": kinds["escape"],
        "wrong verdicts": kinds["wrong verdict"],
        "leftovers": sum(map(len, left.values())),
    }
    for fault in faults:
        print(fault, file=sys.stderr)  # noqa: T201
    print(json.dumps(result))  # noqa: T201
    sys.exit(1 if faults or result["leftovers"] else 0)


if __name__ == "__main__":
    main()
